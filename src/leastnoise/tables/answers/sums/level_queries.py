"""Public keys with levels, such as counties and their states; each level has its own table.

Each key belongs to one value of each level, and each value to one value of the level above. So keys
and values form a tree. Its leaves are the keys, which are the cells of the query. Noise is drawn
for the leaves: see `answers.sums.levels`. Arrays here are in the order of the keys in the spec. The
tree sorts the keys by their values in the levels, the highest level first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.answers.sums.margin_queries import (
    in_one_cell,
)
from leastnoise.tables.answers.sums.problems import excluded_problems, name_problems, std_problems
from leastnoise.tables.layout.axes import KeyColumn
from leastnoise.tables.layout.lay_out import lay_out_tree
from leastnoise.tables.spec.query import MOVED, find_conflict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Hierarchy, Query
    from leastnoise.tables.spec.values import Key
    from leastnoise.tables.statistics.registry import ParsedQuery

    Wholes = NDArray[np.int64]

MOST_KEYS = 1 << 15
MOST_LEVELS = 8
NO_CLIPPING = "Not used with levels: a person is in one group at most."


@final
@dataclass(frozen=True, kw_only=True)
class KeyTree:
    """The tree of a column's keys.

    `columns` has a tuple for each level, the highest first, with the level's value for each key.
    The last level is the keys themselves. If the highest level has a single value, that value is
    the root. Otherwise the root is a node above all levels, which isn't published.
    """

    columns: tuple[tuple[Key, ...], ...]

    @cached_property
    def values(self) -> tuple[tuple[Key, ...], ...]:
        """The distinct values of each level, in the order of their first keys."""
        return tuple(tuple(dict.fromkeys(column)) for column in self.columns)

    @cached_property
    def places(self) -> tuple[Wholes, ...]:
        """For each level, the index in `values` of each key's value."""
        known = [{value: i for i, value in enumerate(column)} for column in self.values]
        return tuple(
            np.array([index[value] for value in column], dtype=np.int64)
            for column, index in zip(self.columns, known, strict=True)
        )

    @cached_property
    def order(self) -> Wholes:
        """The indices of the keys in the order of the tree's leaves."""
        return np.lexsort(self.places[::-1])

    @property
    def above(self) -> int:
        """The number of tree levels above `columns`: 0 if the highest level is the root, else 1."""
        return int(len(self.values[0]) > 1)

    @cached_property
    def branches(self) -> tuple[int, ...]:
        """The tree's branches for `noise.trees`: the number of children of each inner node.

        If all nodes of a level have equally many children, on every level, the tuple has a single
        number per level.
        """
        firsts = [level[self.order] for level in self.places]
        if self.above:
            firsts.insert(0, np.zeros(len(self.order), dtype=np.int64))
        starts = [np.flatnonzero(np.diff(level, prepend=-1)) for level in firsts]
        counts = [
            np.diff(np.append(np.searchsorted(below, level), len(below)))
            for level, below in pairwise(starts)
        ]
        if all((level == level[0]).all() for level in counts):
            return tuple(int(level[0]) for level in counts)
        return tuple(int(count) for level in counts for count in level)

    def nodes(self, level: int) -> Wholes:
        """The indices in `values` of a level's values, in the order of nodes in `noise.trees`."""
        sorted_places = self.places[level][self.order]
        return sorted_places[np.flatnonzero(np.diff(sorted_places, prepend=-1))]


def key_tree(layout: Layout) -> KeyTree:
    """The tree of the only column of the layout whose keys have levels."""
    columns = (axis for axis in layout.axes if isinstance(axis, KeyColumn) and axis.levels)
    return tree_of(next(columns))


@lru_cache(maxsize=16)
def tree_of(column: KeyColumn) -> KeyTree:
    """The tree of a column whose keys have levels."""
    return KeyTree(columns=(*(values for _, values in reversed(column.levels)), column.values))


