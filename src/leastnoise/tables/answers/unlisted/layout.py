"""The layouts of queries by unlisted keys, each about the row of numbers of one group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.layout.axes import axes_of
from leastnoise.tables.layout.boundings.from_limits import bound_groups
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.lay_out import find_bits, shape_of
from leastnoise.tables.layout.layout import LayoutError
from leastnoise.tables.layout.unit_groups import limits_of
from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.base import A_PERSON, Component

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.registry import ParsedQuery

_NO_NUMBER = (
    "Not used where keys are published alone, without a number. Leave it out, or give the query "
    'statistics = ["count"].'
)
_NO_NOISE = (
    "Not used where keys are published without a number that has noise. Leave it out, or add "
    '"count" to the statistics.'
)
_THRESHOLD = "groups that nobody listed stay hidden only up to a probability, which no rho allows"
_OF_NUMBERS = (
    "accuracy", "assume", "quantiles_by", "margins", "round", "round_to", "clamp", "min_count",
    "top", "prefer",
)  # fmt: skip


@final
class UnlistedQueries(QueryKind):
    """Queries for unlisted groups: a group is published if its noisy count is large enough."""

    why_no_rho: ClassVar[str] = _THRESHOLD

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the row of one group; empty if the query asks for quantiles only.

        `lay_out_ranks` lays out quantiles. Raises LayoutError if no limit bounds a person.
        """
        return _row_of_group(spec, query, asked) if asked else ()

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.unlisted.groups import (  # noqa: PLC0415  (0.5 s)
            UnlistedGroups,
        )

        return [UnlistedGroups(layouts=layouts, query=query) for query in queries]


@final
class KeyQueries(QueryKind):
    """Queries that publish keys, without a number or with quantiles that chance chooses."""

    why_no_clipping: ClassVar[str] = _NO_NOISE
    why_no_rho: ClassVar[str] = _THRESHOLD

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of a query that publishes keys alone, such as settings for numbers."""
        spec, query = parsed.spec, parsed.query
        if "statistics" not in query.model_fields_set:
            why = 'Expected statistics, such as statistics = ["count"]; or [], for the keys alone.'
            yield path, why
        if spec.privacy.epsilon == LEAST:
            why = 'Expected one: with epsilon = "least" an error decides, and keys have no error.'
            yield f"{path}.statistics", why
        for name in _OF_NUMBERS:
            if getattr(query, name):
                yield f"{path}.{name}", _NO_NUMBER

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of a group's row: a single number, which decides if the key is published.

        The number itself isn't published. Raises LayoutError if no limit bounds a person.
        """
        return _row_of_group(spec, query, asked)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.unlisted.keys import KeysAlone  # noqa: PLC0415  (0.5 s)

        return [KeysAlone(layouts=layouts, query=query) for query in queries]


def _row_of_group(spec: Spec, query: Query, asked: Needs) -> Parts:
    """The layout of the row of an unlisted group.

    The number that decides on publication counts each unit once. If it counted rows, hiding a unit
    with many rows would take as much noise as hiding many units. If the spec doesn't ask for this
    number, it is summed all the same. Raises LayoutError if no limit bounds a person.
    """
    by_row, rows = spec.privacy.by_row, Component(kind="count")
    bounding: InUnlistedGroups | str = InUnlistedGroups(groups=1, per_group=1)
    if not by_row:
        limits = limits_of(spec, query, axes_of(spec, query))
        counts_rows = any(needs != (A_PERSON,) for _, needs in asked.values())
        bounding = bound_groups(limits, counts_rows=counts_rows)
    if isinstance(bounding, str):
        raise LayoutError(bounding)
    # if only one row of a person counts in a group, counts of persons and of rows are the same
    once = rows if bounding.per_group == 1 else A_PERSON
    needs = [
        tuple(once if counted == A_PERSON else counted for counted in numbers)
        for _, numbers in asked.values()
    ]
    components = list(dict.fromkeys(component for need in needs for component in need))
    counts = [counted for counted in components if counted == once]
    if bounding.per_group == 1:
        counts += [counted for counted in components if counted.kind == "count"]
    if not counts:
        components.append(once)
        counts = [once]
    statistics = tuple(counted for counted, _ in asked.values())
    shape = shape_of(spec, query, statistics, [*asked], needs, tuple(components), part="")
    shape = replace(shape, bounding=bounding, counted=components.index(counts[0]))
    return ((replace(shape, bits=find_bits(shape, bounding)),),)
