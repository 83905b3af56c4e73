from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.trees.estimate import check_work, expected_draws
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import (
    Known,
    find_window,
    level_laws,
    solve,
)
from tests.noise.trees.oracle import enumerated, sums_of

SMALL = (
    Agreeing(scale="0.4", branches=(2, 2), shares=("0.2", "0.1", "0.7")),
    Agreeing(scale="0.4", branches=(3,), shares=("0.4", "0.6")),
    Agreeing(scale="0.4", branches=(1, 3), shares=("0.1", "0.3", "0.6")),
    Agreeing(scale="0.5", branches=(4,), shares=(0, 1)),
)
_LEFT_OUT = 1e-6  # of the enumeration
CHAIN = Agreeing(scale=1, branches=(2, 10, 20), shares=(0, "0.2", "0.1", "0.7"))


@pytest.mark.parametrize("law", SMALL, ids=lambda law: str(law.branches))
def test_the_laws_are_those_of_an_enumeration(law: Agreeing) -> None:
    points, chances = enumerated(law, 9)
    for level, sums in zip(level_laws(law), sums_of(points, law.branches), strict=True):
        assert level.nodes == sums.shape[1]
        for node in range(level.nodes):
            exact = np.bincount(np.abs(sums[:, node]), chances)[:6]
            exact[1:] /= 2
            assert level.probabilities[:6] == pytest.approx(exact, abs=_LEFT_OUT)
        exact_variance = chances @ sums[:, 0] ** 2
        assert level.variance == pytest.approx(exact_variance, rel=1e-4)
        assert level.std == math.sqrt(level.variance)
        assert level.mean_abs == pytest.approx(chances @ np.abs(sums[:, 0]), rel=1e-4)
        if level.covariance is not None:
            exact_covariance = chances @ (sums[:, 0] * sums[:, 1])
            assert level.covariance == pytest.approx(exact_covariance, rel=1e-4, abs=1e-9)


def test_half_widths_are_the_smallest_that_hold() -> None:
    for law in SMALL:
        points, chances = enumerated(law, 9)
        for level, sums in zip(level_laws(law), sums_of(points, law.branches), strict=True):
            for coverage in (0.5, 0.9, 0.95, 0.99):
                h = level.half_width(coverage)
                inside = [float(chances @ (np.abs(sums[:, 0]) <= j)) for j in (h - 1, h)]
                assert inside[0] < coverage + _LEFT_OUT
                assert inside[1] >= coverage - _LEFT_OUT


def test_errors_count_against_an_interval() -> None:
    (cell,) = level_laws(Agreeing(scale=1, branches=(1,), shares=(0, 1)))[1:]
    exact = float(cell.probabilities[0])  # P(Z = 0), which nothing proves to the last digit
    assert cell.half_width(exact - 1e-6) == 0
    assert cell.half_width(exact) == 1
    with pytest.raises(InvalidArgument, match="coverage <="):
        cell.half_width(1 - 1e-15)
    for coverage in (0, 1, -0.5, 1.5):
        with pytest.raises(InvalidArgument, match="coverage"):
            cell.half_width(coverage)


def test_figures_of_the_theory() -> None:
    stds = [level.std for level in level_laws(CHAIN)]
    assert stds == pytest.approx([8.78, 6.21, 5.88, 1.91], abs=0.005)


