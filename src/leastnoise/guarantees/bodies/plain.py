"""`Segment`, `Box`, `Ball` and `Polygon`: bodies for numbers that move together.

Notation: N is the gauge of the body: N(x) is the smallest t >= 0 for which x lies in t·body. d is
the dimension. U is a random point that is uniform in the body, U_i its coordinate i, E the mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb

from leastnoise import _validate
from leastnoise._record import A_DIMENSION, derived, field, record, takes
from leastnoise.balls.core import PLAIN_BITS, ball, precision
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import (
    NUMBERS,
    Body,
    OutOfRange,
    Point,
    check_size,
    nearest,
    positive,
)
from leastnoise.guarantees.bodies.shares import raise_rational
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.fields import FractionField, FractionsField

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BOUNDS = 10_000


def positive_bounds(bounds: Sequence[Exact], *, name: str = "bounds") -> tuple[Fraction, ...]:
    """Read 1 to 10,000 bounds exactly; raises InvalidArgument unless each is positive."""
    given = _validate.items(bounds, name=name, like=NUMBERS)
    if not 1 <= len(given) <= MOST_BOUNDS:
        raise InvalidArgument(
            name=name, value=f"{len(given)} numbers", expected=f"1 to {MOST_BOUNDS:,} bounds"
        )
    return tuple(positive(bound, name=name) for bound in given)


A_BOUNDS = takes(positive_bounds)


class _Intervals(Body):
    """All points x with |x_i| <= bounds[i] for each coordinate i: N(x) = max_i |x_i|/bounds[i]."""

    bounds: tuple[Fraction, ...]

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
        """The volume: the product of 2·bounds[i] over all i."""
        return ball(Fraction(math.prod(2 * bound for bound in self.bounds)))

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """The moments E U_i² = bounds[i]²/3 for all i."""
        return self._floats**2 / 3

    @property
    def first_moments(self) -> NDArray[np.float64]:
        """The moments E|U_i| = bounds[i]/2 for all i."""
        return self._floats / 2

    @property
    def corner_count(self) -> int:
        """The number of corners, 2^dimension."""
        return 2**self.dimension

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, _Intervals) and all(
            theirs <= ours for theirs, ours in zip(other.bounds, self.bounds, strict=True)
        )

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield from itertools.product(*((-bound, bound) for bound in self.bounds))

    @property
    def _floats(self) -> NDArray[np.float64]:
        return np.array([float(bound) for bound in self.bounds])


@final
@record()
class Segment(_Intervals):
    """The interval [−bound, bound]: N(x) = |x|/bound.

    Raises InvalidArgument unless 1e-140 <= bound <= 1e140.

    >>> Segment(bound=2).gauge(["-0.5"])
    Fraction(1, 4)
    """

    kind: ClassVar[str] = "interval"
    bound: FractionField = field(converter=takes(positive), scales=True)
    bounds: tuple[Fraction, ...] = derived(
        lambda segment: (segment.bound,), repr=False, compare=False
    )


@final
@record()
class Box(_Intervals):
    """All points x with |x_i| <= bounds[i] for each coordinate i: N(x) = max_i |x_i|/bounds[i].

    Raises InvalidArgument unless there are 1 to 10,000 bounds, each from 1e-140 to 1e140.

    >>> Box(bounds=[1, 2]).gauge([1, -3])
    Fraction(3, 2)
    """

    kind: ClassVar[str] = "box"
    bounds: FractionsField = field(converter=A_BOUNDS, scales=True)


@final
@record()
class Ball(Body):
    """All points x with ‖x‖₂ <= bound: N(x) = ‖x‖₂/bound.

    Raises InvalidArgument unless 1e-140 <= bound <= 1e140.

    >>> Ball(bound=5, coordinates=2).gauge([3, 4])
    Fraction(1, 1)
    """

    kind: ClassVar[str] = "ball"
    bound: FractionField = field(converter=takes(positive), scales=True)
    coordinates: int = field(converter=A_DIMENSION)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.coordinates

    def power(self, x: Point, exponent: int) -> Fraction | None:
        """The exact power N(x)^exponent; None if the exponent is odd and ‖x‖₂ irrational."""
        square = sum((value * value for value in x), Fraction(0)) / self.bound**2
        return raise_rational(square, Fraction(exponent, 2))

    def enclosure(self, x: Point) -> arb:
        return ball(sum((value * value for value in x), Fraction(0)) / self.bound**2).sqrt()

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.linalg.norm(points, axis=-1) / float(self.bound)

    def volume(self) -> arb:
        """The volume π^(d/2)·bound^d/Γ(d/2 + 1)."""
        half = ball(Fraction(self.dimension, 2))
        return arb.pi() ** half * ball(self.bound) ** self.dimension / (half + 1).gamma()

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """The moments E U_i² = bound²/(d + 2), the same for all i."""
        return np.full(self.dimension, float(self.bound**2 / (self.dimension + 2)))

    @property
    def first_moments(self) -> NDArray[np.float64]:
        """The moments E|U_i| = bound·Γ(d/2 + 1)/(√π Γ(d/2 + 3/2)), the same for all i."""
        with precision(PLAIN_BITS):
            half = arb(self.dimension) / 2
            unit = (half + 1).gamma() / (arb.pi().sqrt() * (half + arb(3) / 2).gamma())
            return np.full(self.dimension, nearest(ball(self.bound) * unit))

    @property
    def corner_count(self) -> int | None:
        """2 for one coordinate; None for more, since every point of the sphere is extreme."""
        return 2 if self.dimension == 1 else None

    @property
    def degrees(self) -> tuple[int, ...]:
        return (2,)

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, Ball) and other.bound <= self.bound

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield from ((self.bound,), (-self.bound,))


MOST_POINTS, MOST_VERTICES = 10_000, 400

Vertex = tuple[Fraction, Fraction]


def _half_of_vertices(points: Sequence[Sequence[Exact]], *, name: str) -> tuple[Vertex, ...]:
    """List one vertex of each pair v, −v of the hull of the points and their negatives.

    The vertices run counterclockwise. Raises InvalidArgument if the points are malformed, too many
    or all on one line through 0, or if the hull has over 400 vertices.
    """
    pairs = _validate.pairs(points, name=name, like="points, such as [[1, 0], [0, 1]]")
    if not 1 <= len(pairs) <= MOST_POINTS:
        raise InvalidArgument(
            name=name,
            value=f"{len(pairs)} of them",
            expected=f"1 to {MOST_POINTS:,} points",
        )
    given = [(exact(x, name=name), exact(y, name=name)) for x, y in pairs]
    check_size([abs(value) for point in given for value in point if value], name=name)
    vertices = _hull({*given, *((-x, -y) for x, y in given)})
    if len(vertices) < 4:
        raise InvalidArgument(
            name=name,
            value=f"{len(pairs)} points",
            expected="points that do not all lie on one line through 0",
        )
    if len(vertices) > MOST_VERTICES:  # the work of comparing two bodies is the product of numbers
        raise OutOfRange(
            name=name,
            value=f"{len(vertices)} corners",
            expected=f"points whose hull has at most {MOST_VERTICES} corners",
        )
    return vertices[: len(vertices) // 2]


@final
@record()
class Polygon(Body):
    """The hull of points in the plane and their negatives.

    Its gauge is N(x) = max n·x over the normals n of the edges; a normal has n·v = 1 for all points
    v of its edge. `points` keeps one vertex of each pair v, −v, counterclockwise from the vertex
    with the smallest first coordinate. Raises InvalidArgument unless there are 1 to 10,000 points,
    with two coordinates each, not all on one line through 0. Their hull may have at most 400
    corners.

    >>> Polygon(points=[[1, 1], [1, 0], [0, 1], ["0.3", "0.3"]]).gauge([1, -1])
    Fraction(2, 1)
    """

    kind: ClassVar[str] = "polygon"
    points: tuple[Vertex, ...] = field(converter=takes(_half_of_vertices), scales=True)

    @property
    def dimension(self) -> int:
        """Always 2, for the plane."""
        return 2

    def power(self, x: Point, exponent: int) -> Fraction:
        a, b = x
        return max(p * a + q * b for p, q in self._normals) ** exponent

    def enclosure(self, x: Point) -> arb:
        return ball(self.power(x, 1))

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        normals = np.array([(float(p), float(q)) for p, q in self._normals])
        return (points @ normals.T).max(axis=-1)

    def volume(self) -> arb:
        """The area: the sum of the areas of the triangles between 0 and the edges."""
        return ball(sum((_cross(u, v) for u, v in self._edges()), Fraction(0)) / 2)

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """The moments E U_i² for i = 1 and 2.

        Each is the mean, weighted by area, of (u_i² + u_i v_i + v_i²)/6 over the triangles between
        0 and the edges from u to v.
        """
        return self._means(lambda u, v: (u * u + u * v + v * v) / 6)

    @property
    def first_moments(self) -> NDArray[np.float64]:
        """The moments E|U_i| for i = 1 and 2.

        Each is the mean, weighted by area, of |u_i + v_i|/3 over the triangles between 0 and the
        edges from u to v. The edges are cut so that each triangle lies in one quadrant.
        """
        return self._means(lambda u, v: abs(u + v) / 3)

    def _means(self, moment: Callable[[Fraction, Fraction], Fraction]) -> NDArray[np.float64]:
        area, totals = Fraction(0), [Fraction(0), Fraction(0)]
        for u, v in self._edges_in_quadrants():
            twice = _cross(u, v)
            area += twice
            for i in range(2):
                totals[i] += twice * moment(u[i], v[i])
        return np.array([float(total / area) for total in totals])

    @property
    def corner_count(self) -> int:
        """The number of vertices."""
        return 2 * len(self.points)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield from self._vertices

    @property
    def _vertices(self) -> tuple[Vertex, ...]:
        return (*self.points, *((-x, -y) for x, y in self.points))

    def _edges(self) -> Iterator[tuple[Vertex, Vertex]]:
        return pairwise((*self._vertices, self.points[0]))

    @cached_property
    def _normals(self) -> tuple[Vertex, ...]:
        """The normal n of each edge: n·x = 1 for all points x of the edge."""
        edges = [(u, v, _cross(u, v)) for u, v in self._edges()]
        return tuple(((v[1] - u[1]) / twice, (u[0] - v[0]) / twice) for u, v, twice in edges)

    def _edges_in_quadrants(self) -> Iterator[tuple[Vertex, Vertex]]:
        """Yield the edges, cut where they cross an axis."""
        for u, v in self._edges():
            cuts = {Fraction(0), Fraction(1)}
            cuts |= {u[i] / (u[i] - v[i]) for i in range(2) if u[i] * v[i] < 0}
            ends = [(u[0] + t * (v[0] - u[0]), u[1] + t * (v[1] - u[1])) for t in sorted(cuts)]
            yield from pairwise(ends)


def _cross(u: Vertex, v: Vertex) -> Fraction:
    return u[0] * v[1] - u[1] * v[0]


def _hull(points: Iterable[Vertex]) -> tuple[Vertex, ...]:
    """The vertices of the convex hull, counterclockwise (Andrew's monotone chain)."""
    ordered = sorted(points)

    def chain(along: Iterable[Vertex]) -> list[Vertex]:
        vertices: list[Vertex] = []
        for point in along:
            while len(vertices) >= 2 and _turn(vertices[-2], vertices[-1], point) <= 0:
                vertices.pop()
            vertices.append(point)
        return vertices[:-1]

    return (*chain(ordered), *chain(reversed(ordered)))


def _turn(a: Vertex, b: Vertex, c: Vertex) -> Fraction:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
