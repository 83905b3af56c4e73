"""What every body is: its gauge, its volume, and the moments of its uniform law."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from leastnoise import _validate
from leastnoise._record import Converter, instance_of, multiply, takes
from leastnoise.balls.core import PLAIN_BITS, ball, precision, precisions
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.exact import LARGEST_SQUARED, SMALLEST_SQUARED, Exact, exact

if TYPE_CHECKING:
    import numpy as np
    from flint import arb
    from numpy.typing import NDArray

Point = Sequence[Fraction]
Part = TypeVar("Part")

NUMBERS = "numbers, such as [1, 2]"
MOST_CORNERS = 100_000
MOST_PARTS = 1_000
_MOST_WORK = 400_000  # coordinates of corners looked at in one comparison of two bodies


class OutOfRange(InvalidArgument):
    """A bound of a body whose square, or its inverse, would not be a float."""


class ConvexSet(ABC):
    """A convex set of R^dimension: a frozen record, compared by value."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates D."""

    @property
    @abstractmethod
    def corner_count(self) -> int | None:
        """The number of points that `corners` yields; None if there is no finite set of them."""

    @abstractmethod
    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        """Yield `corners`."""

    def corners(self) -> Iterator[tuple[Fraction, ...]]:
        """Yield finitely many points that with 0 have this hull, its extreme points among them.

        Raises Refused where there are none, or more than 100,000.
        """
        count = self.corner_count
        if count is None or count > MOST_CORNERS:
            many = "no finite set of" if count is None else f"more than {MOST_CORNERS:,}"
            raise Refused(f"The set {self.kind} has {many} corners.")
        return self._corners()

    def times(self, factor: Exact) -> Self:
        """Return the set `factor` > 0 times as large: what a person with so many rows can do."""
        return multiply(self, positive(factor, name="factor"))


