"""Random points of one-sided sets T of counts and sums, of hulls of T and −T, and of T − T.

Notation: D is the dimension. P is the gauge of the part of a point that is added, and Q is the
gauge of the part that is removed (guarantees/bodies/one_sided.py). N is the gauge of the body: P +
Q for hulls, and max(P, Q) for T − T. s = 0 … D is the shape of a point, and t = D − s; for counts,
s coordinates are above 0. w[s] is the factor of the part with shape s in the volume
(`VolumeSplit`). α_j and β_j are the P and Q of cell j alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, arb_poly, ctx

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyReal
from leastnoise.entropy.scaled import choose
from leastnoise.guarantees.bodies import shares
from leastnoise.guarantees.bodies.counts import Counted, CountedSums, Counts
from leastnoise.guarantees.bodies.one_sided import coefficients
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.bodies.together import Jointly
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import (
    Gathered,
    JoinedReals,
    Moves,
    PointSource,
    ScaledRows,
    as_vector,
    map_rows,
)
from leastnoise.noise.bodies.sampler.combined import (
    capped_gauge,
    draw_capped,
    draw_power_shares,
)
from leastnoise.noise.bodies.sampler.reals import LazyFunction, Reals, Uniforms
from leastnoise.noise.bodies.sampler.scalars import (
    choose_below,
    choose_many_below,
    choose_weighted,
    cumulate,
    permutation,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy
    from leastnoise.guarantees.bodies.one_sided import Balls, OneSided

# Points of T for counts: the sides of x are x⁺ and x⁻.


def counts_sides(source: PointSource, counts: Counts, moves: Moves, *, inside: bool) -> Reals:
    """Draw a point of `counts` with the P, Q and shape s of `moves`.

    s coordinates are chosen at random. They are P times a boundary point of T in these coordinates,
    or P times a uniform point of T if `inside`. The other coordinates are likewise −Q times a point
    of T.
    """

    def side(size: int, whole: LazyReal, unit: Fraction) -> Reals:
        if size == 0:
            return JoinedReals([])
        if counts.most >= size and not inside:
            return _cube_surface(source, size, whole, unit)
        parts = draw_capped(source.entropy, cells=size, shape=1, cap=counts.most)
        if not inside:
            whole = scalars.divide(whole, capped_gauge(parts, counts.most))
        return ScaledRows(factors=as_vector(whole), parts=parts, units=[unit], row=size)

    d = counts.queries
    above = side(moves.shape, moves.added, counts.bound)
    beneath = side(d - moves.shape, moves.removed, -counts.bound)
    return Gathered(JoinedReals([above, beneath]), _inverse(permutation(source.entropy, d)))


def _cube_surface(source: PointSource, size: int, whole: LazyReal, unit: Fraction) -> Reals:
    """Draw a uniform point of [0, whole·unit]^size, but with the first coordinate whole·unit.

    It is a random boundary point after the caller has shuffled the coordinates.
    """
    largest = as_vector(scalars.multiply_by(unit, whole))
    if size == 1:
        return largest
    others = Uniforms(size - 1, source.entropy)
    rest = ScaledRows(factors=as_vector(whole), parts=others, units=[unit], row=size - 1)
    return JoinedReals([largest, rest])


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size)
    return inverse


# Points of the hull of T and −T, and of T − T.


def weights(of: OneSided) -> Balls:
    """The D + 1 weights w[0], …, w[D] of the set `of`, as balls at the current precision."""
    return _weights(of, ctx.prec)


@lru_cache(maxsize=64)
def _weights(of: OneSided, bits: int) -> Balls:
    del bits  # the current precision, as a key of the cache
    return of.pieces().weights


def signed_falling(source: PointSource, body: Signed, count: int) -> Reals:
    """Draw `count` points of density ∝ e^(−N).

    Each point has a shape s of its own, and independent gauges P ~ Gamma(s) and Q ~ Gamma(D − s).
    For `Counts` the same law is drawn with P ~ Gamma(s + 1) and Q ~ Gamma(D − s + 1). Then the
    point is uniform among the points with at most these gauges.
    """
    of = body.of
    return JoinedReals([_exponential_point(source, of) for _ in range(count)])


def _exponential_point(source: PointSource, of: OneSided) -> Reals:
    """Draw one of the points of `signed_falling`."""
    s = _shape_of_hull(source.entropy, of)
    t = of.dimension - s
    # a uniform point of a cube needs no draw of its gauge
    inside = isinstance(of, Counts)
    shapes = (s + 1, t + 1) if inside else (s, t)
    added, removed = (scalars.draw_gamma(source.entropy, shape) for shape in shapes)
    moves = Moves(shape=s, added=added, removed=removed)
    return source.sides(of, moves, inside=inside)


def signed_surface(source: PointSource, body: Signed, gauges: Reals) -> Reals:
    """Draw a point with each gauge N in `gauges`.

    The shape s is drawn first. Then P/N ~ Beta(s, t) and Q = N − P.
    """
    of = body.of
    return map_rows(gauges, lambda gauge: _hull(source, of, gauge, extra=0))


def signed_uniform(source: PointSource, body: Signed, radii: Reals) -> Reals:
    """Draw a uniform point of R times the body for each R in `radii`.

    The shape s is drawn first. Then (P, Q, R − P − Q)/R ~ Dirichlet(s, t, 1).
    """
    of = body.of
    return map_rows(radii, lambda radius: _hull(source, of, radius, extra=1))


def _hull(source: PointSource, of: OneSided, whole: LazyReal, *, extra: int) -> Reals:
    """Draw a point of a hull; its P, Q and a rest are whole·Dirichlet(s, t, extra).

    The shape s of the point is drawn first. There is no rest if extra = 0.
    """
    s = _shape_of_hull(source.entropy, of)
    parts = [scalars.draw_gamma(source.entropy, shape) for shape in (s, of.dimension - s, extra)]
    factor = scalars.divide(whole, scalars.add(parts))
    added, removed = (scalars.multiply(factor, part) for part in parts[:2])
    return source.sides(of, Moves(shape=s, added=added, removed=removed), inside=False)


def _shape_of_hull(entropy: Entropy, of: OneSided) -> int:
    """Draw the shape s of a point of the hull of T and −T, with a probability ∝ w[s]."""
    if isinstance(of, Counts) and of.most == of.queries:
        return choose_below(entropy, of.dimension + 1)  # all weights are equal
    return choose(entropy, lambda: _hull_shares(of, ctx.prec))


@lru_cache(maxsize=64)
def _hull_shares(of: OneSided, bits: int) -> tuple[arb, ...]:
    del bits
    return cumulate(weights(of))


def differences_uniform(source: PointSource, body: Differences, radii: Reals) -> Reals:
    """Draw a uniform point of R·(T − T), the set where P <= R and Q <= R, for each R in `radii`."""
    of = body.of

    def point(radius: LazyReal) -> Reals:
        s = _shape_of_differences(source.entropy, of)
        return source.sides(of, Moves(shape=s, added=radius, removed=radius), inside=True)

    return map_rows(radii, point)


def differences_surface(source: PointSource, body: Differences, gauges: Reals) -> Reals:
    """Draw a point with each gauge N in `gauges`: the larger of P and Q is N.

    The shape s is drawn first. Then P = N and Q ~ N·Beta(t, 1) with probability s/D. Otherwise Q =
    N and P ~ N·Beta(s, 1).
    """
    of = body.of

    def point(gauge: LazyReal) -> Reals:
        s = _shape_of_differences(source.entropy, of)
        t = of.dimension - s
        if choose_below(source.entropy, of.dimension) < s:
            lower = scalars.draw_below(source.entropy, gauge, t)
            moves = Moves(shape=s, added=gauge, removed=lower)
        else:
            lower = scalars.draw_below(source.entropy, gauge, s)
            moves = Moves(shape=s, added=lower, removed=gauge)
        return source.sides(of, moves, inside=False)

    return map_rows(gauges, point)


def _shape_of_differences(entropy: Entropy, of: OneSided) -> int:
    """Draw the shape s of a point of T − T, with a probability ∝ w[s]/(s!t!)."""
    return choose(entropy, lambda: _differences_shares(of, ctx.prec))


@lru_cache(maxsize=64)
def _differences_shares(of: OneSided, bits: int) -> tuple[arb, ...]:
    del bits
    return cumulate([w * c for w, c in zip(weights(of), binomials(of.dimension), strict=True)])


def binomials(size: int) -> list[arb]:
    """The binomial coefficients C(size, s) for s = 0 … size, as balls."""
    values = [ball(1)]
    for s in range(size):
        values.append(values[-1] * (size - s) / (s + 1))
    return values


# Points of T for counts and sums, with a count of rows, and for several such sets together.


def counted_sums_surface(source: PointSource, body: CountedSums, moves: Moves) -> Reals:
    """Draw a point with the P, Q and shape of `moves`, which are divided among the cells.

    A cell has q numbers. (α_1, α_2, …) is P·Dirichlet(s_1, s_2, …), where s_j is the shape of cell
    j, and (β_1, β_2, …) is Q·Dirichlet(q − s_1, q − s_2, …).
    """
    q = len(body.bounds)
    shapes = _shapes_of_cells(source.entropy, body, moves.shape)
    above = draw_power_shares(source.entropy, shapes, Fraction(1))
    beneath = draw_power_shares(source.entropy, [q - s for s in shapes], Fraction(1))
    cells = []
    for s, alpha, beta in zip(shapes, above, beneath, strict=True):
        moves_of_cell = Moves(
            shape=s,
            added=scalars.multiply(moves.added, alpha),
            removed=scalars.multiply(moves.removed, beta),
        )
        cells.append(_cell(source, body, moves_of_cell))
    return JoinedReals(cells)


def _shapes_of_cells(entropy: Entropy, body: CountedSums, total: int) -> list[int]:
    """Draw the shapes of all cells, given that they sum to `total`.

    Without this condition they are independent, with weights ½, 1, …, 1, ½ on 0 … q, where q is the
    number of numbers of a cell. A shape is the sum of a fair bit and a uniform integer on 0 … q −
    1. Draws are repeated until the sum is `total`. For points of a hull, `total` has the law of
    this sum, and so this takes D + 1 tries on average.
    """
    q, cells = len(body.bounds), body.cells
    while True:
        shapes = choose_many_below(entropy, q, size=cells) + choose_many_below(
            entropy, 2, size=cells
        )
        if int(shapes.sum()) == total:
            return shapes.tolist()


def _cell(source: PointSource, body: CountedSums, moves: Moves) -> Reals:
    """Draw the numbers of a cell whose gauges are P and Q, with the shape s of `moves`.

    In units of the numbers' bounds, the count is P − Q, and M = P + Q is the size of the largest
    number. If P or Q is 0, the count is ±M, and the sums are uniform. Otherwise a random one of the
    sums is ±M, and the others are uniform.
    """
    q = len(body.bounds)
    largest = scalars.add([moves.added, moves.removed])
    count = _difference(moves, body.bounds[0])
    end = -1 if moves.shape in (0, q) else choose_below(source.entropy, q - 1)
    numbers: list[Reals] = [as_vector(count)]
    for index, bound in enumerate(body.bounds[1:]):
        if index == end:
            sign = 1 if source.entropy.bits(1) else -1
            numbers.append(as_vector(scalars.multiply_by(sign * bound, largest)))
        else:
            uniform = Uniforms(1, source.entropy, signed=True)
            numbers.append(
                ScaledRows(factors=as_vector(largest), parts=uniform, units=[bound], row=1)
            )
    return JoinedReals(numbers)


def counted_surface(source: PointSource, body: Counted, moves: Moves) -> Reals:
    """Draw a point of `Counted` with the P, Q and shape s of `moves`.

    Its last number, the row count, is (P − Q)·bound. Let P₀, Q₀ and s₀ be the gauges and the shape
    of the other numbers, and w₀ the weights of their set. One of two cases is drawn, with
    probabilities ∝ w₀[s] and w₀[s − 1]. In the first P₀ = P, Q₀ is below Q and s₀ = s. In the
    second Q₀ = Q, P₀ is below P and s₀ = s − 1.
    """
    s, last = moves.shape, body.of.dimension

    def reached_or_passed() -> list[arb]:
        shape_weights = weights(body.of)
        return [
            shape_weights[s] if s <= last else arb(0),
            shape_weights[s - 1] if s > 0 else arb(0),
        ]

    if choose_weighted(source.entropy, reached_or_passed) == 0:
        lower = scalars.draw_below(source.entropy, moves.removed, last - s)
        inner = Moves(shape=s, added=moves.added, removed=lower)
    else:
        lower = scalars.draw_below(source.entropy, moves.added, s - 1)
        inner = Moves(shape=s - 1, added=lower, removed=moves.removed)
    rows = _difference(moves, body.bound)
    return JoinedReals([source.sides(body.of, inner, inside=False), as_vector(rows)])


def _difference(moves: Moves, unit: Fraction) -> LazyReal:
    """The number unit·(P − Q) for the P and Q of `moves`."""
    above, beneath = moves.added, moves.removed
    return LazyFunction(lambda bits: ball(unit) * (above.enclose(bits) - beneath.enclose(bits)))


def jointly_surface(source: PointSource, body: Jointly, moves: Moves) -> Reals:
    """Draw a point of `Jointly` with the P, Q and shape s of `moves`.

    The shapes s_i of the parts are drawn given their sum s. Then P and Q are divided among the
    parts.
    """
    shapes = _shapes_of_parts(source.entropy, body, moves.shape)
    sizes = [part.dimension - s for part, s in zip(body.parts, shapes, strict=True)]
    above = _parts(source.entropy, shapes, body.exponent)
    beneath = _parts(source.entropy, sizes, body.exponent)
    points = []
    for part, r, s, p, q in zip(body.parts, body.radii, shapes, above, beneath, strict=True):
        moves_of_part = Moves(
            shape=s,
            added=scalars.multiply_by(r, scalars.multiply(moves.added, p)),
            removed=scalars.multiply_by(r, scalars.multiply(moves.removed, q)),
        )
        points.append(source.sides(part, moves_of_part, inside=False))
    return JoinedReals(points)


def _parts(entropy: Entropy, shapes: Sequence[int], exponent: Fraction | None) -> list[LazyReal]:
    """Draw the ratios P_i/(r_i·P) of all parts i, given their shapes s_i.

    P_i is the gauge P of part i, and r_i is its radius. With an exponent the ratios are the shares
    of `draw_power_shares`. Without one (p = ∞), one of the Σ s_i coordinates is chosen at random.
    Its part has the ratio 1, and the other parts have smaller ratios. With the shapes D_i − s_i the
    results are the ratios of Q.
    """
    if exponent is not None:
        return draw_power_shares(entropy, shapes, exponent)
    number = choose_below(entropy, sum(shapes)) if any(shapes) else 0
    shares_of_parts = []
    for size in shapes:
        at_end = 0 <= number < size
        number -= size
        shares_of_parts.append(
            scalars.ONE if at_end else scalars.draw_below(entropy, scalars.ONE, size)
        )
    return shares_of_parts


def _shapes_of_parts(entropy: Entropy, body: Jointly, total: int) -> list[int]:
    """Draw the parts' shapes one after the other, given their sum `total`."""
    shapes, remaining = [], total
    for index in range(len(body.parts)):
        shapes.append(
            choose_weighted(entropy, lambda i=index, n=remaining: _next_shapes(body, i, n))
        )
        remaining -= shapes[-1]
    return shapes


