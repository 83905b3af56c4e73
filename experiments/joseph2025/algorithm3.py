"""Algorithms 1 to 3 of Joseph, Kulesza & Yu (2025), as they are printed and no more.

Written from the paper alone. Sums over radii are array sums instead of loops, so that it is no
slower than it need be. It is here to be compared with; leastnoise doesn't use it.
notation: d, σ, ε, δ as in the paper; sensitivity 1.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, gammainc, gammaincc, gammainccinv

RADII = 1000  # n_r = n_R
TOLERANCE = 0.001  # of the binary searches of Section 4


def cap_fraction(r: np.ndarray, height: np.ndarray, dimension: int) -> np.ndarray:
    """Lemma 3.9: the fraction of a sphere of radius r that a cap takes up."""
    low = np.minimum(height, 2 * r - height)
    x = np.clip((2 * r * low - low * low) / (r * r), 0.0, 1.0)
    small = betainc((dimension - 1) / 2, 0.5, x) / 2
    return np.where(height <= r, small, 1 - small)


def shells(r: np.ndarray, sigma: float, dimension: int) -> np.ndarray:
    """Lemma 3.12: the mass between r_j and r_{j+1}, and beyond the last."""
    inside = gammainc(dimension, r / sigma)
    return np.append(np.diff(inside), gammaincc(dimension, r[-1] / sigma))


def term1_upper_bound(dimension: int, sigma: float, epsilon: float, largest: float) -> float:
    """Algorithm 1."""
    if sigma > 1 / epsilon:
        return 0.0
    if dimension == 1:
        return 1 - math.exp((epsilon - 1 / sigma) / 2) / 2
    r = np.linspace((1 - epsilon * sigma) / 2, largest, RADII)
    height = np.minimum(r * (1 - epsilon * sigma) + (1 - (epsilon * sigma) ** 2) / 2, 2 * r)
    inner = float(gammainc(dimension, r[0] / sigma))
    return inner + float(np.dot(shells(r, sigma, dimension), cap_fraction(r, height, dimension)))


def term2_lower_bound(dimension: int, sigma: float, epsilon: float, largest: float) -> float:
    """Algorithm 2."""
    if sigma >= 1 / epsilon:
        return 0.0
    if dimension == 1:
        return math.exp((-epsilon - 1 / sigma) / 2) / 2
    tau = epsilon * sigma
    r = np.linspace((1 + tau) / 2, largest, RADII)
    height = r - 1 + (1 + tau**2 - 2 * tau * r) / 2
    return float(np.dot(shells(r, sigma, dimension), cap_fraction(r, height, dimension)))


def check_approximate_dp(dimension: int, sigma: float, epsilon: float, delta: float) -> bool:
    """Algorithm 3: whether the bounds show (ε, δ)-DP."""
    largest = sigma * float(gammainccinv(dimension, delta / 100))
    first = term1_upper_bound(dimension, sigma, epsilon, largest)
    second = term2_lower_bound(dimension, sigma, epsilon, largest)
    return first - math.exp(epsilon) * second <= delta


def least_sigma(
    dimension: int, epsilon: float, delta: float, *, tolerance: float = TOLERANCE
) -> float:
    """Binary search over σ, which is private from 1/ε on (pure DP)."""
    low, high = 0.0, 1 / epsilon
    while high - low > tolerance:
        middle = (low + high) / 2
        if check_approximate_dp(dimension, middle, epsilon, delta):
            high = middle
        else:
            low = middle
    return high
