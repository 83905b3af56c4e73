"""Whether what is spent stays within a budget, even if each charge was chosen after seeing outputs.

Two filters, both valid for charges that depend on everything seen before:

- `sums`: Σε <= ε and Σδ <= δ (Rogers et al. 2016);
- `zcdp`: Σδ' <= δ/2, and Σρ <= ρ*, the largest ρ whose conversion to (ε, δ/2) is proved (Whitehouse
  et al. 2023, the filter of approximate zCDP; a proof is in theory/release.md §7).

An account has one of them for good. Going on for as long as *either* accepts would be wrong: an
analyst could steer the histories that lost much into the filter with a reserve left for bad luck,
and all others into the one that spends δ to the last; together they can leak more than δ. The same
is why the halves of δ are fixed. A choice made before the first output is harmless, so that the
first charge decides: `better_for`. What is left of an account is left by its filter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from leastnoise import _words
from leastnoise.accounting.renyi import zcdp_delta
from leastnoise.balls.core import ball, precision
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import Block, PlanCertificate, times_spent
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.numerics.bisection import Bisection

# What a certified release costs, by each of the two filters; exact.
#
# Only the certificate is asked, never an output, so that a cost is known before the noise is drawn.


Certified = Certificate | PlanCertificate

# ρ is rounded up to a multiple of this: sums of ratios of any two floats would grow without bound.
_UNIT_OF_RHO = Fraction(1, 10**30)


@final
@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one or more charges cost: (epsilon, delta), and leak-approximate rho-zCDP."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    leak: Fraction = Fraction(0)

    @classmethod
    def of(cls, release: Certified) -> Self:
        """Return the cost of `release`; of k compositions, or of a series of k, that of all k.

        ρ is Δ²/2σ² for Gaussian noise (Bun & Steinke 2016, Proposition 1.6) and mixtures of it, and
        ε₀²/2 for noise that is ε₀-private (Proposition 1.4). Any other (ε, δ) is δ-approximate
        ε²/2-zCDP: with probability 1 − δ it is no worse than randomized response
        (theory/accounting.md §5).
        """
        budget = release.budget
        parts = (
            [(times_spent(release, block), *_zcdp(block)) for _, block in release.blocks]
            if isinstance(release, PlanCertificate)
            else [(1, *_zcdp(release))]
        )
        return cls(
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=sum((_rounded_up(times * rho) for times, rho, _ in parts), Fraction(0)),
            leak=sum((times * leak for times, _, leak in parts), Fraction(0)),
        )

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both."""
        return Cost(
            epsilon=self.epsilon + other.epsilon,
            delta=self.delta + other.delta,
            rho=self.rho + other.rho,
            leak=self.leak + other.leak,
        )

    def times(self, count: int) -> Cost:
        """Return the cost of `count` such charges."""
        return Cost(
            epsilon=count * self.epsilon,
            delta=count * self.delta,
            rho=count * self.rho,
            leak=count * self.leak,
        )


def _zcdp(certificate: Block) -> tuple[Fraction, Fraction]:
    """Return (ρ, δ') of a certificate."""
    budget = certificate.budget
    stated = budget.epsilon**2 / 2
    if not isinstance(certificate, Certificate):  # what is silent, or chosen, has no density
        return stated, budget.delta
    noise, draws = certificate.noise, certificate.releases
    if certificate.sampling_rate != 1:  # of noise for a small sample alone, ρ would be large
        return stated, budget.delta
    if (variance := noise.gaussian_square) is not None:
        shift = noise.worst_shift(draws.shifts.outer)
        return draws.compositions * shift**2 / variance / 2, Fraction(0)
    if isinstance(noise, VectorNoise) and noise.purely_private:  # ε₀-private
        largest = noise.worst_shift(draws.shifts.outer) * noise.largest_loss
        return draws.compositions * largest**2 / 2, Fraction(0)
    square = noise.scale**2 if noise.exponential else noise.smoothed_square
    if square is not None:
        # Whatever (ε, δ) it was calibrated for, exp(−‖x‖/b) is Δ/b-private, and a mixture of
        # Gaussians no worse than one of them (theory/accounting.md §5).
        rho = draws.compositions * noise.worst_shift(draws.shifts.outer) ** 2 / square / 2
        # in many dimensions, or with narrow Gaussians, the stated (ε, δ) says more
        if rho <= 2 * stated:
            return rho, Fraction(0)
    return stated, budget.delta


