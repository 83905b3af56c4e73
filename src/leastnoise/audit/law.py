"""The distribution function of the claimed noise, enclosed; and where its centre may lie.

For Gaussian and Laplace noise it is computed in balls. For other families it is found from their
quantiles, which are floats that are accurate to about 1e-10, and for a distribution that the user
gives it is what that returns: 1e-9 is added on either side.

Noise counts as the claimed one if it is within 2^-20 of its spread of it, whatever the reason:
rounding to a grid, the roundings of floats.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.audit import binomial
from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.errors import InvalidArgument
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.laplace.law.laplace import Laplace
from leastnoise.noise.quantiles import absolute_quantile, has_quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.claim import Claim, Distribution
    from leastnoise.noise.base import Noise

_MARGIN = 1e-9
_BITS = 96
_HALVINGS = 44  # to 1e-13, which is below the margin
_DOUBLINGS = 60
_ROUNDING = 2.0**-20
_LARGEST = 1e300


class ClaimedLaw(ABC):
    """P(X <= t) for one coordinate of the claimed noise."""

    whole: bool = False
    """Whether the noise is added to whole numbers alone."""
    spread: float
    """About its standard deviation."""

    @abstractmethod
    def _enclose(self, t: float) -> tuple[float, float]:
        """Return a lower and an upper bound of P(X <= t)."""

    def distribution(self, t: float) -> tuple[float, float]:
        """Return bounds of P(Y <= t) for every Y that is within 2^-20 spreads of X."""
        slack = self.spread * _ROUNDING
        return self._enclose(t - slack)[0], self._enclose(t + slack)[1]

    def inverse_above(self, probability: float) -> float:
        """Return some u with P(X <= u) > `probability` certainly; inf if none was found."""
        return self._above(
            lambda u: self.distribution(u)[0] > probability, start=self._quantile(probability)
        )

    def inverse_below(self, probability: float) -> float:
        """Return some u with P(X <= u) < `probability` certainly; −inf if none was found."""
        return -self._above(
            lambda u: self.distribution(-u)[1] < probability, start=-self._quantile(probability)
        )

    @abstractmethod
    def _quantile(self, probability: float) -> float:
        """Return about the u with P(X <= u) = `probability`; a guess, to start from."""

    def _above(self, holds: Callable[[float], bool], *, start: float) -> float:
        """Return a point, near the guess `start`, at which a condition holds; inf if none does.

        From the first point at which it holds it has to hold everywhere above.
        """
        if not math.isfinite(start):
            return math.inf
        low, step = start, 2 * _ROUNDING * self.spread
        for _ in range(_DOUBLINGS):
            if holds(high := low + step):
                break
            low, step = high, 2 * step
        else:
            return math.inf
        while high - low > 2 * _ROUNDING * self.spread:
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high


def claimed_law(claim: Claim, dimension: int) -> ClaimedLaw | str:
    """Return the law of a coordinate of the claimed noise, or why it isn't known."""
    noise = claim.noise
    if claim.distribution is not None:
        return _Given(claim.distribution)
    if noise is None:
        return "The claim names no noise."
    if noise.dimension != dimension:
        return f"The claimed noise is for {noise.dimension:,} numbers, outputs have {dimension:,}."
    if isinstance(noise, Gaussian | Laplace):
        return _Closed(noise)
    if isinstance(noise, VectorNoise) or not has_quantiles(noise):
        return f"The law of a coordinate of {noise.name} noise isn't known here."
    return _Inverted(noise)


@final
class _Closed(ClaimedLaw):
    """Gaussian or Laplace noise, in balls."""

    def __init__(self, noise: Gaussian | Laplace) -> None:
        self.spread = math.sqrt(noise.variance)
        self._scale, self._normal = noise.scale, isinstance(noise, Gaussian)

    def _enclose(self, t: float) -> tuple[float, float]:
        with precision(_BITS):
            x = arb(t) / ball(self._scale)
            if self._normal:
                found = (-x * arb(0.5).sqrt()).erfc() / 2
            else:
                found = x.exp() / 2 if t < 0 else 1 - (-x).exp() / 2
            return max(0.0, float_below(found)), min(1.0, float_above(found))

    def _quantile(self, probability: float) -> float:
        from scipy.special import ndtri  # noqa: PLC0415 (the command line's help needn't pay)

        p, scale = min(max(probability, 0.0), 1.0), float(self._scale)
        if self._normal or p in (0.0, 1.0):
            return scale * float(ndtri(p))
        return scale * (math.log(2 * p) if p < 0.5 else -math.log(2 - 2 * p))


