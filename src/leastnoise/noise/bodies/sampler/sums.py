"""Points of what can be added to counts and sums, to a count of rows, and to several of these.

notation: P, Q, s, t, α_j, β_j as in guarantees/bodies; D the dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from flint import arb, arb_poly, ctx

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyReal
from leastnoise.guarantees.bodies import shares
from leastnoise.guarantees.bodies.counted import Counted
from leastnoise.guarantees.bodies.counted_sums import CountedSums
from leastnoise.guarantees.bodies.jointly import Jointly
from leastnoise.guarantees.bodies.mixing import coefficients
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import Joined, Moves, Rows, Source, alone
from leastnoise.noise.bodies.sampler.combined import draw_power_shares
from leastnoise.noise.bodies.sampler.reals import Computed, Reals, Uniforms
from leastnoise.noise.bodies.sampler.scalars import choose_below, choose_many_below, choose_weighted
from leastnoise.noise.bodies.sampler.signed import weights

if TYPE_CHECKING:
    from leastnoise.entropy.source import Entropy


def counted_sums_surface(source: Source, body: CountedSums, moves: Moves) -> Reals:
    """Return cells with α_j = P·Dirichlet(s_1, …), β_j alike."""
    q = len(body.bounds)
    shapes = _shapes_of_cells(source.entropy, body, moves.shape)
    above = draw_power_shares(source.entropy, shapes, Fraction(1))
    beneath = draw_power_shares(source.entropy, [q - s for s in shapes], Fraction(1))
    cells = []
    for s, alpha, beta in zip(shapes, above, beneath, strict=True):
        own = Moves(
            shape=s,
            added=scalars.multiply(moves.added, alpha),
            removed=scalars.multiply(moves.removed, beta),
        )
        cells.append(_cell(source, body, own))
    return Joined(cells)


def _shapes_of_cells(entropy: Entropy, body: CountedSums, total: int) -> list[int]:
    """Return the cells' shapes, of weights ½, 1, …, 1, ½ on 0 … q, given their sum.

    That law is b + v, b a fair bit and v uniform on 0 … q − 1. Sums are redrawn until they are
    right; s itself is chosen by about the same law, so that takes some D tries.
    """
    q, cells = len(body.bounds), body.cells
    while True:
        found = choose_many_below(entropy, q, size=cells) + choose_many_below(
            entropy, 2, size=cells
        )
        if int(found.sum()) == total:
            return found.tolist()


def _cell(source: Source, body: CountedSums, moves: Moves) -> Reals:
    """Return a cell with α = P and β = Q: c = α − β, and M = α + β is the largest.

    That is |c| itself where α or β is 0, and else any one of the sums; the others are below it.
    """
    q = len(body.bounds)
    largest = scalars.add([moves.added, moves.removed])
    count = _difference(moves, body.bounds[0])
    end = -1 if moves.shape in (0, q) else choose_below(source.entropy, q - 1)
    found: list[Reals] = [alone(count)]
    for index, bound in enumerate(body.bounds[1:]):
        if index == end:
            sign = 1 if source.entropy.bits(1) else -1
            found.append(alone(scalars.multiply_by(sign * bound, largest)))
        else:
            uniform = Uniforms(1, source.entropy, signed=True)
            found.append(Rows(factors=alone(largest), parts=uniform, units=[bound], row=1))
    return Joined(found)


def counted_surface(source: Source, body: Counted, moves: Moves) -> Reals:
    """Return P₀ = P and Q₀ below Q, or Q₀ = Q and P₀ below P, by their weights; n = P − Q."""
    s, last = moves.shape, body.of.dimension

    def reached_or_passed() -> list[arb]:
        own = weights(body.of)
        return [own[s] if s <= last else arb(0), own[s - 1] if s > 0 else arb(0)]

    if choose_weighted(source.entropy, reached_or_passed) == 0:
        lower = scalars.draw_below(source.entropy, moves.removed, last - s)
        inner = Moves(shape=s, added=moves.added, removed=lower)
    else:
        lower = scalars.draw_below(source.entropy, moves.added, s - 1)
        inner = Moves(shape=s - 1, added=lower, removed=moves.removed)
    rows = _difference(moves, body.bound)
    return Joined([source.sides(body.of, inner, inside=False), alone(rows)])


def _difference(moves: Moves, unit: Fraction) -> LazyReal:
    """Return unit·(P − Q)."""
    above, beneath = moves.added, moves.removed
    return Computed(lambda bits: ball(unit) * (above.enclose(bits) - beneath.enclose(bits)))


def jointly_surface(source: Source, body: Jointly, moves: Moves) -> Reals:
    """Choose shapes s_i by their weights given s; P_i share P as in `Together`, Q_i Q."""
    shapes = _shapes_of_parts(source.entropy, body, moves.shape)
    sizes = [one.dimension - s for one, s in zip(body.parts, shapes, strict=True)]
    above = _parts(source.entropy, shapes, body.exponent)
    beneath = _parts(source.entropy, sizes, body.exponent)
    found = []
    for one, r, s, p, q in zip(body.parts, body.radii, shapes, above, beneath, strict=True):
        own = Moves(
            shape=s,
            added=scalars.multiply_by(r, scalars.multiply(moves.added, p)),
            removed=scalars.multiply_by(r, scalars.multiply(moves.removed, q)),
        )
        found.append(source.sides(one, own, inside=False))
    return Joined(found)


def _parts(entropy: Entropy, shapes: Sequence[int], exponent: Fraction | None) -> list[LazyReal]:
    """Return P_i/(r_i P): for p = ∞ one, any of the s coordinates', is 1 and the others below."""
    if exponent is not None:
        return draw_power_shares(entropy, shapes, exponent)
    number = choose_below(entropy, sum(shapes)) if any(shapes) else 0
    found = []
    for size in shapes:
        at_end = 0 <= number < size
        number -= size
        found.append(scalars.ONE if at_end else scalars.draw_below(entropy, scalars.ONE, size))
    return found


