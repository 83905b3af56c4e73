"""The law of one coordinate of two-sided noise, where T is a cube: all coordinates are alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.two_sided import TwoSided
from leastnoise.noise.bodies.law.two_sided_laplace import TwoSidedLaplace
from leastnoise.noise.bodies.law.two_sided_staircase import TwoSidedStaircase
from leastnoise.noise.common.profile.quantiles import solve
from leastnoise.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from numpy.typing import NDArray


def known(noise: TwoSided) -> bool:
    """Say whether T is the cube [0, b]^d."""
    return _cube(noise) is not None


def _cube(noise: TwoSided) -> Counts | None:
    of = noise.of
    return of if isinstance(of, Counts) and of.most == of.queries else None


def quantile(noise: Noise, outside: float, coordinate: int) -> float:
    """X is uniform in [−B, A]^d; a tail for each law of A and B, which are weighted by volume."""
    del coordinate  # all are alike
    known_law = isinstance(noise, TwoSidedStaircase | TwoSidedLaplace)
    if not known_law or (cube := _cube(noise)) is None:
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    tail = _two_sided_steps(noise) if isinstance(noise, TwoSidedStaircase) else _smooth(noise)
    found = solve(tail, outside, guess=math.sqrt(noise.variance) / float(noise.scale))
    return found * float(cube.bound)


def _two_sided_steps(noise: TwoSidedStaircase) -> Callable[[float], float]:
    """Return t ↦ P(|X_i| > t): A = a + k and B = a + n − k with weight q^n (2a + n)^d.

    So P(|X_i| > t) = 2 Σ_n q^n (2a + n)^(d−1) Σ_{k<=n} (a + k − t)₊ / Σ_n q^n (n + 1)(2a + n)^d.
    """
    core, decay, d = float(noise.core), float(noise.decay), noise.dimension
    n = np.arange(math.ceil((d + 60 + 12 * math.sqrt(d)) / decay) + 2, dtype=float)
    logs = -decay * n + (d - 1) * np.log(2 * core + n)
    weights = np.exp(logs - logs.max())
    total = float(weights @ ((n + 1) * (2 * core + n)))

    def tail(t: float) -> float:
        first = np.maximum(np.floor(t - core) + 1, 0.0)  # the least k with a + k > t
        count = np.maximum(n - first + 1, 0.0)
        above = count * (core - t + (first + n) / 2)
        return 2 * float(weights @ above) / total

    return tail


def _smooth(noise: TwoSidedLaplace) -> Callable[[float], float]:
    """Return t ↦ P(|X_i| > t): A = b + u, B = b + n − u with density ∝ e^(−n) (2b + n)^d.

    So P(|X_i| > t) = 2 ∫ e^(−n) (2b + n)^(d−1) ∫_c^n (b + u − t) du dn / ∫ n e^(−n) (2b + n)^d dn,
    c = (t − b)₊ and 0 <= u <= n.
    """
    core, d = float(noise.core), noise.dimension
    peak = max(d - 2 * core, 0.0)
    spread = 40 + 12 * math.sqrt(d)
    top = -peak + d * math.log(2 * core + peak)

    def integral(
        least: float, inner: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> float:
        first = max(least, peak - spread)
        n, weight = gauss_legendre(first, max(first, peak) + spread, nodes=200)
        return float(weight * np.exp(-n + d * np.log(2 * core + n) - top) @ inner(n))

    total = integral(0.0, lambda n: n)

    def tail(t: float) -> float:
        c = max(t - core, 0.0)
        return (
            2 / total * integral(c, lambda n: (n - c) * (core - t + (n + c) / 2) / (2 * core + n))
        )

    return tail
