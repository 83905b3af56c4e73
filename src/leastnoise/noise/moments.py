"""Moments that several families share."""

from __future__ import annotations

import math

_SERIES_TERMS = 40  # 2^k/k! at k = 40 is below 1e-35


def exponential_moment(power: int, limit: float) -> float:
    """Return ∫₀^a x^p e^(−x) dx / a^(p+1) for a = limit >= 0 and p = power, 0, 1 or 2.

    To a few ulps: in closed form for a >= 2, below it by the series, whose terms are all positive,
    e^(−a) Σ_k a^k/((p+1)(p+2)…(p+1+k)).

    >>> exponential_moment(2, 0.0)
    0.3333333333333333
    """
    a = limit
    if a >= 2:
        beyond = (1, 1 + a, 2 + 2 * a + a * a)[power] * math.exp(-a)
        return (max(1, power) - beyond) / a ** (power + 1)
    term, total = 1.0, 0.0
    for k in range(_SERIES_TERMS):
        term /= power + 1 + k
        total += term
        term *= a
    return total * math.exp(-a)


def gamma_ratio(x: float) -> float:
    """Γ(x + ½)/Γ(x), x >= 1; from its series for large x, where lgamma differences lose digits."""
    if x < 30:
        return math.gamma(x + 0.5) / math.gamma(x)
    y = 1 / x  # coefficients of the asymptotic series of Γ(x+½)/(Γ(x)√x); next term 1e-4·y⁸
    series = (
        -1 / 8,
        1 / 128,
        5 / 1024,
        -21 / 32768,
        -399 / 262144,
        869 / 4194304,
        39325 / 33554432,
    )
    return math.sqrt(x) * (1 + sum(c * y ** (k + 1) for k, c in enumerate(series)))
