"""The exact laws of a tree's nodes: the noise in the sums of each level.

Notation: level 0 is the root, and level L has the cells. Z_l, or just Z, is the noise of a node of
level l: the sum over its cells. r_l = shares[l]/scale is the rate of level l. b_l is the number of
children of a node of level l − 1. P is a probability, and E is the mean.

A_l is the law of a node's sum if only the weights of the node and of the nodes below it count:
A_L(t) ∝ e^(−r_L|t|), and A_l(t) ∝ e^(−r_l|t|) times the b_{l+1}-fold convolution of A_{l+1}. κ_l is
the mean of e^(−r_l|t|) under this convolution, which is the share of candidates that the sampler
keeps. The weights of all other nodes multiply A_l by U_l, where U_0 = 1 and U_{l+1}(t) = Σ_s
e^(−r_l|s|) U_l(s) C_l(s − t). C_l is the (b_{l+1} − 1)-fold convolution of A_{l+1}. So P(Z_l = t) ∝
A_l(t) U_l(t) (theory/noise.md §11). If nodes of a level differ, convolutions are over a node's own
children. There is an A_l for each kind of node, and a U_l for each position (see `shape`).

Two errors are bounded. All sums are computed modulo a `window` N, which is right on the event T
that all nodes' sums are below N/2 in size. Outside T, the law and the computed numbers both have a
mass of at most P(T fails)/Πκ. Here P is the law of independent cells, and Πκ is the product over
all nodes above the cells. Chernoff's bound gives a sufficient N. Rounding is bounded in the l2
norm, by the theorem that `balls.rounded` rests on.
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
"""The largest product of the window and the number of positions of a tree: a limit on memory."""
GIVEN_AWAY = 1e-6
"""An allowance in probabilities for sums beyond their window, and for rounding (far less)."""
_LOG_BEYOND = 40.0  # −ln of the probability beyond the window
_BEYOND = 1e-16  # a bound on 2·e^−40
_TILTS = np.geomspace(1e-5, 0.999, 400)  # θ of Chernoff's bound, in units of a cell's rate
_STEEP = 50.0  # for a cell's rate above it, P(z = 0) is 1 in floats
_FAINT = 1e-15  # probabilities below this, relative to the largest, are rounding noise


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LevelLaw:
    """The law of the noise Z of a node, the same for all nodes of one position.

    `probabilities` are P(Z = t) for t = 0, 1, …, until they are rounding noise. Over all t their
    error is at most `error` in the l2 norm, plus 1e-16 in total. `covariance` is the covariance of
    the noise of two children of one parent. It is None for the root, and if the parent has one
    child or children of different kinds.

    Attributes:
        level: Level of the node; 0 is the root.
        nodes: Number of nodes with this law.
        share: Share of the level, as in `Agreeing`.
        probabilities: P(Z = t) for t = 0, 1, …; P(Z = −t) is the same.
        error: Bound on the error of the probabilities in the l2 norm.
        covariance: Covariance of the noise of two children of one parent, or None.

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
        """The variance of Z, computed from `probabilities`; 0 for a very small scale."""
        return moment_of(self.probabilities, 2)

    @cached_property
    def mean_abs(self) -> float:
        """The mean E|Z|, computed from `probabilities`; 0 for a very small scale."""
        return moment_of(self.probabilities, 1)

    def half_width(self, coverage: float = 0.95) -> int:
        """The smallest h for which P(|Z| <= h) >= coverage is proved.

        The errors of the probabilities are counted at their largest.

        Args:
            coverage: A probability between 0 and 1.

        Returns:
            The half-width, an integer.

        Raises:
            InvalidArgument: The coverage is not between 0 and 1, or too near to 1 to be decided.
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
        """Lower bounds on P(|Z| <= h) for h = 0, 1, ….

        The sum of 2h + 1 probabilities errs by at most √(2h + 1)·error, plus 1e-16 and rounding.
        """
        sums = 2 * np.cumsum(self.probabilities) - self.probabilities[0]
        counts = 2 * np.arange(len(sums)) + 1
        return sums - SAFE * (np.sqrt(counts) * self.error + counts * UNIT + _BEYOND)


def moment_of(probabilities: Floats, power: int) -> float:
    """The mean E|Z|^power, given P(Z = t) for t = 0, 1, …; each t > 0 counts twice."""
    points = np.arange(len(probabilities), dtype=np.float64)
    return 2 * float(probabilities @ points**power) / _total(probabilities)


def _total(probabilities: Floats) -> float:
    return float(2 * probabilities.sum() - probabilities[0])


def level_laws(noise: Agreeing) -> tuple[LevelLaw, ...]:
    """The law of a node for each level of a tree whose nodes of one level are alike.

    Args:
        noise: The noise on the tree.

    Returns:
        The laws, root first, cells last.

    Raises:
        InvalidArgument: Nodes of one level differ; `node_laws` serves such trees.
        NotApplicable: The laws are too wide or too many, as in `node_laws`.

    """
    laws = node_laws(noise)
    if any(len(level) > 1 for level in laws):
        expected = "a tree whose nodes of one level are alike; use node_laws for others"
        raise InvalidArgument(name="noise", value="a tree of unlike nodes", expected=expected)
    return tuple(level[0] for level in laws)


def cell_laws(noise: Agreeing) -> tuple[LevelLaw, ...]:
    """The laws of the cells, one for each position.

    If the root of an even tree has no share, its children are independent, so only the tree of one
    child is computed.
    """
    if noise.even and not noise.shares[0] and len(noise.branches) > 1:
        below = replace(noise, branches=noise.branches[1:], shares=noise.shares[1:])
        (law,) = cell_laws(below)
        return (replace(law, level=law.level + 1, nodes=noise.dimension),)
    return node_laws(noise)[-1]


@lru_cache(maxsize=16)
def node_laws(noise: Agreeing) -> tuple[tuple[LevelLaw, ...], ...]:
    """The laws of the nodes of each level, one for each position of `noise.shape`.

    Args:
        noise: The noise on the tree.

    Returns:
        For each level, root first, the laws of its positions.

    Raises:
        NotApplicable: The noise is so wide that a law doesn't fit in 2^20 numbers, or all laws
            together don't fit in 2^24, for a tree of many unlike nodes.

    """
    solved, shape = solve(noise.branches, rates_of(noise)), noise.shape
    levels: list[tuple[LevelLaw, ...]] = []
    for level, share in enumerate(noise.shares):
        nodes = shape.count(level)
        laws: list[LevelLaw] = []
        for position, (parent, _) in enumerate(shape.positions[level]):
            law = solved.laws[level][position]
            halves = np.maximum(law.values[: len(law.values) // 2], 0.0)
            faint = np.flatnonzero(halves < _FAINT * halves[0])
            halves = halves[: int(faint[0]) if faint.size else None]
            alike = shape.kinds[level - 1][shape.positions[level - 1][parent][1]] if level else ()
            covariance = None
            if len(alike) == 1 and (b := alike[0][1]) > 1:  # children are exchangeable
                parts = levels[-1][parent].variance - b * moment_of(halves, 2)
                covariance = parts / (b * (b - 1))
            node_law = LevelLaw(
                level=level,
                nodes=nodes[position],
                share=share,
                probabilities=halves,
                error=law.error,
                covariance=covariance,
            )
            laws.append(node_law)
        levels.append(tuple(laws))
    return tuple(levels)


def rates_of(noise: Agreeing) -> tuple[float, ...]:
    """The rates r_l = shares[l]/scale, root first."""
    return tuple(float(share / noise.scale) for share in noise.shares)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """The laws of the nodes modulo the window, and κ, by level (root first).

    `laws` has a law for each position. `subtrees` has A_l for each kind of node, and `acceptance`
    has κ_l for each kind of node above the cells.
    """

    laws: tuple[tuple[Known, ...], ...]
    subtrees: tuple[tuple[Known, ...], ...]
    acceptance: tuple[tuple[float, ...], ...]


@lru_cache(maxsize=16)
def solve(
    branches: tuple[int, ...], rates: tuple[float, ...], *, window: int | None = None
) -> Solved:
    """The laws of all nodes, for levels with the `rates` r_0, …, r_L.

    The error bounds hold only if `window` is None, so that `find_window` chooses it. Raises
    NotApplicable if a law doesn't fit in 2^20 numbers, or all laws don't fit in 2^24.
    """
    shape = shape_of(branches, len(rates) - 1)
    size = window or find_window(branches, rates)
    check_numbers(shape, size)
    points = np.arange(size, dtype=np.float64)
    lengths = np.minimum(points, size - points)
    weights = [np.exp(-rate * lengths) for rate in rates]
    cell = weights[-1] * math.tanh(rates[-1] / 2)
    known = Known(values=cell, error=4 * EXPONENTIAL * norm(cell), mass=1.0)
    subtrees: list[tuple[Known, ...]] = [(known,)]
    others: list[list[list[Known]]] = []
    acceptance: list[tuple[float, ...]] = []
    for kinds, weight in zip(reversed(shape.kinds[:-1]), reversed(weights[:-1]), strict=True):
        rests = [
            all_but_one([(subtrees[0][kind], b) for kind, b in children]) for children in kinds
        ]
        normalised = [
            rest[0].convolved(subtrees[0][children[0][0]]).times(weight).normalised()
            for rest, children in zip(rests, kinds, strict=True)
        ]
        subtrees.insert(0, tuple(law for law, _ in normalised))
        others.insert(0, rests)
        acceptance.insert(0, tuple(share for _, share in normalised))
    laws, ones = [subtrees[0]], Known(values=np.ones(size), error=0.0)
    beside = [ones]
    for level, weight in enumerate(weights[:-1], start=1):
        above = [law_beside.times(weight) for law_beside in beside]
        beside = [ones] * len(shape.positions[level])
        for position, (parent, kind) in enumerate(shape.positions[level]):
            if not any(rates[:level]):  # U stays 1, exactly: sums of a law over all t
                continue
            parent_kind = shape.positions[level - 1][parent][1]
            siblings = [law_beside for law_beside, _ in shape.kinds[level - 1][parent_kind]]
            rest = others[level - 1][parent_kind][siblings.index(kind)]
            beside[position] = above[parent].convolved(rest)
        pairs = zip(shape.positions[level], beside, strict=True)
        laws.append(
            tuple(
                subtrees[level][kind].times_known(law_beside).normalised()[0]
                for (_, kind), law_beside in pairs
            )
        )
    return Solved(laws=tuple(laws), subtrees=tuple(subtrees), acceptance=tuple(acceptance))


def check_numbers(shape: TreeShape, window: int) -> None:
    """Raise NotApplicable if the laws of all positions take more than 2^24 numbers."""
    if (numbers := window * sum(map(len, shape.positions))) > MOST_NUMBERS:
        why = f"the laws of its nodes take {numbers:,} numbers, more than {MOST_NUMBERS:,}"
        raise NotApplicable(family="agreeing", why=why)


def find_window(branches: Sequence[int], rates: Sequence[float], *, proved: bool = True) -> int:
    """The window N of the module's docstring: a power of two with P(T fails) <= e^−40·Πκ.

    T is the event that all nodes' sums are below N/2 in size, and Πκ is the product of κ over all
    nodes above the cells. For n independent cells K_i, M = N/2 and any 0 < θ < r_L, Chernoff's
    bound is P(|K₁ + … + K_n| >= M) <= 2·(E e^(θK₁))^n·e^(−θM). Unless `proved`, the bound is e^−20,
    and the factor Πκ is left out. Raises NotApplicable if N would be above 2^20.
    """
    shape = shape_of(tuple(branches), len(rates) - 1)
    rate, cells = min(rates[-1], _STEEP), shape.cells  # a smaller rate only makes N larger
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
            why=f"the noise of sums of its cells reaches {half:.3g}, more than "
            f"{LARGEST_WINDOW // 2:,}; use fewer cells, larger shares or a larger epsilon",
        )
    return size


def _log_lost(rate: float, sigma: float) -> float:
    """An upper bound on −ln κ of a node with this `rate`.

    Let S be the sum of the cells below the node without the node's own weight, r = rate, so κ = E
    e^(−r|S|). `sigma` is the standard deviation σ of the sum of as many independent cells. The law
    of S is symmetric and falls on both sides of 0. Its variance is at most σ², since the weight of
    each node falls with the size of its sum. So κ >= e^(−rσ) by Jensen's inequality. Also κ >=
    e^(−rk) P(|S| <= k) for each k <= 2σ. There P(|S| <= k) is at least (2k + 1)/(4σ + 1) times
    P(|S| <= 2σ) >= 3/4.
    """
    k = math.floor(min(1 / rate, 2 * sigma)) if rate else 0
    unimodal = rate * k + math.log((4 * sigma + 1) / (0.75 * (2 * k + 1)))
    return min(rate * sigma, unimodal)
