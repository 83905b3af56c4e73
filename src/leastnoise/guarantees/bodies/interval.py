"""One number that moves by at most so much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise._record import field, record, takes
from leastnoise.balls.core import ball
from leastnoise.guarantees.bodies.base import Body, Field, Point, positive
from leastnoise.guarantees.exact import Exact

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray


@final
@record()
class Interval(Body):
    """[−bound, bound]: N(x) = |x|/bound. Raises InvalidArgument unless bound > 0.

    >>> Interval(bound=2).gauge(["-0.5"])
    Fraction(1, 4)
    """

    kind: ClassVar[str] = "interval"
    fields: ClassVar[Mapping[str, Field]] = MappingProxyType({"bound": Field.NUMBER})
    bound: Fraction = field(converter=takes(positive))

    @property
    def dimension(self) -> int:
        """1."""
        return 1

    def power(self, x: Point, exponent: int) -> Fraction:
        return (abs(x[0]) / self.bound) ** exponent

    def enclosure(self, x: Point) -> arb:
        return ball(self.power(x, 1))

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(points[..., 0]) / float(self.bound)

    def volume(self) -> arb:
        """It is 2·bound."""
        return ball(2 * self.bound)

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """It is bound²/3."""
        return np.array([float(self.bound**2 / 3)])

    @property
    def first_moments(self) -> NDArray[np.float64]:
        """It is bound/2."""
        return np.array([float(self.bound / 2)])

    @property
    def corner_count(self) -> int:
        """2."""
        return 2

    def times(self, factor: Exact) -> Self:
        return type(self)(bound=positive(factor, name="factor") * self.bound)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield from ((self.bound,), (-self.bound,))
