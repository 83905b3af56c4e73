"""Decide if charges that may depend on earlier outputs stay within a budget.

Two filters are valid for such charges:

- `sums`: Σε <= ε and Σδ <= δ (Rogers et al. 2016);
- `zcdp`: Σδ' <= δ/2, and Σρ <= ρ*, the largest ρ whose conversion to (ε, δ/2) is proved (Whitehouse
  et al. 2023, the filter of approximate zCDP; a proof is in theory/release.md §7).

An account's filter is chosen for good, when the account is opened or by the first charge
(`choose_rule`). It would be wrong to continue as long as *either* filter accepts. An analyst could
continue histories with a large loss under the filter that keeps a reserve, and all others under the
filter that spends δ completely. Together these may fail with a probability above δ. For the same
reason δ is split into fixed halves. A choice before the first output is harmless.
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
from leastnoise.certificate.plan import Claim, PlanCertificate, times_spent
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.numerics.bisection import Bisection

# The exact cost of a certified release, by each of the two filters. It follows from the certificate
# alone, never from an output, so that it is known before the noise is drawn.


Certified = Certificate | PlanCertificate

# ρ is rounded up to a multiple of this: otherwise the digits of sums would grow without bound.
_UNIT_OF_RHO = Fraction(1, 10**30)


@final
@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of one or more charges, as (epsilon, delta) and as leak-approximate rho-zCDP.

    All four numbers are Fractions; ρ is rounded up.

    Attributes:
        epsilon: Sum of the privacy budgets ε.
        delta: Sum of the privacy budgets δ.
        rho: Sum of the parameters ρ of zero-concentrated differential privacy.
        leak: Sum of δ', the probabilities with which zCDP may fail.

    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    leak: Fraction = Fraction(0)

    @classmethod
    def of(cls, release: Certified) -> Self:
        """The cost of `release`, with all its compositions and all releases of its series.

        ρ is Δ²/2σ² for Gaussian noise (Bun & Steinke 2016, Proposition 1.6) and mixtures of it, if
        a unit shifts the query by at most Δ. It is ε₀²/2 for noise that is ε₀-private (Proposition
        1.4). Any (ε, δ) guarantee implies δ-approximate ε²/2-zCDP: with probability 1 − δ the
        mechanism is no worse than randomized response (theory/accounting.md §5). That is used for
        all other noise, for samples, and for some noise whose ρ would exceed ε².
        """
        budget = release.budget
        parts = (
            [(times_spent(release, claim), *_zcdp(claim)) for _, claim in release.draws]
            if isinstance(release, PlanCertificate)
            else [(1, *_zcdp(release))]
        )
        return cls(
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=sum((_round_up(times * rho) for times, rho, _ in parts), Fraction(0)),
            leak=sum((times * leak for times, _, leak in parts), Fraction(0)),
        )

    def __add__(self, other: Cost) -> Cost:
        """The cost of both charges together."""
        return Cost(
            epsilon=self.epsilon + other.epsilon,
            delta=self.delta + other.delta,
            rho=self.rho + other.rho,
            leak=self.leak + other.leak,
        )

    def times(self, count: int) -> Cost:
        """The cost of `count` such charges."""
        return Cost(
            epsilon=count * self.epsilon,
            delta=count * self.delta,
            rho=count * self.rho,
            leak=count * self.leak,
        )


def _zcdp(certificate: Claim) -> tuple[Fraction, Fraction]:
    """The pair (ρ, δ') of approximate zCDP for a certificate."""
    budget = certificate.budget
    stated = budget.epsilon**2 / 2
    # certificates of thresholds and selections have no density
    if not isinstance(certificate, Certificate):
        return stated, budget.delta
    noise, draws = certificate.noise, certificate.releases
    # the ρ of noise without amplification by sampling would be large
    if certificate.sampling_rate != 1:
        return stated, budget.delta
    if (variance := noise.gaussian_square) is not None:
        shift = noise.worst_shift(draws.shifts.outer)
        return draws.compositions * shift**2 / variance / 2, Fraction(0)
    if isinstance(noise, VectorNoise) and noise.purely_private:  # ε₀-private
        largest = noise.worst_shift(draws.shifts.outer) * noise.largest_loss
        return draws.compositions * largest**2 / 2, Fraction(0)
    square = noise.scale**2 if noise.exponential else noise.smoothed_square
    if square is not None:
        # Whatever (ε, δ) the noise was calibrated for, exp(−‖x‖/b) is Δ/b-private, and a mixture
        # of Gaussians is no worse than a single component (theory/accounting.md §5).
        rho = draws.compositions * noise.worst_shift(draws.shifts.outer) ** 2 / square / 2
        # in many dimensions, or with narrow Gaussians, the stated (ε, δ) gives a smaller ρ
        if rho <= 2 * stated:
            return rho, Fraction(0)
    return stated, budget.delta


def _round_up(rho: Fraction) -> Fraction:
    return -(-rho // _UNIT_OF_RHO) * _UNIT_OF_RHO


# The two filters.


SUMS, ZCDP = "sums", "zcdp"
RULES = (SUMS, ZCDP)

_BITS = 192
_DIGITS = 10
_MOST_UNITS = 10 ** (_DIGITS + 1)  # steps in a ρ below the next power of ten
MOST_ALIKE = 10**12
"""The largest number of equal charges for which `count_fitting` searches."""


def fits(spent: Cost, budget: Budget, rule: str) -> bool:
    """True if it is proved that the charges `spent` are within `budget`, by the filter `rule`."""
    if rule == SUMS:
        return spent.epsilon <= budget.epsilon and spent.delta <= budget.delta
    half = budget.delta / 2
    if spent.leak > half:
        return False
    with precision(_BITS):
        return bool(zcdp_delta(spent.rho, budget.epsilon) <= ball(half))


def choose_rule(cost: Cost, budget: Budget) -> str:
    """The filter by which `budget` allows more charges like `cost`.

    `sums` if both allow as many.
    """
    return ZCDP if count_fitting(cost, budget, ZCDP) > count_fitting(cost, budget, SUMS) else SUMS


def count_fitting(
    cost: Cost, budget: Budget, rule: str, *, spent: Cost | None = None, most: int = MOST_ALIKE
) -> int:
    """The number of charges like `cost`, at most `most`, that fit into `budget` beside `spent`.

    The search uses doubling and bisection with `fits`. A result above 0 was tried and fits; unless
    it is `most`, one more was tried and doesn't.
    """
    before = spent or Cost()

    def too_many(count: int) -> bool:
        return count > most or not fits(before + cost.times(count), budget, rule)

    bracket = Bisection().beyond(too_many, 0, 1, most=2 * most)
    return bracket[0] if bracket else most


def rho_left(budget: Budget, spent: Cost | None = None) -> Fraction:
    """The ρ that the filter `zcdp` still admits, rounded down.

    It is at most 1e-10 of the largest ρ of the whole budget too small.
    """
    unit = Fraction(10) ** (_decade(budget) - _DIGITS)
    return unit * count_fitting(Cost(rho=unit), budget, ZCDP, spent=spent, most=_MOST_UNITS)


def _decade(budget: Budget) -> int:
    """The largest k for which ρ = 10^k fits; if none fits, the least k that was considered."""
    # ρ* is at least about ε²/(4 ln(1/δ)) for small ε, about δ²/3 for ε = 0, and at most a little
    # above ε. A lower end that is too low only costs a few more steps.
    size, leak = (math.log10(float(part) or 1.0) for part in (budget.epsilon, budget.delta))
    low = math.floor(min(size, 2 * size, 2 * leak)) - 4
    high = math.ceil(max(size, 0.0)) + 3
    return Bisection().close(
        lambda k: not fits(Cost(rho=Fraction(10) ** k), budget, ZCDP), low, high
    )[0]


@final
@dataclass(frozen=True, kw_only=True)
class Remaining:
    """The rest of an account's budget: one more release with `epsilon` and δ = 0 fits.

    With the filter `sums`, `epsilon` and `delta` are exactly the budget minus both sums. With
    `zcdp`, a release with `epsilon` and δ = 0 costs `rho`, up to rounding.

    Attributes:
        epsilon: Rest of ε; with `zcdp` √(2ρ) of the remaining ρ, rounded down.
        delta: Rest of δ; with `zcdp` the rest of the half of δ that pays for δ'. Exact.
        rho: Rest of the largest admitted ρ, rounded down by at most 1e-10 of `most_rho`; None with
            `sums`.
        most_rho: The largest ρ that the whole budget admits, rounded down; None with `sums`.
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None
    most_rho: Fraction | None = None

    @classmethod
    def of(cls, budget: Budget, spent: Cost, rule: str | None) -> Remaining:
        """The remaining part of `budget` after `spent`, by the filter `rule`.

        Args:
            budget: Budget of the account.
            spent: Cost of all charges so far.
            rule: "sums", "zcdp", or None before the first charge, which counts as "sums".

        Returns:
            The rest.

        Examples:
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
        """The rest, rounded down to four digits, so that a release of that size fits."""
        epsilon, delta = _words.round_down(self.epsilon), _words.round_down(self.delta)
        if self.rho is None or self.most_rho is None:
            return f"ε {epsilon} and δ {delta}"
        rho, most = _words.round_down(self.rho), _words.round_down(self.most_rho)
        return f"ρ {rho} of {most} (one release with ε {epsilon}, δ 0) and δ' {delta}"


def _root_below(square: Fraction) -> Fraction:
    """√square, rounded down to a decimal with at least 20 correct digits."""
    size = len(str(square.denominator)) - len(str(square.numerator))  # −log₁₀ square, within 1
    unit = 10 ** (20 + max(0, size // 2 + 1))
    return Fraction(math.isqrt(square.numerator * unit * unit // square.denominator), unit)
