"""Queries that a spec's keys add: they count rows and values left out, or find bounds."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers import kinds
from leastnoise.tables.layout import found_bounds, found_limits
from leastnoise.tables.parse.columns import SMALLEST_WIDTH, Problem
from leastnoise.tables.spec.column import FindBounds
from leastnoise.tables.spec.query import Bands, Query
from leastnoise.tables.spec.values import LEAST, as_table_name
from leastnoise.tables.statistics.quantiles import Quantile
from leastnoise.tables.statistics.registry import parse_queries
from leastnoise.tables.statistics.totals import CountInNoGroup, CountOutside, CountOverLimits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.spec.column import Column
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import GroupBy
    from leastnoise.tables.statistics.registry import ParsedQuery


_LEAST = 'Not used with epsilon = "least".'
_LEVELS = (Fraction(1, 100), Fraction(99, 100))
_WRITTEN = "Written by an earlier release: leave it out, so that this release finds its own bounds."
_CANDIDATES = "candidates = { from = 0, to = 1000000, step = 1000 }"


def asking_problems(spec: Spec, queries: Sequence[ParsedQuery]) -> Iterator[Problem]:
    """Yield the problems of keys that add queries, such as `clipping` and `rest`."""
    for index, parsed in enumerate(queries):
        query, path = parsed.query, f"query[{index}]"
        if query.clipping is not None and (why := _why_no_clipping(parsed)):
            yield f"{path}.clipping", why
        if query.rest is None:
            continue
        if why := _why_no_rest(spec, query) or (spec.privacy.epsilon == LEAST and _LEAST):
            yield f"{path}.rest", why
        if query.rest + (query.clipping or 0) >= 1:
            why = "Expected clipping + rest below 1: else nothing is left for the query itself."
            yield f"{path}.rest", why
    yield from _check_bounds(spec, queries)


def _why_no_clipping(parsed: ParsedQuery) -> str:
    """The reason why this query can't have the key `clipping`; else ""."""
    if parsed.query.conditions:
        return "Not allowed beside conditions."
    if why := kinds.why_no_clipping(parsed):
        return why
    if parsed.spec.privacy.epsilon == LEAST:
        return _LEAST
    if parsed.statistics and not _count_losses(parsed):
        return "Nothing to count: there are no limits of rows or groups, and no bounds of columns."
    return ""


def _why_no_rest(spec: Spec, query: Query) -> str:
    """The reason why the rows in no group of this query can't be counted; else ""."""
    groups = spec.groupings(query)
    if query.conditions:
        return "Not allowed beside conditions."
    if not groups and query.histogram is None:
        return "Nothing to count: a query without groups counts every row in its only cell."
    if spec.has_unlisted_keys(query):
        return "Not used with unlisted keys: every row with a key has a group."
    return ""


