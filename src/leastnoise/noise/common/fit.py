"""Fits that several kinds share: classic laws, laws of a given shape, and truncated staircases.

Notation: d is the dimension and σ the scale of Gaussian or l2 noise. A truncated staircase is a
mixture of uniform laws on e_j·K for a body K, with weights π_j, j = 0 … m. γ in (0, 1] is the end
of its first step, and R its last edge. m (`whole`) is the number of edges e_j = γ + j before R, and
e_m = R. The position of R is R − e_{m−1}, in (0, 1]; for m = 0 it is R/γ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import SMALLEST_SQUARED
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.common.law import MAX_STEPS
from leastnoise.noise.common.several import log_of
from leastnoise.noise.question import Loss
from leastnoise.numerics.bisection import Bisection
from leastnoise.numerics.searches import LOG_ZERO, IncreasingRoot, falling_root, minimise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Smallest scales of the laws whose only parameter is a scale: gaussian, laplace and l2.
#
# Each function returns the scale that hides a shift of length 1, at or above the exact minimum to
# the accuracy of the float δ(ε) (about 1e-13 relative); a proof decides later if it is private.


# The accuracy of ln(shift/scale): far above the float error of ln δ, far below the promised 1e-9.
ROOT = IncreasingRoot(tolerance=4e-13)

# The relative increase of scales, radii and widths that are roots of the float δ. The float δ is
# accurate to 1e-12, and the proof needs more room than that. It is far below the promised 1e-9.
MARGIN = Fraction(1, 10**11)

# Room for the roundings of a closed form, and for δ's own enclosure to be rounded up to a float.
ROUNDING = 1e-14

# If 1/σ exceeds ε by less than this (relative), 1/ε is within 1e-9 of the smallest scale.
PURE = 5e-10


def gaussian(dimension: int, budget: Budget) -> Fraction:
    """The smallest σ at which Gaussian noise meets the budget, for shifts of length 1.

    This σ is the same in all dimensions. A root search in ln(1/σ) finds it from the δ of Balle &
    Wang (2018).
    """
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
    """The smallest scale b at which Laplace noise meets the budget, for l1 shifts of at most 1.

    It is the same in all dimensions: 1/(ε − 2 ln(1−δ)), as δ(ε) = 1 − e^((ε − 1/b)/2).
    """
    del dimension
    if budget.delta == 0:
        return 1 / budget.epsilon
    least = 1 / (float(budget.epsilon) - 2 * math.log1p(-float(budget.delta)))
    return Fraction(least * (1 + ROUNDING))


def spherical_laplace(dimension: int, budget: Budget) -> Fraction:
    """The smallest σ at which l2 noise meets the budget, for shifts of length 1.

    It is found by a root search in ln(1/σ − ε). The result is 1/ε if 1/ε is less than 5e-10
    (relative) above the smallest σ.
    """
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

    # Guess: the σ with the variance of the Gaussian that meets the budget; at most 1/(1.001 ε).
    sigma = float(gaussian(dimension, budget)) / math.sqrt(dimension + 1)
    guess = max(1 / sigma - epsilon, 1e-3 * epsilon)
    excess = math.exp(ROOT.find(over, guess=math.log(guess)))
    return 1 / budget.epsilon if excess < PURE * epsilon else Fraction(1 / (epsilon + excess))


# The least scale of a law whose other parameters are all set.


def least_scale(log_delta: Callable[[float], float], budget_delta: Fraction) -> Fraction:
    """The smallest scale at which δ meets the budget, or up to about 1e-12 (relative) above it.

    Args:
        log_delta: The logarithm of δ(ε), as a function of the shift in scales. It must not
            decrease, which holds for every law with convex level sets (theory/noise.md §1).
        budget_delta: The largest allowed δ.

    Returns:
        The scale.

    Raises:
        Refused: No scale meets the budget.
    """
    log_target = math.log(budget_delta)

    def over(log_shift: float) -> float:
        return max(log_delta(math.exp(log_shift)), LOG_ZERO) - log_target

    return Fraction(1 / math.exp(ROOT.find(over, guess=0.0)))


# The budget that Gaussian noise of a given σ meets once, for which other shapes are chosen.


NEARLY = 1e-3  # relative accuracy of the Gaussian's scale to which others are matched
_MATCHED = Bisection(halvings=20)


def match_gaussian(sigma: float, leaked: Fraction) -> Budget:
    """The approximate budget with δ = `leaked` that one release of Gaussian noise meets.

    The noise has the standard deviation `sigma`, and the shift is 1.
    """
    log_leaked = math.log(leaked)
    most = (1 / (2 * sigma) + math.sqrt(-2 * log_leaked)) / sigma  # P(Z > ε') < leaked
    high = math.log(most)

    def fits(log_epsilon: float) -> bool:
        needed = gaussian(1, Budget(epsilon=Fraction(math.exp(log_epsilon)), delta=leaked))
        return not float(needed) > sigma

    _, high = _MATCHED.close(fits, high - 12, high)
    return Budget(epsilon=Fraction(math.exp(high)).limit_denominator(10**6), delta=leaked)


# The end of a truncated staircase, and the position of its steps: one search for all such laws.


_RADIUS_ROOT = IncreasingRoot(tolerance=1e-13)  # for the final R
_ROUGH = IncreasingRoot(tolerance=1e-9)  # for R during the search of γ
_POINTS = 12  # points in each half of the grid for γ; the loss has kinks where m changes
_POSITIONS = np.array([1e-12, *np.linspace(0, 1, 13)[1:]])  # positions that are tried first
_TERMS = 12  # terms of a Chebyshev series between two positions
_NODES = np.cos(np.pi * (np.arange(_TERMS) + 0.5) / _TERMS)
_TO_SERIES = np.cos(np.outer(np.arange(_TERMS), np.arccos(_NODES))) * 2 / _TERMS
_TO_SERIES[0] /= 2


@final
@dataclass(frozen=True, kw_only=True)
class CutStaircase:
    """The search for a truncated staircase in the gauge of a body K, such as the unit ball.

    `outside(a, b)` is the share of the volume of a·K outside the shifted b·K, a <= b, for the worst
    shift. `log_target` is ln of the largest allowed δ.

    The weights of the mixture are π_j ∝ (1 − e^−ε) e^(−εj) e_j^d for j < m, and π_m ∝ e^(−εm) R^d.
    δ is the mass of the last two uniform laws outside the shifted R·K. If m increases and the
    position of R stays, δ decreases. If only R increases, δ may dip and rise again, since in many
    dimensions a new shell holds much mass.
    """

    family: str
    dimension: int
    epsilon: float
    log_target: float
    loss: Loss
    outside: Callable[[Floats, Floats], Floats]

    def least(self, gamma: Fraction | None, *, guess: int) -> tuple[Fraction, Fraction]:
        """Return the γ of least loss, unless `gamma` sets it, and the smallest R that meets δ.

        R is rounded up. `guess` is a rough value of m, from which searches start. Raises
        NotApplicable for more than 20,000 steps.
        """
        whole = guess

        def moment(gamma: float) -> float:
            nonlocal whole  # γ is tried in order, so the last result is near
            whole, radius = self._rough_radius(gamma, guess=whole)
            return self._moment(gamma, whole, radius)

        if gamma is None:
            gamma_rounds = 24  # of the search for γ: to 1e-6, where the loss is flat
            best = minimise(moment, self._grid(), rounds=gamma_rounds, thorough=False)
            gamma = max(Fraction(best), SMALLEST_SQUARED)
        _, radius = self._radius(float(gamma), guess=whole)
        return gamma, Fraction(radius * (1 + float(MARGIN)))

    def _grid(self) -> list[float]:
        """The ascending values of γ that are tried first.

        Half of them are evenly spaced. The others are a geometric sequence, for large ε, where the
        best γ^d is about e^−ε.
        """
        even = np.linspace(1 / _POINTS, 1.0, _POINTS)
        first = math.exp(-self.epsilon / self.dimension) / 10
        geometric = np.geomspace(max(first, float(SMALLEST_SQUARED)), 1.0, _POINTS)
        return sorted({*even.tolist(), *geometric.tolist()})

    def _radius(self, gamma: float, *, guess: int) -> tuple[int, float]:
        """The smallest m and R that meet the target, where the loss for this γ is least.

        The loss rises with m and R. `guess` is a rough value of m.
        """
        whole, unsafe, safe = self._period(gamma, guess)
        position = self._root(_RADIUS_ROOT, gamma, whole, unsafe=unsafe, safe=safe)
        return whole, self._edge_at(gamma, whole, position)

    def _rough_radius(self, gamma: float, *, guess: int) -> tuple[int, float]:
        """The m of `_radius`, and its R with an error of about 1e-9, enough to choose γ.

        If a polynomial fits ln δ between the two positions of `_period`, its root gives R.
        """
        whole, unsafe, safe = self._period(gamma, guess)
        positions = (unsafe + safe) / 2 + (safe - unsafe) / 2 * _NODES
        series = (
            _TO_SERIES @ (self._log_delta(gamma, whole, positions) - self.log_target)
        ).tolist()
        polynomial = 1e-10  # largest size of the last terms of a good fit, relative to its slope
        if max(map(abs, series[-2:])) > polynomial * abs(series[1]):
            position = self._root(_ROUGH, gamma, whole, unsafe=unsafe, safe=safe)
        else:
            position = (unsafe + safe) / 2 + (safe - unsafe) / 2 * falling_root(
                lambda x: _evaluate_series(series, x), -1.0, 1.0
            )
        return whole, self._edge_at(gamma, whole, position)

    def _root(
        self, root: IncreasingRoot, gamma: float, whole: int, *, unsafe: float, safe: float
    ) -> float:
        def excess(edge: float) -> float:
            return float(self._log_delta(gamma, whole, np.array([edge]))[0]) - self.log_target

        return root.between(excess, safe=safe, unsafe=unsafe)

    def _edge_at(self, gamma: float, whole: int, position: float) -> float:
        return float(self._last_edge(gamma, whole, np.array([position]))[0])

    def _moment(self, gamma: float, whole: int, radius: float) -> float:
        """A number proportional to the expected loss of this staircase.

        It is Σ π_j e_j for the mean absolute error, and Σ π_j e_j² for the mean square error.
        """
        ends = np.append(gamma + np.arange(whole), radius)
        logs = np.append(self._log_shares(gamma, whole), self._log_last(whole, ends[-1:]))
        shares = np.exp(logs - logs.max())
        return float(shares @ ends ** (1 if self.loss is Loss.MAE else 2) / shares.sum())

    def _period(self, gamma: float, guess: int) -> tuple[int, float, float]:
        """The smallest m for which δ meets the target at some R, and R's positions from `_bracket`.

        The search for m begins at `guess`. Raises NotApplicable for more than 20,000 steps.
        """
        bracket = cache(partial(self._bracket, gamma))
        whole = Bisection().around(
            lambda whole: bracket(whole) is not None,
            min(guess, MAX_STEPS),
            fails=-1,
            most=MAX_STEPS,
        )
        if whole is None or (positions := bracket(whole)) is None:
            why = f"it would need a radius beyond {MAX_STEPS:,} sensitivities"
            raise NotApplicable(family=self.family, why=why)
        return whole, *positions

    def _bracket(self, gamma: float, whole: int) -> tuple[float, float] | None:
        """Two neighbouring positions of R: δ exceeds the target at the first, not at the second.

        Both are the first position if δ meets the target already there. None if δ exceeds the
        target at all tried positions.
        """
        positions = _POSITIONS
        out_of_reach = 1.0  # in ln δ: no dip between two positions is deeper than that
        for _ in range(3):  # finer and finer positions around the best
            values = self._log_delta(gamma, whole, positions) - self.log_target
            least = int(np.argmin(values))
            if values[least] <= 0:
                first = int(np.argmax(values <= 0))
                return float(positions[max(first - 1, 0)]), float(positions[first])
            if values[least] > out_of_reach:
                return None
            positions = np.linspace(
                positions[max(least - 1, 0)],
                positions[min(least + 1, len(positions) - 1)],
                len(positions),
            )
        return None

    def _log_delta(self, gamma: float, whole: int, positions: Floats) -> Floats:
        """The values of ln δ if R is at these positions in (0, 1]; of the shape of `positions`."""
        last = self._last_edge(gamma, whole, positions)
        log_last, logs = self._log_last(whole, last), self._log_shares(gamma, whole)
        log_total = np.logaddexp(log_last, np.logaddexp.reduce(logs) if whole else -math.inf)
        if whole:
            before = np.full_like(last, gamma + whole - 1)
            both = self.outside(np.concatenate((last, before)), np.concatenate((last, last)))
            exposed, of_last = np.exp(logs[-1] - log_total) * both[len(last) :], both[: len(last)]
        else:
            exposed, of_last = 0.0, self.outside(last, last)
        delta = np.exp(log_last - log_total) * of_last + exposed
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(delta), LOG_ZERO)

    def _last_edge(self, gamma: float, whole: int, position: Floats) -> Floats:
        return gamma + (whole - 1) + position if whole else gamma * position

    def _log_last(self, whole: int, radius: Floats) -> Floats:
        return self.dimension * np.log(radius) - self.epsilon * whole

    def _log_shares(self, gamma: float, whole: int) -> Floats:
        steps = np.arange(whole, dtype=float)
        kept = math.log(-math.expm1(-self.epsilon)) if self.epsilon else -math.inf
        return kept + self.dimension * np.log(gamma + steps) - self.epsilon * steps


def _evaluate_series(series: list[float], x: float) -> float:
    """The value at x of a Chebyshev series with these coefficients, by Clenshaw's recurrence."""
    here, after = 0.0, 0.0
    for coefficient in reversed(series[1:]):
        here, after = 2 * x * here - after + coefficient, here
    return x * here - after + series[0]
