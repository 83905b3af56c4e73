"""Whether a body holds a shift or a body, also if its gauge is a root: decided exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.counts import CountedSums, Counts
from leastnoise.guarantees.bodies.plain import Ball, Box, Polygon, Segment
from leastnoise.guarantees.bodies.shares import raise_rational, sum_at_most_one
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.bodies.together import Jointly, Together

ONE = Segment(bound=1)
TINY = Fraction(1, 10**60)


def test_rational_powers() -> None:
    assert raise_rational(Fraction(27, 8), Fraction(2, 3)) == Fraction(9, 4)
    assert raise_rational(Fraction(0), Fraction(1, 2)) == 0
    assert raise_rational(Fraction(27, 9), Fraction(2, 3)) is None
    assert raise_rational(Fraction(10**400), Fraction(1, 4)) == 10**100


def test_sums_of_radicals() -> None:
    half = Fraction(1, 2)
    assert sum_at_most_one([(Fraction(1, 4), half)] * 2)
    assert not sum_at_most_one([(Fraction(1, 4) + TINY, half), (Fraction(1, 4), half)])
    assert not sum_at_most_one([(Fraction(1, 2), half), (Fraction(1, 10), Fraction(1))] * 2)
    # √2/2 and a rational that is 1 − √2/2 to 60 digits, from either side
    rest = 1 - Fraction(7071067811865475244008443621048490392848359376884740365883398, 10**61)
    assert sum_at_most_one([(half, half), (rest - TINY, Fraction(1))])
    assert not sum_at_most_one([(half, half), (rest + TINY, Fraction(1))])


def test_eight_blocks_of_three_halves_add_up_to_one() -> None:
    # 4^(−3/2) = 1/8: a tie that only exact arithmetic sees
    body = Together(bodies=[ONE] * 8, radii=[4] * 8, exponent="1.5")
    shape = Jointly(parts=[Counts(queries=1)] * 8, radii=[4] * 8, exponent="1.5")
    assert body.holds([1] * 8)
    assert not body.holds([1] * 7 + [1 + TINY])
    assert shape.holds([1] * 8)
    assert Signed(of=shape).holds([1] * 8)
    assert Signed(of=shape).holds([-1] * 8)
    assert not Signed(of=shape).holds([-1] * 7 + [-1 - TINY])
    for nine in (
        lambda: Together(bodies=[ONE] * 9, radii=[4] * 9, exponent="1.5"),
        lambda: Jointly(parts=[Counts(queries=1)] * 9, radii=[4] * 9, exponent="1.5"),
    ):
        with pytest.raises(InvalidArgument, match="radii"):
            nine()


@pytest.mark.parametrize(
    ("radii", "exponent"),
    [
        ([1, 1], 1),
        ([1, 1], 5),
        (["0.999", 5], None),
        ([1, 10**20], 2),
        (["1.41421356"] * 2, 2),
    ],
)
def test_radii_that_do_not_hold_the_product(radii: list[str], exponent: int | None) -> None:
    with pytest.raises(InvalidArgument, match="radii"):
        Together(bodies=[ONE, ONE], radii=radii, exponent=exponent)


def test_discs_share_their_squares() -> None:
    disc = Ball(bound=1, coordinates=2)
    body = Together(bodies=[disc, disc], radii=["5/3", "5/4"], exponent=2)
    assert body.holds(["0.6", "0.8", "0.8", "0.6"])
    assert not body.holds(["0.6", "0.8", "0.8", Fraction(6, 10) + TINY])
    assert body.gauge(["0.6", "0.8", "0.8", "0.6"]) == 1
    assert body.gauge([1, 1, 0, 1]) is None


def test_cells_of_discs_are_decided_in_balls() -> None:
    cells = Cells(bodies=[Ball(bound=1, coordinates=2)], copies=[2])
    assert cells.gauge([3, 4, 0, 0]) == 5
    assert cells.gauge([1, 1, 1, 2]) is None
    root = Fraction(141421356237309504880168872420969807856967187537694, 10**50)
    assert not cells.holds([1, 1, 0, 0], times=root)
    assert cells.holds([1, 1, 0, 0], times=root + Fraction(1, 10**49))


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Box(bounds=[1, 1]), Signed(of=Counts(queries=2))),
        (Signed(of=Counts(queries=2)), Cells(bodies=[ONE], copies=[2])),
        (Polygon(points=[[1, 1], [1, 0], [0, 1]]), Signed(of=Counts(queries=2))),
        (Signed(of=Counts(queries=2)), Polygon(points=[[1, 1], [1, 0], [0, 1]])),
        (Ball(bound=3, coordinates=9), AtMost(most=9, cells=9, of=ONE)),
        (AtMost(most=3, cells=50, of=ONE), AtMost(most=2, cells=50, of=ONE)),
        (Signed(of=Counts(queries=999)), Signed(of=Counts(queries=999, most=7))),
        (Cells(bodies=[ONE], copies=[10**5]), Cells(bodies=[ONE.times("0.9")], copies=[10**5])),
    ],
)
def test_one_body_holds_another(outer: Body, inner: Body) -> None:
    assert outer.contains(inner)
    assert outer == inner or not inner.times("0.99").contains(outer)
    assert not outer.contains(outer.times("1.01"))
    assert not outer.contains(ONE)


def test_what_is_not_proved_is_not_held() -> None:
    # true, but neither by structure nor by few corners
    assert not Ball(bound=50, coordinates=30).contains(Signed(of=Counts(queries=30)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Segment(bound=0),
        lambda: Segment(bound="nan"),
        lambda: Segment(bound=True),
        lambda: Box(bounds=[]),
        lambda: Box(bounds=[1, -1]),
        lambda: Box(bounds="12"),
        lambda: Box(bounds=[1] * 10_001),
        lambda: Ball(bound=1, coordinates=0),
        lambda: Ball(bound="1e400", coordinates=2),
        lambda: Cells(bodies=[], copies=[]),
        lambda: Cells(bodies=[ONE], copies=[1, 2]),
        lambda: Cells(bodies=[ONE], copies=[0]),
        lambda: Cells(bodies=[ONE], copies=[1.0]),  # pyright: ignore[reportArgumentType]
        lambda: Cells(bodies=[ONE], copies=[True]),
        lambda: Cells(bodies=[ONE, ONE], copies=[10**9, 1]),
        lambda: Cells(bodies=[Counts(queries=1)], copies=[1]),  # pyright: ignore[reportArgumentType]
        lambda: Cells(bodies=ONE, copies=[1]),  # pyright: ignore[reportArgumentType]
        lambda: Cells(bodies=[ONE], copies=1),  # pyright: ignore[reportArgumentType]
        lambda: Box(bounds=1),  # pyright: ignore[reportArgumentType]
        lambda: Polygon(points=[1, 2]),  # pyright: ignore[reportArgumentType]
        lambda: Together(bodies=[ONE], radii=1, exponent=1),  # pyright: ignore[reportArgumentType]
        lambda: ONE.holds(1),  # pyright: ignore[reportArgumentType]
        lambda: ONE.holds("1"),
        lambda: ONE.holds([None]),  # pyright: ignore[reportArgumentType]
        lambda: ONE.holds([1], times="x"),
        lambda: Counts(queries=1).holds(1),  # pyright: ignore[reportArgumentType]
        lambda: ONE.times("-1"),
        lambda: AtMost(most=3, cells=2, of=ONE),
        lambda: AtMost(most=0, cells=2, of=ONE),
        lambda: AtMost(most=1000, cells=10_000, of=ONE),
        lambda: AtMost(most=1, cells=2, of="interval"),  # pyright: ignore[reportArgumentType]
        lambda: Counts(queries=0),
        lambda: Counts(queries=3, most=4),
        lambda: Counts(queries=100_001),
        lambda: Counts(queries=20_000, most=10_000),
        lambda: CountedSums(cells=2, bounds=[]),
        lambda: CountedSums(cells=-1, bounds=[1]),
        lambda: Polygon(points=[[1, 2]]),
        lambda: Polygon(points=[[1, 2], [-2, -4], [0, 0]]),
        lambda: Polygon(points=[[1, 2, 3]]),
        lambda: Polygon(points=[]),
        lambda: Signed(of=ONE),  # pyright: ignore[reportArgumentType]
        lambda: Together(bodies=[ONE], radii=[1, 1], exponent=1),
        lambda: Together(bodies=[ONE], radii=[1], exponent="0.5"),
        lambda: Together(bodies=[ONE], radii=[1], exponent="1.0001"),
        lambda: Together(bodies=[ONE], radii=[1], exponent="inf"),
        lambda: Jointly(parts=[ONE], radii=[1], exponent=1),  # pyright: ignore[reportArgumentType]
    ],
)
def test_nonsense_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidArgument):
        wrong()  # pyright: ignore[reportCallIssue]


def test_a_large_cap_keeps_its_digits() -> None:
    # the sum of 400 uniforms is symmetric about 200; that of 100,000 hardly ever below 5
    body = AtMost(most=200, cells=400, of=Segment(bound="0.5"))
    assert body.log_volume == pytest.approx(-0.693147180559945, rel=1e-12)
    many = AtMost(most=5, cells=100_000, of=Segment(bound="0.5"))
    assert many.log_volume == pytest.approx(10**5 * math.log(5) - math.lgamma(10**5 + 1))
    assert 0 < many.second_moments[0] < 1e-8
