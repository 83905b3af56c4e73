"""Queries that a spec asks beside its own: what is left out of one, and bounds that it finds."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers import kinds
from leastnoise.tables.layout import found_bounds
from leastnoise.tables.parse.columns import SMALLEST_WIDTH, Problem
from leastnoise.tables.spec.column import FindBounds
from leastnoise.tables.spec.query import Bands, PrivateKeys, Query
from leastnoise.tables.spec.values import LEAST, as_table_name
from leastnoise.tables.statistics.quantiles import Quantile
from leastnoise.tables.statistics.registry import known_statistics
from leastnoise.tables.statistics.totals import CountInNoGroup, CountOutside, CountOverLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.column import Column
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import GroupBy


_LEAST = 'Not used with epsilon = "least".'
_LEVELS = (Fraction(1, 100), Fraction(99, 100))
_WRITTEN = "Written by a release: leave it out, so that this one finds bounds of its own."
_CANDIDATES = "candidates = { from = 0, to = 1000000, step = 1000 }"


def asking_problems(spec: Spec) -> Iterator[Problem]:
    """Yield the problems of keys that ask for further queries, such as `clipping` and `rest`."""
    for index, query in enumerate(spec.query):
        path = f"query[{index}]"
        if query.clipping is not None and (why := _why_no_clipping(spec, query)):
            yield f"{path}.clipping", why
        if query.rest is None:
            continue
        if why := _why_no_rest(spec, query) or (spec.privacy.epsilon == LEAST and _LEAST):
            yield f"{path}.rest", why
        if query.rest + (query.clipping or 0) >= 1:
            why = "Expected shares, clipping and rest, of less than 1: nothing would be left."
            yield f"{path}.rest", why
    yield from _finding_problems(spec)


def _why_no_clipping(spec: Spec, query: Query) -> str:
    """Why no query can count what limits and bounds take away from this one; "" if one can."""
    if query.conditions:
        return "Not used beside conditions."
    if why := kinds.why_no_clipping(spec, query):
        return why
    if spec.privacy.epsilon == LEAST:
        return _LEAST
    if known_statistics(query, by_row=spec.privacy.by_row) and not _counted(spec, query):
        return "Nothing to count: no limit of rows or groups, and no bounds of a column."
    return ""


def _why_no_rest(spec: Spec, query: Query) -> str:
    """Return why the rows in no group of this query can't be counted; "" if they can."""
    groups = spec.groupings(query)
    if query.conditions:
        return "Not used beside conditions."
    if not groups and query.histogram is None:
        return "Nothing to count: a query without groups has every row in its only cell."
    if any(isinstance(one, PrivateKeys) for one in groups.values()):
        return "Not used with keys that nobody listed: whatever is a key has a group."
    return ""


