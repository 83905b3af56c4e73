"""The law of one coordinate of spherical noise."""

from __future__ import annotations

import math

import numpy as np

from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.common.profile import solve
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.numerics.quadrature import gauss_legendre


def spherical_laplace(noise: Noise, outside: float) -> float:
    """X_i = √(2G)·Z, G ~ Gamma((d+1)/2), Z normal (theory/release.md §2)."""
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


def generalized_gamma(noise: Noise, outside: float) -> float:
    """P(|X_i| > t) = E P(|W| > t/R), R^p ~ Gamma(k), W the cosine to a uniform direction."""
    from scipy.special import betainc, gammainccinv  # noqa: PLC0415  (0.2 s, needed here alone)

    if not isinstance(noise, GeneralizedGamma):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not generalized-gamma")
    p, half = float(noise.p), (noise.dimension - 1) / 2
    k = float((noise.alpha + 1) / noise.p)
    if noise.dimension == 1:
        return float(gammainccinv(k, outside)) ** (1 / p)
    # in ln r from where the mass begins, or from t; quadratic there, where P(|W| > t/r) has a root
    least, last = (math.log(gammainccinv(k, one)) / p for one in (1 - 1e-15, 1e-17))
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
