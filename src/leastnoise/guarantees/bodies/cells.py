"""`Cells` and `AtMost`: several cells, of which one unit moves only one, or at most k.

Notation: N is the gauge of the whole body and D its dimension. x_i are the coordinates of x in cell
i; K_i is the body of that cell, N_i its gauge and D_i its dimension. U is a random point that is
uniform in the whole body, U_i one of its coordinates, and E the mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes, whole
from leastnoise.balls.core import PLAIN_BITS, ball, precision
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import (
    A_BODY,
    BODIES,
    Body,
    Point,
    nearest,
    product_axes_corners,
)
from leastnoise.guarantees.bodies.shares import MOST_WORK, share_below
from leastnoise.guarantees.fields import IntsField

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

_COPIES: Converter[Sequence[int], tuple[int, ...]] = takes(
    _validate.wholes, spelled="Sequence[int]", most=_validate.MAX_DIMENSION
)


@final
@record()
class Cells(Body):
    """The convex hull of bodies with separate coordinates: N(x) = Σ_i N_i(x_i) over all cells i.

    There are `copies[j]` cells of shape `bodies[j]`; coordinates run cell by cell. Noise of density
    e^(−εN) is independent noise of density e^(−εN_i) in each cell. Raises InvalidArgument unless
    there are 1 to 1,000 bodies and an integer >= 1 of copies of each.

    >>> from leastnoise.guarantees.bodies.plain import Segment
    >>> histogram = Cells(bodies=[Segment(bound=1)], copies=[100])
    >>> histogram.dimension, histogram.times(5).gauge([1] * 100)
    (100, Fraction(20, 1))
    """

    kind: ClassVar[str] = "cells"
    bodies: tuple[Body, ...] = field(converter=BODIES, scales=True)
    copies: IntsField = field(converter=_COPIES)

    def _check_together(self) -> None:
        if len(self.bodies) != len(self.copies):
            raise InvalidArgument(
                name="copies",
                value=f"{len(self.copies)} numbers",
                expected=f"one for each of the {len(self.bodies)} bodies",
            )
        _validate.dimension(self.dimension)

    @property
    def dimension(self) -> int:
        """The number of coordinates of all cells."""
        pairs = zip(self.bodies, self.copies, strict=True)
        return sum(body.dimension * count for body, count in pairs)

    def power(self, x: Point, exponent: int) -> Fraction | None:
        total = Fraction(0)
        for body, cell in self._split(x):
            value = body.power(cell, 1) if any(cell) else Fraction(0)
            if value is None:
                return None
            total += value
        return total**exponent

    def enclosure(self, x: Point) -> arb:
        return sum((body.enclosure(cell) for body, cell in self._split(x) if any(cell)), ball(0))

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        total, start = np.zeros(points.shape[:-1]), 0
        for body, count in zip(self.bodies, self.copies, strict=True):
            end = start + count * body.dimension
            cells = points[..., start:end].reshape(*points.shape[:-1], count, body.dimension)
            total += body.gauges(cells).sum(axis=-1)
            start = end
        return total

    def volume(self) -> arb:
        """The volume: the product of |K_i|·D_i! over all cells i, divided by D!."""
        result = 1 / ball(self.dimension + 1).gamma()
        for body, count in zip(self.bodies, self.copies, strict=True):
            result *= (body.volume() * ball(body.dimension + 1).gamma()) ** count
        return result

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """The moments E U_i² of all coordinates.

        A moment in cell i is the moment of K_i times (D_i + 1)(D_i + 2)/((D + 1)(D + 2)).
        """
        d = self.dimension
        moments_of_cells = []
        for body in self.bodies:
            q = body.dimension
            moments_of_cells.append(body.second_moments * (q + 1) * (q + 2) / ((d + 1) * (d + 2)))
        return self._repeat(moments_of_cells)

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        """The moments E|U_i| of all coordinates; None if a cell's body has no closed form.

        A moment in cell i is the moment of K_i times (D_i + 1)/(D + 1).
        """
        moments_of_cells = []
        for body in self.bodies:
            moments = body.first_moments
            if moments is None:
                return None
            moments_of_cells.append(moments * (body.dimension + 1) / (self.dimension + 1))
        return self._repeat(moments_of_cells)

    @property
    def corner_count(self) -> int | None:
        """The sum of the cells' numbers of corners; None if a cell has no finite set of them."""
        total = 0
        for body, count in zip(self.bodies, self.copies, strict=True):
            corners = body.corner_count
            if corners is None:
                return None
            total += corners * count
        return total

    def _contains_by_structure(self, other: Body) -> bool:
        return (
            isinstance(other, Cells)
            and other.copies == self.copies
            and all(a.contains(b) for a, b in zip(self.bodies, other.bodies, strict=True))
        )

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        pairs = zip(self.bodies, self.copies, strict=True)
        bodies = itertools.chain.from_iterable(itertools.repeat(*pair) for pair in pairs)
        return product_axes_corners(bodies, dimension=self.dimension)

    def _split(self, x: Point) -> Iterator[tuple[Body, Point]]:
        start = 0
        for body, count in zip(self.bodies, self.copies, strict=True):
            for _ in range(count):
                yield body, x[start : start + body.dimension]
                start += body.dimension

    def _repeat(self, moments: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        tiles = zip(moments, self.copies, strict=True)
        return np.concatenate([np.tile(moment, count) for moment, count in tiles])


_CELLS = whole(most=_validate.MAX_DIMENSION)


def _most(most: int, *, name: str, record: AtMost) -> int:
    cells = _validate.whole(record.cells, name="cells", most=_validate.MAX_DIMENSION)
    return _validate.whole(most, name=name, most=cells)


@final
@record()
class AtMost(Body):
    """The hull of all moves of at most k = `most` of m = `cells` cells, each within B = `of`.

    With x_j the coordinates of cell j and N_B the gauge of B, the gauge is N(x) = max(max_j
    N_B(x_j), Σ_j N_B(x_j)/k). Let B have q dimensions, and let M_1, …, M_m ~ Beta(q, 1) be
    independent. For a uniform point U of the body, with U_j in cell j, the joint law of the
    N_B(U_j) is the law of the M_j given Σ M_j <= k (theory/bodies.md §2). Raises InvalidArgument
    unless 1 <= k <= m, and if 1 < k < m and k·m·q > 1,000,000.

    >>> from leastnoise.guarantees.bodies.plain import Segment
    >>> two_of_five = AtMost(most=2, cells=5, of=Segment(bound=1))
    >>> two_of_five.gauge([1, 1, 0, 0, 0]), two_of_five.gauge([1, 1, 1, 1, 1])
    (Fraction(1, 1), Fraction(5, 2))
    """

    kind: ClassVar[str] = "at-most"
    most: int = field(converter=takes(_most, of_record=True))
    cells: int = field(converter=_CELLS)
    of: Body = field(converter=A_BODY, scales=True)

    def _check_together(self) -> None:
        _validate.dimension(self.dimension)
        work = self.most * self.dimension
        if 1 < self.most < self.cells and work > MOST_WORK:
            raise InvalidArgument(
                name="most",
                value=self.most,
                expected=f"most · cells · dimension of a cell <= {MOST_WORK:,}",
                hint="Noise that is calibrated for most = cells protects this query, too.",
            )

    @property
    def dimension(self) -> int:
        """The number of coordinates of all cells."""
        return self.cells * self.of.dimension

    def power(self, x: Point, exponent: int) -> Fraction | None:
        values = []
        for cell in self._split(x):
            value = self.of.power(cell, 1) if any(cell) else Fraction(0)
            if value is None:
                return None
            values.append(value)
        return max(*values, sum(values, Fraction(0)) / self.most) ** exponent

    def enclosure(self, x: Point) -> arb:
        largest = total = ball(0)
        for cell in self._split(x):
            value = self.of.enclosure(cell)
            largest, total = largest.max(value), total + value
        return largest.max(total / self.most)

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        cells = points.reshape(*points.shape[:-1], self.cells, self.of.dimension)
        values = self.of.gauges(cells)
        return np.maximum(values.max(axis=-1), values.sum(axis=-1) / self.most)

    def volume(self) -> arb:
        """The volume |B|^m·P(Σ M_j <= k), with B, m, M_j and k as the class defines them."""
        return self.of.volume() ** self.cells * self._share(0)

    @property
    def second_moments(self) -> NDArray[np.float64]:
        return np.tile(self.of.second_moments * self._factors[1], self.cells)

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        moments = self.of.first_moments
        return None if moments is None else np.tile(moments * self._factors[0], self.cells)

    @cached_property
    def _factors(self) -> tuple[float, float]:
        """The factors by which the condition Σ M_j <= k changes the means of M_1 and of M_1².

        These factors turn moments of B into moments of the body. For n = 1 and 2 they follow from
        `_share`, since M_1^n times the density of Beta(q, 1) is E M_1^n times the density of Beta(q
        + n, 1).
        """
        with precision(PLAIN_BITS):
            unweighted = self._share(0)
            first, second = (nearest(self._share(n) / unweighted) for n in (1, 2))
        return first, second

    def _share(self, extra: int) -> arb:
        """The probability that Σ M_j <= k, if the last M_j has the law Beta(q + extra, 1)."""
        if self.most == self.cells:
            return ball(1)
        q = self.of.dimension
        return share_below(sizes=(self.cells - 1, q), last=q + extra, cap=self.most)

    @property
    def corner_count(self) -> int | None:
        """The number of choices of k cells and a corner of B in each.

        It is the binomial coefficient C(m, k) times (number of corners of B)^k. None if B has no
        finite set of corners.
        """
        corners = self.of.corner_count
        return None if corners is None else math.comb(self.cells, self.most) * corners**self.most

    def _contains_by_structure(self, other: Body) -> bool:
        return (
            isinstance(other, AtMost)
            and other.cells == self.cells
            and other.most <= self.most
            and self.of.contains(other.of)
        )

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        corners = list(self.of.corners())
        unmoved = (Fraction(0),) * self.of.dimension
        for moved in itertools.combinations(range(self.cells), self.most):
            for parts in itertools.product(corners, repeat=self.most):
                cells = [unmoved] * self.cells
                for index, moves in zip(moved, parts, strict=True):
                    cells[index] = moves
                yield tuple(itertools.chain(*cells))

    def _split(self, x: Point) -> Iterator[Point]:
        q = self.of.dimension
        return (x[start : start + q] for start in range(0, len(x), q))
