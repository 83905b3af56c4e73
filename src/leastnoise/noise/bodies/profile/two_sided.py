"""Quantiles of a coordinate of two-sided noise on cubes, simplices and products of these.

Notation: X is the noise, X_i is its coordinate i, and D is its dimension. T = `noise.of` is the set
of all that a unit can add. P is the gauge of the part of x that is added, and Q is the gauge of the
part that is removed. Given two random numbers A and B, X/scale is uniform in {P <= A, Q <= B} (see
`law.two_sided`). A block is a cube or a simplex whose product with others is T; q is the number of
its coordinates, and b is their bound. s of these coordinates are above 0. Pr is a probability, E is
the mean, and y₊ = max(y, 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.together import Jointly
from leastnoise.noise.bodies.law.two_sided import TwoSided, TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.common.profile import solve
from leastnoise.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# All lengths are in scales. If T is a product of cubes and simplices, X is uniform in {P <= A, Q <=
# B}. In a block of q coordinates with the bound b, s are above 0 with probability ∝ C(q, s) times
# the volumes of both sides. These s are uniform in A times a cube or a simplex of s coordinates,
# independent of all other blocks. So
#
# Pr(X_i > bt | A, s) = (s/q)·(1 − t/A)₊^e, with e = 1 for a cube and e = s for a simplex, and
# Pr(|X_i| > bt) is twice its mean.

_MOST = 200  # coordinates; the sums grow with their number


def two_sided_known(noise: TwoSided) -> bool:
    """True only if T is a cube [0, b]^D, or a product of cubes and simplices with D <= 200.

    A product of several sets is recognised only as a `Jointly` with exponent None and all radii 1.
    """
    return _cube(noise) is not None or bool(_blocks(noise))


def list_alike(noise: TwoSided) -> NDArray[np.int64]:
    """For each coordinate, the first coordinate of its block; both have the same law.

    The array is empty unless `two_sided_known`.
    """
    sizes = [noise.dimension] if _cube(noise) else [block.queries for block in _blocks(noise)]
    return np.repeat(np.cumsum([0, *sizes])[:-1], sizes)


def _cube(noise: TwoSided) -> Counts | None:
    """The set T, if it is the cube of a `Counts`; else None."""
    of = noise.of
    return of if isinstance(of, Counts) and of.most == of.queries else None


def _blocks(noise: TwoSided) -> tuple[Counts, ...]:
    """The cubes and simplices whose product is T, as in `two_sided_known`; else ()."""
    of = noise.of
    product = isinstance(of, Jointly) and of.exponent is None and set(of.radii) == {1}
    blocks = tuple(
        part
        for part in (of.parts if isinstance(of, Jointly) and product else (of,))
        if isinstance(part, Counts) and part.most in (1, part.queries)
    )
    whole = sum(part.queries for part in blocks) == noise.dimension <= _MOST
    return blocks if whole else ()


def two_sided_quantile(
    noise: TwoSidedStaircase | TwoSidedLaplace, outside: float, coordinate: int
) -> float:
    """The t with Pr(|X_i| > t·scale) = `outside` for i = `coordinate`.

    The tail is a mean over A and B, weighted by the volume of {P <= A, Q <= B}. Raises
    NotApplicable unless `two_sided_known`.
    """
    cube, blocks = _cube(noise), _blocks(noise)
    guess = math.sqrt(float(noise.variances[coordinate])) / float(noise.scale)
    if cube is not None:
        tail = (
            _two_sided_steps(noise)
            if isinstance(noise, TwoSidedStaircase)
            else _two_sided_smooth(noise)
        )
        return solve(tail, outside, guess=guess / float(cube.bound)) * float(cube.bound)
    if not blocks:
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    first, index = 0, 0
    while coordinate >= first + blocks[index].queries:
        first, index = first + blocks[index].queries, index + 1
    in_block = _InBlock(
        noise=noise, block=blocks[index], others=(*blocks[:index], *blocks[index + 1 :])
    )
    bound = float(blocks[index].bound)
    return solve(in_block.tail, outside, guess=guess / bound) * bound


@final
@dataclass(frozen=True, kw_only=True)
class _InBlock:
    """The law of a coordinate of `block`, where T is the product of `block` and the `others`."""

    noise: TwoSidedStaircase | TwoSidedLaplace
    block: Counts
    others: tuple[Counts, ...]

    def tail(self, t: float) -> float:
        """The probability Pr(|X_i| > b·t·scale), where b is the block's bound."""
        a, weights = self._nodes(t)
        q = self.block.queries
        s = np.arange(q + 1)[:, np.newaxis]
        masses = self._masses if isinstance(self.noise, TwoSidedStaircase) else self._volumes(a)
        beyond = np.maximum(1 - t / a, 0.0) ** (s if self.block.most == 1 else 1)
        return 2 * float((masses * s / q * beyond).sum(axis=0) @ weights)

    def _nodes(self, t: float) -> tuple[Floats, Floats]:
        """Values of A and their weights, for sums over A.

        For a staircase they are all values that matter, and their probabilities. For the smooth law
        they are nodes of a quadrature over the A at which the tail at t is positive.
        """
        core, d, noise = float(self.noise.core), self.noise.dimension, self.noise
        if isinstance(noise, TwoSidedStaircase):
            decay = float(noise.decay)
            k = np.arange(math.ceil((d + 60 + 12 * math.sqrt(d)) / decay) + 2, dtype=float)
            return core + k, -math.expm1(-decay) * np.exp(-decay * k)
        least = max(t - core, 0.0)
        most = max(least, d - core) + 60 + 12 * math.sqrt(d)
        u, weights = gauss_legendre(least, most, nodes=300)
        return core + u, weights * np.exp(-u)

    @cached_property
    def _masses(self) -> Floats:
        return self._volumes(self._nodes(0.0)[0])

    def _volumes(self, a: Floats) -> Floats:
        """The weight of each pair of s = 0 … q and a value in `a` of A; shape (q + 1, len(a)).

        For given A, it is the mean over B of the volume of the points in {P <= A, Q <= B} that have
        s of the block's q coordinates above 0. Weights are relative to the mean of the whole volume
        over A and B.
        """
        powers = (a / self._unit) ** np.arange(self.noise.dimension + 1)[:, np.newaxis]
        return np.stack(
            [rest @ powers[s : s + len(rest)] for s, rest in enumerate(self._coefficients)]
        )

    @property
    def _unit(self) -> float:
        """A typical size of A.

        A is divided by it, so that its powers stay in the range of floats.
        """
        unit = 1.0 if isinstance(self.noise, TwoSidedLaplace) else float(self.noise.decay)
        return float(self.noise.core) + self.noise.dimension / (2 * unit)

    @cached_property
    def _coefficients(self) -> list[Floats]:
        """The factors of A^(s + n) in `_volumes`: a list by s of arrays by n.

        n is the number of coordinates above 0 in all other blocks. A factor is the volume for s and
        n with A = B = 1, times E B^(D − s − n), over the mean of the whole volume. A is in units of
        `_unit`.
        """
        rest = np.zeros(1)
        for part in self.others:
            rest = _convolve(rest, _log_volumes(part))
        moments, d, own_volumes = (
            self.noise.log_moments,
            self.noise.dimension,
            _log_volumes(self.block),
        )
        size = len(rest)
        logs = [
            own_volumes[s] + rest + moments[: d + 1][::-1][s : s + size]
            for s in range(self.block.queries + 1)
        ]
        total = np.logaddexp.reduce(
            [part + moments[s : s + size] for s, part in enumerate(logs)], axis=None
        )
        units = np.log(self._unit) * np.arange(d + 1)
        return [np.exp(part - total + units[s : s + size]) for s, part in enumerate(logs)]


