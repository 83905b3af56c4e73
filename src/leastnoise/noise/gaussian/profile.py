"""Quantiles of Gaussian noise; δ(ε) is in noise/common/profile.py, as others use it."""

from __future__ import annotations

import math

from leastnoise.noise.base import Noise
from leastnoise.noise.common.profile import solve


def quantile(noise: Noise, outside: float) -> float:
    """Invert P(|X| > t) = erfc(t/√2)."""
    del noise
    return solve(lambda t: math.erfc(t / math.sqrt(2)), outside, guess=1.5)
