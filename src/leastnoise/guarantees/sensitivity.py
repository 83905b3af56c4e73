"""How far one person can move a query: the set of shifts that the noise must hide.

| API | symbol | meaning |
|---|---|---|
| `L2(bound)` | Δ₂ | max ‖q(D) − q(D′)‖₂ over neighbours D, D′ |
| `L1(bound)` | Δ₁ | max ‖q(D) − q(D′)‖₁ |
| `Integer(bound)` | Δ | max |q(D) − q(D′)| of one number that only moves by whole numbers |

The convex hull of all shifts, as a body; None where there is none:

| shifts | hull |
|---|---|
| at most k of d numbers, each by at most b | cells (k = 1), a box (k = d), `AtMost` between them |
| a record of [0, b]^d, at most k not 0, added or removed | `Signed` counts |
| the same, and one record counted | `Signed` counts, `Counted` |
| the same replaced by another | `Differences` of counts; for k = d that is [−b, b]^d |
| finitely many, of two numbers | a polygon |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.base import Body, OutOfRange
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.counts import Counted, Counts
from leastnoise.guarantees.bodies.one_sided import MOST_CELLS, OneSided
from leastnoise.guarantees.bodies.plain import MOST_BOUNDS, Ball, Box, Polygon, Segment
from leastnoise.guarantees.bodies.shares import MOST_WORK
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.exact import Exact, exact, float_at_least, root_above
from leastnoise.guarantees.fields import FractionField


def moved_cells(*, bound: Fraction, most: int, cells: int) -> Body | None:
    """Return the hull of all x with at most `most` entries that aren't 0, |x_i| <= bound."""
    one = Segment(bound=bound)
    if cells == 1:
        return one
    if most == 1:
        return Cells(bodies=[one], copies=[cells])
    if most >= cells:
        return Box(bounds=[bound] * cells) if cells <= MOST_BOUNDS else None
    return AtMost(most=most, cells=cells, of=one) if most * cells <= MOST_WORK else None


def additions(*, bound: Fraction, most: int, queries: int, counted: bool) -> OneSided | None:
    """Return all x ∈ [0, bound]^queries with at most `most` not 0, followed by 1 if `counted`.

    What is returned also holds what lies between these and 0.
    """
    counts = _counts(bound=bound, most=most, queries=queries)
    return Counted(of=counts, bound=1) if counts is not None and counted else counts


def added_record(*, bound: Fraction, most: int, queries: int, counted: bool) -> Body | None:
    """Return the hull of `additions` and their negatives."""
    if most == 1 and not counted:
        return moved_cells(bound=bound, most=1, cells=queries)
    added = additions(bound=bound, most=most, queries=queries, counted=counted)
    return None if added is None else Signed(of=added)


def replaced_record(*, bound: Fraction, most: int, queries: int) -> Body | None:
    """Return the hull of all x − y for x and y of `additions`, not counted."""
    if most == queries:
        return moved_cells(bound=bound, most=queries, cells=queries)
    counts = _counts(bound=bound, most=most, queries=queries)
    return None if counts is None else Differences(of=counts)


def any_of(points: Sequence[Sequence[Fraction]]) -> Body | None:
    """Return the hull of ±points, not all 0; None in three dimensions or more, or on one line."""
    if len(points[0]) == 1:
        return Segment(bound=max(abs(point[0]) for point in points))
    if len(points[0]) > 2:
        return None
    a, b = max(points, key=lambda point: abs(point[0]) + abs(point[1]))
    on_one_line = all(a * y == b * x for x, y in points)
    return None if on_one_line else Polygon(points=points)


def _counts(*, bound: Fraction, most: int, queries: int) -> Counts | None:
    capped = most < queries and most * queries > MOST_WORK
    if queries > MOST_CELLS or capped:
        return None
    return Counts(queries=queries, most=most, bound=bound)


@final
@dataclass(frozen=True, kw_only=True)
class Rows:
    """A unit moves whole numbers, one for each of disjoint cells, by at most `most` single moves.

    A move raises or lowers one cell by 1; with `replaced` it may lower one cell and raise another
    instead, as a row does that is replaced by one of another cell.
    """

    most: int
    replaced: bool = False


