"""Fits of one scale: classic laws, laws of a fixed shape, laws that match another."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.common.fit.several import log_of
from leastnoise.numerics.bisection import Bisection
from leastnoise.numerics.roots import LOG_ZERO, IncreasingRoot

# Smallest scales of the laws that have nothing but a scale: gaussian, laplace and l2.
#
# Each function returns the scale that hides a shift of length 1, at or above the exact minimum to
# the accuracy of the float δ(ε) (about 1e-13 relative); whether it is private is for a proof to
# say.


# Of the log of the shift ratio: far above the float error of ln δ, far below the 1e-9 promised.
ROOT = IncreasingRoot(tolerance=4e-13)

# Of scales, radii and widths that are roots of the float δ, accurate to 1e-12: the proof needs a
# little room above its error. It is far below the 1e-9 promised too.
MARGIN = Fraction(1, 10**11)

# Room for the roundings of a closed form, and for δ's own enclosure to be rounded up to a float.
ROUNDING = 1e-14

# Below this excess over ε (relative to ε) the pure guarantee is within 1e-9 of the minimum.
PURE = 5e-10


def gaussian(dimension: int, budget: Budget) -> Fraction:
    """Return the least σ; Balle & Wang (2018) by a root search in ln(1/σ)."""
    del dimension
    epsilon, log_target = float(budget.epsilon), log_of(budget.delta)

    def over(log_mu: float) -> float:
        return (
            common_profile.gaussian_log_delta(shift_ratio=math.exp(log_mu), epsilon=epsilon)
            - log_target
        )

    # Guess: the privacy loss exceeds ε by about t standard deviations, where e^(−t²/2) ~ 2δ; for
    # tiny ε rather δ ~ μ/√(2π).
    t = math.sqrt(max(0.0, -2 * (log_target + math.log(2))))
    guess = max(2 * epsilon / (t + math.hypot(t, math.sqrt(2 * epsilon)) + 1e-300), 1e-300)
    guess = max(guess, 2.5 * math.exp(log_target))
    return Fraction(math.exp(-ROOT.find(over, guess=math.log(guess))))


def laplace(dimension: int, budget: Budget) -> Fraction:
    """Return the least b, 1/(ε − 2 ln(1−δ)), from δ = 1 − e^((ε − 1/b)/2); 1/ε at δ = 0."""
    del dimension
    if budget.delta == 0:
        return 1 / budget.epsilon
    least = 1 / (float(budget.epsilon) - 2 * math.log1p(-float(budget.delta)))
    return Fraction(least * (1 + ROUNDING))


def spherical_laplace(dimension: int, budget: Budget) -> Fraction:
    """Return the least σ by a root search in ln(1/σ − ε), or 1/ε where that is within 1e-9."""
    if budget.delta == 0:
        return 1 / budget.epsilon
    epsilon, log_target = float(budget.epsilon), log_of(budget.delta)

    def over(log_excess: float) -> float:
        excess = math.exp(log_excess)
        return (
            common_profile.spherical_laplace_log_delta(
                dimension=dimension, epsilon=epsilon, excess=excess
            )
            - log_target
        )

    # Guess: the variance of the Gaussian that meets the budget, but no less than near the pure one.
    sigma = float(gaussian(dimension, budget)) / math.sqrt(dimension + 1)
    guess = max(1 / sigma - epsilon, 1e-3 * epsilon)
    excess = math.exp(ROOT.find(over, guess=math.log(guess)))
    return 1 / budget.epsilon if excess < PURE * epsilon else Fraction(1 / (epsilon + excess))


# The least scale of a law whose other parameters are all set.


def least_scale(log_delta: Callable[[float], float], budget_delta: Fraction) -> Fraction:
    """Return the least scale at which δ meets the budget, at or above it by about 1e-12.

    `log_delta(t)` is ln δ(ε) under a shift of t scales; it must not fall in t, which holds for
    every law with convex level sets (theory/noise.md §1). Raises Refused if there is none.
    """
    log_target = math.log(budget_delta)

    def over(log_shift: float) -> float:
        return max(log_delta(math.exp(log_shift)), LOG_ZERO) - log_target

    return Fraction(1 / math.exp(ROOT.find(over, guess=0.0)))


# The budget that Gaussian noise of a given σ meets once: other shapes are taken for it.


NEARLY = 1e-3  # of the Gaussian's scale, that others are matched to
_MATCHED = Bisection(halvings=20)


def match_gaussian(sigma: float, leaked: Fraction) -> Budget:
    """Return about the (ε', leaked) that a Gaussian of that σ meets in one release."""
    log_leaked = math.log(leaked)
    most = (1 / (2 * sigma) + math.sqrt(-2 * log_leaked)) / sigma  # P(Z > ε') < leaked
    high = math.log(most)

    def fits(log_epsilon: float) -> bool:
        needed = gaussian(1, Budget(epsilon=Fraction(math.exp(log_epsilon)), delta=leaked))
        return not float(needed) > sigma

    _, high = _MATCHED.close(fits, high - 12, high)
    return Budget(epsilon=Fraction(math.exp(high)).limit_denominator(10**6), delta=leaked)