def _next_shapes(body: Jointly, index: int, total: int) -> list[arb]:
    """The weights of s_index = 0, 1, …, given that s_index, s_{index+1}, … sum to `total`.

    s_i is the shape of part i.
    """
    polynomials = _polynomials(body, ctx.prec)
    rest = polynomials[index + 1][1] if index + 1 < len(polynomials) else (arb(1),)
    part_weights = polynomials[index][0]
    return [
        weight * rest[total - s] if 0 <= total - s < len(rest) else arb(0)
        for s, weight in enumerate(part_weights)
    ]


@lru_cache(maxsize=32)
def _polynomials(body: Jointly, bits: int) -> list[tuple[tuple[arb, ...], tuple[arb, ...]]]:
    """For each part i, the weights of its shape s_i, and of the sum of s_i and all later shapes.

    As in `Jointly.pieces`, the weights of a part are divided by its `Jointly._factors`, so that
    weights of several parts multiply.
    """
    del bits
    result, product, degree = [], arb_poly([1]), 0
    for part, radius in zip(reversed(body.parts), reversed(body.radii), strict=True):
        d = part.dimension
        part_weights = [
            weight * ball(radius) ** d * _gamma_ratio(s, body) * _gamma_ratio(d - s, body)
            for s, weight in enumerate(weights(part))
        ]
        product, degree = arb_poly(part_weights) * product, degree + d
        result.append((tuple(part_weights), coefficients(product, degree)))
    return result[::-1]


def _gamma_ratio(size: int, body: Jointly) -> arb:
    """The ratio Γ(s/p + 1)/s! for s = `size` and p = the body's exponent."""
    return shares.gamma(size, rise=1, exponent=body.exponent) / ball(size + 1).gamma()
