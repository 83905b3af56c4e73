"""Quantiles of a coordinate of noise in the gauge of a body.

Notation: X is the noise, K is its body, D is the dimension of K, and N is its gauge. X_i is
coordinate i, and b is its bound. A cell is a box of q numbers, and G is the noise's gauge within
one cell, in scales. E[Y; G > x] is the mean of Y where G > x, and of 0 elsewhere; M_k(x) =
E[G^(−k); G > x]. U is a uniform point of K (in `CellLaw`, a uniform number). A block is one of the
bodies that `Together` combines. P is a probability; Gamma(n) and Beta(m, n) also stand for random
numbers of these laws.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.bodies.signed import Differences
from leastnoise.guarantees.bodies.together import Together
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.bodies.profile.gauge_factors import beta_moment, block_share, gamma_rule
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.noise.common.profile import solve
from leastnoise.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.one_sided import OneSided

    Floats = NDArray[np.float64]

# One number of a cell, or two together, for noise in boxes of q numbers.
#
# notation: G = the gauge of a cell's noise, in scales. Given G, the size of one of the cell's q
# numbers is its bound times G, each with probability 1/q, and the others are uniform within their
# bounds times G (see below).


@final
@dataclass(frozen=True, kw_only=True)
class CellLaw:
    """The law of the noise in a cell of q = `each` numbers, from the moments of the cell's gauge G.

    `moment` maps k < q and x to M_k(x) = E[G^(−k); G > x].
    """

    each: int
    moment: Callable[[int, float], float]

    def tail(self, c: float) -> float:
        """The probability P(|X_i| > c·b) for a number X_i of the cell, where b is the bound of X_i.

        All lengths of this class are in scales.
        """
        beyond = self.moment(0, c)
        q = self.each
        return beyond if q == 1 else beyond - (q - 1) / q * c * self.moment(1, c)

    def tail_of_difference(self, t: float, a: float, b: float) -> float:
        """The probability P(|X_i − r·X_j| > t) for two numbers X_i and X_j of the cell.

        a is the bound of X_i, and b > 0 the bound of r·X_j.

        Given G, one of the q numbers is at an end of its range: at ± its bound times G, each with
        probability 1/q. If X_i is at its end, |X_i − r·X_j| has the law of G·|a + bV|, and if X_j
        is, the law of G·|b + aV|. Otherwise it has the law of G·|aU + bV|. U and V are independent
        and uniform in [−1, 1]. As functions of G, all three tails have breaks at G = t/(a + b) and
        G = t/|a − b|. So they need the moments of G beyond these two points: `near` beyond the
        first, `far` beyond the second.
        """
        q, most, least = self.each, max(a, b), min(a, b)
        orders = range(min(q, 3))
        near = [self.moment(k, t / (most + least)) for k in orders]
        far = [0.0 if least == most else self.moment(k, t / (most - least)) for k in orders]
        between = [inner - outer for inner, outer in zip(near, far, strict=True)]
        sloping = (most + least) * between[0] - t * between[1]
        larger = far[0] + sloping / (2 * least)
        smaller = far[0] - t * far[1] / most + sloping / (2 * most)
        if q == 2:
            return (larger + smaller) / 2
        sloping = (most + least) * sloping - t * ((most + least) * between[1] - t * between[2])
        neither = far[0] - t * far[1] / most + sloping / (4 * most * least)
        return (larger + smaller + (q - 2) * neither) / q

    def tail_beside(self, c: float) -> float:
        """The probability P(|X + Y| > c·b) for numbers X and Y of different cells.

        Y is the only number of its cell. The cell of X has q − 1 numbers, where q = `each`. Both X
        and Y have the bound b.

        G is the gauge of both cells together, and B·G the gauge of Y's cell, B ~ Beta(1, q − 1).
        Given G, |X + Y| has the law of b·G·|B ± (1 − B)·V| with a fair sign. V is 1 with
        probability 1/(q − 1), and otherwise uniform in [−1, 1]. With p = q − 1 and z = c/G < 1, the
        probability given G that |X + Y| exceeds c·b is

            1 − z + (((1 + z)/2)^p − ((1 − z)/2)^p)/(2p) = 1 − z + Σ_(odd k) C(p, k) z^k/(2^p p).
        """
        p = self.each - 1
        odd = (math.comb(p, k) * c**k * self.moment(k, c) for k in range(1, p + 1, 2))
        return self.moment(0, c) - c * self.moment(1, c) + sum(odd) / (2**p * p)


# The law of one coordinate of noise in the shape of cells that are boxes, or of several blocks of
# such cells.
#
# notation: K the hull of boxes, D numbers in all; q the numbers of one box, [−b, b]^q. The
# gauge of one cell of U, uniform in K, is B ~ Beta(q, D − q + 1); for noise e^(−N) it is
# G ~ Gamma(q), independent of the other cells. Given the gauge, the size of one of the cell's
# numbers is b times it, each with probability 1/q, and the others are uniform below. So, with
# P(Beta(0, ·) > c) = 0,
#
# P(|U_i| > bc) = P(Beta(q, D − q + 1) > c) − (Dc/q)·P(Beta(q − 1, D − q + 1) > c),
# P(|X_i| > bc) = P(Gamma(q) > c) − (c/q)·P(Gamma(q − 1) > c).
#
# If a cell's bounds differ, b is the bound of coordinate i: the box is a cube with stretched axes.
# The gauges of all cells of U, and 1 minus their sum, are Dirichlet with parameters q and 1. So two
# cells together have the gauge of one cell with all their numbers.
#
# Several blocks together (`Together`, p = exponent, r = radius of the block, d its coordinates):
# the gauge of a block is r·N·S^(1/p), S ~ Beta(d/p, (D − d)/p). The block's point over its gauge is
# independent of the gauge, and a cell of it has gauge Beta(q, d − q). For p = ∞ a block of U is
# uniform in r·K.
# Two numbers together: `CellLaw`.
#
# Differences of {x >= 0, Σx <= b} in D numbers (theory/bodies.md §6): s of the numbers of U are
# above 0 with probability C(D, s)²/C(2D, D), uniform in b times a simplex; the others are below 0
# and have the mirrored law. So P(|U_i| > bc) = 2 Σ_s (s/D)·C(D, s)²/C(2D, D)·(1 − c)^s, and
# X = Gamma(D + 1)·U for e^(−N).


_MOST_STEPS = 10_000  # about D/decay; with more, steps gain nothing over e^(−N)


@final
@dataclass(frozen=True, kw_only=True)
class BoxIn:
    """One of the boxes of a body; its first number has the index `first`.

    The box has `each` numbers (q), and `dimension` is the dimension of the body (D). `bound` is the
    bound b of the number for which the box was looked up.
    """

    dimension: int
    each: int
    bound: float
    first: int


def find_box(body: Body, coordinate: int) -> BoxIn | None:
    """The box that contains a coordinate: the body itself, or a cell of `Cells`.

    None if that is no `Box`. Only the bound of `coordinate` is kept: after scaling each coordinate
    by its bound, the box is a cube.
    """
    if isinstance(body, Box):
        bound, each = float(body.bounds[coordinate]), len(body.bounds)
        return BoxIn(dimension=each, each=each, bound=bound, first=0)
    if not isinstance(body, Cells):
        return None
    sizes = [part.dimension * copies for part, copies in zip(body.bodies, body.copies, strict=True)]
    firsts = [0, *itertools.accumulate(sizes)]
    index = bisect_right(firsts, coordinate) - 1
    cell, start = body.bodies[index], firsts[index]
    start += (coordinate - start) // cell.dimension * cell.dimension
    box = find_box(cell, coordinate - start)
    if box is None:
        return None
    return replace(box, dimension=body.dimension, first=start + box.first)


def tail_of(noise: BodyNoise, coordinate: int) -> Callable[[float], float] | None:
    """The function t ↦ P(|X_i| > t·scale) for i = `coordinate`; None if that law isn't known."""
    if isinstance(noise.body, Differences):
        return _tail_of_differences(noise, noise.body.of)
    location = box_of(noise, coordinate)
    if location is None:
        return None
    box, _ = location
    law = law_of(noise, box, box.each)
    return None if law is None else lambda t: law.tail(t / box.bound)


