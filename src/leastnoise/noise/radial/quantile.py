"""Quantiles of a coordinate of spherical noise, and a quick δ(ε) of generalized gamma noise.

Notation: lengths are in units of the scale, except where `scale` is written. d is the dimension, α
and p the shape, κ = d−1−α and k = (α+1)/p. R is the radius of the noise, a random number, and r one
of its values. f is the density of y = ln r. s is the shift, r₂ the radius after it, x = ln(r₂/r)
and b = r^p. L is the privacy loss. P and Q are probabilities under the noise and under the shifted
noise. F is the distribution function of a cosine, W the cosine of a uniform direction, and X_i a
coordinate of the noise. w and w₂ are the cosines of the angles to the shift at which L = ε, seen
from the two centres.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leastnoise.noise.common.profile import MOST_BY_TERMS, SMALL_TERM, cap, solve
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.profile import Law, log_delta
from leastnoise.numerics.quadrature import gauss_legendre

# δ(ε) of spherical generalized gamma noise as the difference of two tails: quick, for searches.
#
#     δ = P(L > ε) − e^ε Q(L > ε) = ∫ f(y) [1 − F(w) − e^(dx) (dy₂/dy) (1 − F(w₂))] dy
#
# where κx + b(e^(px) − 1) = ε, y₂ = y + x and dy₂/dy = (κ + pb)/(κ + pb e^(px)); below the r₁ of
# `profile` the bracket is 1 (theory/noise.md §7). It takes one integral, and `log_delta` takes two.
# But the difference cancels digits: if too few are left, `log_delta` is used.


_Array = NDArray[np.float64]

_MOST_LOST = 1e5  # largest ratio of the tails' sum to their difference; tails have 15 digits
_TERMS = 1_000


def quick_log_delta(
    *, dimension: int, alpha: float, kappa: float, p: float, shift: float, epsilon: float
) -> float:
    """Return ln δ(ε) with an absolute error of about 1e-10, faster than `log_delta`.

    δ(ε) is the difference of two tails. Calls `log_delta` if the difference is less accurate, for
    one or too many dimensions, and for ε = 0.
    """
    if 1 < dimension <= MOST_BY_TERMS and epsilon > 0:
        law = Law(d=dimension, alpha=alpha, kappa=kappa, p=p, s=shift, epsilon=epsilon)
        above, below = _tails(law)
        if above - below > (above + below) / _MOST_LOST:
            return min(0.0, math.log(above - below))
    return log_delta(
        dimension=dimension, alpha=alpha, kappa=kappa, p=p, shift=shift, epsilon=epsilon
    )


def _tails(law: Law) -> tuple[float, float]:
    """Return the tails P(L > ε) and e^ε Q(L > ε), whose difference is δ(ε)."""
    edge, pieces = law.pieces()
    above, below = _mass_within(law, edge) if edge > 0 else 0.0, 0.0
    for start, end in pieces:
        y, weight = law.rule(lambda y: _log_both(law, y), start, end)
        first, second = _integrands(law, y)
        above, below = above + float(weight @ first), below + float(weight @ second)
    return above, below


def _log_both(law: Law, y: _Array) -> _Array:
    """Return ln of the sum of the two `_integrands` at the points y = ln r."""
    first, second = _integrands(law, y)
    with np.errstate(divide="ignore"):
        return np.log(first + second)


def _integrands(law: Law, y: _Array) -> tuple[_Array, _Array]:
    """Return the integrands of both tails at the points y = ln r.

    They are f(y) (1 − F(w)), and f(y) e^(dx) (dy₂/dy) (1 − F(w₂)) with y₂ = ln r₂.
    """
    s, p, k = law.s, law.p, (law.alpha + 1) / law.p
    x = law.solve(y, law.epsilon)
    r, r2, b = np.exp(y), np.exp(y + x), np.exp(p * y)
    advance = np.where(x < 1, r * np.expm1(np.minimum(x, 1.0)), r2 - r)
    # (1 ∓ w)/2 and (1 ∓ w₂)/2 in a triangle of sides r, r₂ and s
    ahead, behind = np.maximum(s - advance, 0.0), np.maximum(r + r2 - s, 0.0)
    around, side = r + r2 + s, advance + s
    # each factor is at most 4, as r <= r₂, where 4 s r itself may underflow
    near, far = np.minimum(r, s), np.maximum(r, s)
    down = np.concatenate(((ahead / near) * (around / far), (ahead / s) * (behind / r2))) / 4
    up = np.concatenate(((behind / r) * (side / s), (side / s) * (around / r2))) / 4
    beyond = _beyond_cosine(law.d, down, up)
    log_f = (law.alpha + 1) * y - b + (math.log(p) - math.lgamma(k))
    grown = law.kappa + p * np.exp(p * (y + x))
    second = beyond[len(y) :] * np.exp(log_f + law.d * x) * (law.kappa + p * b) / grown
    return beyond[: len(y)] * np.exp(log_f), second


def _mass_within(law: Law, radius: float) -> float:
    """Return P(R < radius), the probability of a smaller radius, by its series.

    It is b^k e^(−b)/Γ(k+1) times the sum of b^n/((k+1)…(k+n)) over n >= 0, where b = radius^p.
    """
    k, log_b = (law.alpha + 1) / law.p, law.p * math.log(radius)
    b = math.exp(log_b)  # may underflow, where k·ln b needn't
    term, total, n = 1.0, 1.0, 0
    while term > SMALL_TERM and n < _TERMS:
        n += 1
        term *= b / (k + n)
        total += term
    return math.exp(k * log_b - b - math.lgamma(k + 1)) * total


def _beyond_cosine(dimension: int, down: _Array, up: _Array) -> _Array:
    """Return 1 − F(w) for `down` = (1 − w)/2 and `up` = (1 + w)/2, accurate even near w = ±1."""
    small = cap(dimension, np.minimum(np.minimum(down, up), 0.5))
    return np.where(down <= up, small, 1 - small)


# The law of one coordinate of spherical noise.


def spherical_laplace(noise: SphericalLaplace, outside: float) -> float:
    """The magnitude, in scales, that a coordinate of l2 noise exceeds with probability `outside`.

    X_i/scale is √(2G)·Z, where G is a gamma variable of shape (d+1)/2 and Z is standard normal
    (theory/release.md §2).
    """
    k = (noise.dimension + 1) / 2
    # g = s²: the density of s ∝ s^(2k−1) e^(−s²) is smooth at 0 and nearly normal for large k
    mode = math.sqrt(k - 0.5)
    s, weight = gauss_legendre(max(0.0, mode - 6.5), mode + 6.5)
    log_density = (2 * k - 1) * np.log(s / mode) - (s * s - mode * mode)
    mass = weight * np.exp(log_density)
    mass /= mass.sum()
    s = s.tolist()

    def tail(t: float) -> float:
        return math.fsum(m * math.erfc(t / (2 * x)) for m, x in zip(mass.tolist(), s, strict=True))

    return solve(tail, outside, guess=2 * mode)


def generalized_gamma(noise: GeneralizedGamma, outside: float) -> float:
    """The quantile of a coordinate of generalized gamma noise, in scales.

    The coordinate exceeds it in absolute value with probability `outside`. The probability of
    |X_i| > t·scale is the mean of P(|W| > t/R) over the radius R, where R^p is a gamma variable of
    shape (α + 1)/p.
    """
    from scipy.special import betainc, gammainccinv  # noqa: PLC0415  (0.2 s, needed only here)

    p, half = float(noise.p), (noise.dimension - 1) / 2
    k = float((noise.alpha + 1) / noise.p)
    if noise.dimension == 1:
        return float(gammainccinv(k, outside)) ** (1 / p)
    # in ln r, from the 1e-15 quantile or from t, with nodes that are quadratically dense at the
    # start, where P(|W| > t/r) behaves like a square root
    least, last = (math.log(gammainccinv(k, tail)) / p for tail in (1 - 1e-15, 1e-17))
    unit, weight = gauss_legendre(0.0, 1.0, nodes=200)

    def tail(t: float) -> float:
        first = max(least, math.log(t))
        if first >= last:
            return 0.0
        y = first + (last - first) * unit**2
        log_b = p * y
        mass = np.exp(k * log_b - np.exp(log_b) + math.log(p) - math.lgamma(k))
        cosine = betainc(half, 0.5, np.maximum(1 - (t * np.exp(-y)) ** 2, 0.0))
        return float((2 * (last - first) * weight * unit * mass) @ cosine)

    return solve(tail, outside, guess=math.sqrt(noise.variance) / float(noise.scale))
