"""A certificate for quantiles that permute-and-flip chooses among public candidates.

No noise is added to any number. A candidate's score is the number of rows between it and the
quantile. The candidate with the smallest λ·score − E is published (McKenna & Sheldon 2020;
theory/release.md §10). Here E is an independent exponential random number for each candidate, and λ
a fixed rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self, final

from leastnoise._record import A_FLAG, field, record, takes, whole
from leastnoise.certificate.of_tables import TableCertificate
from leastnoise.errors import InvalidArgument, show_value
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.guarantees.fields import FractionField, FractionsField
from leastnoise.guarantees.sensitivity import Neighbours

_ASSUMPTION = (
    "candidates, groups and levels are public and fixed before the rows are read; what a unit adds "
    "to all cells of all groups depends on its own rows alone, is nowhere negative, and is at most "
    "the reach in all"
)
MOST_LEVELS = 1000


@final
@dataclass(frozen=True, kw_only=True)
class Choice:
    """One draw: a quantile of all rows, or of the rows between two earlier quantiles.

    `level` is the quantile's level within these rows. The candidates that were chosen for the
    levels with indices `below` and `above` bound the rows; None means no bound. `depth` is the
    number of earlier draws that split these rows, 0 if draws aren't nested. Nested draws of the
    same depth use disjoint sets of rows.
    """

    level: Fraction
    below: int | None = None
    above: int | None = None
    depth: int = 0

    @property
    def weight(self) -> Fraction:
        """The largest change of a score by an added or removed row: max(level, 1 − level)."""
        return max(self.level, 1 - self.level)


def list_choices(levels: tuple[Fraction, ...], *, nested: bool) -> tuple[Choice, ...]:
    """The draw of each level, in the order of the levels.

    With `nested` (Kaplan et al. 2022), the middle level is drawn first, and its quantile splits the
    rows for the levels on either side. Otherwise each draw looks at all rows.
    """
    if not nested:
        return tuple(Choice(level=level) for level in levels)
    ends = (Fraction(0), *levels, Fraction(1))
    choices: dict[int, Choice] = {}
    pending = [(0, len(levels), 0)]  # indices [first, last), and the depth
    while pending:
        first, last, depth = pending.pop()
        if first == last:
            continue
        middle = (first + last) // 2
        low, high = ends[first], ends[last + 1]
        choices[middle] = Choice(
            level=(levels[middle] - low) / (high - low),
            below=first - 1 if first else None,
            above=last if last < len(levels) else None,
            depth=depth,
        )
        pending += [(first, middle, depth + 1), (middle + 1, last, depth + 1)]
    return tuple(choices[index] for index in range(len(levels)))


def _check_numbers(values: Iterable[Any], *, name: str) -> tuple[Fraction, ...]:
    numbers = tuple(exact(value, name=name) for value in values)
    if not 1 <= len(numbers) <= MOST_LEVELS:
        raise InvalidArgument(name=name, value=len(numbers), expected=f"1 to {MOST_LEVELS} numbers")
    return numbers


@final
@record()
class QuantileCertificate(TableCertificate):
    """The statement that choosing quantiles at `levels` in each of `groups` groups meets `budget`.

    Each of the public `candidates` is cut into `parts`. The quantile is the candidate whose part g
    has the largest E_g − λ·s(g). Here E_g is a standard exponential, drawn anew for each part, and
    λ the rate of the level. Let n be the number of rows, of which L are below part g and M in it.
    The score s(g) = max(L − an, an − L − M) is the number of rows between part g and the rank an of
    level a. It is negative if g contains this rank. Rows may have any weights >= 0; the weights of
    one unit's rows sum to at most R = `reach` over all groups.

    Let Δ be the most by which one unit moves a draw's scores, summed over all groups and, for
    `nested` draws, over all draws of one depth. If a unit is added or removed, Δ = R·max(a, 1 − a).
    If a unit replaces another, Δ = R for a single group without earlier draws, and otherwise Δ =
    2R·max(a, 1 − a). A draw is 2λΔ-private. `nested` draws of one depth use disjoint sets of rows,
    so that together they cost as much as the most expensive of them.
    """

    kind: ClassVar[str] = "quantile-certificate"
    assumption: ClassVar[str] = _ASSUMPTION
    levels: FractionsField = field(converter=takes(_check_numbers))
    rates: FractionsField = field(converter=takes(_check_numbers))
    nested: bool = field(converter=A_FLAG)
    candidates: int = field(converter=whole(least=1))
    parts: int = field(converter=whole(least=1), default=1)
    groups: int = field(converter=whole(least=1), default=1)
    reach: FractionField = field(converter=takes(exact), default=Fraction(1))

    def _check_together(self) -> None:
        ends = (Fraction(0), *self.levels, Fraction(1))
        if any(low >= high for low, high in pairwise(ends)):
            why = "levels between 0 and 1, each above the one before"
            raise InvalidArgument(name="levels", value=show_value(self.levels), expected=why)
        if len(self.rates) != len(self.levels):
            why = "a rate for each level"
            raise InvalidArgument(name="rates", value=len(self.rates), expected=why)
        if min(self.rates) <= 0 or self.reach <= 0:
            why = "rates and a reach above 0"
            raise InvalidArgument(name="rates", value=show_value(self.rates), expected=why)

    @classmethod
    def best(
        cls,
        *,
        epsilon: Fraction,
        levels: tuple[Fraction, ...],
        candidates: int,
        parts: int,
        groups: int = 1,
        reach: Fraction = Fraction(1),
        neighbours: Neighbours = "add-remove",
    ) -> Self:
        """The certificate with the largest rates for pure ε-privacy.

        One or two levels share ε evenly, and no candidate is cut into parts. With m > 2 levels the
        draws are nested: each of ⌈log₂(m + 1)⌉ depths gets an equal share of ε.
        """
        nested = len(levels) > 2  # one or two levels get a part of the budget each
        choices = list_choices(levels, nested=nested)
        shares = 1 + max(choice.depth for choice in choices) if nested else len(levels)
        rates = tuple(
            epsilon / shares / (2 * _sensitivity(choice, reach, groups, neighbours))
            for choice in choices
        )
        return cls(
            budget=Budget(epsilon=epsilon, delta=0),
            levels=levels,
            rates=rates,
            nested=nested,
            candidates=candidates,
            parts=parts if nested else 1,
            groups=groups,
            reach=reach,
            neighbours=neighbours,
        )

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The draw of each level."""
        return list_choices(self.levels, nested=self.nested)

    @property
    def spent(self) -> Fraction:
        """The ε for which all draws together are private, computed from rates, levels and reach."""
        costs = [
            2 * rate * _sensitivity(choice, self.reach, self.groups, self.neighbours)
            for rate, choice in zip(self.rates, self.choices, strict=True)
        ]
        if not self.nested:
            return sum(costs, Fraction(0))
        worst: dict[int, Fraction] = {}
        for cost, choice in zip(costs, self.choices, strict=True):
            worst[choice.depth] = max(cost, worst.get(choice.depth, cost))
        return sum(worst.values(), Fraction(0))

    def _delta(self) -> tuple[float, str]:
        """The bound 0 on δ; or 1 and the reason if the ε of the draws is above the budget's."""
        if self.spent <= self.budget.epsilon:
            return 0.0, ""
        return 1.0, (
            f"The draws are {decimal_text(self.spent)}-private; the certificate claims epsilon="
            f"{decimal_text(self.budget.epsilon)}."
        )


def _sensitivity(choice: Choice, reach: Fraction, groups: int, neighbours: Neighbours) -> Fraction:
    """The largest change of a draw's scores by one unit: Δ of `QuantileCertificate`."""
    if neighbours == "add-remove":
        return reach * choice.weight
    if groups == 1 and choice.depth == 0:  # two units move L − an by at most (1 − a)r and a·r′
        return reach
    return 2 * reach * choice.weight