def box_of(noise: BodyNoise, coordinate: int) -> tuple[BoxIn, int] | None:
    """The box of a coordinate in its block, and the index of the block's first number.

    None if the coordinate is in no box. A body that isn't `Together` is a single block.
    """
    body, index_in_block = noise.body, coordinate
    if isinstance(body, Together):
        firsts = [0, *itertools.accumulate(block.dimension for block in body.bodies)]
        index = bisect_right(firsts, coordinate) - 1
        body, index_in_block = (
            body.bodies[index].times(body.radii[index]),
            coordinate - firsts[index],
        )
    box = find_box(body, index_in_block)
    return None if box is None else (box, coordinate - index_in_block)


def law_of(noise: BodyNoise, box: BoxIn, each: int) -> CellLaw | None:
    """The law of a cell of `each` numbers in the block of `box`; None if it isn't known.

    For two numbers of different cells, `each` counts the numbers of both cells, taken as one cell.
    The gauge of this cell is the sum of their gauges.
    """
    whole = noise.body
    if isinstance(noise, KNorm):
        if isinstance(whole, Together) and whole.exponent != 1:  # then blocks aren't independent
            return _exponential_in_block(each, box.dimension, whole)
        moment = _gamma_moment(each)
        return CellLaw(each=each, moment=lambda k, x: float(moment(k, x)))
    mixture = _mixture(noise, whole.dimension)
    if mixture is None or (isinstance(whole, Together) and whole.exponent is not None):
        return None
    return _steps(each, box.dimension, *mixture)


