"""Quantiles of a coordinate of a spherical step density."""

from __future__ import annotations

import math

import numpy as np

from leastnoise.noise.common.law import RadialStepNoise
from leastnoise.noise.common.profile import solve


def quantile(noise: RadialStepNoise, outside: float) -> float:
    """Return the quantile of one coordinate's absolute value, in scales.

    The absolute value exceeds it with probability `outside`. The probability of exceeding t scales
    is a mean over the balls of the mixture. For a ball of radius e >= t in d dimensions it is
    I_h((d + 1)/2, ½), the regularised incomplete beta function, with h = 1 − t²/e².
    """
    from scipy.special import betainc  # noqa: PLC0415  (0.2 s, needed here alone)

    edges, masses, p = noise.steps.float_edges, noise.ball_masses, (noise.dimension + 1) / 2

    def tail(t: float) -> float:
        inside = np.clip((1 - t / edges) * (1 + t / edges), 0.0, 1.0)
        return float(masses @ betainc(p, 0.5, inside))

    return solve(tail, outside, guess=float(masses @ edges) / math.sqrt(2 * p))
