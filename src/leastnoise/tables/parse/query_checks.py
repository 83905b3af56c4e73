"""What only two or more values show to be wrong in one query: each problem with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import _validate
from leastnoise.tables.answers import kinds
from leastnoise.tables.layout.lay_out import tree_count
from leastnoise.tables.parse import added_queries
from leastnoise.tables.parse.columns import Problem, has_bounds, unbounded, undeclared, uses_of
from leastnoise.tables.spec.query import TREE, PrivateKeys
from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.base import Statistic
from leastnoise.tables.statistics.quantiles import Quantile
from leastnoise.tables.statistics.registry import known_statistics, parse, read_statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Accuracy, Assumed, Query
    from leastnoise.tables.statistics.base import AnyStatistic

    Parts = tuple[tuple[Layout, ...], ...]


MOST_CONDITIONS = 64
MOST_KEY_COLUMNS = 32  # with which the engine already takes seconds, without rows


def _statistics(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    others = {"a histogram": query.histogram, "conditions": query.conditions}
    other = next((name for name, value in others.items() if value), "")
    if other:
        if query.statistics:
            yield f"{path}.statistics", f"Not used beside {other}: use another query."
        return
    private = any(isinstance(one, PrivateKeys) for one in spec.groupings(query).values())
    if not query.statistics and private:
        yield from kinds.KEYS.problems(spec, query, path)
    elif not query.statistics:
        yield (
            path,
            'Expected statistics, a histogram or conditions, such as statistics = ["count"].',
        )
    seen: set[AnyStatistic] = set()
    for index, asked in read_statistics(query, by_row=spec.privacy.by_row):
        key = f"{path}.statistics[{index}]"
        if isinstance(asked, ValueError):
            yield key, str(asked)
        elif asked in seen:
            yield key, f"{query.statistics[index]!r} is asked for twice."
        else:
            seen.add(asked)
            if all(has_bounds(spec, one.column) for one in asked.parts if one.of_values):
                yield from ((key, why) for why in asked.problems(spec))
            if private and not isinstance(asked, Statistic):
                why = "Not proved for groups that nobody listed. List the keys of group_by here, or"
                yield key, f"{why} ask for {asked.label} in another query."


def _uses(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    for use in dict.fromkeys(uses_of(spec, query, path)):
        wrong = [*undeclared(spec, use.column, use.key)]
        wrong += use.problems(spec.data.types.get(use.column))
        yield from wrong or (unbounded(spec, use.column, use.key) if use.bounded else ())


def _published(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    if query.round and query.round_to is not None:
        yield f"{path}.round_to", "Not used beside round: what is a multiple of it is whole, too."
    if query.histogram is not None or query.conditions:
        return
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    if len(asked) < len(query.statistics):
        return
    if asked and not any(one.counts for one in asked):
        yield from _without_count(spec, query, path)
    if not query.clamp:
        return
    if asked and not any(one.clamps for one in asked):
        yield f"{path}.clamp", "Not used without a count or a sum: the others have bounds anyway."
    for one in (part for each in asked if each.clamps for part in each.parts):
        known = spec.columns.get(one.column)
        low = known.widest[0] if one.of_values and known and known.widest else 0
        if low < 0:
            why = f"{one.kind}({one.column}) can be negative, as columns.{one.column}.bounds begin "
            why += "below 0. Leave clamp out, or ask for the "
            yield f"{path}.clamp", f"{why}{one.kind} in another query."


def _quantiles(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    every = len(asked) == len(query.statistics)
    asks = any(isinstance(one, Quantile) for one in asked)
    if query.quantiles_by is not None and every and not asks:
        yield f"{path}.quantiles_by", "Not used: the query asks for no quantile."


def _objective(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    if query.objective is None:
        return
    key, asked = f"{path}.objective", known_statistics(query, by_row=spec.privacy.by_row)
    others = [one.label for one in asked if not (one.adds_up and one.counts)]
    if not any(kinds.kinds_of_sums(query)):
        why = "Not used: it is about tables that add up. Give margins, levels or cumulative = true,"
        yield key, f"{why} or leave it out."
    elif others:
        why = f"Expected counts alone: errors of {others[0]} aren't in their unit. Use another"
        yield key, f"{why} query for it."


def _prefer(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    """Yield a problem if no threshold decides which groups of the query are published."""
    private = any(isinstance(one, PrivateKeys) for one in spec.groupings(query).values())
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    together = any(one.of_all_groups for one in asked)
    if query.prefer is not None and (not private or together):
        why = 'Not used: it is about numbers of groups that nobody listed (keys = "private"). Leave'
        yield f"{path}.prefer", f"{why} it out."


def _without_count(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    """Yield what a query has no use for that asks for no count."""
    for name in ("round", "round_to"):
        if getattr(query, name):
            why = "Expected a count or count_units to round: other statistics aren't whole numbers."
            yield f"{path}.{name}", why
    if tree_count(query, by_row=spec.privacy.by_row) is not None:
        return
    for name in ("min_count", "top"):
        if getattr(query, name):
            why = "Expected a count or count_units among the statistics, which decides."
            yield f"{path}.{name}", why + _which_count(spec, query)


def _which_count(spec: Spec, query: Query) -> str:
    """What a query of quantiles should say so that a count decides, in sentences."""
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    if not any(isinstance(one, Quantile) for one in asked):
        return ""
    first, *others = query.statistics
    more = ", …" if others else ""
    said = f' Write statistics = ["count", "{first}"{more}].'
    if spec.privacy.by_row:
        said += f' With quantiles_by = "{TREE}" the total of its counts decides and costs nothing.'
    return said


def _where(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    del spec
    conditions = query.conditions or {}
    if conditions and (query.group_by or query.histogram is not None):
        yield f"{path}.conditions", "Not used beside group_by or a histogram: use another query."
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


def _group_by(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
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
            why = "Needs delta > 0: a group that one person alone is in has to come out sometimes, "
            why += "and its key tells of them. Give privacy.delta, or list the keys here."
            yield key, why


def _declared_groups(spec: Spec, names: Sequence[str], key: str) -> Iterator[Problem]:
    """Yield what is wrong with columns that should say themselves what they are grouped by."""
    for place, name in enumerate(names):
        known = spec.columns.get(name)
        if name in names[:place]:
            yield f"{key}[{place}]", f"The column {name!r} is given twice."
        elif known is None:
            hint = _validate.nearest(name, tuple(spec.columns))
            why = f"Expected [columns.{name}] with its public keys, or edges of bands."
            yield f"{key}[{place}]", f"{why}{' ' if hint else ''}{hint}"
        elif not known.keys and not known.edges:
            why = f"Missing: public keys, or edges of bands, as {key} names it alone."
            yield f"columns.{name}", f'{why} Write it like keys = ["north", "south"]'


def _accuracy(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    """Yield the problems of a query's accuracy, assumed size and importance."""
    every = known_statistics(query, by_row=spec.privacy.by_row)
    sized = any(one.needs_size for one in every)
    statistics = [one for one in every if isinstance(one, Statistic)]
    if query.assume is not None and every and not sized:
        yield f"{path}.assume", "Not used: the errors of counts and sums are known without it."
    if spec.privacy.epsilon == LEAST:
        if query.accuracy is None:
            why = 'Missing: with epsilon = "least" every query says how far off it may be, such as'
            yield f"{path}.accuracy", f"{why} accuracy = {{ half_width_95 = 10 }}."
        if query.importance not in {1, None}:
            why = 'Not used with epsilon = "least": the accuracies say how much each error counts.'
            yield f"{path}.importance", why
    if query.accuracy is not None and every and not statistics:
        why = "Not used: the error of a quantile is one in ranks, which no accuracy is about."
        yield f"{path}.accuracy", why
    elif query.accuracy is not None:
        yield from _of_wish(query.accuracy, statistics, query.assume, path)
    if query.accuracy is not None:
        yield from _of_found_bounds(spec, statistics, path)


