"""Sensitivities: the set of shifts by which one person can move a query, which noise must hide.

| API | symbol | meaning |
|---|---|---|
| `L2(bound)` | Δ₂ | max ‖q(D) − q(D′)‖₂ over neighbours D, D′ |
| `L1(bound)` | Δ₁ | max ‖q(D) − q(D′)‖₁ |
| `Integer(bound)` | Δ | max |q(D) − q(D′)| of one number that only moves by integers |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.base import Body, OutOfRange
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.exact import Exact, exact, float_at_least, root_above
from leastnoise.guarantees.fields import FractionField


@final
@dataclass(frozen=True, kw_only=True)
class Rows:
    """The moves of a unit with rows in disjoint cells: at most `most` single moves.

    Each cell has one integer, which a single move raises or lowers by 1. With `replaced`, a single
    move may instead lower one cell and raise another, as a row does that is replaced by a row of
    another cell.
    """

    most: int
    replaced: bool = False


Neighbours = Literal["add-remove", "replace-one"]
"""Neighbouring inputs differ by one record that is added or removed, or by one replaced record."""
NEIGHBOURS: tuple[Neighbours, ...] = ("add-remove", "replace-one")


def common_neighbours(stated: Iterable[Neighbours | None]) -> Neighbours | None:
    """The relation of neighbours that all of `stated` have; None fits any relation.

    Raises NotApplicable if they differ. Privacy losses add up over releases for one pair of
    neighbours. Two inputs that differ by a replaced record don't differ by an added record, so a
    sum of losses for both relations would be valid for neither.
    """
    relations = set(stated) - {None}
    if len(relations) > 1:
        raise NotApplicable(
            family="composition",
            why="some releases protect records that are added or removed (sampling always does), "
            "others records that are replaced; declare all sensitivities for one of the two",
        )
    return relations.pop() if relations else None


Norm = Literal["l1", "l2", "integer", "body"]
"""The norm in which noise hides a ball of shifts.

"integer" is for integers up to the radius. "body" is for a set that isn't a ball and has no radius
(`Sensitivity.body`, `Sensitivity.additions`).
"""
NORMS: tuple[Norm, ...] = ("l1", "l2", "integer")


class Sensitivity(ABC):
    """A set of shifts, described by the smallest known ball of each norm that contains it."""

    kind: ClassVar[str]

    @property
    def coordinates(self) -> int | None:
        """The number of coordinates released together; None if the sensitivity doesn't fix it."""
        return None

    @property
    def stated_neighbours(self) -> Neighbours | None:
        """The relation of neighbours for which the sensitivity holds; None if it holds for any."""
        return None

    def radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The radius of the smallest `norm` ball of R^dimension that contains every shift.

        An irrational radius is rounded up, by at most 2^−51 of its size. Up to this rounding the
        ball touches the set, so a guarantee at this radius is neither weaker nor stronger than one
        for the set.

        Args:
            norm: "l1", "l2" or "integer".
            dimension: Number of coordinates of the query.

        Returns:
            The radius; None if none follows from the declared set.

        Raises:
            InvalidArgument: The norm is unknown, or the dimension is malformed.

        """
        _validate.one_of(norm, NORMS, name="norm")
        return self._radius(norm, dimension=_validate.dimension(dimension))

    @abstractmethod
    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """Compute `radius` for checked arguments."""

    def body(self, *, dimension: int) -> Body | None:
        """The convex hull of all shifts of R^dimension, exactly.

        Args:
            dimension: Number of coordinates of the query.

        Returns:
            The hull; None if it is not known exactly, has no inner points, is too large for a body,
            or exceeds the range of bodies (1e-140 to 1e140).

        Raises:
            InvalidArgument: The dimension is malformed.

        """
        whole = _validate.dimension(dimension)
        try:
            return self._body(whole)
        except OutOfRange:
            return None

    def additions(self, *, dimension: int) -> OneSided | None:
        """A set T such that every shift lies in T or in −T: one unit is added or removed.

        T ∪ −T is smaller than its hull, which `body` returns.

        Args:
            dimension: Number of coordinates of the query.

        Returns:
            The set; None if none is known, or it exceeds the range of bodies.

        Raises:
            InvalidArgument: The dimension is malformed.

        """
        whole = _validate.dimension(dimension)
        try:
            return self._additions(whole)
        except OutOfRange:
            return None

    def rows(self, *, dimension: int) -> Rows | None:
        """The moves of a unit, if the query is of integers that rows of the unit raise or lower.

        Args:
            dimension: Number of coordinates of the query.

        Returns:
            The moves; None if they aren't known.

        Raises:
            InvalidArgument: The dimension is malformed.

        """
        return self._rows(_validate.dimension(dimension))

    def _body(self, dimension: int) -> Body | None:
        """Compute `body` for a checked argument."""
        del dimension
        return None

    def _rows(self, dimension: int) -> Rows | None:
        """Compute `rows` for a checked argument."""
        del dimension
        return None

    def _additions(self, dimension: int) -> OneSided | None:
        """Compute `additions` for a checked argument."""
        del dimension
        return None


def positive_bound(bound: Exact, *, name: str = "sensitivity") -> Fraction:
    """Read `bound` exactly; raises InvalidArgument unless it is positive and finite."""
    number = exact(bound, name=name)
    if number <= 0:
        raise InvalidArgument(
            name=name,
            value=str(bound)[:40],
            expected="sensitivity > 0",
            hint="The sensitivity is the most that one person can change the query.",
        )
    return number


def whole_bound(bound: Exact, *, name: str = "sensitivity") -> Fraction:
    """Read `bound` exactly; raises InvalidArgument unless it is an integer above 0."""
    number = positive_bound(bound, name=name)
    if number.denominator != 1:
        raise InvalidArgument(name=name, value=str(bound)[:40], expected="a whole sensitivity")
    return number


A_BOUND = takes(positive_bound, name="sensitivity")


@final
@record(kw_only=False)
class L2(Sensitivity):
    """All shifts v with ‖v‖₂ <= bound.

    Args:
        bound: The largest Euclidean length of a shift, an exact number > 0.

    Raises:
        InvalidArgument: The bound is not positive and finite.

    Examples:
        >>> L2("1.5").bound
        Fraction(3, 2)

    """

    kind: ClassVar[str] = "l2"
    bound: FractionField = field(converter=A_BOUND)

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The radius: `bound` in l2, and in l1 for one coordinate, where both norms agree.

        None for any other norm.
        """
        return self.bound if norm == "l2" or (norm == "l1" and dimension == 1) else None

    def _body(self, dimension: int) -> Body:
        """The ball; for one coordinate, the interval."""
        from leastnoise.guarantees.bodies.plain import Ball, Segment  # noqa: PLC0415 (most noise needs no body)

        if dimension == 1:
            return Segment(bound=self.bound)
        return Ball(bound=self.bound, coordinates=dimension)


