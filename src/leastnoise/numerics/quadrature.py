"""Quadrature: Gauss–Legendre for smooth integrands, tanh-sinh for singular ends."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# 64 nodes integrate e^(-z u) on [0, 1] to 1e-16 for every z up to 400 (Chebyshev coefficients fall
# like e^(-k²/z), and the rule is exact up to k = 127); the integrands here stay below z = 200.
NODES = 64


@lru_cache(maxsize=4)
def _unit_rule(nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return (points + 1) / 2, weights / 2


def gauss_legendre(
    lower: float, upper: float, *, nodes: int = NODES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return xᵢ and wᵢ, each of shape (nodes,), with ∫ f ≈ Σ wᵢ f(xᵢ) over [lower, upper]."""
    points, weights = _unit_rule(nodes)
    width = upper - lower
    return lower + width * points, width * weights


@lru_cache(maxsize=4)
def tanh_sinh(
    nodes: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return x, 1 − x and weights, each of shape (nodes,), for ∫₀¹ f.

    The double exponential rule of Takahasi & Mori (1974). It copes with algebraic singularities and
    boundary layers at both ends; near 1 it is `1 − x` that keeps the digits.
    """
    reach = 3.3  # x and 1 − x go down to 1e-18
    t = np.linspace(-reach, reach, nodes)
    half = np.pi * np.sinh(t)  # x = 1/(1 + e^(−π sinh t))
    near, far = 1 / (1 + np.exp(-half)), 1 / (1 + np.exp(half))
    weight = np.pi * np.cosh(t) * near * far * (t[1] - t[0])
    return near, far, weight
