"""What each candidate for a limit cuts off of all units together, before noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from leastnoise.tables.rows.cells import (
    CELL,
    UNIT,
    cell_of,
    keep_publishable,
    rows_in_cells,
    unlisted_keys,
)

if TYPE_CHECKING:
    from leastnoise.tables.layout.found_limits import Finder
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec


def count_cut_off(engine: Engine, spec: Spec, finder: Finder, layout: Layout | None) -> list[int]:
    """Σ_u max(0, min(n_u, c_m) − c) for each candidate c, of which c_m is the largest.

    n_u is the number of rows, or of groups, of unit u: in the query of `layout`, or in the data
    without one. Bounding n_u by c_m changes all sums by the same number, and keeps them in 64 bits.
    """
    largest = finder.finds.candidates[-1]
    units = _count_rows(engine, spec) if layout is None else _count_in_query(engine, spec, layout)
    size = nw.col("groups" if finder.name == "max_groups" else "rows")
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
    """The number of rows of each unit in the data."""
    frame, text = engine.frame, spec.data.filter
    unit = nw.col(engine.column(spec.privacy.unit, "u"))
    frame = frame if text is None else frame.filter(engine.filter_holds(text))
    return frame.filter(~unit.is_null()).select(unit.alias(UNIT)).group_by(UNIT).agg(rows=nw.len())


def _count_in_query(engine: Engine, spec: Spec, layout: Layout) -> nw.LazyFrame[Any]:
    """The numbers of rows and groups of each unit in a query."""
    rows = rows_in_cells(engine, spec, layout, ())
    rows = rows.with_columns(cell_of(layout, layout.grouped))
    groups = rows.group_by(UNIT, CELL, *unlisted_keys(layout)).agg(n=nw.len())
    groups = keep_publishable(engine, layout, groups)
    return groups.group_by(UNIT).agg(rows=nw.col("n").sum(), groups=nw.len())