@final
@record(kw_only=False)
class L1(Sensitivity):
    """All shifts v with ‖v‖₁ <= bound.

    ‖v‖₂ <= ‖v‖₁, with equality along an axis, so L1(b) also has the l2 radius b.

    Args:
        bound: The largest l1 length of a shift, an exact number > 0.

    Raises:
        InvalidArgument: The bound is not positive and finite.

    Examples:
        >>> L1(2).radius("l2", dimension=5)
        Fraction(2, 1)

    """

    kind: ClassVar[str] = "l1"
    bound: FractionField = field(converter=A_BOUND)

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        del dimension
        return None if norm == "integer" else self.bound

    def _body(self, dimension: int) -> Body | None:
        """The l1 ball, as cells of one number each; for one coordinate, the interval."""
        from leastnoise.guarantees.hulls import moved_cells  # noqa: PLC0415 (most noise needs no body)

        return moved_cells(bound=self.bound, most=1, cells=dimension)


@final
@record(kw_only=False)
class Integer(Sensitivity):
    """All integers v with |v| <= bound, for one query that moves by integers only.

    Every count is such a query.

    Args:
        bound: The largest move, an integer >= 1.

    Raises:
        InvalidArgument: The bound is no integer >= 1.

    Examples:
        >>> Integer(2).radius("l2", dimension=1), L2(2).radius("integer", dimension=1)
        (Fraction(2, 1), None)

    """

    kind: ClassVar[str] = "integer"
    bound: FractionField = field(converter=takes(whole_bound, name="sensitivity"))

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The radius: `bound` in every norm for one coordinate; None for several."""
        del norm
        return self.bound if dimension == 1 else None

    def _body(self, dimension: int) -> Body | None:
        """The interval, whose ends are integers.

        None for several coordinates.
        """
        from leastnoise.guarantees.bodies.plain import Segment  # noqa: PLC0415 (most noise needs no body)

        return Segment(bound=self.bound) if dimension == 1 else None

    def _rows(self, dimension: int) -> Rows | None:
        return Rows(most=int(self.bound)) if dimension == 1 else None


BALLS: dict[str, type[L1] | type[L2] | type[Integer]] = {
    kind.kind: kind for kind in (L2, L1, Integer)
}
"""The sensitivities that are balls, by their names on the command line and in certificates."""


def sensitivity_of_kind(kind: str, bound: Exact) -> Sensitivity:
    """The ball with this bound in the norm `kind`.

    Raises InvalidArgument for an unknown name or a malformed bound.
    """
    return BALLS[_validate.one_of(kind, tuple(BALLS), name="norm")](bound)


def check_sensitivity(value: object, *, name: str = "sensitivity") -> Sensitivity:
    """Return `value` if it is a sensitivity; raises InvalidArgument otherwise."""
    hint = "Give a norm and its bound: L2(1) is an L2 norm of at most 1."
    return _validate.instance(
        value, Sensitivity, name=name, like="a sensitivity like L2(1) or L1(1)", hint=hint
    )


A_SENSITIVITY: Converter[Sensitivity, Sensitivity] = takes(check_sensitivity)


@final
@dataclass(frozen=True, kw_only=True)
class ShiftBounds:
    """Bounds on the shifts that the noise must hide.

    All shifts lie in `outer`, and the longest shift is at least as long as any shift in `inner`.

    The two differ only because a root is rounded up and down to floats.
    """

    inner: Sensitivity
    outer: Sensitivity

    def __post_init__(self) -> None:
        """Check that both are sensitivities; raises InvalidArgument otherwise."""
        for name in ("inner", "outer"):
            check_sensitivity(getattr(self, name), name=name)

    @classmethod
    def of(cls, ball: Sensitivity) -> ShiftBounds:
        """Bounds on the shifts of a query whose shifts are exactly those in `ball`."""
        return cls(inner=ball, outer=ball)

    @classmethod
    def of_length(cls, square: Fraction) -> ShiftBounds:
        """Bounds on shifts of lengths up to √square: l2 balls of this radius, rounded to floats.

        The radius of `inner` is rounded down, the radius of `outer` up.
        """
        outer = float_at_least(root_above(square))
        inner = np.nextafter(outer, 0.0) if Fraction(outer) ** 2 > square else outer
        return cls(inner=L2(Fraction(float(inner))), outer=L2(Fraction(outer)))
