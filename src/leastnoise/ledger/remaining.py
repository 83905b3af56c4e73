"""What is left of an account, by its filter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise import _words
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.costs import Cost
from leastnoise.ledger.filters import ZCDP, rho_left

_ROOT_DIGITS = 20


@final
@dataclass(frozen=True, kw_only=True)
class Remaining:
    """What a ledger will still admit: one more release of `epsilon` with δ = 0 fits.

    By the filter `sums`, `epsilon` and `delta` are what is left of both sums, exactly. By `zcdp`,
    `rho` is what is left of the largest ρ, `most_rho` (both rounded down, to nine digits of it);
    `epsilon` is √(2ρ), whose pure release costs that ρ, rounded down; and `delta` is what is left
    of the half of δ that pays for δ' (exactly). `rho` and `most_rho` are None by the other filter.
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None
    most_rho: Fraction | None = None

    @classmethod
    def of(cls, budget: Budget, spent: Cost, rule: str | None) -> Remaining:
        """Return what is left of `budget` once so much is `spent`, by the filter `rule`.

        >>> print(Remaining.of(Budget(epsilon=2), Cost(epsilon=Fraction(1, 2)), "sums"))
        ε 1.5 and δ 0
        """
        if rule != ZCDP:
            return cls(epsilon=budget.epsilon - spent.epsilon, delta=budget.delta - spent.delta)
        rho = rho_left(budget, spent)
        return cls(
            epsilon=_root_below(2 * rho),
            delta=budget.delta / 2 - spent.leak,
            rho=rho,
            most_rho=rho_left(budget),
        )

    def __repr__(self) -> str:
        return _words.line("Remaining", str(self))

    def __str__(self) -> str:
        """Return what is left, rounded down to four digits: it holds as it is read."""
        epsilon, delta = _words.at_most(self.epsilon), _words.at_most(self.delta)
        if self.rho is None or self.most_rho is None:
            return f"ε {epsilon} and δ {delta}"
        rho, most = _words.at_most(self.rho), _words.at_most(self.most_rho)
        return f"ρ {rho} of {most} (one release with ε {epsilon}, δ 0) and δ' {delta}"


def _root_below(square: Fraction) -> Fraction:
    """Return √square, rounded down to a decimal of at least `_ROOT_DIGITS` digits."""
    size = len(str(square.denominator)) - len(str(square.numerator))  # −log₁₀, to 1
    unit = 10 ** (_ROOT_DIGITS + max(0, size // 2 + 1))
    return Fraction(math.isqrt(square.numerator * unit * unit // square.denominator), unit)
