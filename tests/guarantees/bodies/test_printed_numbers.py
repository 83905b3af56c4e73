"""The numbers about bodies in the text and tables of theory/bodies.md."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import CountedSums, Counts
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.plain import Ball, Box, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.bodies.together import Jointly, Together


def variance(body: Body, coordinate: int | None = None) -> float:
    """The variance (D + 1)(D + 2) E U² of a coordinate under e^(−N), or the mean of all (§1)."""
    d = body.dimension
    moments = body.second_moments
    second = body.second_moment / d if coordinate is None else float(moments[coordinate])
    return (d + 1) * (d + 2) * second


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 50, 300])
def test_all_of_d_counts(d: int) -> None:
    hull = Signed(of=Counts(queries=d))
    assert math.exp(hull.log_volume) == pytest.approx(d + 1)
    assert hull.second_moment == pytest.approx(float(Fraction(d * (d + 3), 6 * (d + 1))), rel=1e-14)
    assert variance(hull) == pytest.approx((d + 2) * (d + 3) / 6, rel=1e-14)


def test_two_of_five_counts() -> None:
    assert round(variance(Signed(of=Counts(queries=5, most=2))), 2) == 5.47
    assert round(variance(Signed(of=Counts(queries=5))), 2) == 9.33
    replaced = Differences(of=Counts(queries=5, most=2))
    assert round(variance(replaced), 2) == 11.96
    assert round(4 * variance(Signed(of=Counts(queries=5, most=2))), 1) == 21.9
    assert variance(Differences(of=Counts(queries=5))) == pytest.approx(14)


def test_three_conditions_in_three_blocks() -> None:
    blocks = [Counts(queries=1)] * 3
    signed = Signed(of=Jointly(parts=blocks, radii=[1, 1, 1], exponent=None))
    unsigned = Together(bodies=[Segment(bound=1)] * 3, radii=[1, 1, 1], exponent=None)
    split = Together(bodies=[Segment(bound=1)] * 3, radii=[3, 3, 3], exponent=1)
    assert [round(variance(item), 2) for item in (signed, unsigned, split)] == [5.0, 6.67, 18.0]


def means(blocks: int, cells: int) -> list[OneSided]:
    return [CountedSums(cells=cells, bounds=[1, 1])] * blocks


@pytest.mark.parametrize(
    ("blocks", "cells", "signed", "unsigned", "split"),
    [(3, 1, 13.58, 18.67, 36), (4, 3, 36.6, 46.4, 64), (4, 10, 52.8, 57.5, 64)],
)
def test_sums_and_means(  # noqa: PLR0917
    blocks: int, cells: int, signed: float, unsigned: float, split: float
) -> None:
    value = [1] * blocks
    joint = Signed(of=Jointly(parts=means(blocks, cells), radii=value, exponent=None))
    digits = 2 if signed < 20 else 1
    assert round(variance(joint), digits) == signed
    body = Signed(of=means(1, cells)[0])
    assert (
        round(variance(Together(bodies=[body] * blocks, radii=value, exponent=None)), digits)
        == unsigned
    )
    assert variance(
        Together(bodies=[body] * blocks, radii=[blocks] * blocks, exponent=1)
    ) == pytest.approx(split)


@pytest.mark.parametrize(
    ("cells", "outside"),
    [(1, 2), (2, 3.33), (3, 4.20), (5, 5.24), (10, 6.36), (50, 7.62), (200, 7.90)],
)
def test_a_histogram_whose_rows_are_replaced(cells: int, outside: float) -> None:
    for rows in (Counts(queries=cells, most=1), CountedSums(cells=cells, bounds=[1])):
        assert variance(Differences(of=rows)) == pytest.approx(outside, abs=0.005)
    hull = Cells(bodies=[Segment(bound=2)], copies=[cells])
    assert variance(hull) == pytest.approx(8)


def test_cells_of_sums_are_boxes() -> None:
    # one block alone is cells of boxes; a number's variance is R²(q + 1)(q + 2)/(3ε²)
    for q in (1, 2, 3):
        body = Signed(of=CountedSums(cells=4, bounds=[5] * q))
        assert variance(body) == pytest.approx(25 * (q + 1) * (q + 2) / 3)
        assert variance(body, 0) == pytest.approx(variance(body, q - 1))


@pytest.mark.parametrize(("dimension", "ratio"), [(2, 1.047), (3, 1.083), (5, 1.134), (10, 1.206)])
def test_a_box_beside_a_ball_of_its_volume(dimension: int, ratio: float) -> None:
    # theory/bodies.md §8, Theorem B: E‖V‖² over (|K|/ω_D)^(2/D)
    box, ball = Box(bounds=[3] * dimension), Ball(bound=1, coordinates=dimension)
    far = box.second_moment / ball.second_moment
    assert far / math.exp(2 / dimension * (box.log_volume - ball.log_volume)) == pytest.approx(
        ratio, abs=5.1e-4
    )


def test_sums_shrunk_by_their_gauge_can_leave_the_set() -> None:
    # theory/bodies.md §4: (2,2), (3,3) and c = 5 have N = 5; shrunk to 3, counts truncated, 3.5
    parts = [CountedSums(cells=2, bounds=[1, 1]), Counts(queries=1)]
    body = Signed(of=Jointly(parts=parts, radii=[1, 1], exponent=None))
    assert body.gauge([2, 2, 3, 3, 5]) == 5
    assert body.gauge([1, "1.2", 1, "1.8", 3]) == Fraction(7, 2)


def test_the_hull_is_more_than_what_is_added_or_removed() -> None:
    # theory/bodies.md §4: R = 3, s = (1, 1.2), (1, 1.8) has N(s)/R = 1 and is in neither
    three = CountedSums(cells=2, bounds=[3, 3])
    s = ["1", "1.2", "1", "1.8"]
    assert Signed(of=three).gauge(s) == 1
    assert not three.holds(s)
    assert three.holds(["1", "1", "1", "-1"])