@final
class LevelQueries(QueryKind):
    """Queries that count by keys, and by the levels above these keys."""

    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"levels"})
    why_no_clipping: ClassVar[str] = NO_CLIPPING

    def file_names(self, query: Query) -> list[str]:
        """The names of the tables, and of their files: the table by key has the query's name."""
        levels = [level for keys in query.hierarchies.values() for level in keys.levels]
        return [query.name, *(f"{query.name}_by_{level}" for level in levels)]

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of the levels of a query's keys, and settings that can't be used with levels."""
        query = parsed.query
        column, hierarchy = next(iter(query.hierarchies.items()))
        key = f"{path}.group_by.{column}.levels"
        yield from column_problems(column, hierarchy, key)
        if len(query.group_by) > 1:
            why = "With levels and other columns in group_by, margins must list the tables to"
            yield key, f"{why} publish. Write margins = true for all of them."
        yield from levels_elsewhere(query, path)
        yield from std_problems(query, path, called="levels")
        asked = parsed.statistics
        if len(asked) != 1 or not (asked[0].adds_up and asked[0].counts):
            why = 'A query with levels has one count and nothing else: statistics = ["count"].'
            yield key, f"{why} Ask for other statistics in another query."
        yield from excluded_problems(query, path, key=key, called="Levels")
        yield from name_problems(
            query, self.file_names(query), key, hint="give a level such a name."
        )

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the table by key, whose keys are the cells."""
        return lay_out_tree(spec, query, asked, choose=choose_bounding)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.sums.answer import Sums  # noqa: PLC0415
        from leastnoise.tables.answers.sums.levels import Levels  # noqa: PLC0415 (0.5 s)

        return [Sums(layouts=layouts, query=query, kind=Levels) for query in queries]


def table_layouts(layout: Layout) -> tuple[Layout, ...]:
    """The layouts of all tables, given the layout of the keys: by key, then by each level."""
    (column,) = layout.axes
    if not isinstance(column, KeyColumn):
        raise TypeError("only keys have levels")
    above = [
        replace(
            layout,
            name=f"{layout.name}_by_{level}",
            axes=(KeyColumn(column=level, values=tuple(dict.fromkeys(values))),),
        )
        for level, values in column.levels
    ]
    return (replace(layout, axes=(replace(column, levels=()),)), *above)


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Choose, among `ways` to bound a unit, a bounding that leaves the unit in one cell.

    Returns the problem as text if no bounding fits. `shape` is the layout to be bounded.
    """
    for bounding in ways:
        if in_one_cell(replace(shape, bounding=bounding)):
            return bounding
    return (
        "Tables by levels need each person in at most one group. Give max_rows = 1 in "
        "[contribution], or leave levels out."
    )


def levels_elsewhere(query: Query, path: str) -> Iterator[Problem]:
    """A problem for each column with levels, except for the first: only one may have levels."""
    for column in [*query.hierarchies][1:]:
        why = "Only one column may have levels. Remove the levels of the others."
        yield f"{path}.group_by.{column}.levels", why


def column_problems(column: str, hierarchy: Hierarchy, key: str) -> Iterator[Problem]:
    """The problems of the levels of `column`; `key` is the path of these levels in the spec."""
    keys, levels = hierarchy.keys, list(hierarchy.levels.values())
    if not 1 <= len(levels) <= MOST_LEVELS:
        yield key, f"Expected 1 to {MOST_LEVELS} levels, got {len(levels)}."
    if column in hierarchy.levels:
        yield f"{key}.{column}", "A level can't be the column of the keys itself. Leave it out."
    if len(keys) > MOST_KEYS:
        yield key, f"Expected at most {MOST_KEYS:,} keys with levels, got {len(keys):,}."
    fits = True
    for name, values in hierarchy.levels.items():
        if len(values) != len(keys):
            yield (
                f"{key}.{name}",
                f"Expected one for each of {len(keys):,} keys, got {len(values):,}.",
            )
            fits = False
        elif len({type(value) for value in values}) > 1:
            yield f"{key}.{name}", "Expected values of one type."
            fits = False
    row = find_conflict(levels) if fits else None
    if row is not None:
        yield key, f"Key {row + 1:,} {MOVED}"
