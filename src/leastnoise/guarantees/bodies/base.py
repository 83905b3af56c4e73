"""The base of all bodies: gauge, volume, and the moments of the uniform law.

Notation: K is a body in R^D, and N is its gauge: N(x) is the smallest t >= 0 for which x lies in
t·K. U is a random point that is uniform in K, U_i its coordinate i, and E the mean.
"""

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
_MOST_WORK = 400_000  # corners times coordinates in one comparison of two bodies


class OutOfRange(InvalidArgument):
    """A bound or factor of a body is outside [1e-140, 1e140], or a polygon has over 400 corners."""


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
        """The number of points that `corners` would yield; None if no such points are known."""

    @abstractmethod
    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        """Yield the corners without the check of their number."""

    def corners(self) -> Iterator[tuple[Fraction, ...]]:
        """Yield the corners: points that include all extreme points; the set is their hull with 0.

        Raises Refused if no such points are known, or if there are more than 100,000.
        """
        count = self.corner_count
        if count is None or count > MOST_CORNERS:
            many = "no finite set of" if count is None else f"more than {MOST_CORNERS:,}"
            raise Refused(f"The set {self.kind} has {many} corners.")
        return self._corners()

    def times(self, factor: Exact) -> Self:
        """The set scaled by `factor` > 0: the moves of a person with `factor` rows."""
        return multiply(self, positive(factor, name="factor"))


class Body(ConvexSet):
    """A symmetric convex body K of R^dimension: the hull of its corners, if it has any."""

    @abstractmethod
    def power(self, x: Point, exponent: int) -> Fraction | None:
        """The exact power N(x)^exponent, exponent >= 1; None if it isn't known to be rational."""

    @abstractmethod
    def enclosure(self, x: Point) -> arb:
        """A ball that contains the gauge N(x), at the current precision."""

    @abstractmethod
    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The gauges N(x) in floats, shape (...), of points x of shape (..., dimension)."""

    @abstractmethod
    def volume(self) -> arb:
        """A ball that contains the volume |K|, at the current precision."""

    @property
    @abstractmethod
    def second_moments(self) -> NDArray[np.float64]:
        """The moments E U_i² for all coordinates i, shape (dimension,)."""

    @property
    @abstractmethod
    def first_moments(self) -> NDArray[np.float64] | None:
        """The moments E|U_i| for all i, shape (dimension,); None if one has no closed form."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """The exponents e for which `holds` first compares N(x)^e exactly, by `power`."""
        return (1,)

    def _contains_by_structure(self, other: Body) -> bool:
        """True if a comparison of the two bodies' fields proves that K contains `other`."""
        return self == other

    def gauge(self, x: Sequence[Exact]) -> Fraction | None:
        """The exact gauge N(x); None if it isn't known to be rational.

        Raises InvalidArgument unless x has `dimension` coordinates.
        """
        return self.power(self._point(x), 1)

    def holds(self, x: Sequence[Exact], *, times: Exact = 1) -> bool:
        """True only if it is proved that x lies in times·K, which means N(x) <= times.

        False is proved, too, if `power` returns N(x)^e for an exponent e of `degrees`. Otherwise a
        point counts as outside if 4096 bits can't separate it from the boundary.

        >>> from leastnoise.guarantees.bodies.plain import Ball
        >>> ball = Ball(bound=1, coordinates=2)
        >>> ball.holds(["0.6", "0.8"]), ball.holds(["0.6", "0.80000000001"])
        (True, False)
        """
        point, bound = self._point(x), exact(times, name="times")
        if bound <= 0:
            return bound == 0 and not any(point)
        return self._is_inside(point, bound)

    def _is_inside(self, x: Point, bound: Fraction) -> bool:
        for degree in self.degrees:
            value = self.power(x, degree)
            if value is not None:
                return value <= bound**degree
        return decide_in_balls(lambda: self.enclosure(x), bound)

    @property
    def log_volume(self) -> float:
        """The natural logarithm of the volume |K|."""
        with precision(PLAIN_BITS):
            return nearest_log(self.volume())

    @property
    def second_moment(self) -> float:
        """The moment E‖U‖₂²: the sum of `second_moments`."""
        return math.fsum(self.second_moments)

    def contains(self, other: Body) -> bool:
        """True only if it is proved that `other` ⊂ K; False means that it is not, or not proved.

        The proof is by the structure of the two bodies, or by checking each corner of `other`.
        """
        if self.dimension != other.dimension:
            return False
        if self._contains_by_structure(other):
            return True
        count = other.corner_count
        if count is None or count * self.dimension > _MOST_WORK:
            return False
        return all(self._is_inside(corner, Fraction(1)) for corner in other.corners())

    def _point(self, x: Sequence[Exact]) -> tuple[Fraction, ...]:
        return point_of(x, dimension=self.dimension)


