"""The exact laws of a tree's nodes: how much noise the sums of each level have.

notation: r_l = shares[l]/scale, b_l the branchings, 0 the root and L the cells; n_l the cells below
a node of level l. A_l is the law of a node's sum if only the weights of the node and what is below
it counted: A_L ∝ e^(−r_L|t|), and A_l ∝ (A_{l+1} added b_{l+1} times)·e^(−r_l|t|), of which the
sampler keeps the share κ_l. All other nodes multiply it by U_l(t), U_0 = 1 and
U_{l+1}(t) = Σ_s e^(−r_l|s|) U_l(s) C_l(s − t), where C_l is A_{l+1} added b_{l+1} − 1 times. So
P(Z_l = t) ∝ A_l(t) U_l(t) (theory/noise.md §11). Where nodes of a level differ, sums are those of
their own children, A_l is one for each kind, U_l for each place (see `shape`).

Two errors are bounded. All sums are taken modulo a `window` N, which is right on the event T that
no node's sum is N/2 or more. Outside T both the law and what is computed weigh at most
P(T fails)/Πκ, where P is that of independent cells: Chernoff's bound says how large N has to be.
Rounding is bounded in the l2 norm, by the theorem that `balls.rounded` rests on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.balls.core import UNIT
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.trees.known import EXPONENTIAL, SAFE, Known, all_but_one, norm
from leastnoise.noise.trees.shape import TreeShape, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]

LARGEST_WINDOW = 1 << 20
MOST_NUMBERS = 1 << 24
"""The window times all places of a tree, of which as many numbers are kept several times."""
GIVEN_AWAY = 1e-6
"""Of a probability: for rounding, which is far less, and for what windows of sums leave out."""
_LOG_BEYOND = 40.0  # −ln of what the window leaves out
_BEYOND = 1e-16  # twice e^−40, and more
_TILTS = np.geomspace(1e-5, 0.999, 400)  # of a cell's rate, where Chernoff's bound is tried
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
        return sums - SAFE * (np.sqrt(counts) * self.error + counts * UNIT + _BEYOND)


def moment_of(probabilities: Floats, power: int) -> float:
    """Return E|Z|^power from P(Z = t), t = 0, 1, …: 0 counts nothing, all else twice."""
    places = np.arange(len(probabilities), dtype=np.float64)
    return 2 * float(probabilities @ places**power) / _total(probabilities)


def _total(probabilities: Floats) -> float:
    return float(2 * probabilities.sum() - probabilities[0])


def level_laws(noise: Agreeing) -> tuple[LevelLaw, ...]:
    """Return the law of a node of each level, the root's first, the cells' last.

    Raises InvalidArgument for a tree whose nodes of one level differ, and what `node_laws` does.
    """
    laws = node_laws(noise)
    if any(len(level) > 1 for level in laws):
        expected = "a tree whose nodes of one level are alike; ask node_laws"
        raise InvalidArgument(name="noise", value="a tree of unlike nodes", expected=expected)
    return tuple(level[0] for level in laws)


def cell_laws(noise: Agreeing) -> tuple[LevelLaw, ...]:
    """Return the laws of the cells: one for each place.

    A root without a share makes its children independent: each is a tree by itself.
    """
    if noise.even and not noise.shares[0] and len(noise.branches) > 1:
        below = replace(noise, branches=noise.branches[1:], shares=noise.shares[1:])
        (law,) = cell_laws(below)
        return (replace(law, level=law.level + 1, nodes=noise.dimension),)
    return node_laws(noise)[-1]


@lru_cache(maxsize=16)
def node_laws(noise: Agreeing) -> tuple[tuple[LevelLaw, ...], ...]:
    """Return the laws of the nodes of each level: one for each place of `noise.shape`.

    Raises NotApplicable for noise so wide that its laws don't fit in 2^20 numbers, and for a tree
    of so many unlike nodes that all of theirs don't fit in 2^24.
    """
    solved, shape = solve(noise.branches, rates_of(noise)), noise.shape
    found: list[tuple[LevelLaw, ...]] = []
    for level, share in enumerate(noise.shares):
        nodes = shape.count(level)
        own: list[LevelLaw] = []
        for place, (parent, _) in enumerate(shape.places[level]):
            law = solved.laws[level][place]
            halves = np.maximum(law.values[: len(law.values) // 2], 0.0)
            faint = np.flatnonzero(halves < _FAINT * halves[0])
            halves = halves[: int(faint[0]) if faint.size else None]
            alike = shape.kinds[level - 1][shape.places[level - 1][parent][1]] if level else ()
            covariance = None
            if len(alike) == 1 and (b := alike[0][1]) > 1:  # children are exchangeable
                parts = found[-1][parent].variance - b * moment_of(halves, 2)
                covariance = parts / (b * (b - 1))
            one = LevelLaw(
                level=level,
                nodes=nodes[place],
                share=share,
                probabilities=halves,
                error=law.error,
                covariance=covariance,
            )
            own.append(one)
        found.append(tuple(own))
    return tuple(found)


def rates_of(noise: Agreeing) -> tuple[float, ...]:
    """Return r_0, …, r_L."""
    return tuple(float(share / noise.scale) for share in noise.shares)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """The laws of nodes modulo the window, and κ, which nodes above the cells keep; by level.

    `laws` are those of each place of the tree; `alone` holds A_l, the law of a node without all
    that is above it, of each kind, as `kept` holds κ.
    """

    laws: tuple[tuple[Known, ...], ...]
    alone: tuple[tuple[Known, ...], ...]
    kept: tuple[tuple[float, ...], ...]


@lru_cache(maxsize=16)
def solve(
    branches: tuple[int, ...], rates: tuple[float, ...], *, window: int | None = None
) -> Solved:
    """Return the laws of all levels for rates r_0, …, r_L; raises NotApplicable like `node_laws`.

    Nothing is proved with another `window` than the one that is found where none is given.
    """
    shape = shape_of(branches, len(rates) - 1)
    size = window or find_window(branches, rates)
    check_numbers(shape, size)
    places = np.arange(size, dtype=np.float64)
    lengths = np.minimum(places, size - places)
    weights = [np.exp(-rate * lengths) for rate in rates]
    cell = weights[-1] * math.tanh(rates[-1] / 2)
    known = Known(values=cell, error=4 * EXPONENTIAL * norm(cell), mass=1.0)
    alone: list[tuple[Known, ...]] = [(known,)]
    others: list[list[list[Known]]] = []
    kept: list[tuple[float, ...]] = []
    for kinds, weight in zip(reversed(shape.kinds[:-1]), reversed(weights[:-1]), strict=True):
        rests = [all_but_one([(alone[0][kind], b) for kind, b in own]) for own in kinds]
        found = [
            rest[0].convolved(alone[0][own[0][0]]).times(weight).normalised()
            for rest, own in zip(rests, kinds, strict=True)
        ]
        alone.insert(0, tuple(law for law, _ in found))
        others.insert(0, rests)
        kept.insert(0, tuple(share for _, share in found))
    laws, ones = [alone[0]], Known(values=np.ones(size), error=0.0)
    beside = [ones]
    for level, weight in enumerate(weights[:-1], start=1):
        above = [one.times(weight) for one in beside]
        beside = [ones] * len(shape.places[level])
        for place, (parent, kind) in enumerate(shape.places[level]):
            if not any(rates[:level]):  # U stays 1, exactly: sums of a law over all t
                continue
            whole = shape.places[level - 1][parent][1]
            siblings = [one for one, _ in shape.kinds[level - 1][whole]]
            rest = others[level - 1][whole][siblings.index(kind)]
            beside[place] = above[parent].convolved(rest)
        pairs = zip(shape.places[level], beside, strict=True)
        laws.append(
            tuple(alone[level][kind].times_known(one).normalised()[0] for (_, kind), one in pairs)
        )
    return Solved(laws=tuple(laws), alone=tuple(alone), kept=tuple(kept))


def check_numbers(shape: TreeShape, window: int) -> None:
    """Raise NotApplicable where the laws of all places don't fit in 2^24 numbers."""
    if (numbers := window * sum(map(len, shape.places))) > MOST_NUMBERS:
        why = f"its nodes have so many laws that these are of {numbers:,} numbers"
        raise NotApplicable(family="agreeing", why=f"{why}, more than {MOST_NUMBERS:,}")


