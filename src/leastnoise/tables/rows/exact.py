"""The exact integers of one release, before noise, all with the same salt.

Unlisted groups are found in the rows, so the set of these groups is as secret as their integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, final

import narwhals as nw

from leastnoise import _words
from leastnoise.entropy.source import SystemEntropy
from leastnoise.tables.layout.axes import Nearest
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.bound_persons import shrink_rows
from leastnoise.tables.rows.cells import (
    CELL,
    UNIT,
    integer_names,
    keep_publishable,
    rows_in_cells,
    summands_of,
    unlisted_keys,
)
from leastnoise.tables.rows.choose_cells import keep_few, new_salt
from leastnoise.tables.rows.left_out import count_cut_off
from leastnoise.tables.rows.row_sums import read_totals, row_sums, sums_of_rows
from leastnoise.tables.rows.unlisted_ranks import candidate_totals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.tables.layout.found_limits import Finder
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.spec.model import Spec


def group_totals(engine: Engine, spec: Spec, layout: Layout, *, salt: str) -> list[tuple[Any, ...]]:
    """A tuple per group: its public cell, its keys, its totals; in any order.

    The totals are as secret as a vector of `integer_vectors.query_vector`, and so is the set of
    groups. Groups whose keys may not be published are left out. If the last axis has the candidates
    of quantiles, there is a tuple per group and candidate: see `candidate_totals`.
    """
    if isinstance(layout.axes[-1], Nearest):
        return candidate_totals(engine, spec, layout, salt=salt)
    rows = rows_in_cells(engine, spec, layout, summands_of(layout))
    keys = unlisted_keys(layout)
    if len(keys) == len(layout.axes):
        # Add the only public cell at the end: as a key it would cost as much as any other key.
        return [(0, *group) for group in _totals(engine, layout, rows, keys, salt=salt)]
    return _totals(engine, layout, rows, [CELL, *keys], salt=salt)


def _totals(
    engine: Engine, layout: Layout, rows: nw.LazyFrame[Any], keys: list[str], *, salt: str
) -> list[tuple[Any, ...]]:
    if layout.by_row:
        sums = keep_publishable(
            engine, layout, sums_of_rows(engine, summands_of(layout), rows, keys)
        )
        return read_totals(engine, summands_of(layout), sums, len(keys))
    if not isinstance(layout.bounding, InUnlistedGroups):
        raise TypeError("a person is in few of the groups that nobody listed")
    sums = [total.cast(nw.Int64) for total in row_sums(summands_of(layout))]
    per_unit = rows.group_by(UNIT, *keys).agg(*sums)
    per_unit = engine.materialise(keep_publishable(engine, layout, per_unit))
    entries = keep_few(engine, per_unit, keys, layout.bounding.groups, salt=salt)
    entries = _limit_rows_per_group(layout, layout.bounding, entries)
    names = integer_names(layout)
    totals = entries.group_by(*keys).agg(*(nw.col(name).sum() for name in names))
    return engine.rows(totals.select(*keys, *names))


def _limit_rows_per_group(
    layout: Layout, limits: InUnlistedGroups, entries: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """Shrink a person's integers in each group to the limit on rows, except counts of persons."""
    names, numbers = integer_names(layout), layout.numbers
    counted = [name for position, name in enumerate(names) if position not in numbers.units]
    most, _ = limits.integer_limits(bits=layout.bits)
    if len(counted) == 1:  # a single integer is simply clipped
        return entries.with_columns(nw.col(counted[0]).clip(-most, most).cast(nw.Int64))
    return shrink_rows(entries, counted, most) if counted else entries


@final
@dataclass(frozen=True, kw_only=True)
class ExactTotals:
    """The exact integers of one release, before noise.

    `salt` decides which cells count for a person who is in too many cells. `tell` gets a message
    before each reading of the rows.
    """

    rows: Source
    spec: Spec
    salt: str = field(repr=False)
    tell: Callable[[str], object]

    @classmethod
    def of(cls, rows: Source, spec: Spec, *, tell: Callable[[str], object]) -> Self:
        """Integers for a new release, with a fresh salt."""
        return cls(rows=rows, spec=spec, salt=new_salt(SystemEntropy()), tell=tell)

    def vector(self, layout: Layout) -> NDArray[np.int64]:
        """The exact integers of a query, before noise."""
        (vector,) = self.vectors([layout])
        return vector

    def vectors(self, layouts: Sequence[Layout]) -> list[NDArray[np.int64]]:
        """The exact integers of several queries; the source is opened once for all of them."""
        if not layouts:
            return []
        names = dict.fromkeys(layout.name for layout in layouts)
        self.tell(f"Reading and bounding for {_words.list_names(names)}")
        with source.open_engine(self.rows) as engine:
            return integer_vectors.query_vectors(engine, self.spec, layouts, salt=self.salt)

    def cut_off(self, finder: Finder, layout: Layout | None) -> list[int]:
        """The number of rows, or groups, that each candidate for a limit cuts off.

        See `count_cut_off`.
        """
        self.tell(f"Reading for {finder.label}")
        with source.open_engine(self.rows) as engine:
            return count_cut_off(engine, self.spec, finder, layout)

    def groups(self, layout: Layout) -> list[tuple[Any, ...]]:
        """The totals of unlisted groups, as `group_totals`; no message contains their number."""
        self.tell(f"Reading and bounding for {layout.name}")
        with source.open_engine(self.rows) as engine:
            return group_totals(engine, self.spec, layout, salt=self.salt)
