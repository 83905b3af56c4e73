"""`Cells`: several cells, of which one unit moves a single one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes
from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import BODIES, Body, Point, corners_of_each

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray


_COPIES: Converter[Sequence[int], tuple[int, ...]] = takes(
    _validate.wholes, spelled="Sequence[int]", most=_validate.MAX_DIMENSION
)


@final
@record()
class Cells(Body):
    """The convex hull of bodies in coordinates of their own: N(x) = Σ N_i(x_i).

    `copies[i]` cells are alike, of shape `bodies[i]`; their coordinates follow one another, cell by
    cell. Noise e^(−εN) is independent noise e^(−εN_i) in each cell. Raises InvalidArgument unless
    there are 1 to 1,000 bodies and a whole number of copies of each.

    >>> from leastnoise.guarantees.bodies.box import Interval
    >>> histogram = Cells(bodies=[Interval(bound=1)], copies=[100])
    >>> histogram.dimension, histogram.times(5).gauge([1] * 100)
    (100, Fraction(20, 1))
    """

    kind: ClassVar[str] = "cells"
    bodies: tuple[Body, ...] = field(converter=BODIES, scales=True)
    copies: tuple[int, ...] = field(converter=_COPIES)

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
        """The coordinates of all cells."""
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
        """It is Π |K_i| D_i! / D!."""
        found = 1 / ball(self.dimension + 1).gamma()
        for body, count in zip(self.bodies, self.copies, strict=True):
            found *= (body.volume() * ball(body.dimension + 1).gamma()) ** count
        return found

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """They are (D_i + 1)(D_i + 2)/((D + 1)(D + 2)) of the cell's own."""
        d = self.dimension
        found = []
        for body in self.bodies:
            q = body.dimension
            found.append(body.second_moments * (q + 1) * (q + 2) / ((d + 1) * (d + 2)))
        return self._repeated(found)

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        """They are (D_i + 1)/(D + 1) of the cell's own."""
        found = []
        for body in self.bodies:
            moments = body.first_moments
            if moments is None:
                return None
            found.append(moments * (body.dimension + 1) / (self.dimension + 1))
        return self._repeated(found)

    @property
    def corner_count(self) -> int | None:
        """The corners of all cells."""
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
        every = itertools.chain.from_iterable(itertools.repeat(*pair) for pair in pairs)
        return corners_of_each(every, dimension=self.dimension)

    def _split(self, x: Point) -> Iterator[tuple[Body, Point]]:
        start = 0
        for body, count in zip(self.bodies, self.copies, strict=True):
            for _ in range(count):
                yield body, x[start : start + body.dimension]
                start += body.dimension

    def _repeated(self, moments: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        tiles = zip(moments, self.copies, strict=True)
        return np.concatenate([np.tile(moment, count) for moment, count in tiles])
