"""Exact integers of every group that somebody is in, where nobody listed the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from leastnoise.tables.query.limits import FewGroups, integer_limits
from leastnoise.tables.rows.bounding import (
    keep_few,
    read_totals,
    row_sums,
    shrunk_rows,
    sums_of_rows,
)
from leastnoise.tables.rows.cells import CELL, UNIT, in_cells, keys_of, names_of, publishable

if TYPE_CHECKING:
    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec


def group_totals(engine: Engine, spec: Spec, layout: Layout, *, salt: str) -> list[tuple[Any, ...]]:
    """Return a tuple a group: its public cell, its keys, its totals; in any order.

    The integers are those of `bounding.query_vector`, and as secret; so is which groups there are.
    """
    rows = in_cells(engine, spec, layout)
    keys = keys_of(layout)
    if len(keys) == len(layout.axes):
        # The one public cell is put beside: as a key it would cost as much as the others.
        return [(0, *group) for group in _totals(engine, layout, rows, keys, salt=salt)]
    return _totals(engine, layout, rows, [CELL, *keys], salt=salt)


def _totals(
    engine: Engine, layout: Layout, rows: nw.LazyFrame[Any], keys: list[str], *, salt: str
) -> list[tuple[Any, ...]]:
    if layout.by_row:
        sums = publishable(engine, layout, sums_of_rows(engine, layout, rows, keys))
        return read_totals(engine, layout, sums, len(keys))
    if not isinstance(layout.bounding, FewGroups):
        raise TypeError("a person is in few of the groups that nobody listed")
    per_unit = publishable(engine, layout, rows.group_by(UNIT, *keys).agg(*row_sums(layout)))
    entries = keep_few(engine, per_unit, keys, layout.bounding.groups, salt=salt)
    entries = _within(layout, layout.bounding, entries)
    names = names_of(layout)
    totals = entries.group_by(*keys).agg(*(nw.col(name).sum() for name in names))
    return engine.rows(totals.select(*keys, *names))


def _within(layout: Layout, way: FewGroups, entries: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return the entries, none with more rows in a group than a person may have there."""
    names, numbers = names_of(layout), layout.numbers
    counted = [name for place, name in enumerate(names) if place not in numbers.units]
    most, _ = integer_limits(way, bits=layout.bits)
    if len(counted) == 1:  # cut off, which leaves it whole
        return entries.with_columns(nw.col(counted[0]).clip(-most, most).cast(nw.Int64))
    return shrunk_rows(entries, counted, most) if counted else entries
