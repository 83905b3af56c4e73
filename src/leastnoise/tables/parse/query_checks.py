"""Checks of a query that need two or more of its values; each problem comes with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import _validate
from leastnoise.tables.answers import kinds
from leastnoise.tables.layout.lay_out import reads_tree, tree_count
from leastnoise.tables.parse import added_queries
from leastnoise.tables.parse.columns import (
    Problem,
    check_bounded,
    check_declared,
    has_bounds,
    list_uses,
)
from leastnoise.tables.spec.query import FLIP, TREE, PrivateKeys
from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.base import Statistic
from leastnoise.tables.statistics.quantiles import Quantile
from leastnoise.tables.statistics.registry import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Accuracy, Assumed
    from leastnoise.tables.statistics.base import AnyStatistic
    from leastnoise.tables.statistics.registry import ParsedQuery

    Parts = tuple[tuple[Layout, ...], ...]


_BY_CHANCE = f'give quantiles_by = "{FLIP}"'
MOST_CONDITIONS = 64
MOST_KEY_COLUMNS = 32  # with that many columns the engine takes seconds even for an empty table


def _statistics(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    spec, query = parsed.spec, parsed.query
    others = {"a histogram": query.histogram, "conditions": query.conditions}
    other = next((name for name, value in others.items() if value), "")
    if other:
        if query.statistics:
            yield f"{path}.statistics", f"Not allowed beside {other}: use another query."
        return
    if not query.statistics and spec.has_unlisted_keys(query):
        yield from kinds.KEYS.problems(parsed, path)
    elif not query.statistics:
        yield (
            path,
            'Expected statistics, a histogram or conditions, such as statistics = ["count"].',
        )
    seen: set[AnyStatistic] = set()
    undeclared = any(_undeclared(parsed, path))
    for index, asked in parsed.entries:
        key = f"{path}.statistics[{index}]"
        if isinstance(asked, ValueError):
            yield key, str(asked)
        elif asked in seen:
            yield key, f"{query.statistics[index]!r} is asked for twice."
        else:
            seen.add(asked)
            if not undeclared:
                yield from ((key, why) for why in _unfit(parsed, asked))


def _unfit(parsed: ParsedQuery, asked: AnyStatistic) -> Iterator[str]:
    """Yield the reasons why a query can't have this statistic, whose columns are declared."""
    spec, query = parsed.spec, parsed.query
    if all(has_bounds(spec, part.column) for part in asked.parts if part.of_values):
        yield from asked.problems(spec, query)
    if spec.has_unlisted_keys(query) and isinstance(asked, Quantile) and reads_tree(spec, query):
        yield from _unlisted_quantile(parsed, asked)