def product_axes_corners(
    sets: Iterable[ConvexSet], *, dimension: int
) -> Iterator[tuple[Fraction, ...]]:
    """Yield the corners of each set, with 0 for the coordinates of all other sets.

    The sets have consecutive coordinates, `dimension` of them in all.
    """
    start = 0
    for part in sets:
        after = dimension - start - part.dimension
        for corner in part.corners():
            yield (Fraction(0),) * start + corner + (Fraction(0),) * after
        start += part.dimension


A_BODY = instance_of(Body, like="a body")


def point_of(x: Sequence[Exact], *, dimension: int) -> tuple[Fraction, ...]:
    """Read the point x exactly; raises InvalidArgument unless it has `dimension` coordinates."""
    point = _validate.items(x, name="x", like=NUMBERS)
    if len(point) != dimension:
        raise InvalidArgument(
            name="x", value=f"{len(point)} coordinates", expected=f"{dimension} coordinates"
        )
    return tuple(exact(value, name="x") for value in point)


def decide_in_balls(enclosure: Callable[[], arb], bound: Fraction) -> bool:
    """True only if the number that `enclosure` encloses is at most `bound`.

    The precision grows up to 4096 bits, until the ball lies on one side of the bound.
    """
    for bits in precisions(64, 4096):
        with precision(bits):
            value, limit = enclosure(), ball(bound)
            if value <= limit:
                return True
            if value > limit:
                return False
    return False


def check_parts(values: Sequence[Part], kind: type[Part], *, name: str) -> tuple[Part, ...]:
    """The values as a tuple, each a `kind`; raises InvalidArgument unless there are 1 to 1,000."""
    like = f"1 to {MOST_PARTS:,} {name}, as a list"
    listed = _validate.items(values, name=name, like=like)
    if not 1 <= len(listed) <= MOST_PARTS:
        raise InvalidArgument(name=name, value=f"{len(listed)} of them", expected=like)
    like = f"a {kind.__name__} each"
    return tuple(_validate.instance(value, kind, name=name, like=like) for value in listed)


BODIES: Converter[Sequence[Body], tuple[Body, ...]] = takes(
    check_parts, spelled="Sequence[Body]", kind=Body
)


def nearest(value: arb) -> float:
    """The float nearest to a ball's centre; raises Refused if the ball is too wide for a float.

    Refused isn't expected: at 128 bits the sums for volumes and moments keep at least 99 bits.
    """
    return float(_check_narrow(value).mid())


def nearest_log(value: arb) -> float:
    """The float nearest to ln value, value > 0; raises Refused like `nearest`."""
    return float(_check_narrow(value).log().mid())


def _check_narrow(value: arb) -> arb:
    if value.rel_accuracy_bits() < 53:
        raise Refused(
            "A volume or moment of the noise's shape (its body) could not be computed to 53 "
            "bits. Use another noise."
        )
    return value


def check_size(lengths: Sequence[Fraction], *, name: str) -> None:
    """Raise OutOfRange unless 1e-140 <= length <= 1e140 for all `lengths`."""
    if not all(SMALLEST_SQUARED <= length <= LARGEST_SQUARED for length in lengths):
        expected = f"{name} of 0, or from 1e-140 to 1e140 in size"
        raise OutOfRange(name=name, value="a number outside this range", expected=expected)


def positive(value: Exact, *, name: str) -> Fraction:
    """Read `value` exactly; raises OutOfRange unless 1e-140 <= value <= 1e140."""
    number = exact(value, name=name)
    if not SMALLEST_SQUARED <= number <= LARGEST_SQUARED:
        expected = f"1e-140 <= {name} <= 1e140"
        raise OutOfRange(name=name, value=str(value)[:40], expected=expected)
    return number
