"""Sensitivities that aren't balls: how far one person can move many queries at once.

| API | meaning |
|---|---|
| `Linf(bound, l0=k)` | at most k coordinates move, each by at most `bound` |
| `CountingQueries(dimension=d, max_nonzero=k)` | a record adds x ∈ [0, bound]^d, at most k not 0 |
| `Groups(groups=m, dimension=d)` | m disjoint groups of d counting queries each, with row counts |
| `Vertices(points)` | the convex hull of ±points |
| `Within(body)` | any body, such as the set to which each unit's vector is bounded |

A convex quadratic form is largest at a corner of such a set. The geometries of
`guarantees.geometry` compute this largest value exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from leastnoise import _validate
from leastnoise._record import (
    A_DIMENSION,
    A_FLAG,
    field,
    instance_of,
    one_of,
    record,
    takes,
    whole,
)
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.plain import MOST_POINTS
from leastnoise.guarantees.exact import Exact, exact_rows, root_above
from leastnoise.guarantees.fields import FractionField, FractionRowsField, LimitField
from leastnoise.guarantees.hulls import (
    added_record,
    additions,
    hull_of_points,
    moved_cells,
    replaced_record,
)
from leastnoise.guarantees.sensitivity import (
    A_BOUND,
    NEIGHBOURS,
    Neighbours,
    Norm,
    Rows,
    Sensitivity,
    positive_bound,
    whole_bound,
)


def _linf_bound(bound: Exact, *, name: str, record: Linf) -> Fraction:
    del name
    is_whole = _validate.flag(record.whole, name="whole")
    return whole_bound(bound) if is_whole else positive_bound(bound)


@final
@record(kw_only=False)
class Linf(Sensitivity):
    """All shifts with at most `l0` nonzero coordinates, each of size at most `bound`.

    A histogram of disjoint cells has the sensitivity Linf(1, l0=1) if a record is added or removed,
    and Linf(1, l0=2) if a record is replaced.

    Args:
        bound: The largest move of one coordinate, an exact number > 0.
        l0: The largest number of coordinates that move, >= 1.
        whole: True if all coordinates are integers, as counts are; then the bound is an integer.

    Raises:
        InvalidArgument: A number is malformed or out of its range.

    Examples:
        >>> Linf(1, l0=4).radius("l2", dimension=9)
        Fraction(2, 1)
    """

    kind: ClassVar[str] = "linf"
    bound: FractionField = field(converter=takes(_linf_bound, of_record=True))
    l0: int = field(converter=whole(), default=1, kw_only=True)
    whole: bool = field(converter=A_FLAG, default=False, kw_only=True)

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The radius: √k·bound in l2, where k = min(l0, dimension) coordinates move.

        In l1 it is known for k = 1 only. In the norm "integer" it is `bound`, for one coordinate
        that is whole. None if no radius is known.
        """
        moved = min(self.l0, dimension)
        if norm == "integer":
            return self.bound if self.whole and dimension == 1 else None
        if norm == "l1":
            return _l1_radius(moved * self.bound, moved=moved)
        return root_above(self.bound**2 * moved)

    def _body(self, dimension: int) -> Body | None:
        """The hull, as `moved_cells` builds it; None if it is too large for a body."""
        return moved_cells(bound=self.bound, most=min(self.l0, dimension), cells=dimension)

    def _rows(self, dimension: int) -> Rows | None:
        return Rows(most=int(self.bound) * min(self.l0, dimension)) if self.whole else None


@final
@dataclass(frozen=True, kw_only=True)
class QuadraticForm:
    """A quadratic form of a shift v of the queries and a shift n of the record count.

    Its value is ‖v‖²·squares + s²·summed + s·n·crossed + n²·counted, where s is the sum of v's
    entries. It is the squared length of (v, n) after a linear map that treats all queries alike; so
    it is convex.
    """

    squares: Fraction
    summed: Fraction = Fraction(0)
    crossed: Fraction = Fraction(0)
    counted: Fraction = Fraction(0)

    def at(self, *, ones: int, minus: int = 0, records: int = 0, bound: Fraction) -> Fraction:
        """The form's value at one shift, exactly.

        In the shift, `ones` queries move by `bound`, `minus` queries by −`bound`, and the record
        count by `records`.
        """
        total = bound * (ones - minus)
        return (
            self.squares * bound**2 * (ones + minus)
            + self.summed * total**2
            + self.crossed * total * records
            + self.counted * records**2
        )


