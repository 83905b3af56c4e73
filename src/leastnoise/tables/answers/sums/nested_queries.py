"""Keys with levels beside other columns: the published tables, and their shifts by one unit.

An example is municipalities in regions, by age and sex. A table groups by municipality, by region
or by neither, and by some of the other columns. Tables are numbered as in `workloads.nested`:
level·2^d plus a bit mask of the d other columns. Level 0 means that the table groups by neither;
the last level is the keys.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise.guarantees.sensitivity import Integer
from leastnoise.guarantees.structured import Linf
from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.answers.sums.level_queries import (
    NO_CLIPPING,
    choose_bounding,
    column_problems,
    levels_elsewhere,
    tree_of,
)
from leastnoise.tables.answers.sums.margin_queries import (
    NO_TABLE,
)
from leastnoise.tables.answers.sums.problems import (
    excluded_problems,
    listed_problems,
    name_problems,
    std_problems,
)
from leastnoise.tables.layout.axes import Bins, KeyColumn
from leastnoise.tables.layout.lay_out import lay_out_tree
from leastnoise.workloads.marginal import MOST_CELLS
from leastnoise.workloads.nested import Nested

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.axes import Axis
    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.registry import ParsedQuery

MOST_TABLES = 64
"""The largest number of possible tables: (levels + 1) × sets of other columns.

