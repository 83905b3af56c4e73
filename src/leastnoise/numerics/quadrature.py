"""Quadrature: Gauss–Legendre for smooth integrands, tanh-sinh for singular ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# 64 nodes integrate e^(-z u) on [0, 1] to 1e-16 for every z up to 400 (Chebyshev coefficients fall
# like e^(-k²/z), and the rule is exact up to k = 127); the integrands here stay below z = 200.
NODES = 64

_SCAN, _LOOKS = 48, 8  # cells of a scan for the support of an integrand, and number of scans


@lru_cache(maxsize=4)
def _unit_rule(nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return (points + 1) / 2, weights / 2


def gauss_legendre(
    lower: float, upper: float, *, nodes: int = NODES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of the Gauss–Legendre rule on [lower, upper], shape (nodes,) each.

    An integral is approximated by the sum of weights times the integrand's values at the nodes.
    """
    points, weights = _unit_rule(nodes)
    width = upper - lower
    return lower + width * points, width * weights


@lru_cache(maxsize=4)
def tanh_sinh(
    nodes: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Nodes x, their 1 − x, and weights for integrals over [0, 1]; each of shape (nodes,).

    The double exponential rule of Takahasi & Mori (1974). It handles algebraic singularities and
    boundary layers at both ends; near 1, `1 − x` keeps its precision.
    """
    reach = 3.3  # x and 1 − x go down to 1e-18
    t = np.linspace(-reach, reach, nodes)
    half = np.pi * np.sinh(t)  # x = 1/(1 + e^(−π sinh t))
    near, far = 1 / (1 + np.exp(-half)), 1 / (1 + np.exp(half))
    weight = np.pi * np.cosh(t) * near * far * (t[1] - t[0])
    return near, far, weight


def narrow(
    log_f: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    low: float,
    high: float,
    *,
    drop: float,
) -> tuple[float, float]:
    """Narrow [low, high] to about the part where f = e^log_f exceeds e^−drop times its maximum.

    f is evaluated on grids of 48 cells. So the ends are accurate to a few cells of the last grid,
    and a peak that is narrower than a cell may be missed.
    """
    for _ in range(_LOOKS):
        edges = np.linspace(low, high, _SCAN + 1)
        values = log_f((edges[1:] + edges[:-1]) / 2)
        large = np.flatnonzero(values > values.max() - drop)
        if large.size == 0 or values.max() == -np.inf:
            break
        low, high = float(edges[max(large[0] - 1, 0)]), float(edges[min(large[-1] + 2, _SCAN)])
        if large.size > _SCAN // 6:  # accurate to a third, as both ends are cells of the grid
            break
    return low, high


def half_powers(
    lower: float, upper: float, *, nodes: int, ends: tuple[bool, bool]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights on [lower, upper] for integrands with half powers, such as √x, at its ends.

    `ends` has True for an end with half powers. The rule is Gauss–Legendre after a map of [0, 1]
    onto itself that is quadratic at these ends.
    """
    v, weight = _unit_rule(nodes)
    if ends == (True, True):
        position, slope = v * v * (3 - 2 * v), 6 * v * (1 - v)
    elif ends == (True, False):
        position, slope = v * v, 2 * v
    elif ends == (False, True):
        position, slope = 1 - (1 - v) ** 2, 2 * (1 - v)
    else:
        position, slope = v, np.ones_like(v)
    return lower + (upper - lower) * position, weight * slope * (upper - lower)
