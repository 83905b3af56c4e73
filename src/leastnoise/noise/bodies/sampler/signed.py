"""Points of bodies of two sides: what can be added to counts, hulls of T and −T, and T − T."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import ctx

from leastnoise.balls.core import ball
from leastnoise.entropy.scaled import choose
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import (
    Gathered,
    Joined,
    Moves,
    Rows,
    Source,
    alone,
    each,
)
from leastnoise.noise.bodies.sampler.combined import capped, find_largest_or_share
from leastnoise.noise.bodies.sampler.reals import Reals, Uniforms
from leastnoise.noise.bodies.sampler.scalars import choose_below, cumulate, permutation

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.entropy.lazy import LazyReal
    from leastnoise.entropy.source import Entropy
    from leastnoise.guarantees.bodies.one_sided import Balls, OneSided


# Points of what can be added to counts: the sides of x are x⁺ and x⁻.


def counts_sides(source: Source, counts: Counts, moves: Moves, *, inside: bool) -> Reals:
    """Return P·(a point of T within any s coordinates), and −Q·(one within the others)."""

    def side(size: int, whole: LazyReal, unit: Fraction) -> Reals:
        if size == 0:
            return Joined([])
        if counts.most >= size and not inside:
            return _cube_surface(source, size, whole, unit)
        parts = capped(source.entropy, cells=size, shape=1, cap=counts.most)
        if not inside:
            whole = scalars.divide(whole, find_largest_or_share(parts, counts.most))
        return Rows(factors=alone(whole), parts=parts, units=[unit], row=size)

    d = counts.queries
    above = side(moves.shape, moves.added, counts.bound)
    beneath = side(d - moves.shape, moves.removed, -counts.bound)
    return Gathered(Joined([above, beneath]), _inverse(permutation(source.entropy, d)))


def _cube_surface(source: Source, size: int, whole: LazyReal, unit: Fraction) -> Reals:
    """One coordinate at the end, the first: they are shuffled anyway; the others below it."""
    largest = alone(scalars.multiply_by(unit, whole))
    if size == 1:
        return largest
    others = Uniforms(size - 1, source.entropy)
    rest = Rows(factors=alone(whole), parts=others, units=[unit], row=size - 1)
    return Joined([largest, rest])


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.empty_like(order)
    found[order] = np.arange(order.size)
    return found


# Points of bodies with signs: the hull of T and −T, and T − T.
#
# notation: P, Q, s, t = D − s and weights w[s] as in guarantees/bodies/one_sided.py.


def weights(of: OneSided) -> Balls:
    """Return w[s] for s = 0 … D at the current precision."""
    return _weights(of, ctx.prec)


@lru_cache(maxsize=64)
def _weights(of: OneSided, bits: int) -> Balls:
    del bits  # the current precision: balls of another one are other balls
    return of.pieces().weights


def signed_falling(source: Source, body: Signed, count: int) -> Reals:
    """P ~ Gamma(s) and Q ~ Gamma(t), independent."""
    of = body.of
    return Joined([_falling(source, of) for _ in range(count)])


def _falling(source: Source, of: OneSided) -> Reals:
    s = _shape_of_hull(source.entropy, of)
    t = of.dimension - s
    # a uniform point of a cube needs no gauge of its own
    inside = isinstance(of, Counts)
    shapes = (s + 1, t + 1) if inside else (s, t)
    added, removed = (scalars.draw_gamma(source.entropy, shape) for shape in shapes)
    moves = Moves(shape=s, added=added, removed=removed)
    return source.sides(of, moves, inside=inside)


def signed_surface(source: Source, body: Signed, gauges: Reals) -> Reals:
    """P/N ~ Beta(s, t), Q the rest."""
    of = body.of
    return each(gauges, lambda gauge: _hull(source, of, gauge, extra=0))


def signed_uniform(source: Source, body: Signed, radii: Reals) -> Reals:
    """(P, Q, rest) is Dirichlet(s, t, 1)."""
    of = body.of
    return each(radii, lambda radius: _hull(source, of, radius, extra=1))


def _hull(source: Source, of: OneSided, whole: LazyReal, *, extra: int) -> Reals:
    s = _shape_of_hull(source.entropy, of)
    parts = [scalars.draw_gamma(source.entropy, shape) for shape in (s, of.dimension - s, extra)]
    factor = scalars.divide(whole, scalars.add(parts))
    added, removed = (scalars.multiply(factor, one) for one in parts[:2])
    return source.sides(of, Moves(shape=s, added=added, removed=removed), inside=False)


def _shape_of_hull(entropy: Entropy, of: OneSided) -> int:
    """Return s with P(s) ∝ w[s]."""
    if isinstance(of, Counts) and of.most == of.queries:
        return choose_below(entropy, of.dimension + 1)  # all alike
    return choose(entropy, lambda: _hull_shares(of, ctx.prec))


@lru_cache(maxsize=64)
def _hull_shares(of: OneSided, bits: int) -> tuple[arb, ...]:
    del bits
    return cumulate(weights(of))


def differences_uniform(source: Source, body: Differences, radii: Reals) -> Reals:
    """Uniform in {P <= R, Q <= R}."""
    of = body.of

    def point(radius: LazyReal) -> Reals:
        s = _shape_of_differences(source.entropy, of)
        return source.sides(of, Moves(shape=s, added=radius, removed=radius), inside=True)

    return each(radii, point)


def differences_surface(source: Source, body: Differences, gauges: Reals) -> Reals:
    """P is the gauge, with probability s/D, and Q uniform below, or the reverse."""
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

    return each(gauges, point)


def _shape_of_differences(entropy: Entropy, of: OneSided) -> int:
    """Return s with P(s) ∝ w[s]/(s!t!)."""
    return choose(entropy, lambda: _differences_shares(of, ctx.prec))


@lru_cache(maxsize=64)
def _differences_shares(of: OneSided, bits: int) -> tuple[arb, ...]:
    del bits
    return cumulate([w * c for w, c in zip(weights(of), binomials(of.dimension), strict=True)])


def binomials(size: int) -> list[arb]:
    """Return size!/(s!(size − s)!) for s = 0 … size, over its value at 0."""
    found = [ball(1)]
    for s in range(size):
        found.append(found[-1] * (size - s) / (s + 1))
    return found
