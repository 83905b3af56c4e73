"""δ(ε) of Gaussian noise (Balle & Wang 2018, Theorem 8), without cancellation."""

from __future__ import annotations

import math

import numpy as np

from leastnoise.numerics.quadrature import gauss_legendre

_CUT = 90.0  # twice the exponent at which the integrand is dropped: e^-45 of its peak
_LOG_ROOT_2PI = math.log(2 * math.pi) / 2


def log_delta(*, shift_ratio: float, epsilon: float) -> float:
    """Return ln δ(ε) for N(0, σ²) shifted by Δ, to about 1e-14. notation: μ = Δ/σ = shift_ratio.

    The textbook difference Φ(−t) − e^ε Φ(−t−μ), t = ε/μ − μ/2, loses all digits for small μ. It
    equals ∫₀^∞ φ(t+x)(1 − e^(−μx)) dx (the expectation of (1 − e^(ε−L))₊ over the privacy loss L),
    whose integrand is positive; that is what is summed.
    """
    mu = shift_ratio
    t = epsilon / mu - mu / 2
    root = math.sqrt(t * t + _CUT)
    if t >= 0:
        first, last = 0.0, _CUT / (t + root)
        peak = t * t / 2
    else:
        first, last = max(0.0, -t - math.sqrt(_CUT)), root - t
        last = min(last, -t + math.sqrt(_CUT))
        peak = 0.0
    x, weight = gauss_legendre(first, last)
    exponent = -x * (t + x / 2) if t >= 0 else -((t + x) ** 2) / 2
    total = float(np.dot(weight, -np.expm1(-mu * x) * np.exp(exponent)))
    return math.log(total) - peak - _LOG_ROOT_2PI if total > 0 else -math.inf