def find_window(branches: Sequence[int], rates: Sequence[float], *, proved: bool = True) -> int:
    """Return a power of two N so that P(T fails) <= e^−40·Πκ; raises NotApplicable beyond 2^20.

    P(|K₁ + … + K_n| >= M) <= 2 M(θ)^n e^(−θM) for independent cells, M(θ) = E e^(θK) and any
    0 < θ < r_L. Without `proved` it is e^−20, and κ isn't counted.

    κ_l = E e^(−r|S|), S a sum of n cells or less: the law of S is symmetric, falls on both sides of
    0, and has a variance σ² that is at most that of independent cells, since each weight that falls
    with the length lowers it. So κ >= e^(−rσ) by Jensen's inequality, and κ >= e^(−rk) P(|S| <= k),
    which for k <= 2σ is at least (2k + 1)/(4σ + 1) of P(|S| <= 2σ) >= 3/4.
    """
    shape = shape_of(tuple(branches), len(rates) - 1)
    rate, cells = min(rates[-1], _STEEP), shape.cells  # cells of more noise reach further
    q = math.exp(-rate)
    variance = 2 * q / (1 - q) ** 2
    needed = _LOG_BEYOND if proved else _LOG_BEYOND / 2
    for cells_below, r in zip(shape.cells_below, rates[:-1], strict=False):
        if proved:
            for below, nodes in zip(*np.unique(cells_below, return_counts=True), strict=True):
                needed += nodes * _log_lost(r, math.sqrt(below * variance))
    needed += math.log(2 * len(rates) * cells)  # nodes, at most
    theta = rate * _TILTS
    moments = 2 * np.log(-math.expm1(-rate)) - np.log(
        (1 - q * np.exp(theta)) * (1 - q * np.exp(-theta))
    )
    half = float(np.min((cells * moments + needed) / theta))
    size = 1 << max(6, math.ceil(math.log2(2 * SAFE * half + 4)))
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
