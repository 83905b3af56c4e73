"""One-sided sets T, the moves of an added unit; `Signed` and `Differences` are built on them.

T is convex, contains 0 and spans a cone C. Every x is a difference a − b with a, b ∈ C, and one
pair (a, b) has both the smallest a and the smallest b. For counts, C is the nonnegative orthant, a
= x⁺ and b = x⁻. With g the gauge of T, P(x) = g(a) and Q(x) = g(b) for these a and b
(theory/bodies.md §3, §6). So P(x) is the least multiple of T that must be added to move by x, and
Q(x) the least that must be removed.

For s ∈ T, P(x + s) lies in [P(x), P(x) + 1] and Q(x + s) in [Q(x) − 1, Q(x)]. So noise whose
density falls with P and with Q hides T and −T. That may take less noise than hiding the hull of T
and −T.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from flint import arb, arb_poly

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
"""The largest number of conditions, or of cells, of one set."""


@final
@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """The moments of one coordinate x of a random point, given P, Q and the shape s.

    The point may have any law whose density depends only on P and Q. `unit` is the scale of x, and
    `VolumeSplit` defines s. The mean of x² given P, Q and s is unit²·(pp[s]·P² + pq[s]·PQ +
    qq[s]·Q²). The mean of |x| is unit·(p[s]·P + q[s]·Q + apart[s]·|P − Q|); p, q and `apart` are
    None if this mean has no closed form.
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
class VolumeSplit:
    """The split of the volume of R^D into parts by a shape s = 0 … D, and the law of P and Q.

    The map x ↦ (P(x), Q(x)) carries the volume of R^D to a measure in the plane with the density
    Σ_s weights[s]·γ_s(P)·γ_(D−s)(Q). Here γ_s(t) = t^(s−1)/Γ(s) for s >= 1, and γ_0 is a point mass
    at 0.

    For counts, s is the number of coordinates above 0, and weights[s] = s!(D − s)! Σ_A
    |T_A||T_(A^c)|. This sum is over all sets A of s coordinates. T_A is T restricted to the
    coordinates in A, |T_A| is its volume, and A^c are the other coordinates.

    `layout` lists the coordinates as pairs (coordinates of a cell, number of such cells in a row).
    """

    weights: Balls
    layout: Layout

    @property
    def dimension(self) -> int:
        """The number of coordinates D."""
        return len(self.weights) - 1


class OneSided(ConvexSet):
    """A convex set T that contains 0 and all moves of an added unit; `corners` leaves out 0."""

    @abstractmethod
    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction] | None:
        """The exact powers P(x)^exponent and Q(x)^exponent; None if not known to be rational."""

    @abstractmethod
    def enclosures(self, x: Point) -> tuple[arb, arb]:
        """Balls that contain P(x) and Q(x), at the current precision."""

    @abstractmethod
    def moves(self, points: NDArray[np.float64]) -> Arrays:
        """P and Q of `points` in floats: two arrays (...), for points of shape (..., dimension)."""

    @abstractmethod
    def pieces(self) -> VolumeSplit:
        """The division of the volume of R^D among the shapes s = 0 … D: see `VolumeSplit`.

        The weights are balls, computed at the current precision.
        """

    @property
    def degree(self) -> int:
        """The exponent e for which P(x)^e and Q(x)^e are often rational.

        Proofs ask `powers` for these numbers first, and use balls if it returns None.
        """
        return 1

    def holds(self, x: Sequence[Exact], *, times: Exact = 1) -> bool:
        """True only if it is proved that x lies in times·T: then Q(x) = 0 and P(x) <= times."""
        point = point_of(x, dimension=self.dimension)
        bound = exact(times, name="times")
        if bound <= 0:
            return bound == 0 and not any(point)
        return self.removes_nothing(point) and self.adds_at_most(point, bound)

    def removes_nothing(self, x: Point) -> bool:
        """True only if it is proved that x lies in the cone of T, which means Q(x) = 0."""
        powers = self.powers(x, self.degree)
        # an exact 0 stays a ball of radius 0 through sums, maxima and powers
        return self.enclosures(x)[1].is_zero() if powers is None else powers[1] == 0

    def adds_at_most(self, x: Point, bound: Fraction) -> bool:
        """True only if it is proved that P(x) <= bound, for a bound > 0."""
        powers = self.powers(x, self.degree)
        if powers is not None:
            return powers[0] <= bound**self.degree
        return decide_in_balls(lambda: self.enclosures(x)[0], bound)

    def contains(self, other: OneSided) -> bool:
        """True only if it is proved that `other` ⊂ T."""
        if self == other:
            return True
        count = other.corner_count
        if self.dimension != other.dimension or count is None:
            return False
        return count * self.dimension <= MOST_CORNERS and all(map(self.holds, other.corners()))


