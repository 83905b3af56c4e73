"""The distribution of the cosine between a random and a fixed direction, enclosed in floats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise.balls.core import ball, float_above, float_below, precision

Floats = NDArray[np.float64]

_PRECISION = 128
_STEP = 0.01  # of ln F from node to node: a chord is off by _STEP²/8, its extension by _STEP²
_LEAST = 2.0**-100  # below the last node F is only known to be at most this
_ROUNDING = 2.0**-44  # of the few operations of an interpolation, each 2^−53


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Tail:
    """F(t) = P(1 + cos θ <= t) for a uniform direction in R^d and 0 <= t <= 1.

    F = ½ I_{t(2−t)}((d − 1)/2, ½), in balls at the `nodes`. Between them: the density of the cosine
    is ∝ (1 − w²)^{(d−3)/2}, which on [−1, 0] rises for d >= 3 and falls for d = 2. So F is convex,
    for d = 2 concave: a chord lies on one side of it, the chord before, extended, on the other.
    """

    nodes: Floats
    upper: Floats
    upper_slopes: Floats
    lower: Floats
    lower_slopes: Floats

    def above(self, t: Floats) -> Floats:
        """Return numbers that are certainly >= F(t); t <= 1, and F is 0 for t <= 0."""
        found = self._line(self.upper, self.upper_slopes, t) * (1 + _ROUNDING)
        return np.where(t > self.nodes[1], found, np.where(t > 0, self.upper[1], 0.0))

    def below(self, t: Floats) -> Floats:
        """Return numbers that are certainly <= F(t)."""
        found = self._line(self.lower, self.lower_slopes, t) * (1 - _ROUNDING)
        return np.where(t > self.nodes[1], np.maximum(found, 0.0), 0.0)

    def _line(self, base: Floats, slopes: Floats, t: Floats) -> Floats:
        last = len(self.nodes) - 2
        index = np.clip(np.searchsorted(self.nodes, t, side="right") - 1, 0, last)
        return base[index] + slopes[index] * (t - self.nodes[index])


@lru_cache(maxsize=4)
def tail(dimension: int) -> Tail:
    """Return the enclosure for that dimension, at least 2; it takes a few tenths of a second."""
    ratio = -2 * _STEP / (dimension - 1)  # F ~ t^{(d−1)/2} for small t
    nodes, lower, upper = [1.0], [0.5], [0.5]
    with precision(_PRECISION):
        while upper[-1] > _LEAST or len(nodes) < 3:
            nodes.append(float(np.exp(ratio * len(nodes))))
            value = _ball_at(nodes[-1], dimension)
            lower.append(float_below(value))
            upper.append(float_above(value))
    t, low, high = (np.array(values[::-1]) for values in (nodes, lower, upper))
    width = np.diff(t)
    above_chord, below_chord = np.diff(high) / width, np.diff(low) / width
    # the chord before, extended: through the previous node, on the far side of it
    steep, flat = (high[1:] - low[:-1]) / width, (low[1:] - high[:-1]) / width
    convex = dimension >= 3
    before = np.concatenate([[0.0], (flat if convex else steep)[:-1]])
    return Tail(
        nodes=t,
        upper=high,
        upper_slopes=above_chord if convex else before,
        lower=low,
        lower_slopes=before if convex else below_chord,
    )


def _ball_at(t: float, dimension: int) -> arb:
    at = arb(t)
    half = ball(dimension - 1) / 2
    return (at * (2 - at)).beta_lower(half, arb("0.5"), regularized=True) / 2
