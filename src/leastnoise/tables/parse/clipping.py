"""What limits and bounds take away from a query: counted by another one, which is put beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.spec.query import Bands, Query
from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.registry import known_statistics
from leastnoise.tables.statistics.totals import CountOutside, CountOverLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec

_SUFFIX = "_clipping"


def problems(spec: Spec, query: Query, path: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the share of a query that counts what limits take away."""
    every = known_statistics(query, by_row=spec.privacy.by_row)
    if any(one.of_all_groups for one in every):
        if not all(one.of_all_groups for one in every):
            why = "Expected count_over_limits and count_outside in a query of their own: they are "
            yield f"{path}.statistics", f"{why}of all groups together."
        if query.margins:
            yield f"{path}.margins", "Not used: the numbers are of all groups together."
    if query.clipping is None:
        return
    if query.conditions:
        yield f"{path}.clipping", "Not used beside conditions."
    elif spec.privacy.epsilon == LEAST:
        yield f"{path}.clipping", 'Not used with epsilon = "least".'
    elif every and not _counted(spec, query):
        why = "Nothing to count: no limit of rows or groups, and no bounds of a column."
        yield f"{path}.clipping", why


def with_counts(spec: Spec) -> tuple[Spec, dict[str, str]]:
    """Return a spec without `clipping`, in which queries beside them count it.

    With the key of each added query, the key that asks for it. Together a query and the one beside
    it have the budget that the query had. A histogram is bands here, with the same rows.
    """
    kept: list[Query] = []
    added: list[Query] = []
    keys: dict[str, str] = {}
    for index, query in enumerate(spec.query):
        if (share := query.clipping) is None:
            kept.append(query)
            continue
        own = query.importance * (1 - share)
        kept.append(query.model_copy(update={"clipping": None, "importance": own}))
        bins, groups = query.histogram, query.group_by
        if bins is not None:
            groups = {**spec.groupings(query), bins.column: Bands(edges=bins.edges)}
        keys[f"query[{len(spec.query) + len(added)}]"] = f"query[{index}].clipping"
        added.append(
            Query(
                name=query.name + _SUFFIX,
                importance=query.importance * share,
                filter=query.filter,
                statistics=_counted(spec, query),
                group_by=groups,
                round=query.round,
                round_to=query.round_to,
                clamp=query.clamp,
            )
        )
    return spec.model_copy(update={"query": (*kept, *added)}), keys


def _counted(spec: Spec, query: Query) -> tuple[str, ...]:
    """Return the statistics that say what limits and bounds take away from a query."""
    parts = [
        part
        for one in known_statistics(query, by_row=spec.privacy.by_row)
        for part in one.parts
        if part.of_values
    ]
    bounded = dict.fromkeys(part.column for part in parts if not part.of_all_groups)
    limited = spec.contribution is not None and bool(spec.contribution.counted)
    over = (CountOverLimits.kind,) if limited else ()
    return (*over, *(f"{CountOutside.kind}({column})" for column in bounded))
