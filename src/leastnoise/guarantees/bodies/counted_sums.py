"""Cells with a row count and sums, of which a row falls in one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from math import factorial, prod
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb, arb_poly

from leastnoise import _validate
from leastnoise._record import field, record, whole
from leastnoise.balls.core import ball
from leastnoise.guarantees.bodies.base import Point
from leastnoise.guarantees.bodies.box import A_BOUNDS
from leastnoise.guarantees.bodies.mixing import Mixing, coefficients
from leastnoise.guarantees.bodies.one_sided import MOST_CELLS, Coordinate, OneSided, Pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@record()
class CountedSums(OneSided):
    """T = {|y_ji| <= c_j, Σ_j c_j <= 1}: in each of `cells` cells a count c and q − 1 sums y.

    Coordinates run cell by cell, the count first, and are in units of `bounds`, whose number is q.
    notation: M_j = max(|c_j|, ‖y_j‖∞), α_j = (M_j + c_j)/2, β_j = (M_j − c_j)/2; P = Σ α_j and
    Q = Σ β_j (theory/bodies.md §3, "Signs for sums and means"). With no sums it is `Counts` with
    most = 1. Raises InvalidArgument unless bounds > 0 and there are 1 to 100,000 cells.

    >>> means = CountedSums(cells=2, bounds=[1, 30])
    >>> means.holds([1, -30, 0, 0]), means.holds(["0.5", 30, 0, 0])
    (True, False)
    """

    kind: ClassVar[str] = "counted-sums"
    cells: int = field(converter=whole(most=MOST_CELLS))
    bounds: tuple[Fraction, ...] = field(converter=A_BOUNDS, scales=True)

    def _check_together(self) -> None:
        _validate.dimension(self.dimension)

    @property
    def dimension(self) -> int:
        """A count and the sums, in each cell."""
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

    def pieces(self) -> Pieces:
        """The weights of shapes.

        One cell: given M, the count is ±M with probability 1/q, and else uniform between; so the
        shape s of α is 0 … q with weights ½, 1, …, 1, ½. Cells add up.
        """
        one = self._one_cell()
        if self.cells == 1:
            return one
        polynomial = arb_poly(list(one.weights))
        others = polynomial ** (self.cells - 1)
        weights = coefficients(others * polynomial, self.dimension)
        mixing = Mixing(exponent=Fraction(1), total=weights, rest=others, radius=Fraction(1))
        cell = tuple(mixing.coordinate(each, one.weights) for each in one.layout[0][0])
        return Pieces(weights=weights, layout=((cell, self.cells),))

    def _one_cell(self) -> Pieces:
        """Return the pieces of one cell: volume Π 2b, so q!/q · Π 2b times the weights above."""
        q = len(self.bounds)
        unit = ball(factorial(q - 1) * prod(2 * bound for bound in self.bounds))
        weights = (unit / 2, *(unit for _ in range(q - 1)), unit / 2)
        one, none = (arb(1),) * (q + 1), (arb(0),) * (q + 1)
        # c = P − Q, but for a cell of a count alone, where P or Q is 0
        count = Coordinate(
            unit=self.bounds[0],
            pp=one,
            pq=tuple(-2 * value for value in one),
            qq=one,
            p=one if q == 1 else none,
            q=one if q == 1 else none,
            apart=none if q == 1 else one,
        )
        sums = tuple(self._sum(bound) for bound in self.bounds[1:])
        return Pieces(weights=weights, layout=(((count, *sums), 1),))

    def _sum(self, bound: Fraction) -> Coordinate:
        """Return the moments of a sum, M = P + Q.

        Where |c| < M, one of the q − 1 sums is ±M and the others are uniform between.
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
        """2^(q − 1) in each cell."""
        return self.cells * 2 ** (len(self.bounds) - 1)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        q = len(self.bounds)
        for cell in range(self.cells):
            before = (Fraction(0),) * (cell * q)
            after = (Fraction(0),) * ((self.cells - 1 - cell) * q)
            for sums in itertools.product(*((-bound, bound) for bound in self.bounds[1:])):
                yield (*before, self.bounds[0], *sums, *after)
