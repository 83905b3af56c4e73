"""Bisection returns ends that were tried, and are adjacent floats or as close as asked."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.size import files_of, searches
from leastnoise.balls.core import falls_through, precision
from leastnoise.numerics.bisection import Bisection


@given(edge=st.integers(0, 10**30))
def test_of_whole_numbers_it_returns_the_neighbours_exactly(edge: int) -> None:
    result = Bisection().beyond(lambda n: n > edge, 0, 1, most=2 * 10**30)
    assert result == (edge, edge + 1)


def test_of_floats_it_returns_neighbours_and_takes_the_ends_in_either_order() -> None:
    low, high = Bisection().close(lambda x: x * x > 2, 0.0, 2.0)
    assert math.nextafter(low, 3) == high
    assert low**2 <= 2 < high**2
    assert Bisection().close(lambda x: not x * x > 2, 2.0, 0.0) == (high, low)


def test_fractions_stay_exact() -> None:
    low, high = Bisection(halvings=3).close(lambda x: 3 * x > 1, Fraction(0), Fraction(1))
    assert (low, high) == (Fraction(1, 4), Fraction(3, 8))
    low, high = Bisection(within=Fraction(1, 4)).close(
        lambda x: 3 * x > 1, Fraction(0), Fraction(1)
    )
    assert (low, high) == (Fraction(1, 4), Fraction(1, 2))


def test_no_end_is_tried_and_every_point_once() -> None:
    tried: list[int] = []
    Bisection().close(lambda n: bool(tried.append(n)) or n >= 7, 0, 100)
    assert len(tried) == len(set(tried))
    assert {0, 100}.isdisjoint(tried)


def test_it_stops_where_balls_cannot_tell() -> None:
    with precision(64):
        low, high = Bisection().close(falls_through(lambda x: 2 - x * x), arb(1), arb(2))
        assert low < arb(2).sqrt() < high
        assert high - low < arb(2) ** -50
        assert Bisection().close(falls_through(lambda x: 1 - x), arb(0), arb(2)) == (0, 2)


def test_it_stops_as_soon_as_the_points_are_good_enough() -> None:
    near = Bisection().close(lambda n: n > 700, 0, 1024, until=lambda a, b: b - a <= 128)
    assert near == (640, 768)


def test_there_is_none_beyond_the_most() -> None:
    assert Bisection().beyond(lambda n: n > 64, 0, 1, most=64) is None
    assert Bisection().beyond(lambda n: n > 64, 0, 1, most=128) == (64, 65)


@given(edge=st.integers(1, 10**6), guess=st.integers(1, 10**6))
def test_around_a_guess_it_finds_the_least_whole_number(edge: int, guess: int) -> None:
    result = Bisection().around(lambda n: n >= edge, guess, fails=0, most=10**6)
    assert result == edge


def test_a_near_guess_costs_few_tries_and_none_is_found_beyond_the_most() -> None:
    tried: list[int] = []
    solver = Bisection()
    solver.around(lambda n: bool(tried.append(n)) or n >= 5_000, 5_001, fails=0, most=10**9)
    assert tried == [5_001, 5_000, 4_998, 4_999]
    assert solver.around(lambda n: n > 64, 60, fails=0, most=64) is None


def test_a_bad_aim_costs_at_most_twice_the_halvings() -> None:
    tried: list[int] = []
    result = Bisection().close(
        lambda n: bool(tried.append(n)) or n >= 700_000, 0, 1 << 20, aim=lambda low, high: low + 1
    )
    assert result == (699_999, 700_000)
    assert len(tried) <= 40


def test_no_other_package_searches_by_hand() -> None:
    # A Taylor series around a middle, a point of a stretch, cells that are cut in two, and the
    # middle of a polynomial's coefficients.
    assert searches(files_of(None)) <= 4


@pytest.mark.parametrize("halvings", [1, 30])
def test_shares_are_those_of_one_condition_each(halvings: int) -> None:
    edges = np.array([0.1, 0.5, 0.9])
    fails, at = Bisection(halvings=halvings).shares(lambda x: x > edges, 3)
    for edge, low, high in zip(edges, fails, at, strict=True):
        solver = Bisection(halvings=halvings)
        assert solver.close(lambda x, edge=edge: x > edge, 0.0, 1.0) == (low, high)