A_ONE_SIDED = instance_of(OneSided, like="a one-sided set")


# Volume splits and moments of several blocks together, from those of each block.
#
# notation: block i has radius r_i, shape s_i and dimension D_i, and its own P_i and Q_i. All blocks
# together have shape s = Σ s_i, dimension D = Σ D_i, P and Q; t = D − s. Given the blocks' shapes,
# P_i = r_i·P·B^(1/p) with B ~ Beta(s_i/p, (s − s_i)/p), and Q_i alike and independent.


def coefficients(polynomial: arb_poly, degree: int) -> tuple[arb, ...]:
    """The coefficients of 1, z, …, z^degree in a polynomial of at most that degree."""
    known = list(polynomial.coeffs())
    return tuple(known + [arb(0)] * (degree + 1 - len(known)))


@final
@dataclass(frozen=True, kw_only=True)
class Mixing:
    """One of several blocks of coordinates that are combined with the exponent p, as in `Jointly`.

    `exponent` is p, None for ∞, and `radius` is the block's r_i. `total` lists the weights
    (`VolumeSplit.weights`) of all blocks together, for each s. `rest` is the product over the other
    blocks of the polynomials Σ_s weights[s]·z^s in z. Both leave out the factors s!t!/(Γ(s/p +
    1)Γ(t/p + 1)) with t = D − s, D the dimension of all blocks together.
    """

    exponent: Fraction | None
    total: Balls
    rest: arb_poly
    radius: Fraction

    def coordinate(self, in_block: Coordinate, weights: Balls) -> Coordinate:
        """The moments of a coordinate given P, Q and s of all blocks, from those in its block.

        `weights` lists the weights of this block for each of its shapes, without the factors that
        `total` omits. The mean of |x| is known only if `in_block` has it with `apart` = 0; else p,
        q and `apart` are None.
        """
        simple = (
            in_block.p is not None
            and in_block.apart is not None
            and all(a.is_zero() for a in in_block.apart)
        )
        zero = (arb(0),) * len(self.total)
        return Coordinate(
            unit=in_block.unit * self.radius,
            pp=self._mix(in_block.pp, weights, 2, 0),
            pq=self._mix(in_block.pq, weights, 1, 1),
            qq=self._mix(in_block.qq, weights, 0, 2),
            p=self._mix(in_block.p, weights, 1, 0) if simple and in_block.p else None,
            q=self._mix(in_block.q, weights, 0, 1) if simple and in_block.q else None,
            apart=zero if simple else None,
        )

    def _mix(self, moment: Balls, weights: Balls, above: int, below: int) -> Balls:
        """Average a `moment` of the block over the block's shape and its parts of P and Q.

        The result for each shape s of all blocks is the mean of moment[s_i]·(P_i/(r_i P))^above·
        (Q_i/(r_i Q))^below given s. Here s_i, P_i and Q_i belong to the block, and r_i is its
        radius. The result is 0 if P is always 0 and `above` > 0, or if Q is always 0 and `below` >
        0.
        """
        rises = self._rises(len(weights) - 1, above, below)
        products = [w * m * f for w, m, f in zip(weights, moment, rises, strict=True)]
        degree = len(self.total) - 1
        sums = coefficients(arb_poly(products) * self.rest, degree)
        scale = self._rises(degree, above, below)
        return tuple(
            arb(0) if f.is_zero() else value / (weight * f)
            for value, weight, f in zip(sums, self.total, scale, strict=True)
        )

    def _rises(self, degree: int, above: int, below: int) -> list[arb]:
        from leastnoise.guarantees.bodies.shares import rise  # noqa: PLC0415 (most laws need none)

        def ratio(size: int, order: int) -> arb:
            return rise(size, order=order, exponent=self.exponent) if order else arb(1)

        return [ratio(s, above) * ratio(degree - s, below) for s in range(degree + 1)]
