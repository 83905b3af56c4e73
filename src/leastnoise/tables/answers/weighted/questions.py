"""Queries for named sums of cells: their layouts, what a unit adds to them, and their problems.

Noise is added to merged cells, or to sums of them (see `search`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.answers.weighted.named_sums import SUM, WEIGHT, MergedSums, read_sums
from leastnoise.tables.layout.axes import Bins, KeyColumn, axes_of
from leastnoise.tables.layout.boundings.bounding import ONE_ROW
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.lay_out import lay_out_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.registry import ParsedQuery

_MOST_READ = 100_000  # cells of a query
_MOST_NUMBERS = 20_000_000  # sums times merged cells, in all queries: 160 MB


@final
class SumQueries(QueryKind):
    """Queries that publish named sums of their cells, but not the cells."""

    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"sums"})

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of the sums of a query, and settings that can't be used with sums."""
        spec, query = parsed.spec, parsed.query
        wrong = [*_cell_problems(spec, query, f"{path}.sums"), *_form_problems(parsed, path)]
        yield from wrong
        if not wrong:
            yield from _csv_problems(spec, query, f"{path}.sums")

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the cells, before they are merged."""
        return lay_out_tree(spec, query, asked, choose=choose_bounding)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.weighted.answer import (  # noqa: PLC0415  (0.5 s)
            WeightedSums,
        )

        return [WeightedSums(layouts=layouts, query=query) for query in queries]


def sums_layout(cells: Layout, sums: MergedSums) -> Layout:
    """The layout of the table of sums, given the layout of the cells."""
    dropped = tuple(
        f"Rows are left out where {axis.column} is {axis.dropped}."
        for axis in sums.axis.of
        if isinstance(axis, Bins) and axis.dropped
    )
    return replace(cells, axes=(sums.axis,), missing=cells.missing + dropped)


def merged_layout(cells: Layout, sums: MergedSums) -> Layout:
    """The layout of the merged cells, given the layout of the cells.

    A unit adds at most as much to all merged cells together as to all cells.
    """
    axis = KeyColumn(column=SUM, values=tuple(range(sums.merged_cells)))
    bounding = cells.bounding
    if not _adds_one(cells):
        most = bounding.l1(cells.numbers)
        bounding = InCells(per_cell=most, total=most, by_number=True)
    return replace(cells, axes=(axis,), bounding=bounding)


def list_moves(cells: Layout, sums: MergedSums) -> tuple[Sensitivity, ...]:
    """Alternative sensitivities of the merged cells' counts: each bounds all shifts by one unit.

    If a unit may add more than 1, or to several cells, its rows may count as fractions. It adds
    numbers x >= 0 whose sum is at most a limit R. If it is replaced by a unit that adds y, the
    squared l2 norm of the shift is |x − y|² <= |x|² + |y|² <= 2R².
    """
    if _adds_one(cells):
        return merged_layout(cells, sums).sensitivities
    most: Fraction = cells.bounding.l1(cells.numbers)
    if cells.neighbours == "add-remove" or sums.merged_cells == 1:
        return (L1(most),)
    return (L1(2 * most), L2(root_above(2 * most**2)))


def _adds_one(cells: Layout) -> bool:
    """True only if a unit adds at most 1, and to one cell alone."""
    bounding = cells.bounding
    in_one = isinstance(bounding, OnceInCells) and bounding.most == 1
    return in_one or (cells.by_row and bounding == ONE_ROW)


def sums_of(spec: Spec, query: Query) -> MergedSums:
    """The sums that the CSV of a query defines. Raises ValueError as `read_sums` does."""
    return read_sums(query.sums or "", axes_of(spec, query))


def rows_of(cells: Layout) -> int:
    """The largest total that one unit adds to all cells together, rounded up."""
    return math.ceil(cells.bounding.l1(cells.numbers))


def reach_of_a_cell(cells: Layout, sums: MergedSums) -> Fraction:
    """The most that one unit can add to a merged cell, for the merged cell where this is least.

    To a merged cell of n cells, a unit can add n times its limit for one cell, up to its limit for
    all cells together. Both limits are rounded down to multiples of 2^−bits.
    """
    bounding, scale = cells.bounding, 2**cells.bits
    alone = bounding.most if isinstance(bounding, InCells) else Fraction(1)
    together = int(np.bincount(sums.places[sums.places >= 0]).min())
    most = math.floor(bounding.l1(cells.numbers) * scale)
    return Fraction(min(most, together * math.floor(alone * scale)), scale)


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Choose, among `ways` to bound a unit, the bounding with the smallest l1 norm of its shifts.

    Returns the problem as text if no bounding fits. `shape` is the layout to be bounded.
    """
    bounded = [bounding for bounding in ways if isinstance(bounding, OnceInCells | InCells)]
    if not bounded:
        return (
            "Nothing in [contribution] bounds how many rows of one person are in sums of cells. "
            "Give max_rows, such as max_rows = 1."
        )
    chosen = min(bounded, key=lambda bounding: bounding.l1(shape.numbers))
    if shape.numbers.persons and chosen.l1(shape.numbers) > 1:
        return (
            "A person in several cells would count several times in a sum of them. Give max_groups "
            '= 1, or ask for "count" with sums and for count_units in another query.'
        )
    return chosen


