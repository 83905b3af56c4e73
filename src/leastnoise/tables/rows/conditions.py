"""Count the units that satisfy each condition; a unit counts in a limited number of conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.rows.cells import CELL, UNIT, finite_values, rows_that_count, scatter
from leastnoise.tables.rows.choose_cells import keep_few
from leastnoise.tables.spec.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.tables.layout.axes import Condition
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Predicate


def condition_totals(engine: Engine, spec: Spec, layout: Layout, *, salt: str) -> NDArray[np.int64]:
    """The number of units that satisfy each condition; a unit counts in at most a few conditions.

    The limit is `layout.bounding.most`. A person satisfies a condition if any of their rows does.
    If a row is the unit, it has no identifier to hash, so it counts in the first conditions that it
    satisfies.
    """
    if not isinstance(layout.bounding, OnceInCells):
        raise TypeError("persons in conditions are counted in few of them")
    most = layout.bounding.most
    names = [f"c{index}" for index in range(layout.cells)]
    memberships = [
        nw.when(_satisfies_all(engine, spec, condition)).then(1).otherwise(0).alias(name)
        for name, condition in zip(names, layout.conditions, strict=True)
    ]
    frame = rows_that_count(engine, layout)
    if layout.by_row:
        frame = frame.select(*memberships)
        frame = _in_first(frame, names, most) if most < layout.cells else frame
    else:
        unit = nw.col(engine.column(spec.privacy.unit, "u"))
        frame = frame.filter(~unit.is_null()).select(unit.alias(UNIT), *memberships)
        frame = frame.group_by(UNIT).agg(*(nw.col(name).max() for name in names))
        if most < layout.cells:
            totals = _few_conditions(engine, frame, names, most, salt=salt)
            return scatter(engine.rows(totals), layout, [0])
    ((*totals,),) = engine.rows(frame.select(*(nw.col(name).sum() for name in names)))
    # NULL if there is no row at all
    return np.array([int(total or 0) for total in totals], dtype=np.int64)


def _in_first(frame: nw.LazyFrame[Any], names: list[str], most: int) -> nw.LazyFrame[Any]:
    """Keep only the first `most` of the columns `names` that are 1 in a row; set others to 0."""
    frame = frame.with_columns(_before=nw.lit(0))
    for name in names:
        kept = nw.when(nw.col("_before") < most).then(nw.col(name)).otherwise(0)
        frame = frame.with_columns(kept.alias(name))
        frame = frame.with_columns(_before=nw.col("_before") + nw.col(name))
    return frame


def _few_conditions(
    engine: Engine, memberships: nw.LazyFrame[Any], names: list[str], most: int, *, salt: str
) -> nw.LazyFrame[Any]:
    """The number of persons in each condition, with each person in at most `most` conditions.

    `memberships` has a column for each condition in `names`: 1 if the person is in the condition.
    `salt` is as in `keep_few`.
    """
    memberships = engine.materialise(memberships)
    cells = [
        memberships.filter(nw.col(name) == 1).select(UNIT, nw.lit(index, nw.Int64).alias(CELL))
        for index, name in enumerate(names)
    ]
    entries = engine.materialise(nw.concat(cells))
    entries = keep_few(engine, entries, [CELL], most, salt=salt)
    return entries.group_by(CELL).agg(i0=nw.len())


def _satisfies_all(engine: Engine, spec: Spec, condition: Condition) -> nw.Expr:
    """True if a row satisfies every predicate of the condition; NULL satisfies none."""
    return nw.all_horizontal(
        *(_satisfies(engine, spec, *predicate) for predicate in condition.predicates),
        ignore_nulls=False,
    )


def _satisfies(engine: Engine, spec: Spec, column: str, predicate: Predicate) -> nw.Expr:
    if predicate.among:
        return nw.col(engine.column(column, "k")).is_in(list(predicate.among))
    value = finite_values(engine, column, spec.columns.get(column, Column()).number)
    ends = [
        (predicate.min, lambda end: value >= end),
        (predicate.max, lambda end: value <= end),
        (predicate.below, lambda end: value < end),
    ]
    compared = [compare(float(end)) for end, compare in ends if end is not None]
    return nw.all_horizontal(*compared, ignore_nulls=False)
