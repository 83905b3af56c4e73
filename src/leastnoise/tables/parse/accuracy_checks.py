"""Check the accuracy that a query asks for, the size that it assumes, and its importance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.base import Statistic
from leastnoise.tables.statistics.registry import known_statistics, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Accuracy, Assumed, Query


def problems(spec: Spec, query: Query, path: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the accuracy, the assumed size and the weight of a block."""
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
) -> Iterator[tuple[str, str]]:
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


def _of_found_bounds(
    spec: Spec, statistics: Sequence[Statistic], path: str
) -> Iterator[tuple[str, str]]:
    """Yield a problem if an accuracy has no unit before bounds are found."""
    used = [part.column for one in statistics for part in one.parts if part.of_values]
    for name in used:
        if name in spec.columns and spec.columns[name].finds is not None:
            why = f"Not used where columns.{name}.bounds are found: no error in units is known"
            yield f"{path}.accuracy", f"{why} before. Leave it out, or give the bounds."
            return
