"""`Ball`: a vector that moves by a bounded l2 length."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb

from leastnoise._record import A_DIMENSION, field, record, takes
from leastnoise.balls.core import ball, precision
from leastnoise.guarantees.bodies.base import BITS, Body, Point, nearest, positive
from leastnoise.guarantees.bodies.shares import raise_rational

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@record()
class Ball(Body):
    """All x with ‖x‖₂ <= bound: N(x) = ‖x‖₂/bound. Raises InvalidArgument unless bound > 0.

    >>> Ball(bound=5, coordinates=2).gauge([3, 4])
    Fraction(1, 1)
    """

    kind: ClassVar[str] = "ball"
    bound: Fraction = field(converter=takes(positive), scales=True)
    coordinates: int = field(converter=A_DIMENSION)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.coordinates

    def power(self, x: Point, exponent: int) -> Fraction | None:
        """Known for even exponents, and where ‖x‖₂ is rational."""
        square = sum((value * value for value in x), Fraction(0)) / self.bound**2
        return raise_rational(square, Fraction(exponent, 2))

    def enclosure(self, x: Point) -> arb:
        return ball(sum((value * value for value in x), Fraction(0)) / self.bound**2).sqrt()

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.linalg.norm(points, axis=-1) / float(self.bound)

    def volume(self) -> arb:
        """It is π^(d/2)·bound^d/Γ(d/2 + 1)."""
        half = ball(Fraction(self.dimension, 2))
        return arb.pi() ** half * ball(self.bound) ** self.dimension / (half + 1).gamma()

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """It is bound²/(d + 2)."""
        return np.full(self.dimension, float(self.bound**2 / (self.dimension + 2)))

    @property
    def first_moments(self) -> NDArray[np.float64]:
        """It is bound·Γ(d/2 + 1)/(√π Γ(d/2 + 3/2))."""
        with precision(BITS):
            half = arb(self.dimension) / 2
            unit = (half + 1).gamma() / (arb.pi().sqrt() * (half + arb(3) / 2).gamma())
            return np.full(self.dimension, nearest(ball(self.bound) * unit))

    @property
    def corner_count(self) -> int | None:
        """2 for one coordinate; None for more: all of the sphere is extreme."""
        return 2 if self.dimension == 1 else None

    @property
    def degrees(self) -> tuple[int, ...]:
        return (2,)

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, Ball) and other.bound <= self.bound

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield from ((self.bound,), (-self.bound,))
