"""Convex hulls of all shifts of a sensitivity, as bodies.

| shifts | hull |
|---|---|
| at most k of d numbers, each by at most b | cells (k = 1), a box (k = d), `AtMost` between them |
| a record of [0, b]^d, at most k not 0, added or removed | `Signed` counts |
| the same, and one record counted | `Signed` counts, `Counted` |
| the same replaced by another | `Differences` of counts; for k = d that is [−b, b]^d |
| finitely many, of two numbers | a polygon |
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.counts import Counted, Counts
from leastnoise.guarantees.bodies.one_sided import MOST_CELLS, OneSided
from leastnoise.guarantees.bodies.plain import MOST_BOUNDS, Box, Polygon, Segment
from leastnoise.guarantees.bodies.shares import MOST_WORK
from leastnoise.guarantees.bodies.signed import Differences, Signed


def moved_cells(*, bound: Fraction, most: int, cells: int) -> Body | None:
    """The hull of all points of R^cells with at most `most` nonzero entries in [−bound, bound].

    None if it is too large for a body.
    """
    segment = Segment(bound=bound)
    if cells == 1:
        return segment
    if most == 1:
        return Cells(bodies=[segment], copies=[cells])
    if most >= cells:
        return Box(bounds=[bound] * cells) if cells <= MOST_BOUNDS else None
    return AtMost(most=most, cells=cells, of=segment) if most * cells <= MOST_WORK else None


def additions(*, bound: Fraction, most: int, queries: int, counted: bool) -> OneSided | None:
    """The hull of 0 and all points of [0, bound]^queries with at most `most` nonzero entries.

    If `counted`, each such point gets one more coordinate, which is 1: the record count. None if
    the hull is too large for a body.
    """
    counts = _counts(bound=bound, most=most, queries=queries)
    return Counted(of=counts, bound=1) if counts is not None and counted else counts


def added_record(*, bound: Fraction, most: int, queries: int, counted: bool) -> Body | None:
    """The hull of the vectors of `additions` and of their negatives; None if it is too large."""
    if most == 1 and not counted:
        return moved_cells(bound=bound, most=1, cells=queries)
    added = additions(bound=bound, most=most, queries=queries, counted=counted)
    return None if added is None else Signed(of=added)


def replaced_record(*, bound: Fraction, most: int, queries: int) -> Body | None:
    """The hull of all differences of two points that one record can add.

    Such a point lies in [0, bound]^queries and has at most `most` nonzero entries. None if it is
    too large for a body.
    """
    if most == queries:
        return moved_cells(bound=bound, most=queries, cells=queries)
    counts = _counts(bound=bound, most=most, queries=queries)
    return None if counts is None else Differences(of=counts)


def hull_of_points(points: Sequence[Sequence[Fraction]]) -> Body | None:
    """The hull of points, not all 0, and their negatives; None in three or more dimensions.

    None, too, if all points of a plane are on one line through 0.
    """
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
