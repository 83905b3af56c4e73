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


_STIRLING_FROM = 40.0  # the first term left out is then below 1e-16


def log_gamma_ratio(x: float, rise: float) -> float:
    """Return ln Γ(x + rise)/Γ(x) for x > 0, rise >= 0, without the cancellation at large x.

    >>> round(log_gamma_ratio(5.0, 1.0) - math.log(5), 14)
    0.0
    """
    if x < _STIRLING_FROM:
        return math.lgamma(x + rise) - math.lgamma(x)
    top = x + rise
    # Stirling's series: (x − ½) ln x − x + ln √(2π) + remainder(x)
    main = (x - 0.5) * math.log1p(rise / x) + rise * math.log(top) - rise
    return main + stirling_remainder(top) - stirling_remainder(x)


def stirling_remainder(x: float) -> float:
    """Return ln Γ(x) − (x − ½) ln x + x − ln √(2π) for x > 0."""
    if x < _STIRLING_FROM:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - math.log(2 * math.pi) / 2
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x
