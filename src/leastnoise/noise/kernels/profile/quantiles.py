"""Quantiles of sums of Gaussian kernels."""

from __future__ import annotations

import math

from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.common.profile import solve
from leastnoise.noise.kernels.law import KernelNoise


def quantile(noise: Noise, outside: float) -> float:
    """P(|X| > t) is a sum of normal tails; a folded kernel has but one, on its own side of 0."""
    if not isinstance(noise, KernelNoise):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no kernels")
    spacing, decay = float(noise.spacing / noise.scale), float(noise.decay)
    if noise.folded:
        kernels = [(0.0, 1.0), (spacing, math.exp(-decay))]
        total = 1 + math.exp(-decay) * math.erfc(-spacing / math.sqrt(2))
    else:
        kernels = [
            (k * spacing, math.exp(-abs(k) * decay)) for k in range(-noise.modes, noise.modes + 1)
        ]
        total = math.fsum(weight for _, weight in kernels)

    def tail(t: float) -> float:
        return math.fsum(w * math.erfc((t - m) / math.sqrt(2)) for m, w in kernels) / total

    return solve(tail, outside, guess=1.5)