def problems(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Yield the problems of a query that counts what limits, bounds or groups leave out."""
    query, statistics = parsed.query, parsed.statistics
    if any(statistic.of_all_groups for statistic in statistics):
        if not all(statistic.of_all_groups for statistic in statistics):
            why = "Expected count_over_limits and count_outside in a separate query: they count "
            yield f"{path}.statistics", f"{why}over all groups together."
        if query.margins:
            yield f"{path}.margins", "Not used: these statistics count over all groups together."
    if CountInNoGroup() in statistics:
        if len(statistics) > 1:
            why = "Expected count_in_no_group in a separate query: other statistics use the rows "
            yield f"{path}.statistics", f"{why}in a group."
        if why := query.rest is None and _why_no_rest(parsed.spec, query):
            yield f"{path}.statistics", why


def expand(spec: Spec, queries: Sequence[ParsedQuery]) -> tuple[Spec, dict[str, str]]:
    """Add the queries for which a spec's keys ask; return the spec, and the key of each new query.

    The second result maps the path of an added query, such as query[3], to the key that asks for
    it.
    """
    spec, counts = _with_counts(spec, queries)
    spec, bounds = _with_bounds(spec)
    return spec, counts | bounds


def _with_counts(spec: Spec, queries: Sequence[ParsedQuery]) -> tuple[Spec, dict[str, str]]:
    """Replace `clipping` and `rest` by separate queries; the result is as in `expand`.

    A query and the queries added for it share the budget that the query had. The added queries
    group by bands instead of a histogram, with the same rows.
    """
    kept: list[Query] = []
    added: list[Query] = []
    keys: dict[str, str] = {}
    for index, parsed in enumerate(queries):
        query = parsed.query
        left = 1 - (query.clipping or 0) - (query.rest or 0)
        changes = {"clipping": None, "rest": None, "importance": query.importance * left}
        kept.append(query if left == 1 else query.model_copy(update=changes))
        bins = query.histogram
        groups: GroupBy = query.group_by
        if bins is not None:
            groups = {**spec.groupings(query), bins.column: Bands(edges=bins.edges)}
        elif query.hierarchy is not None:  # levels don't matter here
            groups = {**spec.groupings(query)}
        for name, share in (("clipping", query.clipping), ("rest", query.rest)):
            if share is None:
                continue
            keys[f"query[{len(spec.query) + len(added)}]"] = f"query[{index}].{name}"
            counts = _count_losses(parsed) if name == "clipping" else (CountInNoGroup.kind,)
            added.append(
                Query.model_construct(
                    name=f"{query.name}_{name}",
                    importance=query.importance * share,
                    filter=query.filter,
                    contribution=query.contribution,
                    statistics=counts,
                    group_by=groups,
                    round=query.round,
                    round_to=query.round_to,
                    clamp=query.clamp,
                )
            )
    return spec.model_copy(update={"query": (*kept, *added)}), keys


def _count_losses(parsed: ParsedQuery) -> tuple[str, ...]:
    """The statistics that count persons over a query's limits, and values outside bounds."""
    parts = [part for statistic in parsed.statistics for part in statistic.parts if part.of_values]
    bounded = dict.fromkeys(part.column for part in parts if not part.of_all_groups)
    over = (CountOverLimits.kind,) if parsed.spec.limits(parsed.query).counted else ()
    return (*over, *(f"{CountOutside.kind}({column})" for column in bounded))


def _check_bounds(spec: Spec, queries: Sequence[ParsedQuery]) -> Iterator[Problem]:
    """Yield the problems of bounds that a release finds."""
    shares = Fraction(0)
    for name, column in spec.columns.items():
        if (finds := column.finds) is None:
            continue
        path = f"columns.{name}.bounds"
        shares += finds.share or 0
        if spec.privacy.epsilon == LEAST:
            yield path, 'Not used with epsilon = "least": give privacy.epsilon, or bounds = [0, 1].'
        if finds.low is not None and finds.high is not None:
            yield path, "Nothing is left to find: write bounds = [low, high]."
        elif finds.share is not None:
            low, high = finds.levels or _LEVELS
            if not 0 < low < high < 1:
                why = 'Expected two levels, 0 < low < high < 1, such as ["0.01", "0.99"].'
                yield f"{path}.levels", why
            if finds.found is not None:
                yield f"{path}.found", _WRITTEN
        elif finds.query is None:
            why = "Missing: the share of the whole budget that finds the bounds. Write "
            yield f"{path}.share", f'{why}share = "0.02"'
        else:
            yield from _check_query(queries, name, finds, path)
        yield from _check_candidates(name, column, finds, path)
        if shares >= 1:
            why = "Expected shares that add up to less than 1: nothing would be left for queries."
            yield f"{path}.share", why


def _check_query(
    queries: Sequence[ParsedQuery], name: str, finds: FindBounds, path: str
) -> Iterator[Problem]:
    """Yield the problems of the query in the spec that finds a column's bounds."""
    wanted = 2 if finds.low is None and finds.high is None else 1
    what = f"{wanted} quantiles" if wanted > 1 else "one quantile"
    if finds.levels is not None:
        yield f"{path}.levels", f"Not used without share: the query {finds.query!r} has the levels."
    for parsed in (each for each in queries if each.query.name == finds.query):
        statistics = parsed.statistics
        known = all(isinstance(item, Quantile) and item.column == name for item in statistics)
        if not known or len(statistics) != wanted or parsed.query.group_by:
            why = f"Expected a query of {what} of {name}, without groups and other statistics. Or "
            yield f"{path}.query", f"{why}write share instead of query."
        return
    why = f"No query is called {finds.query!r}. Leave it out, and give a share of the budget: "
    yield f"{path}.query", f'{why}share = "0.02"'


def _check_candidates(name: str, column: Column, finds: FindBounds, path: str) -> Iterator[Problem]:
    """Yield the problems of the candidates for bounds, of known bounds, and of found bounds."""
    values = column.ends
    if not values:
        yield (
            f"{path}.candidates",
            f"Missing: the public candidates for a bound. Write {_CANDIDATES}",
        )
        return
    if finds.candidates is not None and column.candidates is not None:
        yield f"{path}.candidates", f"Given twice: leave them out here, or in columns.{name}."
    if finds.low is not None and not float(finds.low) < float(values[0]):
        yield f"{path}.low", "Expected a number below the first candidate."
    if finds.high is not None and not float(values[-1]) < float(finds.high):
        yield f"{path}.high", "Expected a number above the last candidate."
    every = [value for value in (finds.low, *values, finds.high) if value is not None]
    if any(0 < high - low < SMALLEST_WIDTH for low, high in pairwise(every)):
        why = f"Expected candidates that differ by 1e-290 at least. Give {name} in a smaller unit."
        yield f"{path}.candidates", why
    if finds.found is not None:
        low, high = finds.found
        known = (finds.low is None or low == finds.low, finds.high is None or high == finds.high)
        among = all(end in {*values, finds.low, finds.high} for end in finds.found)
        if not (all(known) and among and low < high):
            yield f"{path}.found", "Expected two of the candidates or given bounds, in order."


def _with_bounds(spec: Spec) -> tuple[Spec, dict[str, str]]:
    """Add queries that find bounds, in place of `share` in bounds; the result is as in `expand`.

    Each added query has exactly its share of the whole budget; the other queries divide the rest in
    the same proportions as before.
    """
    with_shares = {
        name: finds
        for name, column in spec.columns.items()
        if (finds := column.finds) is not None and finds.share is not None
    }
    left = 1 - sum((finds.share or 0 for finds in with_shares.values()), Fraction(0))
    total = sum((query.importance for query in spec.query), Fraction(0))
    queries = [
        query.model_copy(update={"importance": query.importance * left}) for query in spec.query
    ]
    columns, keys = dict(spec.columns), dict[str, str]()
    for name, finds in with_shares.items():
        title = finds.query or as_table_name(f"{name}_bounds")
        low, high = finds.levels or _LEVELS
        levels = [low] * (finds.low is None) + [high] * (finds.high is None)
        keys[f"query[{len(queries)}]"] = f"columns.{name}.bounds"
        queries.append(
            Query.model_construct(
                name=title,
                importance=(finds.share or 0) * total,
                statistics=tuple(f"quantile({name}, {decimal_text(level)})" for level in levels),
            )
        )
        bounds = FindBounds(find=True, low=finds.low, high=finds.high, query=title)
        columns[name] = columns[name].model_copy(update={"bounds": bounds})
    return spec.model_copy(update={"columns": columns, "query": tuple(queries)}), keys


def check_open(spec: Spec) -> Iterator[Problem]:
    """Yield a problem for each limit, and for each column's bounds, that the spec gives as `found`.

    Only a release writes this key, for its own record.
    """
    for key, finder in found_limits.list_finders(spec):
        if finder.finds.found is not None:
            yield f"{key}.found", _WRITTEN.replace("bounds", "limit")
    for name in found_bounds.columns_by_query(spec).values():
        if not spec.columns[name].is_open:
            yield f"columns.{name}.bounds.found", _WRITTEN


def check_used(spec: Spec) -> Iterator[Problem]:
    """Yield a problem for each column whose found bounds no statistic would use."""
    statistics = [statistic for parsed in parse_queries(spec) for statistic in parsed.statistics]
    used = {part.column for statistic in statistics for part in statistic.parts if part.of_values}
    for name in found_bounds.columns_by_query(spec).values():
        if name not in used:
            why = f"Not used: no sum, mean, spread or ratio is of {name}."
            yield f"columns.{name}.bounds", f"{why} Ask for one, or leave the bounds out."
