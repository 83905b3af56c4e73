"""A sensitivity's body is the hull of its shifts: it contains all, and its corners are shifts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import pytest

from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.plain import Box, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Neighbours, Vertices

Vector = tuple[Fraction, ...]


def records(queries: int, most: int, bound: Fraction) -> list[Vector]:
    """The extreme records: at most `most` entries are `bound`, the others 0."""
    every = itertools.product((Fraction(0), bound), repeat=queries)
    return [x for x in every if sum(value != 0 for value in x) <= most]


def shifts(found: list[Vector], neighbours: Neighbours) -> list[Vector]:
    pairs = itertools.product(found, repeat=2) if neighbours == "replace-one" else ()
    replaced = [tuple(a - b for a, b in zip(x, y, strict=True)) for x, y in pairs]
    return replaced or [*found, *(tuple(-value for value in x) for x in found)]


def counting(
    neighbours: Neighbours, with_total: bool
) -> Iterator[tuple[Sensitivity, list[Vector]]]:
    for d in (1, 2, 3, 4):
        for most in range(1, d + 1):
            queries = CountingQueries(
                dimension=d,
                max_nonzero=most,
                neighbours=neighbours,
                with_total=with_total,
                bound="1.5",
            )
            vectors = records(d, most, Fraction(3, 2))
            if with_total:
                vectors = [(*x, Fraction(1)) for x in vectors]
            yield queries, shifts(vectors, neighbours)


def moved(cells: int, most: int, bound: Fraction) -> list[Vector]:
    every = itertools.product((Fraction(0), bound, -bound), repeat=cells)
    return [x for x in every if sum(value != 0 for value in x) <= most]


def in_groups(groups: int, queries: int) -> list[Vector]:
    vectors = []
    for group in range(groups):
        for x in records(queries, queries, Fraction(2)):
            vector = [Fraction(0)] * (groups * (queries + 1))
            vector[group * (queries + 1) : (group + 1) * (queries + 1)] = (*x, Fraction(1))
            vectors.append(tuple(vector))
    return shifts(vectors, "add-remove")


POINTS = [[Fraction(2), Fraction(1)], [Fraction(-1), Fraction(1)], [Fraction(1), Fraction(0)]]
CASES = [
    *counting("add-remove", False),
    *counting("add-remove", True),
    *counting("replace-one", False),
    *((Linf("1.5", l0=k), moved(4, k, Fraction(3, 2))) for k in (1, 2, 3, 4, 9)),
    (Linf(2), moved(1, 1, Fraction(2))),
    (L1("1.5"), moved(3, 1, Fraction(3, 2))),
    (Integer(3), moved(1, 1, Fraction(3))),
    (Groups(groups=1, dimension=2, bound=2), in_groups(1, 2)),
    (Groups(groups=3, dimension=1, bound=2), in_groups(3, 1)),
    (Groups(groups=2, dimension=2, bound=2), in_groups(2, 2)),
    (Vertices(POINTS), shifts([tuple(point) for point in POINTS], "add-remove")),
    (Vertices([[2], [-5]]), moved(1, 1, Fraction(5))),
]


@pytest.mark.parametrize(("sensitivity", "found"), CASES)
def test_the_body_is_the_hull_of_all_shifts(sensitivity: Sensitivity, found: list[Vector]) -> None:
    body = sensitivity.body(dimension=len(found[0]))
    assert body is not None
    assert all(body.holds(shift) for shift in found)
    # every corner is a shift, so that the body is no larger than their hull
    assert {tuple(corner) for corner in body.corners()} <= {tuple(shift) for shift in found}


@pytest.mark.parametrize(("sensitivity", "found"), CASES)
def test_every_shift_is_added_or_removed(sensitivity: Sensitivity, found: list[Vector]) -> None:
    added = sensitivity.additions(dimension=len(found[0]))
    signed = isinstance(sensitivity, CountingQueries) and sensitivity.neighbours == "add-remove"
    assert (added is not None) == signed
    if added is not None:
        negatives = [tuple(-value for value in shift) for shift in found]
        pairs = zip(found, negatives, strict=True)
        assert all(added.holds(shift) or added.holds(minus) for shift, minus in pairs)
        assert {tuple(corner) for corner in added.corners()} <= set(found)


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_a_ball_is_itself(dimension: int) -> None:
    body, twice = (L2(bound).body(dimension=dimension) for bound in ("1.5", 3))
    assert body is not None
    assert twice is not None
    assert body.log_volume == pytest.approx(twice.times("0.5").log_volume)
    assert body.holds([0] * (dimension - 1) + ["1.5"])
    assert not body.holds([0] * (dimension - 1) + ["1.5000001"])
    assert isinstance(L2(1).body(dimension=1), Segment)


def test_kinds() -> None:
    assert isinstance(Linf(1).body(dimension=10**5), Cells)
    assert isinstance(Linf(1, l0=9).body(dimension=9), Box)
    assert isinstance(Linf(1, l0=2).body(dimension=9), AtMost)
    assert isinstance(CountingQueries(dimension=1).body(dimension=1), Segment)
    assert isinstance(CountingQueries(dimension=5).body(dimension=5), Signed)
    assert isinstance(CountingQueries(dimension=5, max_nonzero=1).body(dimension=5), Cells)
    replaced = CountingQueries(dimension=5, max_nonzero=2, neighbours="replace-one")
    assert isinstance(replaced.body(dimension=5), Differences)
    every = CountingQueries(dimension=5, neighbours="replace-one")
    assert isinstance(every.body(dimension=5), Box)


@pytest.mark.parametrize(
    ("sensitivity", "dimension"),
    [
        (CountingQueries(dimension=3), 4),
        (CountingQueries(dimension=3, with_total=True), 3),
        (CountingQueries(dimension=10**6), 10**6),
        (CountingQueries(dimension=10**5, max_nonzero=5000), 10**5),
        (Groups(groups=2, dimension=2, neighbours="replace-one"), 6),
        (Groups(groups=2, dimension=2), 4),
        (Integer(1), 2),
        (Linf(1, l0=10**6), 10**6),
        (Linf(1, l0=5000), 10**6),
        (Vertices([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), 3),
        (Vertices([[1, 2], [2, 4]]), 2),
        (Vertices([[1, 2], [2, 5]]), 3),
    ],
)
def test_no_body_where_none_is_known(sensitivity: Sensitivity, dimension: int) -> None:
    assert sensitivity.body(dimension=dimension) is None