def _tail_of_differences(noise: BodyNoise, of: OneSided) -> Callable[[float], float] | None:
    """The function t ↦ P(|X_i| > t·scale) for noise on the differences T − T, where T = `of`.

    None unless T is a simplex, and for staircases with too many coordinates or steps to compute it.
    """
    if not isinstance(of, Counts) or of.most > 1:
        return None
    d, bound, uniform = of.queries, float(of.bound), _simplices(of.queries)
    if isinstance(noise, KNorm):
        return lambda t: _gamma_times(uniform, d, t / bound)
    most_simplices = 1_000  # numbers, beyond which steps take seconds, and gain nothing either
    mixture = _mixture(noise, d) if d <= most_simplices else None
    if mixture is None:
        return None
    edges, masses = mixture
    return lambda t: float(masses @ uniform(t / (bound * edges)))


def _simplices(d: int) -> Callable[[Floats], Floats]:
    """The function c ↦ P(|U_i| > b·c) for U uniform in T − T, where T = {x >= 0, Σx <= b} in R^d.

    It does not depend on b or on the coordinate i.
    """
    s = np.arange(d + 1, dtype=float)
    logs = -2 * np.array([math.lgamma(k + 1) + math.lgamma(d - k + 1) for k in range(d + 1)])
    weights = np.exp(logs - logs.max())
    weights *= 2 * s / d / weights.sum()
    no_weight = 1e-20
    significant = weights > no_weight * weights.max()
    s, weights = s[significant], weights[significant]

    def tail(c: Floats) -> Floats:
        inside = np.maximum(1 - c, 0.0)
        total = np.zeros_like(inside)
        for weight in weights[::-1]:  # Horner's rule: the significant weights have adjacent s
            total = total * inside + weight
        return total * inside ** s[0]

    return tail


def _gamma_times(uniform: Callable[[Floats], Floats], d: int, c: float) -> float:
    """The probability P(R·|U_i| > b·c) for R ~ Gamma(d + 1); `uniform` maps c to P(|U_i| > b·c)."""
    spread = 60 + 12 * math.sqrt(d)
    first = max(c, d - spread, 0.0)
    r, weight = gauss_legendre(first, max(first, d) + spread, nodes=200)
    return float(weight * np.exp(d * np.log(r) - r - math.lgamma(d + 1)) @ uniform(c / r))


def list_alike(noise: BodyNoise) -> NDArray[np.int64]:
    """For each coordinate, the first coordinate with the same block, box size and bound.

    Such coordinates have the same law, if `tail_of` knows it. Coordinates of one block that are in
    no box count as alike.
    """
    body = noise.body
    blocks = body.bodies if isinstance(body, Together) else (body,)
    block_of_coordinate = np.repeat(np.arange(len(blocks)), [block.dimension for block in blocks])
    features = np.column_stack(
        [block_of_coordinate, np.concatenate([_sizes(block) for block in blocks])]
    )
    _, first, which = np.unique(features, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[which.reshape(-1)], dtype=np.int64)


def _sizes(body: Body) -> Floats:
    """For each coordinate, the row (dimension of its box, its bound); (0, 0) if it is in no box."""
    if isinstance(body, Box):
        return np.array([[len(body.bounds), float(bound)] for bound in body.bounds])
    if isinstance(body, Cells):
        pairs = zip(body.bodies, body.copies, strict=True)
        return np.concatenate([np.tile(_sizes(cell), (copies, 1)) for cell, copies in pairs])
    return np.zeros((body.dimension, 2))


def _mixture(noise: BodyNoise, d: int) -> tuple[Floats, Floats] | None:
    """The law of X/scale as a mixture of uniform laws on e_j·K: the edges e_j and their weights.

    d is the dimension of K. None for laws without steps, and for more steps than are summed.
    """
    if isinstance(noise, TruncatedKStaircase) and len(noise.steps.edges) <= _MOST_STEPS:
        return noise.steps.float_edges, noise.steps.ball_masses(d)
    if isinstance(noise, KStaircase) and d <= _MOST_STEPS * float(noise.decay):
        decay = float(noise.decay)
        j = np.arange(math.ceil((d + 60 + 12 * math.sqrt(d)) / decay) + 2, dtype=float)
        edges = float(noise.gamma) + j
        logs = d * np.log(edges) - decay * j
        masses = np.exp(logs - logs.max())
        return edges, masses / masses.sum()
    return None