def _shapes_of_parts(entropy: Entropy, body: Jointly, total: int) -> list[int]:
    """Return the parts' shapes given their sum, one after the other."""
    found, left = [], total
    for index in range(len(body.parts)):
        found.append(choose_weighted(entropy, lambda i=index, n=left: _next_shapes(body, i, n)))
        left -= found[-1]
    return found


def _next_shapes(body: Jointly, index: int, total: int) -> list[arb]:
    """Weights of s_index = 0, 1, … if those of the parts from there on sum up to `total`."""
    own = _polynomials(body, ctx.prec)
    rest = own[index + 1][1] if index + 1 < len(own) else (arb(1),)
    mine = own[index][0]
    return [
        weight * rest[total - s] if 0 <= total - s < len(rest) else arb(0)
        for s, weight in enumerate(mine)
    ]


@lru_cache(maxsize=32)
def _polynomials(body: Jointly, bits: int) -> list[tuple[tuple[arb, ...], tuple[arb, ...]]]:
    """Return the weights of each part by s_i, and those of all parts from it on by their sum.

    Both without the factors that P and Q bring in, as in `Jointly.pieces`.
    """
    del bits
    found, product, degree = [], arb_poly([1]), 0
    for one, radius in zip(reversed(body.parts), reversed(body.radii), strict=True):
        d = one.dimension
        own = [
            weight * ball(radius) ** d * _gamma_ratio(s, body) * _gamma_ratio(d - s, body)
            for s, weight in enumerate(weights(one))
        ]
        product, degree = arb_poly(own) * product, degree + d
        found.append((tuple(own), coefficients(product, degree)))
    return found[::-1]


def _gamma_ratio(size: int, body: Jointly) -> arb:
    """Γ(s/p + 1)/s!."""
    return shares.gamma(size, rise=1, exponent=body.exponent) / ball(size + 1).gamma()
