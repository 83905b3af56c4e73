"""Quantiles of a coordinate of noise in the gauge of a body."""

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

# One number of a cell, or two of them together: noise in boxes of q numbers.
#
# notation: G = the gauge of a cell's noise, in scales. Given it, one of the cell's q numbers is its
# bound times G in size, each with probability 1/q, and the others are uniform below theirs (see
# below). M_k(x) = E[G^(−k); G > x]. U and V are uniform in [−1, 1].


@final
@dataclass(frozen=True, kw_only=True)
class CellLaw:
    """The law of a cell's noise: `each` is q, and `moment` M_k(x) of k < q and x."""

    each: int
    moment: Callable[[int, float], float]

    def tail(self, c: float) -> float:
        """Return P(|X_i| > c·b) of one number, b its bound."""
        beyond = self.moment(0, c)
        q = self.each
        return beyond if q == 1 else beyond - (q - 1) / q * c * self.moment(1, c)

    def tail_of_difference(self, t: float, a: float, b: float) -> float:
        """Return P(|X_i − r·X_j| > t), a the bound of X_i and b > 0 that of r·X_j.

        Given G it is G·|a + bV| where X_i is at its end, G·|b + aV| where X_j is, each with 1/q,
        and else G·|aU + bV|. All three densities change where G·(a + b) and G·|a − b| pass t:
        `near` and `far` are the moments beyond these.
        """
        q, most, least = self.each, max(a, b), min(a, b)
        orders = range(min(q, 3))
        near = [self.moment(k, t / (most + least)) for k in orders]
        far = [0.0 if least == most else self.moment(k, t / (most - least)) for k in orders]
        between = [one - other for one, other in zip(near, far, strict=True)]
        sloping = (most + least) * between[0] - t * between[1]
        larger = far[0] + sloping / (2 * least)
        smaller = far[0] - t * far[1] / most + sloping / (2 * most)
        if q == 2:
            return (larger + smaller) / 2
        sloping = (most + least) * sloping - t * ((most + least) * between[1] - t * between[2])
        neither = far[0] - t * far[1] / most + sloping / (4 * most * least)
        return (larger + smaller + (q - 2) * neither) / q

    def tail_beside(self, c: float) -> float:
        """Return P(|X + Y| > c·b), X of a cell of q − 1 numbers, Y alone in one, both of bound b.

        G is that of both cells together, and B·G that of Y's, B ~ Beta(1, q − 1). Given G, X + Y is
        G·(B ± (1 − B)·V) but for its sign, V = 1 with probability 1/(q − 1), else uniform. With
        p = q − 1 and z = c/G < 1 it is larger than c with probability

            1 − z + (((1 + z)/2)^p − ((1 − z)/2)^p)/(2p) = 1 − z + Σ_(odd k) C(p, k) z^k/(2^p p).
        """
        p = self.each - 1
        odd = (math.comb(p, k) * c**k * self.moment(k, c) for k in range(1, p + 1, 2))
        return self.moment(0, c) - c * self.moment(1, c) + sum(odd) / (2**p * p)


# All numbers of a body.


# The law of one coordinate of noise in the shape of cells that are boxes, or of such blocks.
#
# notation: K the hull of boxes, D numbers in all; q those of one of them, [−b, b]^q. The
# gauge of one cell of U, uniform in K, is B ~ Beta(q, D − q + 1), and of noise e^(−N) it is
# G ~ Gamma(q), whatever the others. Given it, one of the cell's numbers is b times it in size, each
# with probability 1/q, and the others are uniform below. So, with P(Beta(0, ·) > c) = 0,
#
# P(|U_i| > bc) = P(Beta(q, D − q + 1) > c) − (Dc/q)·P(Beta(q − 1, D − q + 1) > c),
# P(|X_i| > bc) = P(Gamma(q) > c) − (c/q)·P(Gamma(q − 1) > c).
#
# Where a cell's bounds differ, b is that of coordinate i: the box is a cube whose axes are
# stretched. The gauges of all cells of U, and what is left of 1, are Dirichlet with parameters q
# and 1, so that two cells together have the gauge of one of as many numbers as both.
#
# Several blocks together (`Together`, p = exponent, r = radius of the block, d its coordinates):
# the gauge of a block is r·N·S^(1/p), S ~ Beta(d/p, (D − d)/p), and its point of gauge 1 is
# independent of it, with a cell of gauge Beta(q, d − q). For p = ∞ a block of U is uniform in r·K.
# Two numbers together: `CellLaw`.
#
# Differences of {x >= 0, Σx <= b} in D numbers (theory/bodies.md §6): s of the numbers of U are
# above 0 with probability C(D, s)²/C(2D, D), uniform in b times a simplex, and the others below 0
# likewise. So P(|U_i| > bc) = 2 Σ_s (s/D)·C(D, s)²/C(2D, D)·(1 − c)^s, and X = Gamma(D + 1)·U for
# e^(−N).