def _of_wish(
    asked: Accuracy, statistics: Sequence[Statistic], assume: Assumed | None, path: str
) -> Iterator[Problem]:
    if (asked.half_width_95 is None) == (asked.std is None):
        yield f"{path}.accuracy", "Expected half_width_95 or std, one of the two."
    if asked.statistic is not None:
        try:
            named = parse(asked.statistic)
        except ValueError as error:
            yield f"{path}.accuracy.statistic", str(error)
            return
        if statistics and named not in statistics:
            known = ", ".join(one.label for one in statistics)
            yield f"{path}.accuracy.statistic", f"The query has no {named.label}, only {known}."
        statistics = [named] if isinstance(named, Statistic) else []
    if assume is None and any(one.needs_size for one in statistics):
        why = "Its error depends on how many values a group has: say how many, such as"
        yield f"{path}.assume", f"{why} assume = {{ n = 1000 }}, or give the accuracy a statistic."


def _of_found_bounds(spec: Spec, statistics: Sequence[Statistic], path: str) -> Iterator[Problem]:
    """Yield a problem if an accuracy has no unit before bounds are found."""
    used = [part.column for one in statistics for part in one.parts if part.of_values]
    for name in used:
        if name in spec.columns and spec.columns[name].finds is not None:
            why = f"Not used where columns.{name}.bounds are found: no error in units is known"
            yield f"{path}.accuracy", f"{why} before. Leave it out, or give the bounds."
            return


QUERY_CHECKS: tuple[Callable[[Spec, Query, str], Iterator[Problem]], ...] = (
    _statistics,
    _uses,
    _where,
    _group_by,
    _published,
    _quantiles,
    _objective,
    _prefer,
    _accuracy,
    kinds.sum_problems,
    added_queries.problems,
)
