"""One-sided sets T: moves of counting queries, with or without a row count, and of sums.

Notation: P(x) and Q(x) are the least multiples of T that must be added and removed to move by x
(`one_sided`). x⁺ = max(x, 0) and x⁻ = max(−x, 0) in each coordinate. In `pieces`, s is a shape and
weights[s] its weight, as defined at `VolumeSplit`. E is the mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from math import factorial, prod
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb, arb_poly

from leastnoise import _validate
from leastnoise._record import field, record, takes, whole
from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import Point, positive
from leastnoise.guarantees.bodies.one_sided import (
    A_ONE_SIDED,
    MOST_CELLS,
    Balls,
    Coordinate,
    Mixing,
    OneSided,
    VolumeSplit,
    coefficients,
)
from leastnoise.guarantees.bodies.plain import A_BOUNDS
from leastnoise.guarantees.bodies.shares import MOST_WORK, capped_cubes
from leastnoise.guarantees.fields import FractionField, FractionsField, LimitField

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _most(most: int | None, *, name: str, record: Counts) -> int:
    d = record.queries
    return d if most is None else _validate.whole(most, name=name, most=d)


@final
@record()
class Counts(OneSided):
    """The moves of counts of d conditions by one row, which meets at most k of them.

    Let d = `queries`, k = `most` (default d) and b = `bound`. T is the set of all x in [0, b]^d
    with Σ x_i <= k·b; its gauge is g(y) = max(max y_i, Σ y_i/k)/b. P(x) = g(x⁺), Q(x) = g(x⁻).
    Raises InvalidArgument unless 1 <= k <= d <= 100,000, and if 1 < k < d and k·d > 1,000,000.

    >>> Counts(queries=3, most=2).powers([Fraction(1), Fraction(1), Fraction(-1)], 1)
    (Fraction(1, 1), Fraction(1, 1))
    """

    kind: ClassVar[str] = "counts"
    queries: int = field(converter=whole(most=MOST_CELLS))
    most: LimitField = field(converter=takes(_most, of_record=True), default=None)
    bound: FractionField = field(converter=takes(positive), default=1, scales=True)

    def _check_together(self) -> None:
        d = _validate.dimension(self.queries)
        if self.most < d and self.most * d > MOST_WORK:
            raise InvalidArgument(
                name="most",
                value=self.most,
                expected=f"most · queries <= {MOST_WORK:,}",
                hint="Noise that is calibrated for most = queries protects these queries, too.",
            )

    @property
    def dimension(self) -> int:
        """The number d of conditions."""
        return self.queries

    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction]:
        added = self._gauge([value for value in x if value > 0])
        removed = self._gauge([-value for value in x if value < 0])
        return added**exponent, removed**exponent

    def _gauge(self, y: list[Fraction]) -> Fraction:
        if not y:
            return Fraction(0)
        return max(*y, sum(y, Fraction(0)) / self.most) / self.bound

    def enclosures(self, x: Point) -> tuple[arb, arb]:
        added, removed = self.powers(x, 1)
        return ball(added), ball(removed)

    def moves(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        added, removed = np.maximum(points, 0.0), np.maximum(-points, 0.0)
        bound = float(self.bound)
        return self._floats(added) / bound, self._floats(removed) / bound

    def _floats(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(y.max(axis=-1), y.sum(axis=-1) / self.most)

    def pieces(self) -> VolumeSplit:
        """The volume split by P and Q, where s is the number of coordinates above 0.

        weights[s] = d!·V_s·V_(d−s)·b^d, where V_s is the volume of the set T_s of `CappedCubes`.
        Given s, a coordinate is above 0 with probability s/d. Divided by b, it is then P times a
        coordinate of a random point on the boundary of T_s. This point is a uniform point of T_s,
        divided by its gauge. That raises the second moment by the factor (s + 2)/s and the first by
        (s + 1)/s.
        """
        d = self.queries
        cubes = capped_cubes(largest=d, cap=self.most)
        whole_volume = ball(d + 1).gamma() * ball(self.bound) ** d
        weights = tuple(
            whole_volume * above * below
            for above, below in zip(cubes.volumes, reversed(cubes.volumes), strict=True)
        )
        second = tuple((s + 2) * moment / d for s, moment in enumerate(cubes.seconds))
        first = tuple((s + 1) * moment / d for s, moment in enumerate(cubes.firsts))
        zeros = (arb(0),) * (d + 1)
        coordinate = Coordinate(
            unit=self.bound,
            pp=second,
            pq=zeros,
            qq=second[::-1],
            p=first,
            q=first[::-1],
            apart=zeros,
        )
        return VolumeSplit(weights=weights, layout=(((coordinate,), d),))

    @property
    def corner_count(self) -> int:
        """The number of nonempty sets of at most `most` conditions."""
        if self.most == self.queries:
            return 2**self.queries - 1
        return sum(math.comb(self.queries, size) for size in range(1, self.most + 1))

    def contains(self, other: OneSided) -> bool:
        if isinstance(other, Counts) and other.queries == self.queries:
            return other.bound <= self.bound and other.most * other.bound <= self.most * self.bound
        return super().contains(other)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        for size in range(1, self.most + 1):
            for conditions in itertools.combinations(range(self.queries), size):
                yield tuple(
                    self.bound if i in conditions else Fraction(0) for i in range(self.queries)
                )


@final
@record()
class Counted(OneSided):
    """The moves of numbers and a row count: the hull of 0 and T₀ × {bound}.

    A row moves the numbers by a vector of T₀ = `of`, and adds `bound` to the row count, which is
    the last coordinate. Let g₀ be the gauge of T₀. P₀ and Q₀ are P and Q of T₀ at the other
    coordinates; n is the last coordinate divided by `bound`. The cone of the set is {g₀(a) <= n},
    so P = max(P₀, Q₀ + n) and Q = P − n. Raises InvalidArgument unless bound > 0.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> Counted(of=Counts(queries=2), bound=1).holds([1, 0, 1])
    True
    """

    kind: ClassVar[str] = "counted"
    of: OneSided = field(converter=A_ONE_SIDED, scales=True)
    bound: FractionField = field(converter=takes(positive), default=1, scales=True)

    @property
    def dimension(self) -> int:
        """The dimension of `of`, plus 1 for the row count."""
        return self.of.dimension + 1

    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction] | None:
        inner = self.of.powers(x[:-1], 1)
        if inner is None:
            return None
        rows = x[-1] / self.bound
        added = max(inner[0], inner[1] + rows)
        return added**exponent, (added - rows) ** exponent

    def enclosures(self, x: Point) -> tuple[arb, arb]:
        added, removed = self.of.enclosures(x[:-1])
        rows = ball(x[-1] / self.bound)
        return added.max(removed + rows), removed.max(added - rows)

    def moves(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        added, removed = self.of.moves(points[..., :-1])
        rows = points[..., -1] / float(self.bound)
        return np.maximum(added, removed + rows), np.maximum(removed, added - rows)

    def pieces(self) -> VolumeSplit:
        """The volume split by P and Q: weights[s] = bound·(weights₀[s] + weights₀[s − 1]).

        weights₀ are the weights of T₀ (0 outside its shapes), D₀ is its dimension, and t = D₀ − s.
        The volume of {P₀ <= α, Q₀ <= β} is Σ_s weights₀[s] α^s β^t/(s!t!). Given P = α and Q = β, n
        is α − β. So the density of (P, Q) at (α, β) is the sum of this volume's derivatives in α
        and in β. In the first term P₀ = α and Q₀ = β·Beta(t, 1); in the second Q₀ = β and P₀ =
        α·Beta(s, 1).
        """
        inner = self.of.pieces()
        scale = ball(self.bound)
        reached = tuple(scale * weight for weight in (*inner.weights, arb(0)))  # P₀ = α, by s
        passed = tuple(scale * weight for weight in (arb(0), *inner.weights))  # Q₀ = β, by s + 1
        weights = tuple(a + b for a, b in zip(reached, passed, strict=True))
        layout = tuple(
            (tuple(_coordinate_within(coordinate, reached, passed) for coordinate in cell), copies)
            for cell, copies in inner.layout
        )
        ones, zeros = (arb(1),) * len(weights), (arb(0),) * len(weights)
        rows = Coordinate(
            unit=self.bound,
            pp=ones,
            pq=tuple(-2 * value for value in ones),
            qq=ones,
            p=zeros,
            q=zeros,
            apart=ones,
        )
        return VolumeSplit(weights=weights, layout=(*layout, ((rows,), 1)))

    @property
    def corner_count(self) -> int | None:
        """The number of corners of `of`, plus 1 for a row that adds to the row count alone.

        None if `of` has no finite set of corners.
        """
        count = self.of.corner_count
        return None if count is None else count + 1

    def contains(self, other: OneSided) -> bool:
        if isinstance(other, Counted) and other.bound == self.bound:
            return self.of.contains(other.of)
        return super().contains(other)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield (Fraction(0),) * self.of.dimension + (self.bound,)
        for corner in self.of.corners():
            yield (*corner, self.bound)


def _coordinate_within(coordinate: Coordinate, reached: Balls, passed: Balls) -> Coordinate:
    """The moments of a coordinate of `Counted`, given P, Q and their shape s'.

    A shape s is the index of a term ∝ P^(s−1)·Q^(D−s−1) of the density of P and Q, with a point
    mass at P = 0 if s = 0, and at Q = 0 if s = D: see `VolumeSplit`. The mean of |x| is known only
    if T₀ has it with `apart` = 0; else p, q and `apart` are None.

    `coordinate` has the moments within T₀ = `Counted.of`, given P₀, Q₀ and their shape s; P₀ and Q₀
    are P and Q of T₀. For each s' there are two cases, with the weights reached[s'] and passed[s']
    as their relative probabilities (see `Counted.pieces`). In the first, P₀ = P and Q₀ = Q·Beta(t,
    1), with s = s' and t = D' − s' − 1. In the second, Q₀ = Q and P₀ = P·Beta(s, 1), with s = s' −
    1. D' is the dimension with the row count.
    """

    def mix(moment: Balls, above: int, below: int) -> Balls:
        last = len(reached) - 1
        moments = []
        for s in range(last + 1):
            total = arb(0)
            if s < last:
                total += reached[s] * moment[s] * _beta_moment(last - s - 1, below)
            if s > 0:
                total += passed[s] * moment[s - 1] * _beta_moment(s - 1, above)
            moments.append(total / (reached[s] + passed[s]))
        return tuple(moments)

    simple = coordinate.p is not None and coordinate.q is not None and coordinate.apart is not None
    simple = simple and all(value.is_zero() for value in coordinate.apart or ())
    return Coordinate(
        unit=coordinate.unit,
        pp=mix(coordinate.pp, 2, 0),
        pq=mix(coordinate.pq, 1, 1),
        qq=mix(coordinate.qq, 0, 2),
        p=mix(coordinate.p, 1, 0) if simple and coordinate.p else None,
        q=mix(coordinate.q, 0, 1) if simple and coordinate.q else None,
        apart=(arb(0),) * len(reached) if simple else None,
    )


def _beta_moment(size: int, order: int) -> arb:
    """The mean of B^order for B ~ Beta(size, 1): size/(size + order), and 1 for order 0."""
    return ball(Fraction(size, size + order)) if order else arb(1)


# Cells with a row count and sums; each row is in one cell.


@final
@record()
class CountedSums(OneSided):
    """The moves of a count and sums in each of several cells by one row, which is in one cell.

    Each cell j has a count c_j and the sums y_ji, i = 1 … q − 1, where q is the number of `bounds`.
    T is the set of all moves with |y_ji| <= c_j and Σ_j c_j <= 1, in units of the `bounds`.
    Coordinates run cell by cell, the count first. With no sums T is `Counts` with most = 1. Raises
    InvalidArgument unless bounds > 0 and there are 1 to 100,000 cells.

    Let M_j = max(|c_j|, max_i |y_ji|), α_j = (M_j + c_j)/2 and β_j = (M_j − c_j)/2. P = Σ α_j and Q
    = Σ β_j over all cells (theory/bodies.md §3, "Signs for sums and means").

    >>> means = CountedSums(cells=2, bounds=[1, 30])
    >>> means.holds([1, -30, 0, 0]), means.holds(["0.5", 30, 0, 0])
    (True, False)
    """

    kind: ClassVar[str] = "counted-sums"
    cells: int = field(converter=whole(most=MOST_CELLS))
    bounds: FractionsField = field(converter=A_BOUNDS, scales=True)

    def _check_together(self) -> None:
        _validate.dimension(self.dimension)

    @property
    def dimension(self) -> int:
        """The number of coordinates: a count and the sums, in each cell."""
        return self.cells * len(self.bounds)

    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction]:
        added = removed = Fraction(0)
        q = len(self.bounds)
        for start in range(0, len(x), q):
            cell = [
                value / unit for value, unit in zip(x[start : start + q], self.bounds, strict=True)
            ]
            largest = max(abs(value) for value in cell)
            added += (largest + cell[0]) / 2
            removed += (largest - cell[0]) / 2
        return added**exponent, removed**exponent

    def enclosures(self, x: Point) -> tuple[arb, arb]:
        added, removed = self.powers(x, 1)
        return ball(added), ball(removed)

    def moves(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        cells = points.reshape(*points.shape[:-1], self.cells, len(self.bounds))
        cells = cells / np.array([float(bound) for bound in self.bounds])
        largest, count = np.abs(cells).max(axis=-1), cells[..., 0]
        return (largest + count).sum(axis=-1) / 2, (largest - count).sum(axis=-1) / 2

    def pieces(self) -> VolumeSplit:
        """The volume split by P and Q: the split of one cell, convolved over all cells.

        Take a point that is uniform in the volume of a cell with q numbers, and let M be the
        largest of their sizes. Given M, the count is −M or M with probability 1/(2q) each. These
        are the shapes 0 (P = 0) and q (Q = 0). Otherwise the count is uniform in [−M, M], which are
        the shapes 1 … q − 1 with equal weights. So the weights are in proportion to ½, 1, …, 1, ½.
        """
        one_cell = self._one_cell()
        if self.cells == 1:
            return one_cell
        polynomial = arb_poly(list(one_cell.weights))
        others = polynomial ** (self.cells - 1)
        weights = coefficients(others * polynomial, self.dimension)
        mixing = Mixing(exponent=Fraction(1), total=weights, rest=others, radius=Fraction(1))
        cell = tuple(
            mixing.coordinate(coordinate, one_cell.weights) for coordinate in one_cell.layout[0][0]
        )
        return VolumeSplit(weights=weights, layout=((cell, self.cells),))

    def _one_cell(self) -> VolumeSplit:
        """The volume split of one cell of q numbers.

        The weights are ½, 1, …, 1, ½ times (q − 1)! and the product of 2·bounds[i] over all i.
        """
        q = len(self.bounds)
        unit = ball(factorial(q - 1) * prod(2 * bound for bound in self.bounds))
        weights = (unit / 2, *(unit for _ in range(q - 1)), unit / 2)
        ones, zeros = (arb(1),) * (q + 1), (arb(0),) * (q + 1)
        # c = P − Q; in a cell without sums, P or Q is 0
        count = Coordinate(
            unit=self.bounds[0],
            pp=ones,
            pq=tuple(-2 * value for value in ones),
            qq=ones,
            p=ones if q == 1 else zeros,
            q=ones if q == 1 else zeros,
            apart=zeros if q == 1 else ones,
        )
        sums = tuple(self._sum_coordinate(bound) for bound in self.bounds[1:])
        return VolumeSplit(weights=weights, layout=(((count, *sums), 1),))

    def _sum_coordinate(self, bound: Fraction) -> Coordinate:
        """The moments of a sum in one cell of q numbers, given P, Q and s; `bound` is its unit.

        M = P + Q is the largest size of the numbers in the cell. If the count is less than M in
        size, which holds for 0 < s < q, one of the q − 1 sums is ±M. The others are uniform in [−M,
        M]; if the count is ±M, all are.
        """
        q = len(self.bounds)
        inside_second, inside_first = Fraction(q + 1, 3 * (q - 1)), Fraction(q, 2 * (q - 1))
        second = tuple(ball(inside_second if 0 < s < q else Fraction(1, 3)) for s in range(q + 1))
        first = tuple(ball(inside_first if 0 < s < q else Fraction(1, 2)) for s in range(q + 1))
        return Coordinate(
            unit=bound,
            pp=second,
            pq=tuple(2 * value for value in second),
            qq=second,
            p=first,
            q=first,
            apart=(arb(0),) * (q + 1),
        )

    @property
    def corner_count(self) -> int:
        """The number of corners: for each cell, one corner for each choice of the sums' signs."""
        return self.cells * 2 ** (len(self.bounds) - 1)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        q = len(self.bounds)
        for cell in range(self.cells):
            before = (Fraction(0),) * (cell * q)
            after = (Fraction(0),) * ((self.cells - 1 - cell) * q)
            for sums in itertools.product(*((-bound, bound) for bound in self.bounds[1:])):
                yield (*before, self.bounds[0], *sums, *after)
