"""Count the persons or rows that limits and groups leave out, over all groups together."""

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
    keep_publishable,
    rows_in_cells,
    rows_in_no_cell,
    unlisted_keys,
)
from leastnoise.tables.statistics.base import IN_NO_GROUP, OVER_LIMITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.tables.layout.found_limits import Finder
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec

LEFT_OUT = {(OVER_LIMITS,), (IN_NO_GROUP,)}
"""The components of the layouts whose single number this module counts."""


def count_left_out(engine: Engine, spec: Spec, layout: Layout) -> NDArray[np.int64]:
    """Count the persons over a limit, or the units with a row in no group, before noise.

    The layout's only component says which of the two. The result is a vector of one integer.
    """
    no_group = layout.components == (IN_NO_GROUP,)
    count = rows_in_no_cell if no_group else _over_limits
    units = count(engine, spec, layout)
    if no_group and not layout.by_row:
        units = units.group_by(UNIT).agg(n=nw.len())
    # begin by with_columns, since on some engines a select of constants alone has one row
    ((total,),) = engine.rows(units.with_columns(one=nw.lit(1)).select(nw.col("one").sum()))
    # NULL if there is no row; a total is clipped to int64, as in `row_sums.read_totals`
    return np.array([min(int(total or 0) << layout.bits, INT64_END - 1)], dtype=np.int64)


def _over_limits(engine: Engine, spec: Spec, layout: Layout) -> nw.LazyFrame[Any]:
    """A row for each person over a limit on rows, on groups, or on rows in a group."""
    (query,) = (query for query in spec.query if query.name == layout.name)
    sizes, limits = _count_in_query(engine, spec, layout), spec.limits(query).counted.items()
    return sizes.filter(reduce(operator.or_, (nw.col(name) > most for name, most in limits)))


def _count_in_query(engine: Engine, spec: Spec, layout: Layout) -> nw.LazyFrame[Any]:
    """Count each person's rows and groups, and the person's rows in the group with most of them.

    The columns have the names of the limits on these numbers.
    """
    rows = rows_in_cells(engine, spec, layout, ())
    rows = rows.with_columns(cell_of(layout, layout.grouped))
    groups = rows.group_by(UNIT, CELL, *unlisted_keys(layout)).agg(n=nw.len())
    groups = keep_publishable(engine, layout, groups)
    return groups.group_by(UNIT).agg(
        max_rows=nw.col("n").sum(), max_groups=nw.len(), max_rows_per_group=nw.col("n").max()
    )


def count_cut_off(engine: Engine, spec: Spec, finder: Finder, layout: Layout | None) -> list[int]:
    """The rows or groups that each candidate for a limit cuts off, in all units together.

    Let n be the number of rows, or of groups, of a unit in the query of `layout`. Without a
    `layout`, n is the number of the unit's rows that pass the filter of the data. For a candidate c
    the result is the sum of max(0, min(n, c_m) − c) over all units, where c_m is the largest
    candidate. Bounding n by c_m changes all sums by the same number, and keeps them within 64 bits.
    """
    largest = finder.finds.candidates[-1]
    units = _count_rows(engine, spec) if layout is None else _count_in_query(engine, spec, layout)
    size = nw.col(finder.name)
    size = nw.when(size > largest).then(nw.lit(largest)).otherwise(size).cast(nw.Int64)
    sizes = units.with_columns(size=size)
    beyond = {
        f"beyond{index}": nw.when(nw.col("size") > candidate)
        .then(nw.col("size") - candidate)
        .otherwise(nw.lit(0))
        .cast(nw.Int64)
        for index, candidate in enumerate(finder.finds.candidates)
    }
    totals = sizes.with_columns(**beyond).select(*(nw.col(name).sum() for name in beyond))
    ((*sums,),) = engine.rows(totals)
    return [int(total or 0) for total in sums]  # NULL if there is no row


def _count_rows(engine: Engine, spec: Spec) -> nw.LazyFrame[Any]:
    """The number of rows of each unit that pass the filter of the data."""
    frame, text = engine.frame, spec.data.filter
    unit = nw.col(engine.column(spec.privacy.unit, "u"))
    frame = frame if text is None else frame.filter(engine.filter_holds(text))
    return (
        frame.filter(~unit.is_null()).select(unit.alias(UNIT)).group_by(UNIT).agg(max_rows=nw.len())
    )