def _undeclared(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Yield a problem for each column of a query that has no declared type.

    `_uses` reports them. A mistyped name would make other checks of a statistic fail, too, and
    their messages would mislead.
    """
    for use in list_uses(parsed, path):
        yield from check_declared(parsed.spec, use.column, use.key)


def _unlisted_quantile(parsed: ParsedQuery, asked: Quantile) -> Iterator[str]:
    """Yield the reasons why a query by unlisted keys can't read this quantile off a tree."""
    others = [item for item in parsed.statistics if not isinstance(item, Quantile)]
    first = parsed.quantiles[0].column
    if others:
        yield (
            f"The tree of {asked.label} counts rows, and decides which unlisted groups are "
            f"published: ask for {others[0].label} in another query, or {_BY_CHANCE}."
        )
    elif asked.column != first:
        yield (
            f"The tree of {first} decides which unlisted groups are published: ask for "
            f"{asked.label} in another query, or {_BY_CHANCE}."
        )


def _uses(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    spec = parsed.spec
    for use in dict.fromkeys(list_uses(parsed, path)):
        wrong = [*check_declared(spec, use.column, use.key)]
        wrong += use.problems(spec.data.types.get(use.column))
        yield from wrong or (check_bounded(spec, use.column, use.key) if use.bounded else ())


def _limits(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Yield a problem if the limits of a query are empty, or can't have an effect in this query."""
    query, key = parsed.query, f"{path}.contribution"
    if query.contribution is None:
        return
    if parsed.spec.privacy.by_row:
        yield key, 'Not used with unit = "row": a row needs only the bounds of its columns.'
    elif query.conditions:
        yield key, "Not allowed beside conditions. Give max_conditions = 1, for example."
    elif not query.contribution.limits.given:
        yield key, "Expected a limit, such as contribution = { max_groups = 1 }."


def _rho(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Yield a problem if the budget is in ρ, and not all of the query's noise can be Gaussian."""
    why = "" if parsed.spec.privacy.rho is None else kinds.why_no_rho(parsed)
    if why:
        yield path, f"Not possible with privacy.rho: {why}. Give privacy.epsilon instead of rho."


def _published(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    query, statistics = parsed.query, parsed.statistics
    if query.round and query.round_to is not None:
        why = "Not allowed beside round: multiples of round_to are whole numbers anyway."
        yield f"{path}.round_to", f"{why} Leave one of the two out."
    if query.histogram is not None or query.conditions:
        return
    if len(statistics) < len(query.statistics):
        return
    if statistics and not any(statistic.counts for statistic in statistics):
        yield from _without_count(parsed, path)
    if not query.clamp:
        return
    if statistics and not any(statistic.clamps for statistic in statistics):
        why = "Not used without a count or a sum: other statistics have bounds anyway."
        yield f"{path}.clamp", why
    for part in (part for item in statistics if item.clamps for part in item.parts):
        known = parsed.spec.columns.get(part.column)
        low = known.widest[0] if part.of_values and known and known.widest else 0
        if low < 0:
            why = (
                f"{part.kind}({part.column}) can be negative, because columns.{part.column}.bounds "
            )
            why += "start below 0. Leave clamp out, or ask for the "
            yield f"{path}.clamp", f"{why}{part.kind} in another query."


def _quantiles(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    query, asks = parsed.query, bool(parsed.quantiles)
    every = len(parsed.statistics) == len(query.statistics)
    if query.quantiles_by is not None and every and not asks:
        yield f"{path}.quantiles_by", "Not used: the query asks for no quantile."


def _objective(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    if parsed.query.objective is None:
        return
    key, statistics = f"{path}.objective", parsed.statistics
    others = [
        statistic.label for statistic in statistics if not (statistic.adds_up and statistic.counts)
    ]
    if not any(kinds.kinds_of_sums(parsed.query)):
        why = "Not used: the query has no tables that add up. Give margins, levels or "
        yield key, f"{why}cumulative = true, or leave it out."
    elif others:
        why = f"Expected only counts: errors of {others[0]} have another unit. Ask for "
        yield key, f"{why}{others[0]} in another query."


def _prefer(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Yield a problem if `prefer` is set, but has no effect on the noise of the query."""
    query = parsed.query
    private = parsed.spec.has_unlisted_keys(query)
    together = any(statistic.of_all_groups for statistic in parsed.statistics)
    if query.prefer is not None and (not private or together):
        why = 'Not used: the query has no unlisted groups (keys = "private"). Leave it out.'
        yield f"{path}.prefer", why
    elif query.prefer is not None and parsed.quantiles:
        if reads_tree(parsed.spec, query):
            why = "Not used for quantiles: their tree has one noise. Leave it out."
            yield f"{path}.prefer", why
        elif len(parsed.quantiles) == len(parsed.statistics):
            why = "Not used for quantiles alone: no number has noise. Leave it out."
            yield f"{path}.prefer", why


def _without_count(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Yield the problems of keys that need a count, for a query without one."""
    query = parsed.query
    for name in ("round", "round_to"):
        if getattr(query, name):
            why = "Expected count or count_units: other statistics aren't rounded to whole numbers."
            yield f"{path}.{name}", why
    if tree_count(parsed.spec, query) is not None:
        return
    for name in ("min_count", "top"):
        if getattr(query, name):
            why = "Expected count or count_units among the statistics, to choose the groups."
            yield f"{path}.{name}", why + _suggest_count(parsed)


def _suggest_count(parsed: ParsedQuery) -> str:
    """Sentences that suggest a count for a query of quantiles; "" without quantiles."""
    if not parsed.quantiles:
        return ""
    first, *others = parsed.query.statistics
    more = ", …" if others else ""
    sentences = f' Write statistics = ["count", "{first}"{more}].'
    if parsed.spec.privacy.by_row:
        sentences += f' With quantiles_by = "{TREE}" the total of its counts decides at no cost.'
    return sentences


def _where(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    query = parsed.query
    conditions = query.conditions or {}
    if conditions and (query.group_by or query.histogram is not None):
        yield f"{path}.conditions", "Not allowed beside group_by or a histogram: use another query."
    if query.max_conditions is not None and not query.max_conditions <= len(conditions):
        message = f"Expected at most {len(conditions)}, the number of conditions."
        yield f"{path}.max_conditions", message
    if len(conditions) > MOST_CONDITIONS:
        yield f"{path}.conditions", f"Expected at most {MOST_CONDITIONS} conditions."
    for name, predicates in conditions.items():
        if not predicates:
            yield (
                f"{path}.conditions.{name}",
                "Expected at least one column, like { age = { min = 65 } }.",
            )
        for column, predicate in (predicates or {}).items():
            key = f"{path}.conditions.{name}.{column}"
            ends = [
                end for end in (predicate.min, predicate.max, predicate.below) if end is not None
            ]
            if bool(ends) == bool(predicate.among):
                yield key, "Expected min, max or below, or else among."
            if predicate.max is not None and predicate.below is not None:
                yield key, "Expected max or below, not both."


def _group_by(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    spec, query = parsed.spec, parsed.query
    if len(query.group_by) > MOST_KEY_COLUMNS:
        yield f"{path}.group_by", f"Expected at most {MOST_KEY_COLUMNS} columns."
    if isinstance(query.group_by, tuple):
        yield from _declared_groups(spec, query.group_by, f"{path}.group_by")
        return
    for column, grouping in query.group_by.items():
        key = f"{path}.group_by.{column}"
        if not column:
            yield key, "Expected a column with a name. Give it one in the source."
        if isinstance(grouping, PrivateKeys) and spec.privacy.delta == 0:
            why = "Needs delta > 0: a group of a single person may be published, and its key alone "
            why += "reveals the person. Give privacy.delta, or list the keys here."
            yield key, why


def _declared_groups(spec: Spec, names: Sequence[str], key: str) -> Iterator[Problem]:
    """Yield the problems of columns in a list `group_by`, which must declare keys or edges."""
    for index, name in enumerate(names):
        known = spec.columns.get(name)
        if name in names[:index]:
            yield f"{key}[{index}]", f"The column {name!r} is given twice."
        elif known is None:
            hint = _validate.nearest(name, tuple(spec.columns))
            why = f"Expected [columns.{name}] with its public keys, or edges of bands."
            yield f"{key}[{index}]", f"{why}{' ' if hint else ''}{hint}"
        elif not known.keys and not known.edges:
            why = f"Missing: public keys, or edges of bands, because {key} gives only its name."
            yield f"columns.{name}", f'{why} Write it like keys = ["north", "south"]'


def _accuracy(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Yield the problems of a query's accuracy, assumed size and importance."""
    spec, query, every = parsed.spec, parsed.query, parsed.statistics
    sized = any(statistic.needs_size for statistic in every)
    statistics = [statistic for statistic in every if isinstance(statistic, Statistic)]
    if query.assume is not None and every and not sized:
        yield f"{path}.assume", "Not used: the errors of counts and sums don't depend on it."
    if spec.privacy.epsilon == LEAST:
        if query.accuracy is None:
            why = 'Missing: with epsilon = "least" every query needs an accuracy, such as'
            yield f"{path}.accuracy", f"{why} accuracy = {{ half_width_95 = 10 }}."
        if query.importance not in {1, None}:
            why = 'Not used with epsilon = "least": the accuracies decide the shares of the budget.'
            yield f"{path}.importance", why
    if query.accuracy is not None and every and not statistics:
        why = "Not used: the error of a quantile is in ranks, which accuracy doesn't cover."
        yield f"{path}.accuracy", why
    elif query.accuracy is not None:
        yield from _check_wish(query.accuracy, statistics, query.assume, path)
    if query.accuracy is not None:
        yield from _check_found_bounds(spec, statistics, path)


def _check_wish(
    accuracy: Accuracy, statistics: Sequence[Statistic], assume: Assumed | None, path: str
) -> Iterator[Problem]:
    if (accuracy.half_width_95 is None) == (accuracy.std is None):
        yield f"{path}.accuracy", "Expected either half_width_95 or std."
    if accuracy.statistic is not None:
        try:
            named = parse(accuracy.statistic)
        except ValueError as error:
            yield f"{path}.accuracy.statistic", str(error)
            return
        if statistics and named not in statistics:
            known = ", ".join(statistic.label for statistic in statistics)
            yield f"{path}.accuracy.statistic", f"The query has no {named.label}, only {known}."
        statistics = [named] if isinstance(named, Statistic) else []
    if assume is None and any(statistic.needs_size for statistic in statistics):
        why = "Missing: the error depends on the number of values in a group. Write, for example,"
        yield f"{path}.assume", f"{why} assume = {{ n = 1000 }}, or give the accuracy a statistic."


def _check_found_bounds(
    spec: Spec, statistics: Sequence[Statistic], path: str
) -> Iterator[Problem]:
    """Yield a problem if the unit of measurement of an accuracy depends on bounds to be found."""
    used = [part.column for item in statistics for part in item.parts if part.of_values]
    for name in used:
        if name in spec.columns and spec.columns[name].finds is not None:
            why = f"Not used where columns.{name}.bounds are found: its unit isn't known before."
            yield f"{path}.accuracy", f"{why} Leave it out, or give the bounds."
            return


QUERY_CHECKS: tuple[Callable[[ParsedQuery, str], Iterator[Problem]], ...] = (
    _statistics,
    _uses,
    _limits,
    _where,
    _group_by,
    _published,
    _quantiles,
    _objective,
    _prefer,
    _accuracy,
    _rho,
    kinds.sum_problems,
    added_queries.problems,
)
