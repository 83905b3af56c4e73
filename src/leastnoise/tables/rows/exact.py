"""The exact integers of one release: all of them of the same rows, and with the same salt.

Of groups that nobody listed they are those of every group that somebody is in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, final

import narwhals as nw

from leastnoise import _words
from leastnoise.entropy.source import SystemEntropy
from leastnoise.tables.layout.limits import FewGroups, integer_limits
from leastnoise.tables.rows import bounding, source
from leastnoise.tables.rows.cells import (
    CELL,
    UNIT,
    in_cells,
    keys_of,
    names_of,
    publishable,
    summands_of,
)
from leastnoise.tables.rows.choose_cells import keep_few, new_salt
from leastnoise.tables.rows.persons import shrunk_rows
from leastnoise.tables.rows.row_sums import read_totals, row_sums, sums_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.spec.model import Spec


def group_totals(engine: Engine, spec: Spec, layout: Layout, *, salt: str) -> list[tuple[Any, ...]]:
    """Return a tuple a group: its public cell, its keys, its totals; in any order.

    The integers are those of `bounding.query_vector`, and as secret; so is which groups there are.
    """
    rows = in_cells(engine, spec, layout, summands_of(layout))
    keys = keys_of(layout)
    if len(keys) == len(layout.axes):
        # The one public cell is put beside: as a key it would cost as much as the others.
        return [(0, *group) for group in _totals(engine, layout, rows, keys, salt=salt)]
    return _totals(engine, layout, rows, [CELL, *keys], salt=salt)


def _totals(
    engine: Engine, layout: Layout, rows: nw.LazyFrame[Any], keys: list[str], *, salt: str
) -> list[tuple[Any, ...]]:
    if layout.by_row:
        sums = publishable(engine, layout, sums_of_rows(engine, summands_of(layout), rows, keys))
        return read_totals(engine, summands_of(layout), sums, len(keys))
    if not isinstance(layout.bounding, FewGroups):
        raise TypeError("a person is in few of the groups that nobody listed")
    sums = [one.cast(nw.Int64) for one in row_sums(summands_of(layout))]
    per_unit = rows.group_by(UNIT, *keys).agg(*sums)
    per_unit = engine.materialise(publishable(engine, layout, per_unit))
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


@final
@dataclass(frozen=True, kw_only=True)
class ExactTotals:
    """The exact totals that each draw of noise hides; `tell` gets the name of each reading."""

    found: Source
    spec: Spec
    salt: str = field(repr=False)
    tell: Callable[[str], object]

    @classmethod
    def of(cls, found: Source, spec: Spec, *, tell: Callable[[str], object]) -> Self:
        """Return those of a new release, with a fresh salt."""
        return cls(found=found, spec=spec, salt=new_salt(SystemEntropy()), tell=tell)

    def vector(self, layout: Layout) -> NDArray[np.int64]:
        """Return a block's exact integers, before noise."""
        (vector,) = self.vectors([layout])
        return vector

    def vectors(self, layouts: Sequence[Layout]) -> list[NDArray[np.int64]]:
        """Return the exact integers of several blocks, all from one scan of the rows."""
        if not layouts:
            return []
        names = dict.fromkeys(layout.name for layout in layouts)
        self.tell(f"Reading and bounding for {_words.list_names(names)}")
        with source.open_engine(self.found) as engine:
            return bounding.query_vectors(engine, self.spec, layouts, salt=self.salt)

    def groups(self, layout: Layout) -> list[tuple[Any, ...]]:
        """Return the totals of groups that nobody listed; no stage tells their number."""
        self.tell(f"Reading and bounding for {layout.name}")
        with source.open_engine(self.found) as engine:
            return group_totals(engine, self.spec, layout, salt=self.salt)