class Body(ConvexSet):
    """A symmetric convex body K of R^dimension, the hull of its corners."""

    @abstractmethod
    def power(self, x: Point, exponent: int) -> Fraction | None:
        """Return N(x)^exponent, exponent >= 1, if it is rational for all rational x; else None."""

    @abstractmethod
    def enclosure(self, x: Point) -> arb:
        """Return N(x) as a ball at the current precision."""

    @abstractmethod
    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return N(x) in floats for points x of shape (..., dimension), as shape (...)."""

    @abstractmethod
    def volume(self) -> arb:
        """Return the volume |K| as a ball at the current precision."""

    @property
    @abstractmethod
    def second_moments(self) -> NDArray[np.float64]:
        """E U_i² for U uniform in K, as shape (dimension,)."""

    @property
    @abstractmethod
    def first_moments(self) -> NDArray[np.float64] | None:
        """E|U_i| for U uniform in K, as shape (dimension,); None if no closed form is known."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """The exponents at which `power` is tried to decide N(x) <= t."""
        return (1,)

    def _contains_by_structure(self, other: Body) -> bool:
        """Return True if a comparison of fields proves that K holds `other`."""
        return self == other

    def gauge(self, x: Sequence[Exact]) -> Fraction | None:
        """Return N(x) exactly; None where it isn't rational in general.

        Raises InvalidArgument unless x has `dimension` coordinates.
        """
        return self.power(self._point(x), 1)

    def holds(self, x: Sequence[Exact], *, times: Exact = 1) -> bool:
        """Return True only if N(x) <= times, times >= 0: x lies in times·K. Decided exactly.

        False is as exact wherever the gauge or a power of it is rational. Elsewhere a point that
        4096 bits can't tell from the boundary counts as outside.

        >>> from leastnoise.guarantees.bodies.plain import Ball
        >>> ball = Ball(bound=1, coordinates=2)
        >>> ball.holds(["0.6", "0.8"]), ball.holds(["0.6", "0.80000000001"])
        (True, False)
        """
        point, bound = self._point(x), exact(times, name="times")
        if bound <= 0:
            return bound == 0 and not any(point)
        return self._decided(point, bound)

    def _decided(self, x: Point, bound: Fraction) -> bool:
        for degree in self.degrees:
            value = self.power(x, degree)
            if value is not None:
                return value <= bound**degree
        return decide_in_balls(lambda: self.enclosure(x), bound)

    @property
    def log_volume(self) -> float:
        """Ln |K|."""
        with precision(PLAIN_BITS):
            return nearest_log(self.volume())

    @property
    def second_moment(self) -> float:
        """E‖U‖₂² for U uniform in K."""
        return math.fsum(self.second_moments)

    def contains(self, other: Body) -> bool:
        """Return True only if it is proved that `other` ⊂ K; False: it is not, or not proved.

        Proved by the two bodies' structure, or since K holds each corner of `other`.
        """
        if self.dimension != other.dimension:
            return False
        if self._contains_by_structure(other):
            return True
        count = other.corner_count
        if count is None or count * self.dimension > _MOST_WORK:
            return False
        return all(self._decided(corner, Fraction(1)) for corner in other.corners())

    def _point(self, x: Sequence[Exact]) -> tuple[Fraction, ...]:
        return point_of(x, dimension=self.dimension)


def corners_of_each(sets: Iterable[ConvexSet], *, dimension: int) -> Iterator[tuple[Fraction, ...]]:
    """Yield the corners of sets in coordinates of their own, 0 in those of all the others."""
    start = 0
    for one in sets:
        after = dimension - start - one.dimension
        for corner in one.corners():
            yield (Fraction(0),) * start + corner + (Fraction(0),) * after
        start += one.dimension


A_BODY = instance_of(Body, like="a body")


def point_of(x: Sequence[Exact], *, dimension: int) -> tuple[Fraction, ...]:
    """Return x exactly; raises InvalidArgument unless it has `dimension` coordinates."""
    point = _validate.items(x, name="x", like=NUMBERS)
    if len(point) != dimension:
        raise InvalidArgument(
            name="x", value=f"{len(point)} coordinates", expected=f"{dimension} coordinates"
        )
    return tuple(exact(value, name="x") for value in point)


def decide_in_balls(enclosure: Callable[[], arb], bound: Fraction) -> bool:
    """Return True only if the number that `enclosure` encloses is at most `bound`.

    The precision grows until the ball lies on one side, up to 4096 bits.
    """
    for bits in precisions(64, 4096):
        with precision(bits):
            found, limit = enclosure(), ball(bound)
            if found <= limit:
                return True
            if found > limit:
                return False
    return False


def parts(values: Sequence[Part], kind: type[Part], *, name: str) -> tuple[Part, ...]:
    """Return 1 to 1,000 values, each a `kind`; raises InvalidArgument for others."""
    like = f"1 to {MOST_PARTS:,} {name}, as a list"
    found = _validate.items(values, name=name, like=like)
    if not 1 <= len(found) <= MOST_PARTS:
        raise InvalidArgument(name=name, value=f"{len(found)} of them", expected=like)
    like = f"a {kind.__name__} each"
    return tuple(_validate.instance(value, kind, name=name, like=like) for value in found)


BODIES: Converter[Sequence[Body], tuple[Body, ...]] = takes(
    parts, spelled="Sequence[Body]", kind=Body
)


def nearest(value: arb) -> float:
    """Return the float next to a ball's centre; raises Refused if the ball is wider than a float.

    Never met: at 128 bits the sums behind volumes and moments keep 99 of them or more.
    """
    return float(_narrow(value).mid())


def nearest_log(value: arb) -> float:
    """Return ln value likewise, value > 0."""
    return float(_narrow(value).log().mid())


def _narrow(value: arb) -> arb:
    if value.rel_accuracy_bits() < 53:
        raise Refused("A volume or moment of the body could not be computed to 53 bits.")
    return value


def check_size(lengths: Sequence[Fraction], *, name: str) -> None:
    """Raise OutOfRange unless 1e-140 <= length <= 1e140 for all `lengths`."""
    if not all(SMALLEST_SQUARED <= length <= LARGEST_SQUARED for length in lengths):
        expected = f"{name} of 0, or from 1e-140 to 1e140 in size"
        raise OutOfRange(name=name, value="some beyond", expected=expected)


def positive(value: Exact, *, name: str) -> Fraction:
    """Return `value` exactly; raises OutOfRange unless 1e-140 <= value <= 1e140."""
    number = exact(value, name=name)
    if not SMALLEST_SQUARED <= number <= LARGEST_SQUARED:
        expected = f"1e-140 <= {name} <= 1e140"
        raise OutOfRange(name=name, value=str(value)[:40], expected=expected)
    return number
