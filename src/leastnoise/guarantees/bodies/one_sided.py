"""What can only be added: sets T on which `Signed` and `Differences` rest.

T is convex, holds 0 and spans a cone C in which every x = a − b, a, b ∈ C, has a least a and a
least b, both at once. For counts C is the nonnegative orthant, a = x⁺ and b = x⁻. With g the gauge
of T, P(x) = g(a) and Q(x) = g(b) for these (theory/bodies.md §3, §6).

For s ∈ T, P(x + s) lies in [P(x), P(x) + 1] and Q(x + s) in [Q(x) − 1, Q(x)]: noise that falls with
P and with Q hides T and −T, which may ask for less than hiding their hull.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from flint import arb

from leastnoise._record import instance_of
from leastnoise.guarantees.bodies.base import (
    MOST_CORNERS,
    ConvexSet,
    Point,
    decide_in_balls,
    point_of,
)
from leastnoise.guarantees.exact import Exact, exact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = tuple[NDArray[np.float64], NDArray[np.float64]]

Balls = tuple[arb, ...]

MOST_CELLS = 100_000
"""Of one set: conditions that are counted, or cells."""


@final
@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """The moments of one coordinate x of T's space, given P, Q and how x is shared out.

    notation: with s the shape of P (see `Pieces`), E[x²|P, Q, s] = unit²·(pp[s]·P² + pq[s]·PQ +
    qq[s]·Q²), and E[|x||P, Q, s] = unit·(p[s]·P + q[s]·Q + apart[s]·E|P − Q|). The last three are
    None where E|x| has no closed form.
    """

    unit: Fraction
    pp: Balls
    pq: Balls
    qq: Balls
    p: Balls | None
    q: Balls | None
    apart: Balls | None


Layout = tuple[tuple[tuple[Coordinate, ...], int], ...]


@final
@dataclass(frozen=True, kw_only=True)
class Pieces:
    """How the volume of T's space is spread over P and Q.

    notation: D the dimension, γ_s(t) = t^(s−1)/Γ(s), γ_0 a point mass at 0. x ↦ (P, Q) takes volume
    to Σ_s weights[s]·γ_s(P)·γ_(D−s)(Q). For counts, s is the number of coordinates above 0,
    and weights[s] = s!(D − s)! Σ_A |T_A||T_(A^c)| over all sets A of s coordinates.

    `layout` lists coordinates that repeat: (those of a cell, the number of cells).
    """

    weights: Balls
    layout: Layout

    @property
    def dimension(self) -> int:
        """D."""
        return len(self.weights) - 1


class OneSided(ConvexSet):
    """A set T of what can be added, the hull of 0 and its corners, which are other points."""

    @abstractmethod
    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction] | None:
        """Return P(x)^exponent and Q(x)^exponent if they are rational for rational x; else None."""

    @abstractmethod
    def enclosures(self, x: Point) -> tuple[arb, arb]:
        """Return P(x) and Q(x) as balls at the current precision."""

    @abstractmethod
    def moves(self, points: NDArray[np.float64]) -> Arrays:
        """Return P and Q in floats for points of shape (..., dimension), as shape (...) each."""

    @abstractmethod
    def pieces(self) -> Pieces:
        """Return the pieces at the current precision."""

    @property
    def degree(self) -> int:
        """The exponent at which `powers` is tried to decide P(x) <= t."""
        return 1

    def holds(self, x: Sequence[Exact], *, times: Exact = 1) -> bool:
        """Return True only if x ∈ times·T, times > 0: then Q(x) = 0 and P(x) <= times."""
        point = point_of(x, dimension=self.dimension)
        bound = exact(times, name="times")
        if bound <= 0:
            return bound == 0 and not any(point)
        return self.removes_nothing(point) and self.adds_at_most(point, bound)

    def removes_nothing(self, x: Point) -> bool:
        """Return whether Q(x) = 0, exactly: x lies in the cone of T."""
        found = self.powers(x, self.degree)
        # what is 0 is a ball without a radius, through sums, maxima and powers
        return self.enclosures(x)[1].is_zero() if found is None else found[1] == 0

    def adds_at_most(self, x: Point, bound: Fraction) -> bool:
        """Return True only if P(x) <= bound, bound > 0."""
        found = self.powers(x, self.degree)
        if found is not None:
            return found[0] <= bound**self.degree
        return decide_in_balls(lambda: self.enclosures(x)[0], bound)

    def contains(self, other: OneSided) -> bool:
        """Return True only if it is proved that `other` ⊂ T."""
        if self == other:
            return True
        count = other.corner_count
        if self.dimension != other.dimension or count is None:
            return False
        return count * self.dimension <= MOST_CORNERS and all(map(self.holds, other.corners()))


A_ONE_SIDED = instance_of(OneSided, like="a one-sided set")