def _check_max_nonzero(value: int | None, *, name: str, record: CountingQueries) -> int:
    most = record.dimension if value is None else _validate.whole(value, name=name)
    if most > record.dimension:
        expected = f"1 <= {name} <= dimension={record.dimension}"
        raise InvalidArgument(name=name, value=most, expected=expected)
    return most


@final
@record()
class CountingQueries(Sensitivity):
    """Sums over records x ∈ [0, bound]^dimension with at most `max_nonzero` nonzero entries.

    Neighbours differ by one record that is added or removed, or by one record that is replaced.

    Args:
        dimension: Number of queries.
        max_nonzero: The largest number of queries that one record counts in; default: all.
        neighbours: "add-remove" or "replace-one".
        with_total: True if the number of records follows the sums as one more coordinate.
        bound: The largest entry of a record, an exact number > 0.

    Raises:
        InvalidArgument: A number is out of its range, or `with_total` is used with replaced
            records.

    Examples:
        >>> CountingQueries(dimension=9, max_nonzero=4).radius("l2", dimension=9)
        Fraction(2, 1)

    """

    kind: ClassVar[str] = "counting-queries"
    dimension: int = field(converter=A_DIMENSION)
    max_nonzero: LimitField = field(
        converter=takes(_check_max_nonzero, of_record=True), default=None
    )
    neighbours: Neighbours = field(converter=one_of(NEIGHBOURS), default="add-remove")
    with_total: bool = field(converter=A_FLAG, default=False)
    bound: FractionField = field(converter=A_BOUND, default=1, first_in_json=True)

    def _check_together(self) -> None:
        if self.with_total and self.neighbours == "replace-one":
            raise InvalidArgument(
                name="with_total",
                value=True,
                expected="with_total=False if records are replaced",
                hint=(
                    "If records are replaced, the number of records is public. Publish that number "
                    "without noise."
                ),
            )

    @property
    def coordinates(self) -> int:
        """The number of released coordinates: the queries, and the record count if released."""
        return self.dimension + self.with_total

    @property
    def stated_neighbours(self) -> Neighbours:
        return self.neighbours

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        if norm == "integer" or dimension != self.coordinates:
            return None
        adding = self.neighbours == "add-remove"
        moved = self.max_nonzero if adding else min(2 * self.max_nonzero, self.dimension)
        counted = int(adding and self.with_total)
        if norm == "l1":
            return _l1_radius(self.bound * moved + counted, moved=moved + counted)
        return root_above(self.bound**2 * moved + counted)

    def _body(self, dimension: int) -> Body | None:
        """The hull of all shifts, which keeps the signs of an added or removed record.

        None if it isn't known, or too large for a body.
        """
        if dimension != self.coordinates:
            return None
        d, most = self.dimension, self.max_nonzero
        if self.neighbours == "replace-one":
            return replaced_record(bound=self.bound, most=most, queries=d)
        return added_record(bound=self.bound, most=most, queries=d, counted=self.with_total)

    def _additions(self, dimension: int) -> OneSided | None:
        """The hull of 0 and the vectors that one record adds.

        None for replaced records, or if the hull is too large for a body.
        """
        if dimension != self.coordinates or self.neighbours == "replace-one":
            return None
        return additions(
            bound=self.bound,
            most=self.max_nonzero,
            queries=self.dimension,
            counted=self.with_total,
        )

    def largest(self, form: QuadraticForm) -> Fraction:
        """The largest value of a quadratic form over all shifts, exactly.

        The form is convex, so it is largest where every record's entries are 0 or `bound`. Let k be
        `max_nonzero`. An added record then moves m <= k queries by `bound`. A replaced record moves
        i <= k queries by `bound` and j <= k others by −`bound`.

        Args:
            form: The form to maximize.

        Returns:
            Its maximum.

        """
        if self.neighbours == "replace-one":
            return max(
                form.at(ones=i, minus=j, bound=self.bound) for i, j in self._worst_pairs(form)
            )
        most, records = self.max_nonzero, int(self.with_total)
        # a quadratic in m: its largest value over integers is at an end or next to the vertex
        bend = self.bound**2 * form.summed
        slope = self.bound**2 * form.squares + self.bound * form.crossed * records
        candidates = {0, most}
        if bend < 0:
            vertex = math.floor(-slope / (2 * bend))
            candidates |= {min(max(m, 0), most) for m in (vertex, vertex + 1)}
        return max(form.at(ones=m, records=records, bound=self.bound) for m in candidates)

    def _worst_pairs(self, form: QuadraticForm) -> set[tuple[int, int]]:
        """Candidates (i, j), i >= j, one of which gives the form's maximum for replaced records.

        i queries move by `bound` and j by −`bound`. Let k = max_nonzero, N = i + j <= M = min(2k,
        dimension) and D = i − j. The form is αN + βD², where α >= 0 and β are `squares` and
        `summed` times bound². For β >= 0 the worst D is min(N, 2k − N), the largest. The form is
        then convex in N on [0, k] and on [k, M], so an end is the worst. For β < 0 the worst D is 0
        or 1, by the parity of N, and the worst N is M or M − 1.
        """
        most = min(2 * self.max_nonzero, self.dimension)
        if form.summed >= 0:
            sizes = (0, self.max_nonzero, most)
            pairs = ((size, min(size, 2 * self.max_nonzero - size)) for size in sizes)
        else:
            pairs = ((size, size % 2) for size in (most, max(most - 1, 0)))
        return {((size + far) // 2, (size - far) // 2) for size, far in pairs}


@final
@record()
class Groups(Sensitivity):
    """`groups` disjoint groups of `dimension` counting queries, each followed by its record count.

    A record lies in one group. Coordinates run group by group: `dimension` sums, then the number of
    records of the group.

    Args:
        groups: Number of groups.
        dimension: Number of counting queries in each group.
        neighbours: "add-remove" or "replace-one".
        bound: The largest entry of a record, an exact number > 0.

    Raises:
        InvalidArgument: An argument is malformed or out of its range.

    Examples:
        >>> Groups(groups=2, dimension=3).coordinates
        8

    """

    kind: ClassVar[str] = "groups"
    groups: int = field(converter=A_DIMENSION)
    dimension: int = field(converter=A_DIMENSION)
    neighbours: Neighbours = field(converter=one_of(NEIGHBOURS), default="add-remove")
    bound: FractionField = field(converter=A_BOUND, default=1, first_in_json=True)

    @property
    def coordinates(self) -> int:
        """The number of coordinates released together."""
        return self.groups * (self.dimension + 1)

    @property
    def stated_neighbours(self) -> Neighbours:
        return self.neighbours

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        if norm == "integer" or dimension != self.coordinates:
            return None
        if norm == "l1":
            return None  # the longest shifts move all sums of a group and its count
        square = self.bound**2 * self.dimension
        return root_above(max(self._corners(square + 1, square)))

    def _body(self, dimension: int) -> Body | None:
        """The hull: one cell per group, with its record count.

        None for replaced records, or if the hull is too large for a body. A replaced record leaves
        the number of records as it is, so those shifts lie in a hyperplane and have no inner
        points.
        """
        if dimension != self.coordinates or self.neighbours == "replace-one":
            return None
        d = self.dimension
        cell = added_record(bound=self.bound, most=d, queries=d, counted=True)
        if cell is None or self.groups == 1:
            return cell
        return Cells(bodies=[cell], copies=[self.groups])

    def largest(self, form: QuadraticForm) -> Fraction:
        """The largest sum of the form's values in all groups, exactly.

        Args:
            form: The form of each group.

        Returns:
            Its maximum over all shifts.

        """

        def largest_within(neighbours: Neighbours) -> Fraction:
            added = neighbours == "add-remove"
            queries = CountingQueries(
                dimension=self.dimension, neighbours=neighbours, with_total=added, bound=self.bound
            )
            return queries.largest(form)

        added = largest_within("add-remove")
        return (
            added
            if self.neighbours == "add-remove"
            else max(self._corners(added, largest_within("replace-one")))
        )

    def _corners(self, added: Fraction, replaced: Fraction) -> tuple[Fraction, ...]:
        """The largest value of a form for each kind of change by one unit.

        `added` is the value for a record that is added, `replaced` for a record that is replaced
        within its group. A replaced record that leaves its group is an addition in one group and a
        removal in another.
        """
        if self.neighbours == "add-remove":
            return (added,)
        return (replaced, 2 * added) if self.groups > 1 else (replaced,)


def _check_points(
    points: Sequence[Sequence[Exact]], *, name: str
) -> tuple[tuple[Fraction, ...], ...]:
    rows = exact_rows(points, name=name)
    if not rows or len(rows) > MOST_POINTS or len({len(point) for point in rows}) != 1:
        raise InvalidArgument(
            name=name,
            value=f"{len(rows)} points",
            expected=f"1 to {MOST_POINTS:,} points of one dimension",
        )
    if not any(value for point in rows for value in point):
        raise InvalidArgument(name=name, value="0 alone", expected="a point that is not 0")
    return rows


@final
@record(kw_only=False)
class Vertices(Sensitivity):
    """All shifts in the convex hull of `points`, the vectors that a person can add, and −`points`.

    Args:
        points: Points of one positive dimension, as rows of exact numbers, not all 0.

    Raises:
        InvalidArgument: The points are malformed, or all 0.

    Examples:
        >>> Vertices([["1", "0"], ["0.6", "0.8"]]).radius("l2", dimension=2)
        Fraction(1, 1)

    """

    kind: ClassVar[str] = "vertices"
    points: FractionRowsField = field(converter=takes(_check_points))

    @property
    def coordinates(self) -> int:
        """The number of coordinates released together."""
        return len(self.points[0])

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The radius: the largest norm of a point, since a norm is largest at a corner.

        None if no radius is known in this norm.
        """
        if norm == "integer" or dimension != self.coordinates:
            return None
        if norm == "l1":
            length, moved = max(
                (sum(map(abs, point), Fraction(0)), sum(value != 0 for value in point))
                for point in self.points
            )
            return _l1_radius(length, moved=moved)
        squares = (sum((value**2 for value in point), Fraction(0)) for point in self.points)
        return root_above(max(squares))

    def _body(self, dimension: int) -> Body | None:
        """The hull: an interval or a polygon; None for three coordinates or more.

        None also if all points of a plane lie on one line through 0.
        """
        return hull_of_points(self.points) if dimension == self.coordinates else None


@final
@record(kw_only=False)
class Within(Sensitivity):
    """All shifts in `hull`, a body of `leastnoise.guarantees.bodies`.

    For example, a person has at most 5 rows, each in one of 18 cells. There a row adds 1 to a count
    and at most 1 to a sum. Such a person moves 36 numbers by a vector of five times the hull of 18
    squares:

    >>> from leastnoise.guarantees.bodies.plain import Box
    >>> from leastnoise.guarantees.bodies.cells import Cells
    >>> rows = Within(Cells(bodies=[Box(bounds=[1, 1])], copies=[18]).times(5))
    >>> rows.coordinates
    36
    """

    kind: ClassVar[str] = "within"
    hull: Body = field(converter=instance_of(Body, like="a body, such as a Box"))

    @property
    def coordinates(self) -> int:
        """The number of coordinates released together."""
        return self.hull.dimension

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """Always None: to hide a ball around the body, declare the ball as the sensitivity."""
        del norm, dimension
        return None

    def _body(self, dimension: int) -> Body | None:
        return self.hull if dimension == self.hull.dimension else None


def _l1_radius(length: Fraction, *, moved: int) -> Fraction | None:
    """The l1 radius of a set whose longest shifts have the l1 length `length`; None if moved > 1.

    `moved` is the number of coordinates that these shifts move. The worst shift of an l1 ball is
    along an axis (theory/noise.md §1(d)). So for moved > 1 the δ of the ball would be larger than
    the δ of the set.
    """
    return length if moved == 1 else None
