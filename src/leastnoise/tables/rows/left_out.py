"""What limits and groups leave out of a query, as one exact number of all groups together."""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from leastnoise.tables.layout.layout import INT64_END
from leastnoise.tables.rows.cells import (
    CELL,
    UNIT,
    cell_of,
    in_cells,
    in_no_cell,
    keys_of,
    publishable,
)
from leastnoise.tables.statistics.base import IN_NO_GROUP, OVER_LIMITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec

LEFT_OUT = {(OVER_LIMITS,), (IN_NO_GROUP,)}
"""The components of layouts whose one number this module counts."""


def count_left_out(engine: Engine, spec: Spec, layout: Layout) -> NDArray[np.int64]:
    """Count persons, or rows where a row is a unit; the vector of one integer, before noise."""
    alone = layout.components == (IN_NO_GROUP,)
    units = in_no_cell(engine, spec, layout) if alone else _over_limits(engine, spec, layout)
    if alone and not layout.by_row:
        units = units.group_by(UNIT).agg(n=nw.len())
    # with_columns first, since a select of constants alone has one row on some engines
    ((total,),) = engine.rows(units.with_columns(one=nw.lit(1)).select(nw.col("one").sum()))
    # NULL of no row at all; a total ends where int64 does, as in `row_sums.read_totals`
    return np.array([min(int(total or 0) << layout.bits, INT64_END - 1)], dtype=np.int64)


def _over_limits(engine: Engine, spec: Spec, layout: Layout) -> nw.LazyFrame[Any]:
    """Return a row for each person with more rows in these groups, or in more, than they may."""
    if spec.contribution is None:
        raise KeyError("contribution")  # the checks of the spec come first
    rows = in_cells(engine, spec, layout, ())
    rows = rows.with_columns(cell_of(layout, layout.grouped))
    groups = rows.group_by(UNIT, CELL, *keys_of(layout)).agg(n=nw.len())
    groups = publishable(engine, layout, groups)
    found = groups.group_by(UNIT).agg(
        max_rows=nw.col("n").sum(), max_groups=nw.len(), max_rows_per_group=nw.col("n").max()
    )
    limits = spec.contribution.counted.items()
    return found.filter(reduce(operator.or_, (nw.col(name) > most for name, most in limits)))
