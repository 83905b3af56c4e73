from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction

import pytest

from leastnoise.balls.core import precision
from leastnoise.guarantees.projections import projections_of, unit_ball
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices

Cells = set[tuple[int, ...]]  # unit cubes, by their lowest corners


def added(size: int) -> Cells:
    return {(0,) * size, (-1,) * size}


def replaced(size: int, most: int) -> Cells:
    """The unit cubes of all x − y; x, y in [0, 1]^size have at most `most` positive numbers."""
    subsets = [
        frozenset(combination)
        for count in range(most + 1)
        for combination in itertools.combinations(range(size), count)
    ]
    cells: Cells = set()
    for grown, fallen in itertools.product(subsets, subsets):
        if len(grown | fallen) == size:
            sides = [((0,) if i in grown else ()) + ((-1,) if i in fallen else ())
                     for i in range(size)]  # fmt: skip
            cells |= set(itertools.product(*sides))
    return cells


def sum_of(parts: Iterable[Cells], size: int) -> Cells:
    """The Minkowski sum of unions of unit cubes: two cubes have a cube of side 2 as sum."""
    corners = list(itertools.product((0, 1), repeat=size))
    total: Cells | None = None
    for part in parts:
        if total is None:
            total = part
            continue
        total = {
            tuple(a + b + c for a, b, c in zip(number, other, corner, strict=True))
            for number in total
            for other in part
            for corner in corners
        }
    return total or set()


def volume(sensitivity: Sensitivity, dimension: int, coordinates: int, times: int = 1) -> float:
    projections = projections_of(sensitivity, dimension=dimension)
    assert projections is not None
    assert coordinates <= projections.largest
    with precision(128):
        return float(projections.volume(coordinates, times=times).mid())


@pytest.mark.parametrize(("size", "times"), [(1, 1), (2, 1), (3, 1), (1, 4), (2, 3), (3, 3)])
def test_added_records_cube_by_cube(size: int, times: int) -> None:
    known = len(sum_of([added(size)] * times, size))
    for sensitivity, dimension in (
        (CountingQueries(dimension=5, max_nonzero=3), 5),
        (CountingQueries(dimension=3, with_total=True), 4),
        (Groups(groups=2, dimension=3), 8),
    ):
        assert volume(sensitivity, dimension, size, times) == pytest.approx(known, rel=1e-15)


@pytest.mark.parametrize(("size", "most"), [(1, 1), (2, 1), (2, 2), (3, 2), (4, 2), (4, 3)])
def test_replaced_records_cube_by_cube(size: int, most: int) -> None:
    counts = CountingQueries(dimension=4, max_nonzero=most, neighbours="replace-one", bound=3)
    known = 3**size * len(replaced(size, most))
    assert volume(counts, 4, size) == pytest.approx(known, rel=1e-15)


def test_balls_and_boxes() -> None:
    assert volume(L1("1.5"), 4, 2) == pytest.approx(2 * 1.5**2)
    assert volume(Linf(2, l0=3), 5, 3) == pytest.approx(64)
    assert volume(Groups(groups=2, dimension=2, neighbours="replace-one"), 6, 2) == 4
    assert volume(Vertices([["2"], ["-3"]]), 1, 1) == 6
    assert volume(L2(2), 3, 3) == pytest.approx(8 * 4.18879020478639)
    with precision(128):
        assert float(unit_ball(10).mid()) == pytest.approx(2.550164039877345)


def test_the_radius_is_that_of_a_ball_of_that_volume() -> None:
    for sensitivity in (L2("1.5"), L1(1), Linf(1, l0=4)):
        projections = projections_of(sensitivity, dimension=4)
        assert projections is not None
        with precision(128):
            ratio = projections.radius(4) ** 4 * unit_ball(4) / projections.volume(4)
            assert float(ratio.mid()) == pytest.approx(1, rel=1e-15)


def test_none_is_known_of_whole_numbers_and_null_sets() -> None:
    for sensitivity, dimension in (
        (Integer(1), 1),
        (Linf(1, l0=2, whole=True), 2),
        (Vertices([["1", "0", "0"], ["1", "1", "1"]]), 3),
        (CountingQueries(dimension=3), 4),
    ):
        assert projections_of(sensitivity, dimension=dimension) is None


def test_only_as_many_numbers_as_one_unit_moves() -> None:
    """A set of shifts that move k numbers has no volume in k + 1."""
    largest = {
        projections.largest
        for item in (Linf(1, l0=2), CountingQueries(dimension=6, max_nonzero=2))
        if (projections := projections_of(item, dimension=6)) is not None
    }
    assert largest == {2}
    assert projections_of(Linf(1), dimension=6) is not None
    assert isinstance(Linf(1).bound, Fraction)