def problems(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    """Yield the problems of a query that counts clipped persons, or rows in no group."""
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    if any(one.of_all_groups for one in asked):
        if not all(one.of_all_groups for one in asked):
            why = "Expected count_over_limits and count_outside in a query of their own: they are "
            yield f"{path}.statistics", f"{why}of all groups together."
        if query.margins:
            yield f"{path}.margins", "Not used: the numbers are of all groups together."
    if CountInNoGroup() in asked:
        if len(asked) > 1:
            why = "Expected count_in_no_group in a query of its own: other counts are of rows in a "
            yield f"{path}.statistics", f"{why}group."
        if why := query.rest is None and _why_no_rest(spec, query):
            yield f"{path}.statistics", why


def expand(spec: Spec) -> tuple[Spec, dict[str, str]]:
    """The spec with the queries that its keys ask for, and by each of these queries that key."""
    spec, counts = _with_counts(spec)
    spec, bounds = _with_bounds(spec)
    return spec, counts | bounds


def _with_counts(spec: Spec) -> tuple[Spec, dict[str, str]]:
    """Put queries of their own in the place of `clipping` and `rest`.

    Together a query and those beside it have the budget that the query had. A histogram is bands
    here, with the same rows.
    """
    kept: list[Query] = []
    added: list[Query] = []
    keys: dict[str, str] = {}
    for index, query in enumerate(spec.query):
        left = 1 - (query.clipping or 0) - (query.rest or 0)
        own = {"clipping": None, "rest": None, "importance": query.importance * left}
        kept.append(query if left == 1 else query.model_copy(update=own))
        bins = query.histogram
        groups: GroupBy = query.group_by
        if bins is not None:
            groups = {**spec.groupings(query), bins.column: Bands(edges=bins.edges)}
        elif query.hierarchy is not None:  # whose levels are of no use here
            groups = {**spec.groupings(query)}
        for name, share in (("clipping", query.clipping), ("rest", query.rest)):
            if share is None:
                continue
            keys[f"query[{len(spec.query) + len(added)}]"] = f"query[{index}].{name}"
            counts = _counted(spec, query) if name == "clipping" else (CountInNoGroup.kind,)
            added.append(
                Query.model_construct(
                    name=f"{query.name}_{name}",
                    importance=query.importance * share,
                    filter=query.filter,
                    statistics=counts,
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


def _finding_problems(spec: Spec) -> Iterator[Problem]:
    """Yield what is wrong with bounds that are to be found."""
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
            why = "Missing: the part of the whole budget that finds them. Write "
            yield f"{path}.share", f'{why}share = "0.02"'
        else:
            yield from _query(spec, name, finds, path)
        yield from _ends(name, column, finds, path)
        if shares >= 1:
            yield f"{path}.share", "Expected shares of less than 1 in all: nothing would be left."


def _query(spec: Spec, name: str, finds: FindBounds, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the query of the spec that finds a column's bounds."""
    wanted = 2 if finds.low is None and finds.high is None else 1
    what = f"{wanted} quantiles" if wanted > 1 else "one quantile"
    if finds.levels is not None:
        yield f"{path}.levels", f"Not used without share: the query {finds.query!r} has the levels."
    for query in (one for one in spec.query if one.name == finds.query):
        asked = known_statistics(query, by_row=spec.privacy.by_row)
        known = all(isinstance(one, Quantile) and one.column == name for one in asked)
        if not known or len(asked) != wanted or query.group_by:
            why = f"Expected a query of {what} of {name}, without groups and anything else, or "
            yield f"{path}.query", f"{why}share in place of a query of yours."
        return
    why = f"No query is called {finds.query!r}. Leave it out, and say the part of the budget: "
    yield f"{path}.query", f'{why}share = "0.02"'


def _ends(name: str, column: Column, finds: FindBounds, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the candidates, beside what is known or was found."""
    values = column.ends
    if not values:
        yield f"{path}.candidates", f"Missing: what a bound may be, in public. Write {_CANDIDATES}"
        return
    if finds.candidates is not None and column.candidates is not None:
        yield f"{path}.candidates", f"Given twice: leave them out here, or in columns.{name}."
    if finds.low is not None and not float(finds.low) < float(values[0]):
        yield f"{path}.low", "Expected a number below the first of the candidates."
    if finds.high is not None and not float(values[-1]) < float(finds.high):
        yield f"{path}.high", "Expected a number above the last of the candidates."
    every = [one for one in (finds.low, *values, finds.high) if one is not None]
    if any(0 < high - low < SMALLEST_WIDTH for low, high in pairwise(every)):
        why = f"Expected candidates apart by 1e-290 at least. Give {name} in a smaller unit."
        yield f"{path}.candidates", why
    if finds.found is not None:
        low, high = finds.found
        known = (finds.low is None or low == finds.low, finds.high is None or high == finds.high)
        among = all(end in {*values, finds.low, finds.high} for end in finds.found)
        if not (all(known) and among and low < high):
            yield f"{path}.found", "Expected two of the candidates, or what is known, in order."


def _with_bounds(spec: Spec) -> tuple[Spec, dict[str, str]]:
    """Put queries that find bounds in the place of `share`.

    Each has exactly its share of the whole budget, and the others have what they had of the rest.
    """
    asking = {
        name: finds
        for name, column in spec.columns.items()
        if (finds := column.finds) is not None and finds.share is not None
    }
    left = 1 - sum((finds.share or 0 for finds in asking.values()), Fraction(0))
    total = sum((query.importance for query in spec.query), Fraction(0))
    queries = [
        query.model_copy(update={"importance": query.importance * left}) for query in spec.query
    ]
    columns, keys = dict(spec.columns), dict[str, str]()
    for name, finds in asking.items():
        called = finds.query or as_table_name(f"{name}_bounds")
        low, high = finds.levels or _LEVELS
        levels = [low] * (finds.low is None) + [high] * (finds.high is None)
        keys[f"query[{len(queries)}]"] = f"columns.{name}.bounds"
        queries.append(
            Query.model_construct(
                name=called,
                importance=(finds.share or 0) * total,
                statistics=tuple(f"quantile({name}, {decimal_text(one)})" for one in levels),
            )
        )
        bounds = FindBounds(find=True, low=finds.low, high=finds.high, query=called)
        columns[name] = columns[name].model_copy(update={"bounds": bounds})
    return spec.model_copy(update={"columns": columns, "query": tuple(queries)}), keys


def check_open(spec: Spec) -> Iterator[Problem]:
    """Yield a problem for each column whose bounds were found by another release."""
    for name in found_bounds.columns_by_query(spec).values():
        if not spec.columns[name].is_open:
            yield f"columns.{name}.bounds.found", _WRITTEN


def check_used(spec: Spec) -> Iterator[Problem]:
    """Yield a problem for each column whose bounds would be found for nothing."""
    asked = [one for q in spec.query for one in known_statistics(q, by_row=spec.privacy.by_row)]
    used = {part.column for one in asked for part in one.parts if part.of_values}
    for name in found_bounds.columns_by_query(spec).values():
        if name not in used:
            why = f"Nothing rests on them: no sum, mean, spread or ratio is of {name}."
            yield f"columns.{name}.bounds", f"{why} Ask for one, or leave the bounds out."