def _log_volumes(block: Counts) -> Floats:
    """For s = 0 … q, the logarithm of the volume of {P <= 1, Q <= 1} with s coordinates above 0.

    P and Q are the gauges of one block of q coordinates with the bound 1. The volume is C(q, s)
    times the volumes of the block within s and within q − s coordinates.
    """
    q = block.queries
    logs = np.array([math.lgamma(s + 1) for s in range(q + 1)])
    both = logs + logs[::-1]
    return logs[q] - both if block.most == q else logs[q] - 2 * both


def _convolve(a: Floats, b: Floats) -> Floats:
    """The logarithm of the convolution of the arrays e^a and e^b, computed without overflow."""
    result = np.full(len(a) + len(b) - 1, -np.inf)
    for offset, value in enumerate(b):
        window = result[offset : offset + len(a)]
        np.logaddexp(window, a + value, out=window)
    return result


# The law of one coordinate if T is a cube, in units of its bound: all coordinates are alike, and
# one sum over n = A + B is enough.


def _two_sided_steps(noise: TwoSidedStaircase) -> Callable[[float], float]:
    """The function t ↦ Pr(|X_i| > t) for a cube with the bound 1, and noise of scale 1.

    Here d is the dimension, a = core and q = e^(−decay). The weight of A = a + k and B = a + n − k
    is q^n (2a + n)^d, for 0 <= k <= n. So

        Pr(|X_i| > t) = 2 Σ_n q^n (2a + n)^(d−1) Σ_{k<=n} (a + k − t)₊ / Σ_n q^n (n + 1)(2a + n)^d.
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


def _two_sided_smooth(noise: TwoSidedLaplace) -> Callable[[float], float]:
    """The function t ↦ Pr(|X_i| > t) for a cube with the bound 1, and noise of scale 1.

    Here d is the dimension and b = core. The density of A = b + u and B = b + n − u is ∝ e^(−n) (2b
    + n)^d, for 0 <= u <= n. With c = (t − b)₊,

        Pr(|X_i| > t)
            = 2 ∫ e^(−n) (2b + n)^(d−1) ∫_c^n (b + u − t) du dn / ∫ n e^(−n) (2b + n)^d dn.
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