Margins of six columns have as many tables.
"""


@final
class NestedQueries(QueryKind):
    """Queries that count by keys, by levels above them and by other columns, with totals."""

    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"margins", "levels"})
    why_no_clipping: ClassVar[str] = NO_CLIPPING

    def file_names(self, query: Query) -> list[str]:
        """The names of the published tables, and of their files."""
        return file_names(query)

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of a query with margins and levels."""
        spec, query = parsed.spec, parsed.query
        column, keys = next(iter(query.hierarchies.items()))
        key, levels = f"{path}.margins", f"{path}.group_by.{column}.levels"
        yield from column_problems(column, keys, levels)
        names, others = _names(query)
        if len(query.hierarchies) > 1:
            yield from levels_elsewhere(query, path)
        elif spec.has_unlisted_keys(query):
            yield key, "Not used with keys that nobody listed: a total would tell of hidden groups."
        elif same := [name for name in others if name in names]:
            yield (
                f"{levels}.{same[0]}",
                "A column of group_by has this name. Give the level another name.",
            )
        elif not others:
            yield key, "Leave margins out: every level gets a table."
        elif (len(names) + 1) << len(others) > MOST_TABLES:
            tables = f"{(len(names) + 1) << len(others):,}"
            why = "Each level, or none, with each set of other columns is a table: expected at most"
            yield key, f"{why} {MOST_TABLES} tables, got {tables}. Use fewer columns."
        elif query.listed_tables == ():
            yield key, NO_TABLE
        elif query.listed_tables is not None:
            yield from listed_problems(
                query.listed_tables,
                [*names, *others],
                key,
                called="columns of group_by or their levels",
            )
            yield from _level_problems(query.listed_tables, names, key)
        yield from _other_problems(parsed, path)

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the cells, which lists the published tables as its `margins`."""
        ((cells,),) = lay_out_tree(spec, query, asked, choose=_choose_bounding)
        return ((replace(cells, margins=published_tables(query)),),)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.sums.answer import Sums  # noqa: PLC0415
        from leastnoise.tables.answers.sums.nested import NestedMargins  # noqa: PLC0415 (0.5 s)

        return [Sums(layouts=layouts, query=query, kind=NestedMargins) for query in queries]


def published_tables(query: Query) -> tuple[int, ...]:
    """The numbers of the tables that `margins` lists, or of all if `margins = true`.

    Tables with the largest sum of level and number of other columns come first.
    """
    levels, others = _names(query)
    masks = 1 << len(others)
    tables: Iterable[int] = range((len(levels) + 1) * masks)
    if query.listed_tables is not None:
        tables = [_number(by, levels, others) for by in query.listed_tables]
    return tuple(sorted(tables, key=lambda table: (-_rank(table, masks), table)))


def _names(query: Query) -> tuple[list[str], list[str]]:
    """The names of the levels, and the names of the other columns.

    The levels begin with the highest level, and end with the keys' column.
    """
    column, keys = next(iter(query.hierarchies.items()))
    return [*reversed(keys.levels), column], [name for name in query.group_by if name != column]


def _number(by: Sequence[str], levels: Sequence[str], others: Sequence[str]) -> int:
    level = max((levels.index(name) + 1 for name in by if name in levels), default=0)
    return level << len(others) | sum(1 << i for i, name in enumerate(others) if name in by)


def _rank(table: int, masks: int) -> int:
    level, mask = divmod(table, masks)
    return level + mask.bit_count()


def file_names(query: Query) -> list[str]:
    """The names of the published tables, and of their files."""
    levels, others = _names(query)
    known = all({*levels, *others}.issuperset(by) for by in query.listed_tables or ())
    if not known or len(others) >= MOST_TABLES.bit_length():
        return [query.name]
    names: list[str] = []
    for table in published_tables(query):
        level, mask = divmod(table, 1 << len(others))
        chosen = {name for i, name in enumerate(others) if mask >> i & 1}
        by = [
            levels[level - 1] if name == levels[-1] else name
            for name in query.group_by
            if name in chosen or (name == levels[-1] and level)
        ]
        whole = level == len(levels) and len(by) == len(query.group_by)
        names.append(query.name if whole else _file_name(query.name, by))
    return names


def _file_name(query: str, by: Sequence[str]) -> str:
    return f"{query}_by_{'_'.join(by)}" if by else f"{query}_total"


def tree_column(layout: Layout) -> tuple[int, KeyColumn]:
    """The index and the axis of the column whose keys have levels."""
    return next(
        (index, axis)
        for index, axis in enumerate(layout.axes)
        if isinstance(axis, KeyColumn) and axis.levels
    )


def level_names(layout: Layout) -> tuple[str, ...]:
    """The names of the levels, the highest first and the column of the keys last."""
    _, column = tree_column(layout)
    return (*(name for name, _ in reversed(column.levels)), column.column)


def nested_of(layout: Layout) -> Nested:
    """The published tables, by levels and other columns, as a `Nested` that computes estimates."""
    tree_axis, column = tree_column(layout)
    sizes = tuple(axis.cells for i, axis in enumerate(layout.axes) if i != tree_axis)
    return _nested(column, sizes, layout.margins)


@lru_cache(maxsize=16)
def _nested(column: KeyColumn, sizes: tuple[int, ...], tables: tuple[int, ...]) -> Nested:
    tree = tree_of(column)
    above, parents = np.zeros(len(column.values), dtype=np.int64), list[tuple[int, ...]]()
    for places, values in zip(tree.places, tree.values, strict=True):
        level = np.empty(len(values), dtype=np.int64)
        level[places] = above
        parents.append(tuple(level.tolist()))
        above = places
    return Nested(parents=tuple(parents), sizes=sizes, tables=tables)


def table_axes(layout: Layout, table: int) -> tuple[Axis, ...]:
    """The axes of a table, in the order of the query; a level takes the place of the keys."""
    tree_axis, column = tree_column(layout)
    level, mask = nested_of(layout).split(table)
    axes: list[Axis] = []
    others = 0
    for i, axis in enumerate(layout.axes):
        if i == tree_axis:
            if level:
                name, values = level_names(layout)[level - 1], tree_of(column).values[level - 1]
                axes.append(KeyColumn(column=name, values=values))
            continue
        if mask >> others & 1:
            axes.append(axis)
        others += 1
    return tuple(axes)


def table_layout(layout: Layout, table: int) -> Layout:
    """The layout of one published or measured table, given the layout of the cells."""
    axes, nested = table_axes(layout, table), nested_of(layout)
    by = [axis.column for axis in axes]
    name = layout.name if table == nested.every[-1] else _file_name(layout.name, by)
    dropped = tuple(
        f"Rows are left out where {axis.column} is {axis.dropped}."
        for axis in layout.axes
        if axis not in axes and isinstance(axis, Bins) and axis.dropped
    )
    return replace(layout, name=name, axes=axes, missing=layout.missing + dropped, margins=())


def columns_in_words(layout: Layout, table: int) -> list[str]:
    """The names of the columns and levels by which a table is grouped."""
    return [axis.column for axis in table_axes(layout, table)]


def table_sensitivity(layout: Layout, table: int) -> Sensitivity:
    """The sensitivity of a table: it bounds all shifts by a unit in at most one cell."""
    if nested_of(layout).cells(table) == 1:
        return Integer(1)
    return Linf(1, l0=count_moved(layout, table), whole=True)


def count_moved(layout: Layout, table: int) -> int:
    """The largest number of cells of a table that one unit moves by 1.

    It is 2 if units are replaced and the table has several cells, else 1.
    """
    several = nested_of(layout).cells(table) > 1
    return 2 if layout.neighbours == "replace-one" and several else 1


def _choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Choose, among `ways` to bound a unit, a bounding that leaves the unit in one cell.

    Returns the problem as text if no bounding fits, or if there are too many cells. `shape` is the
    layout to be bounded.
    """
    if shape.cells > MOST_CELLS:
        return (
            f"Expected at most {MOST_CELLS:,} cells with levels and margins, got {shape.cells:,}. "
            "Use fewer keys."
        )
    return choose_bounding(ways, shape)


def _level_problems(
    given: Sequence[Sequence[str]], names: Sequence[str], key: str
) -> Iterator[Problem]:
    for index, by in enumerate(given):
        chosen = [name for name in by if name in names]
        if len(chosen) > 1:
            low, *above = sorted(chosen, key=names.index, reverse=True)
            why = f'Each {low} lies in one {above[0]}, so "{low}" is enough. Remove "{above[0]}".'
            yield f"{key}[{index}]", why


def _other_problems(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Problems of a query's statistics and other settings, if it has levels and margins."""
    query = parsed.query
    key = f"{path}.margins"
    asked = parsed.statistics
    if len(asked) != 1 or not (asked[0].adds_up and asked[0].counts):
        why = 'A query with levels has one count and nothing else: statistics = ["count"].'
        yield key, f"{why} Ask for other statistics in another query."
    yield from std_problems(query, path, called="levels")
    if query.round or query.clamp:
        name = "round" if query.round else "clamp"
        why = f"Whole counts that add up aren't supported here yet. Remove {name}."
        yield f"{path}.{name}", why
    else:
        yield from excluded_problems(query, path, key=key, called="Levels")
    yield from name_problems(
        query, file_names(query), key, hint="give a level or a column such a name."
    )
