"""The best spherical staircase for a budget (theory/noise.md §2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.analysis.radial_step import log_delta, outside
from leastnoise.calibration import classic
from leastnoise.calibration.fixed_shape import least_scale
from leastnoise.calibration.request import Request
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.loss import Loss
from leastnoise.noise.spherical_staircase import MAX_STEPS, SMALLEST_GAMMA, SphericalStaircase
from leastnoise.numerics.minima import minimise
from leastnoise.numerics.roots import IncreasingRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MARGIN = 1e-11  # of the radius: the root is accurate to 1e-12, and the proof needs a little room
_ROOT = IncreasingRoot(tolerance=1e-13)  # of R
_ROUGH = IncreasingRoot(tolerance=1e-9)  # while γ is searched
_POINTS = 12  # of either half of the first look at γ; the loss has kinks where the steps change
_PLACES = np.array([1e-12, *np.linspace(0, 1, 13)[1:]])  # of the last edge, looked at first
_LOOKS = 3  # at ever finer places around the best one
_OUT_OF_REACH = 1.0  # of ln δ: no dip is so deep between two places
_ROUNDS = 24  # of the search for γ: to 1e-6, where the loss is flat
_FLOAT_ERROR = 2e-13  # of ln δ, for each dimension; measured: 9e-14
_NOTHING = -1e4  # stands for ln 0


def search(request: Request) -> SphericalStaircase:
    """Return the law with the γ in (0, 1] of least loss, at its smallest radius; decay is ε.

    `fixed` may set gamma. With the radius or another decay, it has to set both radius and gamma,
    and the scale is the least that meets the budget. Raises NotApplicable if the radius is too
    large, InvalidArgument if too little is set.
    """
    fixed = {name: Fraction(value) for name, value in request.fixed.items()}
    decay = fixed.get("decay", request.budget.epsilon)
    if "radius" in fixed or decay != request.budget.epsilon:
        return _at_shape(request, fixed | {"decay": decay})
    return _least(request.dimension, request.budget, request.loss, fixed.get("gamma"))


@lru_cache(maxsize=64)  # one comparison asks the same for several geometries
def _least(
    dimension: int, budget: Budget, loss: Loss, gamma: Fraction | None
) -> SphericalStaircase:
    decay = budget.epsilon
    problem = _Problem(
        dimension=dimension,
        epsilon=float(decay),
        log_target=math.log(budget.delta) - _FLOAT_ERROR * dimension,
        loss=loss,
    )
    whole = math.ceil(float(classic.gaussian(1, budget)) * math.sqrt(dimension))

    def moment(gamma: float) -> float:
        nonlocal whole  # γ is tried in order, so that the last answer is near
        whole, radius = problem.radius(gamma, guess=whole, root=_ROUGH)
        return problem.moment(gamma, whole, radius)

    if gamma is None:
        found = minimise(moment, _grid(dimension, decay), rounds=_ROUNDS)
        gamma = max(Fraction(found), SMALLEST_GAMMA)
    _, radius = problem.radius(float(gamma), guess=whole, root=_ROOT)
    return SphericalStaircase(
        scale=1,
        dimension=dimension,
        gamma=gamma,
        radius=Fraction(radius * (1 + _MARGIN)),
        decay=decay,
    )


def _at_shape(request: Request, fixed: dict[str, Fraction]) -> SphericalStaircase:
    if missing := {"gamma", "radius"} - set(fixed):
        raise InvalidArgument(
            name="parameter",
            value="nothing",
            expected=f"{' and '.join(sorted(missing))}, which the others leave open",
        )
    law = SphericalStaircase(scale=1, dimension=request.dimension, **fixed)
    epsilon = request.budget.epsilon
    scale = least_scale(
        lambda t: log_delta(law, shift=Fraction(t), epsilon=epsilon), request.budget.delta
    )
    return law.scaled(scale)


def _grid(dimension: int, epsilon: Fraction) -> list[float]:
    """Even steps, and geometric ones for large ε, where γ^d is compared with e^−ε."""
    even = np.linspace(1 / _POINTS, 1.0, _POINTS)
    first = math.exp(-float(epsilon) / dimension) / 10
    geometric = np.geomspace(max(first, float(SMALLEST_GAMMA)), 1.0, _POINTS)
    return sorted({*even.tolist(), *geometric.tolist()})


@final
@dataclass(frozen=True, kw_only=True)
class _Problem:
    """notation: e_j = γ + j for j < m = whole, and e_m = R, the last edge, up to 1 beyond e_{m−1}.

    The shares of the balls are π_j ∝ (1 − e^−ε) e^−εj e_j^d for j < m, π_m ∝ e^−εm R^d. δ is what
    the last two expose. It falls with m, but not everywhere with R: in many dimensions a new shell
    holds so much mass that δ has a dip in each period.
    """

    dimension: int
    epsilon: float
    log_target: float
    loss: Loss

    def radius(self, gamma: float, *, guess: int, root: IncreasingRoot) -> tuple[int, float]:
        """Return the smallest R that meets δ, and its m; the loss grows with R."""
        whole, unsafe, safe = self._period(gamma, guess)

        def over(place: float) -> float:
            return float(self._log_delta(gamma, whole, np.array([place]))[0]) - self.log_target

        place = root.between(over, safe=safe, unsafe=unsafe)
        return whole, float(self._last_edge(gamma, whole, np.array([place]))[0])

    def moment(self, gamma: float, whole: int, radius: float) -> float:
        """Return what is in proportion to the loss: Σ π_j e_j, or Σ π_j e_j²."""
        ends = np.append(gamma + np.arange(whole), radius)
        logs = np.append(self._log_shares(gamma, whole), self._log_last(whole, ends[-1:]))
        shares = np.exp(logs - logs.max())
        return float(shares @ ends ** (1 if self.loss is Loss.MAE else 2) / shares.sum())

    def _period(self, gamma: float, guess: int) -> tuple[int, float, float]:
        """Return the least m that meets δ for some R, and the `_bracket` of that R's place.

        By a search outward from `guess`, in growing steps.
        """
        low, high, step = -1, min(guess, MAX_STEPS), 1
        while (found := self._bracket(gamma, high)) is None:
            if high == MAX_STEPS:
                why = f"it would need a radius beyond {MAX_STEPS:,} sensitivities"
                raise NotApplicable(family=SphericalStaircase.name, why=why)
            low, high, step = high, min(high + step, MAX_STEPS), 2 * step
        step = 1
        while high - low > 1:
            middle = max(high - step, (low + high) // 2)
            if bracket := self._bracket(gamma, middle):
                found, high, step = bracket, middle, 2 * step
            else:
                low = middle
        return high, *found

    def _bracket(self, gamma: float, whole: int) -> tuple[float, float] | None:
        """Return neighbouring places of the last edge, the second the first that meets δ."""
        places = _PLACES
        for _ in range(_LOOKS):
            values = self._log_delta(gamma, whole, places) - self.log_target
            least = int(np.argmin(values))
            if values[least] <= 0:
                first = int(np.argmax(values <= 0))
                return float(places[max(first - 1, 0)]), float(places[first])
            if values[least] > _OUT_OF_REACH:
                return None
            places = np.linspace(
                places[max(least - 1, 0)], places[min(least + 1, len(places) - 1)], len(places)
            )
        return None

    def _log_delta(
        self, gamma: float, whole: int, places: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return ln δ for last edges at these places, in (0, 1], of the period."""
        last = self._last_edge(gamma, whole, places)
        d = self.dimension
        log_last, logs = self._log_last(whole, last), self._log_shares(gamma, whole)
        log_total = np.logaddexp(log_last, np.logaddexp.reduce(logs) if whole else -math.inf)
        delta = np.exp(log_last - log_total) * outside(last, last, shift=1.0, dimension=d)
        if whole:
            before = np.full_like(last, gamma + whole - 1)
            exposed = outside(before, last, shift=1.0, dimension=d)
            delta += np.exp(logs[-1] - log_total) * exposed
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(delta), _NOTHING)

    def _last_edge(
        self, gamma: float, whole: int, place: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return gamma + (whole - 1) + place if whole else gamma * place

    def _log_last(self, whole: int, radius: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.dimension * np.log(radius) - self.epsilon * whole

    def _log_shares(self, gamma: float, whole: int) -> NDArray[np.float64]:
        steps = np.arange(whole, dtype=float)
        kept = math.log(-math.expm1(-self.epsilon)) if self.epsilon else -math.inf
        return kept + self.dimension * np.log(gamma + steps) - self.epsilon * steps
