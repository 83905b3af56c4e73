"""δ(ε) of Laplace noise, in closed form (theory/noise.md §1d and §6)."""

from __future__ import annotations

import math

from leastnoise.noise.base import Noise


def log_delta(*, excess: float) -> float:
    """Return ln δ = ln(1 − e^(−excess/2)), excess = Δ/b − ε; −inf for excess <= 0 (pure DP)."""
    return math.log(-math.expm1(-excess / 2)) if excess > 0 else -math.inf


def quantile(noise: Noise, outside: float) -> float:
    """Invert P(|X| > t) = e^(−t)."""
    del noise
    return -math.log(outside)
