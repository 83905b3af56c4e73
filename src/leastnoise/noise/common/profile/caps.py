"""Caps and slabs of a sphere: the law of a coordinate W of a uniform direction, as polynomials.

notation: a = (dimension−1)/2, which is whole or half of an odd number, and w a cosine. The density
of W is ∝ (1−w²)^(a−1), so that P(W > w) = I_((1−w)/2)(a, a) and P(|W| < w) = I_(w²)(½, a),
incomplete beta functions. All terms are positive: nothing cancels.
scipy.special, which takes 0.2 s to import, serves the dimensions that need hundreds of terms.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leastnoise.noise.moments import log_gamma_ratio

Floats = NDArray[np.float64]

MOST_BY_TERMS = 200
"""The largest dimension for which there are few terms."""

_SMALL = 1e-18  # of the first term: where a series is left
_SLAB = 1.0  # a slab is a series for w² up to this over dimension/2, and at most ¼


def cap(dimension: int, half: Floats) -> Floats:
    """Return P(W > w) for `half` = (1 − w)/2 in [0, ½]; dimension >= 2.

    >>> cap(3, np.array([0.0, 0.25, 0.5])).tolist()
    [0.0, 0.25, 0.5]
    """
    if dimension == 2:
        return 2 / math.pi * np.arcsin(np.sqrt(half))
    a = (dimension - 1) / 2
    if dimension > MOST_BY_TERMS:
        from scipy.special import betainc  # noqa: PLC0415  (0.2 s, needed here alone)

        return betainc(a, a, half)
    other = 1 - half
    if dimension % 2:
        return half**a * _horner(_whole(dimension // 2), other)
    return (4 * half * other) ** a * _horner(_broken(dimension), half)


def slab(dimension: int, cosine: Floats) -> Floats:
    """Return P(|W| < w) for w = `cosine` in [0, 1]; dimension >= 3.

    >>> slab(3, np.array([0.0, 0.25, 1.0])).round(9).tolist()
    [0.0, 0.25, 1.0]
    """
    square, a = cosine * cosine, (dimension - 1) / 2
    if dimension > MOST_BY_TERMS:
        from scipy.special import betainc  # noqa: PLC0415  (0.2 s, needed here alone)

        return betainc(0.5, a, square)
    most = min(0.25, 2 * _SLAB / dimension)
    largest = float(square.max(initial=0.0))
    near, places = np.minimum(square, most), math.ceil(-math.log2(max(min(largest, most), 1e-9)))
    shares = cosine * (1 - near) ** a * _horner(_middle(dimension, places), near)
    if largest <= most:
        return shares
    return np.where(square <= most, shares, 1 - 2 * cap(dimension, (1 - cosine) / 2))


def _horner(coefficients: tuple[float, ...], place: Floats) -> Floats:
    """Return a polynomial with these coefficients, that of the highest power first."""
    total = np.full_like(place, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= place
        total += coefficient
    return total


@lru_cache(maxsize=16)
def _whole(a: int) -> tuple[float, ...]:
    """I_h(a, a) = h^a Σ_(j<a) C(a−1+j, j) (1−h)^j for whole a: of 2a−1 trials at least a succeed.

    Return the binomial coefficients, that of the largest j first.
    """
    return tuple(float(math.comb(a - 1 + j, j)) for j in reversed(range(a)))


@lru_cache(maxsize=16)
def _broken(dimension: int) -> tuple[float, ...]:
    """I_h(a, a) = (h(1−h))^a/(a B(a, a)) Σ_n (2a)…(2a+n−1)/((a+1)…(a+n)) h^n for other a.

    Return its coefficients that count at h = ½, the last first, 4^a being with h(1−h).
    """
    a = (dimension - 1) / 2
    return _series(_log_norm(dimension) - math.log(2 * a), top=2 * a, bottom=a + 1, place=0.5)


@lru_cache(maxsize=64)
def _middle(dimension: int, places: int) -> tuple[float, ...]:
    """I_y(½, a) = 2√y (1−y)^a/B(½, a) Σ_n (a+½)…(a+n−½)/((3/2)…(n+½)) y^n.

    Return its coefficients that count for y <= 2^(1−places), the last first.
    """
    log_norm = math.log(2) + _log_norm(dimension)
    return _series(log_norm, top=dimension / 2, bottom=1.5, place=2.0 ** (1 - places))


def _log_norm(dimension: int) -> float:
    """Return −ln B(½, a) = −ln(2^(2a−1) B(a, a))."""
    return log_gamma_ratio((dimension - 1) / 2, 0.5) - math.log(math.pi) / 2


def _series(log_first: float, *, top: float, bottom: float, place: float) -> tuple[float, ...]:
    """Return the coefficients that count at `place`, the last first; each is (top+n)/(bottom+n)."""
    coefficients, reached, largest = [1.0], 1.0, 1.0
    while reached > _SMALL * largest:
        n = len(coefficients) - 1
        coefficients.append(coefficients[-1] * (top + n) / (bottom + n))
        reached *= place * (top + n) / (bottom + n)
        largest = max(largest, reached)
    return tuple(math.exp(log_first) * one for one in reversed(coefficients))