def _gamma_moment(order: int) -> Callable[[int, Any], Any]:
    """The function (k, x) ↦ E[R^(−k); R > x] for R ~ Gamma(order) and k < order."""
    from scipy.special import gammaincc  # noqa: PLC0415  (0.2 s, needed here alone)

    return lambda k, x: gammaincc(order - k, x) / math.prod(range(order - k, order))


def _exponential_in_block(q: int, d: int, body: Together) -> CellLaw:
    """The law of a cell of q numbers in a block of d numbers, for K-norm noise on `body`.

    The gauge of the cell is R·V·B, with three independent factors. R is a gamma variable, V is the
    block's share of R, and B is the cell's share of the block (see `gauge_factors`). For p = ∞, and
    for a single block, noise is Gamma(D + 1)·U, so there is no V.

    A moment M_k(x) is an integral over R >= x of moments of V·B. R is the outer variable, as only R
    is narrow in a large dimension. Then no integrand has a kink inside its range.
    """
    rest = body.dimension - d
    if body.exponent is None or not rest:  # U uniform in K times Gamma(D + 1)
        order, beyond = body.dimension + 1, beta_moment(q, d - q + 1)
    else:
        p, order = float(body.exponent), body.dimension
        block = block_share(d, rest, p)
        beyond = block.moment if q == d else partial(block.times, beta_moment(q, d - q))

    def moment(k: int, x: float) -> float:
        r, weights = gamma_rule(order, x)
        return float(weights @ (r ** (-k) * beyond(k, x / r)))

    return CellLaw(each=q, moment=moment)


def _steps(q: int, d: int, edges: Floats, masses: Floats) -> CellLaw:
    """The law of a cell of q numbers in a block of d numbers, for a mixture of uniform laws.

    The laws are uniform on e_j·K; `edges` are the e_j, and `masses` their weights. Given e_j, the
    cell's gauge is e_j times a Beta(q, d − q + 1) variable.
    """
    beyond = beta_moment(q, d - q + 1)

    def moment(k: int, x: float) -> float:
        return float((masses * edges ** (-k)) @ beyond(k, x / edges))

    return CellLaw(each=q, moment=moment)


def one_coordinate_quantile(noise: BodyNoise, outside: float, coordinate: int) -> float:
    """The t with P(|X_i| > t·scale) = `outside` for i = `coordinate`.

    Raises NotApplicable if the law isn't known.
    """
    tail = tail_of(noise, coordinate)
    if tail is None:
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    guess = math.sqrt(float(noise.variances[coordinate])) / float(noise.scale)
    return solve(tail, outside, guess=guess)


def difference_quantile(
    noise: BodyNoise, outside: float, coordinates: tuple[int, int], ratio: float
) -> float:
    """The t with P(|X_i − ratio·X_j| > t·scale) = `outside`; i, j = `coordinates`, `ratio` >= 0.

    Raises NotApplicable unless both numbers are in boxes of one block whose law is known. They must
    be in one cell, or one of them alone in its cell. In the latter case X_i and ratio·X_j must have
    the same bound.
    """
    first, second = (box_of(noise, index) for index in coordinates)
    guesses = [
        math.sqrt(float(noise.variances[coordinate])) / float(noise.scale)
        for coordinate in coordinates
    ]
    tail = None
    if first is not None and second is not None and first[1] == second[1]:
        tail = _tail_of_two(noise, coordinates, (first[0], second[0]), ratio)
    if tail is None:
        raise NotApplicable(family=noise.name, why="the law of two coordinates isn't known")
    return solve(tail, outside, guess=math.hypot(guesses[0], ratio * guesses[1]))


def _tail_of_two(
    noise: BodyNoise, coordinates: tuple[int, int], boxes: tuple[BoxIn, BoxIn], ratio: float
) -> Callable[[float], float] | None:
    """The function t ↦ P(|X_i − ratio·X_j| > t·scale) for coordinates i and j of one block.

    `boxes` are the boxes of i and j. None if the joint law isn't known, see `difference_quantile`.
    """
    box, second = boxes
    bound, second_bound = box.bound, ratio * second.bound
    if coordinates[0] == coordinates[1]:
        return None
    if box.first == second.first:
        cell = law_of(noise, box, box.each)
        if cell is None:
            return None
        if second_bound == 0:
            return lambda t: cell.tail(t / bound)
        return lambda t: cell.tail_of_difference(t, bound, second_bound)
    if min(box.each, second.each) > 1 or not math.isclose(bound, second_bound):
        return None
    law = law_of(noise, box, box.each + second.each)
    return None if law is None else lambda t: law.tail_beside(t / bound)


def one_coordinate_known(noise: BodyNoise) -> bool:
    """True if the law of each coordinate is known."""
    representatives = np.unique(list_alike(noise)).tolist()
    return all(tail_of(noise, coordinate) is not None for coordinate in representatives)
