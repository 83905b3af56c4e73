"""Volumes of all shifts, projected on a few of the released numbers.

Bounds on the best noise for all numbers follow from bounds for j of them at a time
(theory/bodies.md §8). These follow from the volume of all moves of those j numbers by one unit, or
by n units in turn. It is the volume of the *shifts themselves*, not of their hull, since noise need
not hide the hull.

| shifts | of any j numbers | volume, n times |
|---|---|---|
| ‖v‖₂ <= b | j <= d | ω_j (nb)^j |
| ‖v‖₁ <= b | j <= d | (2nb)^j/j! |
| at most k entries not 0, each at most b | j <= k | (2nb)^j |
| a record of [0, b]^d, at most k not 0, added or removed | j <= k | b^j((n + 1)n^j − n(n − 1)^j) |
| the same, replaced by another | j <= min(2k, d) | (nb)^j Σ_p C(j, p), j − k <= p <= k |

Notation: v is a shift of d numbers, and b the bound on its length or on an entry. At most k entries
aren't 0. ω_j is the volume of the unit ball of R^j. The second column says for which j the formula
holds.

The moves by i added and n − i removed records fill the cube [−(n − i)b, ib]^j. The intersection of
two such cubes lies in all cubes between them. So the volume of their union is the sum of their
volumes, minus the volumes of intersections of consecutive cubes. If a record is replaced, at most k
entries grow and at most k fall. For n > 1 more entries may move, so the volume in the table is a
lower bound then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.guarantees.sensitivity import L1, L2, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices


class MoveShape(StrEnum):
    """The shape of the set of moves: the rows of the module's table, in the same order."""

    BALL = "ball"
    CROSS = "cross"
    BOX = "box"
    ADDED = "added"
    REPLACED = "replaced"


@final
@dataclass(frozen=True, kw_only=True)
class Projections:
    """The moves of any j of the released numbers, for j from 1 to `largest`.

    `numbers` is the count of released numbers, without record counts that follow sums. `bound` is b
    in the module's table, and `nonzero` is k. The lower bound on noise averages over sets of j
    numbers. The moves have the same volume for each of these sets, and each number is in equally
    many of the sets.
    """

    shape: MoveShape
    numbers: int
    largest: int
    bound: Fraction
    nonzero: int = 0

    @property
    def grows(self) -> bool:
        """True if n moves may reach further than n times one move, and `volume` counts that.

        For replaced records n moves may reach further, too, but `volume` leaves that out.
        """
        return self.shape is MoveShape.ADDED

    @property
    def is_attained(self) -> bool:
        """True only if some noise is known to attain the lower bound for all numbers together."""
        return self.shape is MoveShape.BALL

    def volume(self, coordinates: int, *, times: int = 1) -> arb:
        """The volume of the moves of j = `coordinates` numbers by n = `times` units in turn.

        For replaced records and n > 1 it is a lower bound on this volume.
        """
        size = ball(self.bound) ** coordinates
        if self.shape is MoveShape.BALL:
            return size * times**coordinates * unit_ball(coordinates)
        return size * ball(_VOLUMES[self.shape](coordinates, times, self.nonzero))

    def radius(self, coordinates: int, *, times: int = 1) -> arb:
        """The radius of the ball of R^coordinates with the volume that `volume` returns."""
        if self.shape is MoveShape.BALL:
            return ball(self.bound * times)
        relative = self.volume(coordinates, times=times) / unit_ball(coordinates)
        return relative.root(coordinates)


def unit_ball(dimension: int) -> arb:
    """The volume of the unit ball of R^dimension: π^(dimension/2)/Γ(dimension/2 + 1)."""
    half = ball(Fraction(dimension, 2))
    return arb.pi() ** half / (half + 1).gamma()


def projections_of(sensitivity: Sensitivity, *, dimension: int) -> Projections | None:
    """The projections of the shifts of `sensitivity`; None if their volumes aren't known.

    None also for shifts by integers, whose volume is 0, and if `dimension` isn't the sensitivity's.
    """
    known = _KNOWN.get(type(sensitivity))
    if known is None or sensitivity.coordinates not in {None, dimension}:
        return None
    return known(sensitivity, dimension)


def _l2(sensitivity: L2, dimension: int) -> Projections:
    return Projections(
        shape=MoveShape.BALL, numbers=dimension, largest=dimension, bound=sensitivity.bound
    )


def _l1(sensitivity: L1, dimension: int) -> Projections:
    return Projections(
        shape=MoveShape.CROSS, numbers=dimension, largest=dimension, bound=sensitivity.bound
    )


def _linf(sensitivity: Linf, dimension: int) -> Projections | None:
    if sensitivity.whole:
        return None
    largest = min(sensitivity.l0, dimension)
    return Projections(
        shape=MoveShape.BOX, numbers=dimension, largest=largest, bound=sensitivity.bound
    )


def _counts(sensitivity: CountingQueries, dimension: int) -> Projections:
    del dimension  # with a total, the number of records moves by exactly 1: only the sums count
    d, k = sensitivity.dimension, sensitivity.max_nonzero
    added = sensitivity.neighbours == "add-remove"
    return Projections(
        shape=MoveShape.ADDED if added else MoveShape.REPLACED,
        numbers=d,
        largest=k if added else min(2 * k, d),
        bound=sensitivity.bound,
        nonzero=k,
    )


def _groups(sensitivity: Groups, dimension: int) -> Projections:
    """The projections on j sums of one group, for any change of its record count."""
    del dimension
    added = sensitivity.neighbours == "add-remove"
    return Projections(
        shape=MoveShape.ADDED if added else MoveShape.BOX,
        numbers=sensitivity.groups * sensitivity.dimension,
        largest=sensitivity.dimension,
        bound=sensitivity.bound,
    )


def _vertices(sensitivity: Vertices, dimension: int) -> Projections | None:
    if dimension != 1:
        return None
    bound = max(abs(point[0]) for point in sensitivity.points)
    return Projections(shape=MoveShape.BOX, numbers=1, largest=1, bound=bound)


_KNOWN: dict[type[Sensitivity], Callable[..., Projections | None]] = {
    L2: _l2,
    L1: _l1,
    Linf: _linf,
    CountingQueries: _counts,
    Groups: _groups,
    Vertices: _vertices,
}
"""The function that computes the projections of each kind of sensitivity."""


def _added_volume(coordinates: int, times: int, nonzero: int) -> int:
    del nonzero
    return (times + 1) * times**coordinates - times * (times - 1) ** coordinates


def _replaced_volume(coordinates: int, times: int, nonzero: int) -> int:
    counts = range(max(0, coordinates - nonzero), min(nonzero, coordinates) + 1)
    return times**coordinates * sum(math.comb(coordinates, grown) for grown in counts)


_VOLUMES: dict[MoveShape, Callable[[int, int, int], Fraction | int]] = {
    MoveShape.CROSS: lambda j, n, _: Fraction((2 * n) ** j, math.factorial(j)),
    MoveShape.BOX: lambda j, n, _: (2 * n) ** j,
    MoveShape.ADDED: _added_volume,
    MoveShape.REPLACED: _replaced_volume,
}
"""For each shape, the function of j, n and k that computes the volume for b = 1."""
