"""The layout of queries of listed groups.

A query that counts both persons and rows has two parts: see `Layout`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.layout import components
from leastnoise.tables.layout.boundings import from_limits
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.lay_out import keep_feasible, list_boundings, shape_of
from leastnoise.tables.layout.layout import MAX_DIMENSION, PERSON_COUNTS, LayoutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.answers.base import Answer
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import Component


@final
class PlainQueries(QueryKind):
    """Queries of listed groups that no other kind of answer serves."""

    why_no_rho: ClassVar[str] = ""

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The alternative layouts of the query's part; two parts if persons and rows are counted.

        Empty for a query without numbers that get noise. Raises LayoutError as `_of_part` does.
        """
        if not asked:
            return ()
        persons = [index for index, (_, needs) in asked.items() if needs in PERSON_COUNTS]
        rows = [index for index in asked if index not in persons]
        if not persons or not rows:
            return (_of_part(spec, query, asked, [*asked], part=""),)
        parts = sorted((("rows", rows), ("persons", persons)), key=lambda part: part[1])
        return tuple(_of_part(spec, query, asked, places, part=part) for part, places in parts)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """A single answer to all of these queries, in a list; an empty list without queries."""
        from leastnoise.tables.answers.plain.answer import Plain  # noqa: PLC0415  (0.5 s)

        return [Plain(layouts=layouts, queries=tuple(queries))] if queries else []


def _of_part(
    spec: Spec,
    query: Query,
    asked: Needs,
    places: Sequence[int],
    *,
    part: str,
) -> tuple[Layout, ...]:
    """The alternative layouts of one part, for the statistics at these `places` in the query.

    `asked` has, for each statistic of the query, the integers it needs. The layouts differ in how
    they bound a unit. Raises LayoutError if no bounding fits, or for too many coordinates.
    """
    statistics = tuple(asked[index][0] for index in places)

    def shaped(needs: Sequence[tuple[Component, ...]]) -> Layout:
        # Distinct components in the order of first use, since statistics share the count. Counts of
        # rows without a value come last, as in the body of a cell.
        every = dict.fromkeys(component for need in needs for component in need)
        components = tuple(sorted(every, key=lambda number: number.kind == "without"))
        return shape_of(spec, query, statistics, places, needs, components, part=part)

    needs_of_part = [asked[index] for index in places]
    ways = list_boundings(spec, query, shaped([needs for _, needs in needs_of_part]))
    in_norm = any(not isinstance(bounding, OnceInCells | InCells) for bounding in ways)
    in_norm = in_norm or any(
        isinstance(bounding, InCells) and bounding.by_number for bounding in ways
    )
    needs = components.center_sums(spec, query, needs_of_part, in_norm=in_norm)
    shape = shaped(needs)
    ways = list_boundings(spec, query, shape)
    if parted := components.split_row_count(spec, query, needs, ways, shape.numbers):
        shape = shaped(parted)
    if shape.dimension > MAX_DIMENSION:
        raise LayoutError(
            f"Expected a query of at most {MAX_DIMENSION:,} numbers, got {shape.dimension:,}. "
            "Split the query, or use fewer keys."
        )
    return keep_feasible(shape, from_limits.add_full_boundings(ways, shape.numbers))