def test_twice_the_window_changes_no_more_than_is_stated() -> None:
    rates = tuple(float(share) for share in CHAIN.shares)
    window = find_window(CHAIN.branches, rates)
    once = solve(CHAIN.branches, rates).laws
    twice = solve(CHAIN.branches, rates, window=2 * window).laws
    for (item,), (other,) in zip(once, twice, strict=True):
        gap = item.values[: window // 2] - other.values[: window // 2]
        assert np.linalg.norm(gap) <= item.error + other.error
        assert np.linalg.norm(gap) < 1e-12  # the bounds are far from what is met


@pytest.mark.dense
def test_bounds_on_rounding_hold_and_grow_slowly_with_the_levels() -> None:
    """With bounds from the l2 norm of all errors this tree had no half-width at all."""
    deep = Agreeing(scale=1, branches=(50, 60, 10), shares=("0.24", "0.26", "0.14", "0.36"))
    for level in level_laws(deep):
        assert level.error < 1e-3
        assert level.half_width() < 2.2 * level.std + 1
    rates = tuple(float(share) for share in deep.shares)
    once = solve(deep.branches, rates).laws
    twice = solve(deep.branches, rates, window=2 * find_window(deep.branches, rates)).laws
    for (item,), (other,) in zip(once, twice, strict=True):
        half = len(item.values) // 2
        gap = np.linalg.norm(item.values[:half] - other.values[:half])
        assert gap <= item.error + other.error


def test_laws_fall_on_both_sides() -> None:
    """Symmetric and log-concave, as the bound on the window needs."""
    for level in level_laws(CHAIN):
        p = level.probabilities[: max(3, level.half_width(0.999))]
        assert (np.diff(p) < 1e-15).all()
        assert (p[1:-1] ** 2 - p[:-2] * p[2:] > -1e-15).all()


def _exactly(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def _convolved(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    n = len(one)
    return [sum((one[i] * other[(t - i) % n] for i in range(n)), Fraction(0)) for t in range(n)]


def _gap(known: Known, exact: list[Fraction]) -> float:
    off = (Fraction(float(a)) - b for a, b in zip(known.values, exact, strict=True))
    return math.sqrt(sum((difference**2 for difference in off), Fraction(0)))


def test_rounding_errors_are_bounded() -> None:
    """Against rational arithmetic, from numbers that are off by what they say."""
    generator = np.random.default_rng(5)
    rough = generator.random(32) / 32
    moved = 1e-9 * generator.standard_normal(32)
    x, y = _exactly(rough), _exactly(generator.random(32))
    off = Known(values=rough + moved, error=float(np.linalg.norm(moved)) * (1 + 1e-6))
    exact = Known(values=np.array([float(number) for number in y]), error=0.0)
    cubed = _convolved(_convolved(x, x), x)
    total = sum(x, Fraction(0))
    for result, true in (
        (off.convolved(exact), _convolved(x, y)),
        (exact.convolved(off), _convolved(x, y)),
        (off.power(3), cubed),
        (off.power(1), x),
        (off.times_known(exact), [a * b for a, b in zip(x, y, strict=True)]),
        (off.normalised()[0], [a / total for a in x]),
    ):
        gap = _gap(result, true)
        assert gap <= result.error
        assert result.error < 1e-6
    assert off.power(0).values.tolist() == [1.0] + [0.0] * 31


def test_sums_too_wide_for_the_window_are_refused() -> None:
    wide = Agreeing(scale=1000, branches=(1000,), shares=("0.5", "0.5"))
    with pytest.raises(NotApplicable, match="larger epsilon"):
        level_laws(wide)


@pytest.mark.parametrize("law", SMALL[1:2] + SMALL[3:])
def test_a_draw_takes_as_many_cells_as_its_root_keeps_one_of(law: Agreeing) -> None:
    """A tree of one level takes b cells for a candidate, kept with probability E e^(−r|Σ|)."""
    alone = Agreeing(scale=law.scale, branches=law.branches, shares=(0, law.shares[-1]))
    points, chances = enumerated(alone, 9)
    rate = float(law.shares[0] / law.scale)
    kept = float(chances @ np.exp(-rate * np.abs(points.sum(axis=1))))
    assert expected_draws(law) == pytest.approx(law.dimension / kept, rel=1e-5)


def test_next_to_no_noise_has_a_law_too() -> None:
    law = Agreeing(scale="1e-100", branches=(2, 3), shares=("0.2", "0.3", "0.5"))
    assert [level.half_width(0.99) for level in level_laws(law)] == [0, 0, 0]
    assert [level.variance for level in level_laws(law)] == [0, 0, 0]
    assert expected_draws(law) == pytest.approx(6)


def test_the_work_of_a_draw_is_that_of_the_theory() -> None:
    tree = Agreeing(scale=1, branches=(10, 10), shares=("0.13", "0.41", "0.46"))
    assert expected_draws(tree) == pytest.approx(1070, rel=0.03)  # shares of two digits
    check_work(tree)
    with pytest.raises(NotApplicable, match="larger share"):
        check_work(Agreeing(scale=1, branches=(60_000,), shares=("0.9", "0.1")))
