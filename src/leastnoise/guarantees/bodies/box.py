"""`Interval` and `Box`: one number, or several at once, each moved by at most its own bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import field, record, takes
from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import NUMBERS, Body, Point, positive
from leastnoise.guarantees.exact import Exact

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

MOST_BOUNDS = 10_000


def positive_bounds(bounds: Sequence[Exact], *, name: str = "bounds") -> tuple[Fraction, ...]:
    """Return 1 to 10,000 positive bounds exactly; raises InvalidArgument for others."""
    given = _validate.items(bounds, name=name, like=NUMBERS)
    if not 1 <= len(given) <= MOST_BOUNDS:
        raise InvalidArgument(
            name=name, value=f"{len(given)} numbers", expected=f"1 to {MOST_BOUNDS:,} bounds"
        )
    return tuple(positive(bound, name=name) for bound in given)


A_BOUNDS = takes(positive_bounds)


@final
@record()
class Interval(Body):
    """[−bound, bound]: N(x) = |x|/bound. Raises InvalidArgument unless bound > 0.

    >>> Interval(bound=2).gauge(["-0.5"])
    Fraction(1, 4)
    """

    kind: ClassVar[str] = "interval"
    bound: Fraction = field(converter=takes(positive), scales=True)

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

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield from ((self.bound,), (-self.bound,))


@final
@record()
class Box(Body):
    """All x with |x_i| <= bounds[i]: N(x) = max |x_i|/bounds[i].

    Raises InvalidArgument unless there are 1 to 10,000 bounds, each > 0.

    >>> Box(bounds=[1, 2]).gauge([1, -3])
    Fraction(3, 2)
    """

    kind: ClassVar[str] = "box"
    bounds: tuple[Fraction, ...] = field(converter=A_BOUNDS, scales=True)

    @property
    def dimension(self) -> int:
        """The number of bounds."""
        return len(self.bounds)

    def power(self, x: Point, exponent: int) -> Fraction:
        return max(abs(a) / b for a, b in zip(x, self.bounds, strict=True)) ** exponent

    def enclosure(self, x: Point) -> arb:
        return ball(self.power(x, 1))

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.max(np.abs(points) / self._floats, axis=-1)

    def volume(self) -> arb:
        """It is Π 2·bounds[i]."""
        return ball(Fraction(math.prod(2 * bound for bound in self.bounds)))

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """They are bounds[i]²/3."""
        return self._floats**2 / 3

    @property
    def first_moments(self) -> NDArray[np.float64]:
        """They are bounds[i]/2."""
        return self._floats / 2

    @property
    def corner_count(self) -> int:
        """2^dimension."""
        return 2**self.dimension

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, Box) and all(
            theirs <= ours for theirs, ours in zip(other.bounds, self.bounds, strict=True)
        )

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield from itertools.product(*((-bound, bound) for bound in self.bounds))

    @property
    def _floats(self) -> NDArray[np.float64]:
        return np.array([float(bound) for bound in self.bounds])