def _rounded_up(rho: Fraction) -> Fraction:
    return -(-rho // _UNIT_OF_RHO) * _UNIT_OF_RHO


# The two filters.


SUMS, ZCDP = "sums", "zcdp"
RULES = (SUMS, ZCDP)

_BITS = 192
_DIGITS = 10
_MOST_UNITS = 10 ** (_DIGITS + 1)  # in a ρ below the next power of ten
MOST_ALIKE = 10**12
"""Charges alike: more are not told apart."""


def fits(spent: Cost, budget: Budget, rule: str) -> bool:
    """Return whether all that is `spent` is proved to be within `budget` by the filter `rule`."""
    if rule == SUMS:
        return spent.epsilon <= budget.epsilon and spent.delta <= budget.delta
    half = budget.delta / 2
    if spent.leak > half:
        return False
    with precision(_BITS):
        return bool(zcdp_delta(spent.rho, budget.epsilon) <= ball(half))


def better_for(cost: Cost, budget: Budget) -> str:
    """Return the filter that lets `budget` hold more charges like `cost`; `sums` if none does."""
    return ZCDP if holds(cost, budget, ZCDP) > holds(cost, budget, SUMS) else SUMS


def holds(
    cost: Cost, budget: Budget, rule: str, *, spent: Cost | None = None, most: int = MOST_ALIKE
) -> int:
    """Return how many charges like `cost` fit into `budget` beside what is `spent`, at most `most`.

    By doubling and bisection with `fits`: the count that is returned was tried and fits, one more
    was tried and doesn't. A single charge more is always tried.
    """
    before = spent or Cost()

    def too_many(count: int) -> bool:
        return count > most or not fits(before + cost.times(count), budget, rule)

    found = Bisection().beyond(too_many, 0, 1, most=2 * most)
    return found[0] if found else most


def rho_left(budget: Budget, spent: Cost | None = None) -> Fraction:
    """Return the ρ that the filter `zcdp` still admits (ρ*), rounded down to some nine digits."""
    unit = Fraction(10) ** (_decade(budget) - _DIGITS)
    return unit * holds(Cost(rho=unit), budget, ZCDP, spent=spent, most=_MOST_UNITS)


def _decade(budget: Budget) -> int:
    """Return the largest k for which 10^k is a ρ that fits; a k that is small enough if none is."""
    # ρ* is at least about ε² over 4 ln(1/δ) where ε is small, and about δ²/3 where it is 0; and at
    # most about ε and a little. Too low an end costs a few more steps.
    size, leak = (math.log10(float(of) or 1.0) for of in (budget.epsilon, budget.delta))
    low = math.floor(min(size, 2 * size, 2 * leak)) - 4
    high = math.ceil(max(size, 0.0)) + 3
    return Bisection().close(
        lambda k: not fits(Cost(rho=Fraction(10) ** k), budget, ZCDP), low, high
    )[0]


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
        """Return the rest of `budget` once so much is `spent`, by the filter `rule`.

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
        """Return the rest, rounded down to four digits: it holds as it is read."""
        epsilon, delta = _words.round_down(self.epsilon), _words.round_down(self.delta)
        if self.rho is None or self.most_rho is None:
            return f"ε {epsilon} and δ {delta}"
        rho, most = _words.round_down(self.rho), _words.round_down(self.most_rho)
        return f"ρ {rho} of {most} (one release with ε {epsilon}, δ 0) and δ' {delta}"


def _root_below(square: Fraction) -> Fraction:
    """Return √square, rounded down to a decimal of at least 20 digits."""
    size = len(str(square.denominator)) - len(str(square.numerator))  # −log₁₀, to 1
    unit = 10 ** (20 + max(0, size // 2 + 1))
    return Fraction(math.isqrt(square.numerator * unit * unit // square.denominator), unit)
