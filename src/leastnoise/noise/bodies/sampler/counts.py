"""Points of what can be added to counts: the sides of x are x⁺ and x⁻."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import Gathered, Joined, Rows
from leastnoise.noise.bodies.sampler.capped import capped, largest_or_share
from leastnoise.noise.bodies.sampler.choices import permutation
from leastnoise.noise.bodies.sampler.leaves import Uniforms
from leastnoise.noise.bodies.sampler.reals import Reals
from leastnoise.noise.bodies.sampler.source import Moves, Source, alone, known

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.lazy import LazyReal
    from leastnoise.guarantees.bodies.one_sided import OneSided


def counts_sides(source: Source, of: OneSided, moves: Moves, *, inside: bool) -> Reals:
    """Return P·(a point of T within any s coordinates), and −Q·(one within the others)."""
    counts = known(of, Counts)

    def side(size: int, whole: LazyReal, unit: Fraction) -> Reals:
        if size == 0:
            return Joined([])
        if counts.most >= size and not inside:
            return _cube_surface(source, size, whole, unit)
        parts = capped(source.entropy, cells=size, shape=1, cap=counts.most)
        if not inside:
            whole = scalars.ratio(whole, largest_or_share(parts, counts.most))
        return Rows(factors=alone(whole), parts=parts, units=[unit], row=size)

    d = counts.queries
    above = side(moves.shape, moves.added, counts.bound)
    beneath = side(d - moves.shape, moves.removed, -counts.bound)
    return Gathered(Joined([above, beneath]), _inverse(permutation(source.entropy, d)))


def _cube_surface(source: Source, size: int, whole: LazyReal, unit: Fraction) -> Reals:
    """One coordinate at the end, the first: they are shuffled anyway; the others below it."""
    largest = alone(scalars.times(unit, whole))
    if size == 1:
        return largest
    others = Uniforms(size - 1, source.entropy)
    rest = Rows(factors=alone(whole), parts=others, units=[unit], row=size - 1)
    return Joined([largest, rest])


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.empty_like(order)
    found[order] = np.arange(order.size)
    return found