def _cell_problems(spec: Spec, query: Query, key: str) -> Iterator[Problem]:
    groupings = spec.groupings(query)
    if query.conditions:
        yield key, "Not allowed beside conditions: give group_by, or use another query."
    elif not groupings and query.histogram is None:
        yield key, "Expected the cells beside sums: group_by, or a histogram."
    if spec.has_unlisted_keys(query):
        yield key, "Not used with keys that nobody listed. List the keys of group_by."
    if query.keys_of_sums & {"margins", "levels"}:
        yield key, "Not allowed beside margins or levels: name their sums here, too."
    if "cumulative" in query.keys_of_sums:
        yield key, "Not allowed beside cumulative: name the running sums here."
    if reserved := {SUM, WEIGHT} & {*groupings}:
        why = "is a column of the CSV. Give the column of the source another name in [derive]."
        yield key, f"{min(reserved)!r} {why}"


def _form_problems(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    query = parsed.query
    asked = parsed.statistics
    if len(asked) != 1 or not (asked[0].adds_up and asked[0].counts):
        why = 'Sums are of one count: statistics = ["count"]. Use another query for others.'
        yield f"{path}.sums", why
    if query.objective:
        why = "Not available with sums: their noise always minimises the typical error."
        yield f"{path}.objective", why
    for name in ("min_count", "top", "round", "round_to", "clamp"):
        if getattr(query, name):
            yield f"{path}.{name}", "Not used with sums: they wouldn't agree. Leave it out."
    if query.accuracy is not None and query.accuracy.std is not None:
        why = "Each sum has its own std. Give half_width_95, which holds for every sum."
        yield f"{path}.accuracy.std", why


def _csv_problems(spec: Spec, query: Query, key: str) -> Iterator[Problem]:
    if any(keys is None for keys in spec.groupings(query).values()):  # a problem of group_by
        return
    cells = math.prod(axis.cells for axis in axes_of(spec, query))
    if cells > _MOST_READ:
        why = f"Expected at most {_MOST_READ:,} cells with sums, got {cells:,}. Give fewer keys."
        yield key, why
        return
    try:
        sums_of(spec, query)
        queries = _queries_with_sums(spec)
        if query is queries[-1]:
            yield from _size_problems(spec, queries, key)
    except ValueError as error:
        yield key, str(error)


def _queries_with_sums(spec: Spec) -> list[Query]:
    return [query for query in spec.query if query.keys_of_sums >= SumQueries.keys_of_sums]


def _size_problems(spec: Spec, queries: Sequence[Query], key: str) -> Iterator[Problem]:
    """Yield a problem if all queries with sums together have too many weights.

    Raises ValueError for a malformed CSV.
    """
    sums = [sums_of(spec, query) for query in queries]
    weights = sum(each.axis.cells * each.merged_cells for each in sums)
    if weights > _MOST_NUMBERS:
        why = f"all queries together, more than {_MOST_NUMBERS:,}. Give fewer, or use two specs."
        yield key, f"Sums times kinds of cells are {weights:,} in {why}"
