"""The accuracy that a block asks for: whether the spec says it well, and whether a plan has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.base import Statistic
from leastnoise.tables.statistics.registry import known_statistics, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.noise_error import ExpectedError
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Accuracy, Assumed, Query


@final
@dataclass(frozen=True, kw_only=True)
class Wish:
    """An error that a block may have at most, and the one that it has.

    `measure` is "half_width_95" or "std". The error of what depends on it, such
    as a mean, is that of a group of so many values, `rows`. It may be infinite.
    """

    statistic: str
    rows: int | None
    measure: str
    wished: float
    found: float

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values; null stands for no bound."""
        return vars(self) | {"found": self.found if math.isfinite(self.found) else None}

    @property
    def met(self) -> bool:
        """True if the error is as small as wished."""
        return self.found <= self.wished

    def in_words(self) -> str:
        """Return it as a sentence."""
        group = "" if self.rows is None else f" of {self.rows:,} values"
        measure = "95 % of the noise within ±" if self.measure == "half_width_95" else "std"
        found = f"it is {self.found:.4g}" if math.isfinite(self.found) else "nothing bounds it"
        verdict = "met" if self.met else f"not met, {found}"
        return f"Wished for {self.statistic}{group}: {measure} {self.wished:.6g}: {verdict}."


def wishes(layout: Layout, errors: Sequence[ExpectedError]) -> tuple[Wish, ...]:
    """Return what a block wishes of each of its errors; nothing if it has no `accuracy`."""
    asked = layout.accuracy
    if asked is None:
        return ()
    only = None if asked.statistic is None else parse(asked.statistic).label
    found: list[Wish] = []
    for error in errors:
        if only in {None, error.statistic}:
            for measure in ("half_width_95", "std"):
                wished = getattr(asked, measure)
                if wished is not None:
                    found.append(
                        Wish(
                            statistic=error.statistic,
                            rows=error.rows,
                            measure=measure,
                            wished=float(wished),
                            found=getattr(error, measure),
                        )
                    )
    return tuple(found)


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
