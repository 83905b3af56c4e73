"""Helpers for tests of noise for one number: δ from the density, and seeded draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy import stats

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.base import Noise

_CELLS = 400  # cells between two kinks; a sign change inside a cell costs about 1e-5


def density(law: Noise, x: np.ndarray) -> np.ndarray:
    return np.exp(law.log_density(x[:, None]))


def plain_delta(law: Noise, shift: float, epsilon: float, kinks: Sequence[float]) -> float:
    """∫ (f(x) − e^ε f(x − shift))₊ by Gauss' rule on cells between the kinks of both copies.

    `kinks` are the kinks of f for x >= 0. Beyond the last of them f is 0 or negligible.
    """
    mirrored = [sign * kink for kink in kinks for sign in (1, -1)]
    ends = np.unique([item + move for item in mirrored for move in (0.0, shift)])
    nodes, weights = np.polynomial.legendre.leggauss(4)
    total = 0.0
    for left, right in pairwise(ends):
        edges = np.linspace(left, right, _CELLS + 1)
        half = (edges[1] - edges[0]) / 2
        x = (edges[:-1, None] + half * (1 + nodes)).ravel()
        gap = density(law, x) - math.exp(epsilon) * density(law, x - shift)
        total += half * float(np.maximum(gap, 0) @ np.tile(weights, _CELLS))
    return total


def draws(law: Noise, count: int, *, seed: int) -> np.ndarray:
    """`count` draws of noise on a fine grid, shape (count,), from one seeded bit string."""
    grid, cells = Fraction(1, 2**24), CellGeometry(count=count)
    entropy = InsecureSeededEntropy(seed)
    return add_noise(law, grid, np.zeros(count), geometry=cells, entropy=entropy)


def assert_law(drawn: np.ndarray, law: Noise, cdf: Callable[[np.ndarray], np.ndarray]) -> None:
    """Assert the law by Kolmogorov-Smirnov tests: symmetric, with `cdf` of X/scale.

    The draws must pass with p > 1e-3; draws that are 10 % too wide must be rejected.
    """
    scaled = drawn / float(law.scale)
    assert stats.kstest(scaled, cdf).pvalue > 1e-3
    magnitudes = np.abs(scaled)
    assert stats.kstest(magnitudes, lambda x: 2 * cdf(x) - 1).pvalue > 1e-3
    assert stats.kstest(1.1 * magnitudes, lambda x: 2 * cdf(x) - 1).pvalue < 1e-5