_MOST_STEPS = 10_000  # about D/decay; where there are more, steps gain nothing over e^(−N)


@final
@dataclass(frozen=True, kw_only=True)
class BoxIn:
    """One of a body's boxes, whose first number is `first` of all.

    notation: D = dimension, q = each, b = bound.
    """

    dimension: int
    each: int
    bound: float
    first: int


def find_box(body: Body, coordinate: int) -> BoxIn | None:
    """Return the box of a coordinate if a body is a box, or the hull of cells that are; else None.

    Numbers of unequal bounds have the law of a cube's, times the bound: that of the `coordinate`.
    """
    if isinstance(body, Box):
        bound, each = float(body.bounds[coordinate]), len(body.bounds)
        return BoxIn(dimension=each, each=each, bound=bound, first=0)
    if not isinstance(body, Cells):
        return None
    sizes = [one.dimension * copies for one, copies in zip(body.bodies, body.copies, strict=True)]
    firsts = [0, *itertools.accumulate(sizes)]
    index = bisect_right(firsts, coordinate) - 1
    cell, start = body.bodies[index], firsts[index]
    start += (coordinate - start) // cell.dimension * cell.dimension
    found = find_box(cell, coordinate - start)
    if found is None:
        return None
    return replace(found, dimension=body.dimension, first=start + found.first)


def tail_of(noise: BodyNoise, coordinate: int) -> Callable[[float], float] | None:
    """Return t ↦ P(|X_i| > t·scale), i = coordinate; None where that law isn't known."""
    if isinstance(noise.body, Differences):
        return _tail_of_differences(noise, noise.body.of)
    found = box_of(noise, coordinate)
    if found is None:
        return None
    box, _ = found
    law = law_of(noise, box, box.each)
    return None if law is None else lambda t: law.tail(t / box.bound)


def box_of(noise: BodyNoise, coordinate: int) -> tuple[BoxIn, int] | None:
    """Return the box of a coordinate in its block, and which number of all that begins with.

    None where that isn't known.
    """
    body, place = noise.body, coordinate
    if isinstance(body, Together):
        firsts = [0, *itertools.accumulate(one.dimension for one in body.bodies)]
        index = bisect_right(firsts, coordinate) - 1
        body, place = body.bodies[index].times(body.radii[index]), coordinate - firsts[index]
    found = find_box(body, place)
    return None if found is None else (found, coordinate - place)


def law_of(noise: BodyNoise, box: BoxIn, each: int) -> CellLaw | None:
    """Return the law of so many numbers of a box's block, a cell or several; None if not known."""
    whole = noise.body
    if isinstance(noise, KNorm):
        if isinstance(whole, Together) and whole.exponent != 1:  # then blocks aren't independent
            return _exponential_in_block(each, box.dimension, whole)
        own = _gamma_moment(each)
        return CellLaw(each=each, moment=lambda k, x: float(own(k, x)))
    found = _mixture(noise, whole.dimension)
    if found is None or (isinstance(whole, Together) and whole.exponent is not None):
        return None
    return _steps(each, box.dimension, *found)


def _tail_of_differences(noise: BodyNoise, of: OneSided) -> Callable[[float], float] | None:
    if not isinstance(of, Counts) or of.most > 1:
        return None
    d, bound, uniform = of.queries, float(of.bound), _simplices(of.queries)
    if isinstance(noise, KNorm):
        return lambda t: _gamma_times(uniform, d, t / bound)
    most_simplices = 1_000  # numbers, beyond which steps take seconds, and gain nothing either
    found = _mixture(noise, d) if d <= most_simplices else None
    if found is None:
        return None
    edges, masses = found
    return lambda t: float(masses @ uniform(t / (bound * edges)))


def _simplices(d: int) -> Callable[[Floats], Floats]:
    """Return c ↦ P(|U_i| > bc)."""
    s = np.arange(d + 1, dtype=float)
    logs = -2 * np.array([math.lgamma(k + 1) + math.lgamma(d - k + 1) for k in range(d + 1)])
    weights = np.exp(logs - logs.max())
    weights *= 2 * s / d / weights.sum()
    no_weight = 1e-20
    kept = weights > no_weight * weights.max()
    s, weights = s[kept], weights[kept]

    def tail(c: Floats) -> Floats:
        inside = np.maximum(1 - c, 0.0)
        total = np.zeros_like(inside)
        for weight in weights[::-1]:  # Horner's rule: weights are kept at adjacent s
            total = total * inside + weight
        return total * inside ** s[0]

    return tail