@final
class _Inverted(ClaimedLaw):
    """Symmetric noise, by bisection of its quantiles: P(|X| <= t) = sup of p with Q(p) <= t."""

    def __init__(self, noise: Noise) -> None:
        self.spread = math.sqrt(noise.variance)
        self.whole = noise.for_whole_numbers
        self._noise = noise
        self._inside = lru_cache(maxsize=None)(self._inside_of)

    def _enclose(self, t: float) -> tuple[float, float]:
        # a point t < 0 belongs to P(X <= t) = P(X >= |t|) = (1 − P(|X| < |t|))/2
        at = self._inside(t) if t >= 0 else self._inside(math.nextafter(-t, 0))
        found = (1 + at) / 2 if t >= 0 else (1 - at) / 2
        return max(0.0, found - _MARGIN), min(1.0, found + _MARGIN)

    def _inside_of(self, t: float) -> float:
        """Return P(|X| <= t), to within 1e-10."""
        if t < 0:
            return 0.0
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            inside = absolute_quantile(self._noise, middle) <= t
            low, high = (middle, high) if inside else (low, middle)
        return low

    def _quantile(self, probability: float) -> float:
        if not 0 < probability < 1:
            return math.copysign(math.inf, probability - 0.5)
        if abs(probability - 0.5) < _MARGIN:
            return 0.0
        found = absolute_quantile(self._noise, abs(2 * probability - 1))
        return math.copysign(found, probability - 0.5)


@final
class _Given(ClaimedLaw):
    """A distribution function that the user gives."""

    def __init__(self, distribution: Distribution) -> None:
        self._distribution = distribution
        self.spread = 1.0
        self.spread = max(self._quantile(0.75) - self._quantile(0.25), 1e-300)

    def _quantile(self, probability: float) -> float:
        """Bisect: first for the magnitude, then for the point."""
        if not _MARGIN < probability < 1 - _MARGIN:
            return math.copysign(math.inf, probability - 0.5)
        high = self.spread
        while self._enclose(high)[1] <= probability and high < _LARGEST:
            high *= 2
        low = -high
        while self._enclose(low)[0] > probability and low > -_LARGEST:
            low *= 2
        for _ in range(_DOUBLINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._enclose(middle)[0] > probability else (middle, high)
        return high

    def _enclose(self, t: float) -> tuple[float, float]:
        try:
            found = float(self._distribution(t))
        except (TypeError, ValueError):
            found = math.nan
        if not 0 <= found <= 1:
            raise InvalidArgument(
                name="distribution",
                value="no such function",
                expected="distribution(t) to return P(X <= t), a number from 0 to 1",
            )
        return max(0.0, found - _MARGIN), min(1.0, found + _MARGIN)


def cut_points(outputs: NDArray[np.float64], probabilities: list[float]) -> list[float]:
    """Return points near the quantiles of the outputs, each in the middle of two distinct ones.

    So neither rounding nor a lattice decides on which side an output lies.
    """
    distinct = np.unique(outputs[np.isfinite(outputs)])
    if distinct.size < 2:
        return []
    found: list[float] = []
    for value in np.quantile(outputs[np.isfinite(outputs)], probabilities):
        place = min(int(np.searchsorted(distinct, value, side="right")), distinct.size - 1)
        found.append(float(distinct[place - 1] / 2 + distinct[place] / 2))
    return sorted(set(found))


def centre_bounds(
    law: ClaimedLaw, chosen: NDArray[np.float64], counted: NDArray[np.float64], error: Fraction
) -> tuple[float, float]:
    """Return bounds of c if the outputs are c + X, X of the claimed law; from their median.

    `chosen` says near which point to look, and `counted` are the outputs that are counted. For
    noise on whole numbers c is whole too. If there is no such c the lower bound is above the upper.
    """
    points = cut_points(chosen, [0.5])
    if not points:
        return -math.inf, math.inf
    t, count = points[0], counted.size
    below = int((counted <= t).sum())
    least = binomial.lower(below, count, error / 2)
    most = binomial.upper(below, count, error / 2)
    # P(X <= t − c) is within [least, most], and rises with t − c
    low, high = t - law.inverse_above(most), t - law.inverse_below(least)
    return (float(math.ceil(low)), float(math.floor(high))) if law.whole else (low, high)
