"""The exact laws of a tree's nodes: how much noise the sums of each level have.

notation: r_l = shares[l]/scale, b_l the branchings, 0 the root and L the cells; n_l the cells below
a node of level l. A_l is the law of a node's sum if only the weights of the node and what is below
it counted: A_L ∝ e^(−r_L|t|), and A_l ∝ (A_{l+1} added b_{l+1} times)·e^(−r_l|t|), of which the
sampler keeps the share κ_l. All other nodes multiply it by U_l(t), U_0 = 1 and
U_{l+1}(t) = Σ_s e^(−r_l|s|) U_l(s) C_l(s − t), where C_l is A_{l+1} added b_{l+1} − 1 times. So
P(Z_l = t) ∝ A_l(t) U_l(t) (theory/noise.md §11).

Two errors are bounded. All sums are taken modulo a `window` N, which is right on the event T that
no node's sum is N/2 or more. Outside T both the law and what is computed weigh at most
P(T fails)/Πκ, where P is that of independent cells: Chernoff's bound says how large N has to be.
Rounding is bounded in the l2 norm, by the theorem that `balls.fourier` rests on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.balls.core import UNIT
from leastnoise.balls.fourier import inverse, relative_error, transform
from leastnoise.errors import InvalidArgument, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]

LARGEST_WINDOW = 1 << 20
MOST_DRAWS = 1 << 25
_LOG_BEYOND = 40.0  # −ln of what the window leaves out
_BEYOND = 1e-16  # twice e^−40, and more
_SAFE = 1.01  # covers second orders of all rounding errors, and the rounding of the bounds
_EXPONENTIAL = 2.0**-50  # error of e^−x, x >= 0, absolute, for an x that is off by 2^-52·x
_STEEP = 50.0  # of a cell's rate: P(z = 0) is 1 in floats
_FAINT = 1e-15  # of the largest probability: from there on rounding is all that is left


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LevelLaw:
    """The law of the noise Z of one node of a level; all nodes of a level are alike.

    `probabilities` are P(Z = t) for t = 0, 1, …, up to where they are lost in rounding; over all t
    they are off by at most `error` in the l2 norm, and 1e-16 in all. `covariance` is that of two
    nodes of one parent, None where there are none.
    """

    level: int
    nodes: int
    share: Fraction
    probabilities: NDArray[np.float64]
    error: float
    covariance: float | None

    @property
    def std(self) -> float:
        """The standard deviation of Z."""
        return math.sqrt(self.variance)

    @cached_property
    def variance(self) -> float:
        """Var Z, to about 1e-9."""
        return moment_of(self.probabilities, 2)

    @cached_property
    def mean_abs(self) -> float:
        """E|Z|, to about 1e-9."""
        return moment_of(self.probabilities, 1)

    def half_width(self, coverage: float = 0.95) -> int:
        """Return the smallest h for which P(|Z| <= h) >= coverage is certain.

        All errors are counted against it. Raises InvalidArgument unless 0 < coverage < 1, and where
        it is too near to 1 to tell.
        """
        if not 0 < coverage < 1:
            raise InvalidArgument(name="coverage", value=coverage, expected="0 < coverage < 1")
        enough = np.flatnonzero(self._inside >= coverage)
        if not enough.size:
            sure = float(self._inside.max())
            raise InvalidArgument(
                name="coverage", value=coverage, expected=f"coverage <= {sure:.12g} for this noise"
            )
        return int(enough[0])

    @cached_property
    def _inside(self) -> NDArray[np.float64]:
        """What P(|Z| <= h) is at least: 2h + 1 numbers are off by √(2h + 1)·error in all."""
        sums = 2 * np.cumsum(self.probabilities) - self.probabilities[0]
        counts = 2 * np.arange(len(sums)) + 1
        return sums - _SAFE * (np.sqrt(counts) * self.error + counts * UNIT + _BEYOND)


def moment_of(probabilities: Floats, power: int) -> float:
    """Return E|Z|^power from P(Z = t), t = 0, 1, …: 0 counts nothing, all else twice."""
    places = np.arange(len(probabilities), dtype=np.float64)
    return 2 * float(probabilities @ places**power) / _total(probabilities)


def _total(probabilities: Floats) -> float:
    return float(2 * probabilities.sum() - probabilities[0])


@lru_cache(maxsize=16)
def level_laws(noise: Agreeing) -> tuple[LevelLaw, ...]:
    """Return the law of a node of each level, the root's first, the cells' last.

    Raises NotApplicable for noise so wide that its laws don't fit in 2^20 numbers.
    """
    solved = solve(noise.branches, rates_of(noise))
    found: list[LevelLaw] = []
    nodes = 1
    for level, (law, share) in enumerate(zip(solved.laws, noise.shares, strict=True)):
        b = noise.branches[level - 1] if level else 1
        nodes *= b
        halves = np.maximum(law.values[: len(law.values) // 2], 0.0)
        faint = np.flatnonzero(halves < _FAINT * halves[0])
        halves = halves[: int(faint[0]) if faint.size else None]
        covariance = None
        if b > 1:  # children are exchangeable
            parts = found[-1].variance - b * moment_of(halves, 2)
            covariance = parts / (b * (b - 1))
        found.append(
            LevelLaw(
                level=level,
                nodes=nodes,
                share=share,
                probabilities=halves,
                error=law.error,
                covariance=covariance,
            )
        )
    return tuple(found)


def rates_of(noise: Agreeing) -> tuple[float, ...]:
    """Return r_0, …, r_L."""
    return tuple(float(share / noise.scale) for share in noise.shares)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """The laws of the levels modulo the window, and κ, which nodes above the cells keep.

    `alone` holds A_l, the law of a node without all that is above it.
    """

    laws: tuple[Known, ...]
    alone: tuple[Known, ...]
    kept: tuple[float, ...]


@lru_cache(maxsize=16)
def solve(
    branches: tuple[int, ...], rates: tuple[float, ...], *, window: int | None = None
) -> Solved:
    """Return the laws of all levels for rates r_0, …, r_L; raises NotApplicable like `level_laws`.

    Nothing is proved with another `window` than the one that is found where none is given.
    """
    size = window or find_window(branches, rates)
    places = np.arange(size, dtype=np.float64)
    lengths = np.minimum(places, size - places)
    weights = [np.exp(-rate * lengths) for rate in rates]
    cell = weights[-1] * math.tanh(rates[-1] / 2)
    alone = [Known(values=cell, error=4 * _EXPONENTIAL * _norm(cell))]
    others: list[Known] = []
    kept: list[float] = []
    for b, weight in zip(reversed(branches), reversed(weights[:-1]), strict=True):
        rest = alone[0].power(b - 1)
        law, share = rest.convolved(alone[0]).times(weight).normalised()
        alone.insert(0, law)
        others.insert(0, rest)
        kept.insert(0, share)
    laws = [alone[0]]
    beside = Known(values=np.ones(size), error=0.0)
    for law, weight, rest in zip(alone[1:], weights[:-1], others, strict=True):
        beside = beside.times(weight).convolved(rest)
        laws.append(law.times_known(beside).normalised()[0])
    return Solved(laws=tuple(laws), alone=tuple(alone), kept=tuple(kept))


def expected_draws(noise: Agreeing) -> float:
    """Return how many cells are drawn on average for one draw: Π_l b_{l+1}/κ_l of them."""
    solved = solve(noise.branches, rates_of(noise))
    return math.prod(b / kept for b, kept in zip(noise.branches, solved.kept, strict=True))


def check_work(noise: Agreeing) -> None:
    """Raise NotApplicable for noise that is drawn in more than 2^25 cells on average.

    They take about ten seconds. The number follows from the law, and not from any data.
    """
    if (draws := expected_draws(noise)) > MOST_DRAWS:
        why = (
            f"a draw takes {draws:.2g} draws of a cell on average, more than {MOST_DRAWS:,}: "
            "give the cells a larger share, or nodes fewer children"
        )
        raise NotApplicable(family=noise.name, why=why)


def find_window(branches: Sequence[int], rates: Sequence[float], *, proved: bool = True) -> int:
    """Return a power of two N so that P(T fails) <= e^−40·Πκ; raises NotApplicable beyond 2^20.

    P(|K₁ + … + K_n| >= M) <= 2 M(θ)^n e^(−θM) for independent cells, M(θ) = E e^(θK) and any
    0 < θ < r_L. Without `proved` it is e^−20, and κ isn't counted.

    κ_l = E e^(−r|S|), S a sum of n cells or less: the law of S is symmetric, falls on both sides of
    0, and has a variance σ² that is at most that of independent cells, since each weight that falls
    with the length lowers it. So κ >= e^(−rσ) by Jensen's inequality, and κ >= e^(−rk) P(|S| <= k),
    which for k <= 2σ is at least (2k + 1)/(4σ + 1) of P(|S| <= 2σ) >= 3/4.
    """
    rate, cells = min(rates[-1], _STEEP), math.prod(branches)  # cells of more noise reach further
    q = math.exp(-rate)
    variance = 2 * q / (1 - q) ** 2
    needed, nodes, below = _LOG_BEYOND if proved else _LOG_BEYOND / 2, 1, cells
    for b, r in zip(branches, rates[:-1], strict=True):
        if proved:
            needed += nodes * _log_lost(r, math.sqrt(below * variance))
        nodes, below = nodes * b, below // b
    needed += math.log(2 * (len(branches) + 1) * cells)  # nodes, at most
    theta = rate * np.geomspace(1e-5, 0.999, 400)
    moments = 2 * np.log(-math.expm1(-rate)) - np.log(
        (1 - q * np.exp(theta)) * (1 - q * np.exp(-theta))
    )
    half = float(np.min((cells * moments + needed) / theta))
    size = 1 << max(6, math.ceil(math.log2(2 * _SAFE * half + 4)))
    if size > LARGEST_WINDOW:
        raise NotApplicable(
            family="agreeing",
            why=f"sums over so many cells, of so small shares, reach {half:.3g}: more than "
            f"{LARGEST_WINDOW // 2:,}; give fewer cells or a larger epsilon",
        )
    return size


def _log_lost(rate: float, sigma: float) -> float:
    """Return what −ln κ is at most."""
    k = math.floor(min(1 / rate, 2 * sigma)) if rate else 0
    unimodal = rate * k + math.log((4 * sigma + 1) / (0.75 * (2 * k + 1)))
    return min(rate * sigma, unimodal)


def _norm(values: Floats) -> float:
    return float(np.linalg.norm(values))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """Numbers x_t, t modulo N: ‖values − x‖₂ <= error."""

    values: NDArray[np.float64]
    error: float

    def times(self, weights: Floats) -> Known:
        """Return x·w for weights e^(−r|t|), which are off by `_EXPONENTIAL`."""
        error = self.error + 2 * _EXPONENTIAL * _norm(self.values)
        return Known(values=self.values * weights, error=_SAFE * error)

    def times_known(self, other: Known) -> Known:
        """Return x·y."""
        largest, others = float(self.values.max()), float(other.values.max())
        error = others * self.error + (largest + self.error) * other.error
        product = self.values * other.values
        return Known(values=product, error=_SAFE * (error + UNIT * _norm(product)))

    def normalised(self) -> tuple[Known, float]:
        """Return x/Σx, and about Σx."""
        total = float(self.values.sum())
        off = self._sum_error() + len(self.values) * UNIT * total
        relative = off / (total - off) if off < total else math.inf
        error = self.error / total + _norm(self.values) / total * (relative + UNIT)
        return Known(values=self.values / total, error=_SAFE * (1 + relative) * error), total

    def convolved(self, other: Known) -> Known:
        """Return Σ_s x_s y_{t−s}: with hats for transforms, x̂ŷ − x̂'ŷ' = x̂(ŷ − ŷ') + ŷ'(x̂ − x̂')."""
        nu = relative_error(len(self.values))
        found = inverse(transform(self.values) * transform(other.values))
        error = (
            self._largest() * other._spectrum_error() + other._largest() * self._spectrum_error()
        )
        return Known(values=found, error=_SAFE * (error + (nu + 3 * UNIT) * _norm(found)))

    def power(self, count: int) -> Known:
        """Return x convolved with itself, `count` times in all; 1 at t = 0 for none."""
        if count <= 1:
            one = np.zeros(len(self.values))
            one[0] = 1.0
            return self if count else Known(values=one, error=0.0)
        nu = relative_error(len(self.values))
        found = inverse(_raised(transform(self.values), count))
        error = count * self._largest() ** (count - 1) * self._spectrum_error()
        return Known(values=found, error=_SAFE * (error + (nu + 3 * count * UNIT) * _norm(found)))

    def _largest(self) -> float:
        """Return what no number of the transform exceeds, of x and as it is computed."""
        rooted = math.sqrt(len(self.values))
        return float(np.abs(self.values).sum()) * (1 + 1e-9) + rooted * self._spectrum_error()

    def _spectrum_error(self) -> float:
        """Return the error of the transform in the l2 norm, over √N."""
        return self.error + relative_error(len(self.values)) * _norm(self.values)

    def _sum_error(self) -> float:
        return math.sqrt(len(self.values)) * self.error


def _raised(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Return values^count by products, each off by √5·2^-53."""
    found, power = None, values
    while True:
        if count & 1:
            found = power if found is None else found * power
        count >>= 1
        if not count:
            return values if found is None else found
        power = power * power