def _gamma_times(uniform: Callable[[Floats], Floats], d: int, c: float) -> float:
    """Return E P(|U_i| > bc/R) for R ~ Gamma(D + 1), which is 0 for R below c."""
    spread = 60 + 12 * math.sqrt(d)
    first = max(c, d - spread, 0.0)
    r, weight = gauss_legendre(first, max(first, d) + spread, nodes=200)
    return float(weight * np.exp(d * np.log(r) - r - math.lgamma(d + 1)) @ uniform(c / r))


def list_alike(noise: BodyNoise) -> NDArray[np.int64]:
    """Return for each coordinate the first one that is alike: of one block, size and bound."""
    body = noise.body
    blocks = body.bodies if isinstance(body, Together) else (body,)
    places = np.repeat(np.arange(len(blocks)), [one.dimension for one in blocks])
    every = np.column_stack([places, np.concatenate([_sizes(one) for one in blocks])])
    _, first, which = np.unique(every, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[which.reshape(-1)], dtype=np.int64)


def _sizes(body: Body) -> Floats:
    """Return of each number how many are in its box, and its bound; ones of another body."""
    if isinstance(body, Box):
        return np.array([[len(body.bounds), float(bound)] for bound in body.bounds])
    if isinstance(body, Cells):
        pairs = zip(body.bodies, body.copies, strict=True)
        return np.concatenate([np.tile(_sizes(one), (copies, 1)) for one, copies in pairs])
    return np.ones((body.dimension, 2))


def _mixture(noise: BodyNoise, d: int) -> tuple[Floats, Floats] | None:
    """Return edges e_j and P(X is uniform in e_j·K); None where they are too many, or no steps."""
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
    """Return (k, x) ↦ E[R^(−k); R > x] of R ~ Gamma(order)."""
    from scipy.special import gammaincc  # noqa: PLC0415  (0.2 s, needed here alone)

    return lambda k, x: gammaincc(order - k, x) / math.prod(range(order - k, order))


def _exponential_in_block(q: int, d: int, body: Together) -> CellLaw:
    """Return the law of a cell's gauge R·V·B of noise e^(−N), given the numbers of its block.

    R ~ Gamma and V, B are shares, all independent. R is the only narrow one in a large dimension:
    its integral is the outer one, over R >= x, so that no integrand has a kink inside.
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
    """Return the law of a cell's gauge of a mixture of uniform laws in e·K.

    It is e times Beta(q, D − q + 1).
    """
    beyond = beta_moment(q, d - q + 1)

    def moment(k: int, x: float) -> float:
        return float((masses * edges ** (-k)) @ beyond(k, x / edges))

    return CellLaw(each=q, moment=moment)


def one_coordinate_quantile(noise: BodyNoise, outside: float, coordinate: int) -> float:
    """Invert the tail of the coordinate; raises NotApplicable where that isn't known."""
    tail = tail_of(noise, coordinate)
    if tail is None:
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    guess = math.sqrt(float(noise.variances[coordinate])) / float(noise.scale)
    return solve(tail, outside, guess=guess)


def difference_quantile(
    noise: BodyNoise, outside: float, places: tuple[int, int], ratio: float
) -> float:
    """Return t with P(|X_i − ratio·X_j| > t·scale) = outside, i and j = places, ratio >= 0.

    Raises NotApplicable where that isn't known: unless both are numbers of one cell, or one is
    alone in its cell, and i and ratio·j have one bound.
    """
    first, second = (box_of(noise, place) for place in places)
    guesses = [math.sqrt(float(noise.variances[one])) / float(noise.scale) for one in places]
    tail = None
    if first is not None and second is not None and first[1] == second[1]:
        tail = _tail_of_two(noise, places, (first[0], second[0]), ratio)
    if tail is None:
        raise NotApplicable(family=noise.name, why="the law of two coordinates isn't known")
    return solve(tail, outside, guess=math.hypot(guesses[0], ratio * guesses[1]))


def _tail_of_two(
    noise: BodyNoise, places: tuple[int, int], boxes: tuple[BoxIn, BoxIn], ratio: float
) -> Callable[[float], float] | None:
    """Return t ↦ P(|X_i − ratio·X_j| > t·scale), both of one block; None where it isn't known."""
    box, other = boxes
    bound, own = box.bound, ratio * other.bound
    if places[0] == places[1]:
        return None
    if box.first == other.first:
        cell = law_of(noise, box, box.each)
        if cell is None:
            return None
        if own == 0:
            return lambda t: cell.tail(t / bound)
        return lambda t: cell.tail_of_difference(t, bound, own)
    if min(box.each, other.each) > 1 or not math.isclose(bound, own):
        return None
    law = law_of(noise, box, box.each + other.each)
    return None if law is None else lambda t: law.tail_beside(t / bound)


def one_coordinate_known(noise: BodyNoise) -> bool:
    """Whether the law of each coordinate is known."""
    representatives = np.unique(list_alike(noise)).tolist()
    return all(tail_of(noise, one) is not None for one in representatives)
