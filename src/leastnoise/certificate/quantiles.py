"""A certificate for quantiles that are chosen among public candidates, by permute-and-flip.

No noise is added to anything: of all candidates the one is published whose score, less a random
exponential, is best (McKenna & Sheldon 2020; theory/release.md §10).
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
    """One draw: which quantile of the rows between two others it is, and what came before it.

    `level` is its level within these rows. `below` and `above` are the levels, by place, between
    whose chosen candidates the rows lie; None where nothing bounds them. `depth` counts the draws
    on the way to it, each of which looks at other rows than those of its own depth.
    """

    level: Fraction
    below: int | None = None
    above: int | None = None
    depth: int = 0

    @property
    def weight(self) -> Fraction:
        """The most that one row, there or not, moves the score by: max(a, 1 − a)."""
        return max(self.level, 1 - self.level)


def list_choices(levels: tuple[Fraction, ...], *, nested: bool) -> tuple[Choice, ...]:
    """Return the draw of each level; `nested` ones halve the rows (Kaplan et al. 2022)."""
    if not nested:
        return tuple(Choice(level=level) for level in levels)
    ends = (Fraction(0), *levels, Fraction(1))
    found: dict[int, Choice] = {}
    left = [(0, len(levels), 0)]  # places [first, last), and the depth
    while left:
        first, last, depth = left.pop()
        if first == last:
            continue
        place = (first + last) // 2
        low, high = ends[first], ends[last + 1]
        found[place] = Choice(
            level=(levels[place] - low) / (high - low),
            below=first - 1 if first else None,
            above=last if last < len(levels) else None,
            depth=depth,
        )
        left += [(first, place, depth + 1), (place + 1, last, depth + 1)]
    return tuple(found[place] for place in range(len(levels)))


def _checked_numbers(values: Iterable[Any], *, name: str) -> tuple[Fraction, ...]:
    found = tuple(exact(value, name=name) for value in values)
    if not 1 <= len(found) <= MOST_LEVELS:
        raise InvalidArgument(name=name, value=len(found), expected=f"1 to {MOST_LEVELS} of them")
    return found


@final
@record()
class QuantileCertificate(TableCertificate):
    """The statement: choosing the quantiles at `levels` in each of `groups` meets `budget`.

    Each is the one of `candidates`, each cut into as many `parts`, with the largest Exp(1) − λs:
    λ of each level are the `rates`, and s(g) = max(0, L − an, an − L − E) counts by how many rows
    the part g is off, of n rows with L below and E in g. Rows may have any weight. What one unit
    adds to all cells of all groups is nowhere negative, and at most `reach`.

    A score moves by at most Δ = R·max(a, 1 − a) if a unit is there or not; if one replaces another,
    by R in one group that it stays in, and else by 2R·max(a, 1 − a) over all groups or halves
    together. A draw is 2λΔ-private. `nested` draws of one depth look at other rows each, so that
    they cost as much as the worst of them.
    """

    kind: ClassVar[str] = "quantile-certificate"
    assumption: ClassVar[str] = _ASSUMPTION
    levels: FractionsField = field(converter=takes(_checked_numbers))
    rates: FractionsField = field(converter=takes(_checked_numbers))
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
        """Return the certificate with the largest rates for pure ε-privacy.

        One or two levels share ε evenly, and no candidate is cut into parts. More are nested: each
        of ⌈log₂(m + 1)⌉ depths has an equal share.
        """
        nested = len(levels) > 2  # up to which each has a part of the budget of its own
        choices = list_choices(levels, nested=nested)
        shares = 1 + max(one.depth for one in choices) if nested else len(levels)
        rates = tuple(
            epsilon / shares / (2 * _sensitivity(one, reach, groups, neighbours)) for one in choices
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
        """The ε for which the draws are private, from rates, levels and reach alone."""
        costs = [
            2 * rate * _sensitivity(one, self.reach, self.groups, self.neighbours)
            for rate, one in zip(self.rates, self.choices, strict=True)
        ]
        if not self.nested:
            return sum(costs, Fraction(0))
        worst: dict[int, Fraction] = {}
        for cost, one in zip(costs, self.choices, strict=True):
            worst[one.depth] = max(cost, worst.get(one.depth, cost))
        return sum(worst.values(), Fraction(0))

    def _delta(self) -> tuple[float, str]:
        """Purely private draws: δ = 0."""
        if self.spent <= self.budget.epsilon:
            return 0.0, ""
        return 1.0, (
            f"The draws are {decimal_text(self.spent)}-private; the certificate claims epsilon="
            f"{decimal_text(self.budget.epsilon)}."
        )


def _sensitivity(one: Choice, reach: Fraction, groups: int, neighbours: Neighbours) -> Fraction:
    """Return Δ: what one unit moves the scores by, summed over groups and draws of one depth."""
    if neighbours == "add-remove":
        return reach * one.weight
    if groups == 1 and one.depth == 0:  # L − an moves by (1 − a)r and a·r′ of two units at most
        return reach
    return 2 * reach * one.weight
