"""The layout of queries of the largest groups, selected before their counts get noise.

A group's score is the number of persons in it. One person changes each score by at most 1, so that
the selection needs no limit on groups per person. The noise of the published counts covers a person
who is in all selected groups, or in as many as the spec's limits allow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.layout.boundings.from_limits import list_cell_boundings
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.lay_out import shape_of
from leastnoise.tables.layout.layout import MAX_DIMENSION, LayoutError
from leastnoise.tables.layout.unit_groups import limits_of
from leastnoise.tables.spec.query import PrivateKeys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.registry import ParsedQuery

MOST_SELECTED = 1000
"""The largest number of rounds of a `SelectionCertificate`, whose import would take .5 s."""
_EXCLUDED = ("histogram", "conditions")
_TIMES_AS_MANY = 8  # up to this top/limit, a unit in all selected groups may need less noise


@final
class SelectionQueries(QueryKind):
    """Queries with `by = "selection"`, which select the largest groups by chance."""

    why_no_sums: ClassVar[str] = (
        'Tables that add up are not used with by = "selection": use another query.'
    )

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of a query that selects its groups; `path` is the query's key in the spec."""
        spec, query = parsed.spec, parsed.query
        key = f"{path}.by"
        if query.top is None:
            yield key, "Not used without top, the number of groups to select, such as top = 10."
        elif query.top > MOST_SELECTED:
            yield f"{path}.top", f'Expected at most {MOST_SELECTED:,} groups with by = "selection".'
        if spec.privacy.by_row:
            why = 'Not used with unit = "row": a row is in one group, so that the published counts '
            yield key, f"{why}of all groups choose the largest at no cost. Leave it out."
        if query.statistics != ("count_units",):
            why = 'Expected ["count_units"]: groups are selected by their number of persons.'
            yield f"{path}.statistics", f"{why} Ask for other statistics in another query."
        for column, grouping in spec.groupings(query).items():
            if isinstance(grouping, PrivateKeys):
                why = 'Not proved with by = "selection": the candidates must be public. List the '
                yield f"{path}.group_by.{column}", f"{why}keys, or leave by out."
        for name in _EXCLUDED:
            if getattr(query, name):
                yield f"{path}.{name}", 'Not used with by = "selection": use another query.'

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layouts of the counts of the selected groups.

        They differ in the number of groups in which a person counts. Their rows are the selected
        groups; `candidates_of` gives all groups. Raises LayoutError unless `top` is below the
        number of groups, or for too many groups.
        """
        if query.top is None:
            raise ValueError("the checks of the spec come first")
        needs = [components for _, components in asked.values()]
        statistics = tuple(statistic for statistic, _ in asked.values())
        shape = shape_of(spec, query, statistics, [*asked], needs, needs[0], part="")
        shape = replace(shape, selected=query.top, bits=0)
        groups = candidates_of(shape)
        if query.top >= groups.cells:
            raise LayoutError(
                f"Expected top < {groups.cells:,}, the number of groups, got {query.top:,}. To "
                'publish all groups, leave out by = "selection".'
            )
        if groups.dimension > MAX_DIMENSION:
            raise LayoutError(f"Expected at most {MAX_DIMENSION:,} groups, got {groups.cells:,}.")
        known = list_cell_boundings(limits_of(spec, query, groups.axes), groups.numbers)
        few = [bounding.most for bounding in known if isinstance(bounding, OnceInCells)]
        most = min([groups.cells, *few])
        limits = [most]
        if 1 < most < query.top <= _TIMES_AS_MANY * most:
            limits.append(groups.cells)
        return (tuple(replace(shape, bounding=OnceInCells(most=limit)) for limit in limits),)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.selection.answer import Selection  # noqa: PLC0415  (0.5 s)

        return [Selection(layouts=layouts, query=query) for query in queries]


def candidates_of(selected: Layout) -> Layout:
    """The layout of the counts of all groups, from which the selection is made."""
    return replace(selected, selected=None, top=None, min_count=None, decides=None)
