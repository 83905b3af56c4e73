"""Sums of consecutive cells, against enumeration, sums of the first cells, and draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument
from leastnoise.noise.trees import ranges
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.prefixes import (
    ORDERS,
    prefix_half_widths,
    prefix_moments,
    prefix_variances,
)
from leastnoise.noise.trees.ranges import range_half_width, range_moments, range_variance
from leastnoise.noise.trees.sampler import draw_cells
from tests.noise.trees.oracle import enumerated
from tests.noise.trees.test_next_leaf import WEEKS
from tests.noise.trees.test_prefixes import _ABOVE, _LEFT_OUT, SMALL

COVERAGES = (0.5, 0.9, 0.95, 1 - 0.05 / 3)
NEAR = 3e-6


def variance_of(noise: Agreeing, first: int, last: int) -> float:
    variances = [law.variance for law in level_laws(noise)]
    return range_variance(noise.branches, variances, first, last)


@pytest.mark.grid
@pytest.mark.parametrize("noise", SMALL.values(), ids=SMALL)
def test_variances_and_half_widths_by_enumeration(noise: Agreeing) -> None:
    points, weights = enumerated(noise, 9)
    for first, last in combinations(range(noise.dimension + 1), 2):
        sums = np.abs(points[:, first:last].sum(axis=1))
        assert variance_of(noise, first, last) == pytest.approx(weights @ sums**2, rel=2e-3)
        for coverage in COVERAGES:
            width = range_half_width(noise, first, last, coverage)
            assert weights @ (sums <= width) >= coverage - NEAR
            assert weights @ (sums < width) < coverage + NEAR


def test_ranges_from_the_first_or_to_the_last_cell_are_known() -> None:
    variances = [law.variance for law in level_laws(WEEKS)]
    known = prefix_variances(WEEKS.branches, variances)
    widths = prefix_half_widths(WEEKS, 0.95)
    for cells in (1, 12, 13, 14, 30, 51, 52):
        for first, last in ((0, cells), (52 - cells, 52)):
            assert variance_of(WEEKS, first, last) == pytest.approx(known[cells], rel=1e-12)
            assert range_half_width(WEEKS, first, last, 0.95) == widths[cells]


def test_ranges_of_weeks_hold_draws() -> None:
    cells = draw_cells(WEEKS, InsecureSeededEntropy(4), count=20_000)
    for first, last in ((5, 9), (10, 16), (11, 40), (20, 51)):
        sums = cells[:, first:last].sum(axis=1)
        assert variance_of(WEEKS, first, last) == pytest.approx((sums**2).mean(), rel=0.06)
        width = range_half_width(WEEKS, first, last, 0.95)
        assert (np.abs(sums) <= width).mean() > 0.94
        assert (np.abs(sums) < width).mean() < 0.96


@pytest.mark.parametrize("noise", SMALL.values(), ids=SMALL)
def test_moments_by_enumeration_are_a_little_below_their_bounds(noise: Agreeing) -> None:
    points, weights = enumerated(noise, 9)
    for first, last in combinations(range(noise.dimension + 1), 2):
        sums = points[:, first:last].sum(axis=1)
        wanted = np.array([float(weights @ sums**order) for order in ORDERS])
        moments = range_moments(noise, first, last)
        assert (moments >= (1 - _LEFT_OUT) * wanted).all()
        assert (moments <= _ABOVE * (1 + _LEFT_OUT) * wanted).all()


def test_moments_of_the_first_and_last_cells_are_known() -> None:
    known = prefix_moments(WEEKS)
    for cells in (1, 12, 13, 14, 30, 51, 52):
        for first, last in ((0, cells), (52 - cells, 52)):
            assert range_moments(WEEKS, first, last) == pytest.approx(known[cells], rel=1e-6)


def test_a_law_that_takes_too_much_is_bounded_by_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = draw_cells(WEEKS, InsecureSeededEntropy(6), count=20_000)
    asked = ((5, 9), (11, 40), (0, 52))
    least = [range_half_width(WEEKS, *cells, 0.95) for cells in asked]
    monkeypatch.setattr(ranges, "MOST_WORK", 0)
    for (first, last), width in zip(asked, least, strict=True):
        bound = range_half_width(WEEKS, first, last, 0.95)
        assert width < bound < 1.6 * width + 1
        assert (np.abs(cells[:, first:last].sum(axis=1)) <= bound).mean() > 0.95


@pytest.mark.parametrize("coverage", [0, 1, 1.5])
def test_a_coverage_is_between_0_and_1(coverage: float) -> None:
    with pytest.raises(InvalidArgument, match="coverage"):
        range_half_width(WEEKS, 2, 5, coverage)