Neighbours = Literal["add-remove", "replace-one"]
"""Whether neighbouring inputs differ by a record that is there or not, or by one replaced."""
NEIGHBOURS: tuple[Neighbours, ...] = ("add-remove", "replace-one")


def common_neighbours(stated: Iterable[Neighbours | None]) -> Neighbours | None:
    """Return the relation that all of `stated` are about; None, of those that state none, fits any.

    Raises NotApplicable where they differ. What is lost to neighbours adds up over releases for one
    pair of neighbours, and two inputs that differ by a replaced record don't differ by an added
    one: the sum would hold for neither.
    """
    relations = set(stated) - {None}
    if len(relations) > 1:
        raise NotApplicable(
            family="composition",
            why="some of the releases are about records that are added or removed (those of "
            "samples are), others about records that are replaced; declare all sensitivities for "
            "one of the two",
        )
    return relations.pop() if relations else None


Norm = Literal["l1", "l2", "integer", "body"]
"""The ball of shifts that a noise hides; "integer": whole numbers up to the radius, alone; "body":
what the noise is built on, which has no radius (`Sensitivity.body`, `Sensitivity.additions`)."""
NORMS: tuple[Norm, ...] = ("l1", "l2", "integer")


class Sensitivity(ABC):
    """A set of shifts, described by the smallest ball of each norm that is known to hold it."""

    kind: ClassVar[str]

    @property
    def coordinates(self) -> int | None:
        """Numbers released together, if the sensitivity fixes it."""
        return None

    @property
    def stated_neighbours(self) -> Neighbours | None:
        """The neighbours that it is about; None: those that whoever declared it had in mind."""
        return None

    def radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """Return the radius of the `norm` ball of R^dimension that holds every shift.

        The ball touches the set, so that a guarantee at this radius is neither weaker nor stronger
        than one for the set. None: no such radius follows from what is declared. Raises
        InvalidArgument for another norm, and for what is no dimension.
        """
        _validate.one_of(norm, NORMS, name="norm")
        return self._radius(norm, dimension=_validate.dimension(dimension))

    @abstractmethod
    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The arguments are checked."""

    def body(self, *, dimension: int) -> Body | None:
        """Return the convex hull of all shifts of R^dimension, exactly.

        None where it is not known that well, has no inner points, or is too large or too small for
        a body (1e-140 to 1e140). Raises InvalidArgument for what is no dimension.
        """
        whole = _validate.dimension(dimension)
        try:
            return self._body(whole)
        except OutOfRange:
            return None

    def additions(self, *, dimension: int) -> OneSided | None:
        """Return a set T so that every shift lies in T or in −T: one unit is added or removed.

        That is less than the hull of both, which `body` is. None where no such set is known, or
        outside the range that `body` has. Raises InvalidArgument for what is no dimension.
        """
        whole = _validate.dimension(dimension)
        try:
            return self._additions(whole)
        except OutOfRange:
            return None

    def rows(self, *, dimension: int) -> Rows | None:
        """Return how a unit moves whole numbers, as rows in cells; None where that isn't known.

        Raises InvalidArgument for what is no dimension.
        """
        return self._rows(_validate.dimension(dimension))

    def _body(self, dimension: int) -> Body | None:
        """The argument is checked."""
        del dimension
        return None

    def _rows(self, dimension: int) -> Rows | None:
        """The argument is checked."""
        del dimension
        return None

    def _additions(self, dimension: int) -> OneSided | None:
        """The argument is checked."""
        del dimension
        return None


def positive_bound(bound: Exact, *, name: str = "sensitivity") -> Fraction:
    """Return `bound` exactly; raises InvalidArgument unless it is positive and finite."""
    number = exact(bound, name=name)
    if number <= 0:
        raise InvalidArgument(
            name=name,
            value=str(bound)[:40],
            expected="sensitivity > 0",
            hint="It is the most that one person can change the query.",
        )
    return number


def whole_bound(bound: Exact, *, name: str = "sensitivity") -> Fraction:
    """Return `bound` exactly; raises InvalidArgument unless it is a whole number above 0."""
    number = positive_bound(bound, name=name)
    if number.denominator != 1:
        raise InvalidArgument(name=name, value=str(bound)[:40], expected="a whole sensitivity")
    return number


A_BOUND = takes(positive_bound, name="sensitivity")


@final
@record(kw_only=False)
class L2(Sensitivity):
    """All shifts v with ‖v‖₂ <= bound. Raises InvalidArgument unless bound > 0 and finite.

    >>> L2("1.5").bound
    Fraction(3, 2)
    """

    kind: ClassVar[str] = "l2"
    bound: FractionField = field(converter=A_BOUND)

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """For one coordinate all norms agree."""
        return self.bound if norm == "l2" or (norm == "l1" and dimension == 1) else None

    def _body(self, dimension: int) -> Body:
        """A ball, or an interval."""
        if dimension == 1:
            return Segment(bound=self.bound)
        return Ball(bound=self.bound, coordinates=dimension)


@final
@record(kw_only=False)
class L1(Sensitivity):
    """All shifts v with ‖v‖₁ <= bound. Raises InvalidArgument unless bound > 0 and finite.

    ‖v‖₂ <= ‖v‖₁, with equality along an axis, so L1(b) also has the l2 radius b.
    """

    kind: ClassVar[str] = "l1"
    bound: FractionField = field(converter=A_BOUND)

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        del dimension
        return None if norm == "integer" else self.bound

    def _body(self, dimension: int) -> Body | None:
        """Cells of one number each, of which one moves."""
        return moved_cells(bound=self.bound, most=1, cells=dimension)


@final
@record(kw_only=False)
class Integer(Sensitivity):
    """All whole numbers v with |v| <= bound, for one query that moves by whole numbers alone.

    Every count is one. Raises InvalidArgument unless bound is a whole number >= 1.

    >>> Integer(2).radius("l2", dimension=1), L2(2).radius("integer", dimension=1)
    (Fraction(2, 1), None)
    """

    kind: ClassVar[str] = "integer"
    bound: FractionField = field(converter=takes(whole_bound, name="sensitivity"))

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """It is about one number."""
        del norm
        return self.bound if dimension == 1 else None

    def _body(self, dimension: int) -> Body | None:
        """An interval, whose ends are whole numbers."""
        return Segment(bound=self.bound) if dimension == 1 else None

    def _rows(self, dimension: int) -> Rows | None:
        return Rows(most=int(self.bound)) if dimension == 1 else None


BALLS: dict[str, type[L1] | type[L2] | type[Integer]] = {
    kind.kind: kind for kind in (L2, L1, Integer)
}
"""The balls by the name that the command line and certificates use."""


def sensitivity_of_kind(kind: str, bound: Exact) -> Sensitivity:
    """Return the ball that `kind` names; raises InvalidArgument for an unknown kind."""
    return BALLS[_validate.one_of(kind, tuple(BALLS), name="norm")](bound)


def check_sensitivity(value: object, *, name: str = "sensitivity") -> Sensitivity:
    """Return `value` if it is a sensitivity; raises InvalidArgument."""
    hint = "Give its bound, as in L2(1)."
    return _validate.instance(
        value, Sensitivity, name=name, like="a sensitivity like L2(1) or L1(1)", hint=hint
    )


A_SENSITIVITY: Converter[Sensitivity, Sensitivity] = takes(check_sensitivity)


@final
@dataclass(frozen=True, kw_only=True)
class ShiftBounds:
    """The shifts that X must hide lie in `outer`, and reach at least as far as `inner`.

    They are the same but for rounding a root up and down to floats.
    """

    inner: Sensitivity
    outer: Sensitivity

    def __post_init__(self) -> None:
        """Check that both are sensitivities; raises InvalidArgument."""
        for name in ("inner", "outer"):
            check_sensitivity(getattr(self, name), name=name)

    @classmethod
    def of(cls, ball: Sensitivity) -> ShiftBounds:
        """Return exactly `ball`."""
        return cls(inner=ball, outer=ball)

    @classmethod
    def of_length(cls, square: Fraction) -> ShiftBounds:
        """Return the l2 balls just within and just beyond √square."""
        outer = float_at_least(root_above(square))
        inner = np.nextafter(outer, 0.0) if Fraction(outer) ** 2 > square else outer
        return cls(inner=L2(Fraction(float(inner))), outer=L2(Fraction(outer)))
