"""Sums of cells that are no node, against an enumeration of all cells."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.sums import check_numbers, half_width_of_sum, variance_of_sum
from tests.noise.trees.oracle import enumerated

SMALL = (
    (Agreeing(scale="0.5", branches=(2, 2), shares=("0.3", "0.1", "0.6")), 9),
    (Agreeing(scale="0.5", branches=(2, 1, 2), shares=("0.1", "0.3", "0.1", "0.5")), 9),
    (Agreeing(scale="0.4", branches=(2, 3), shares=("0.3", "0.2", "0.5")), 4),
    (Agreeing(scale="0.2", branches=(2, 2, 2), shares=(0, "0.3", "0.2", "0.5")), 2),
)
_LEFT_OUT = 1e-3  # of the enumeration, at most


@pytest.mark.grid
@pytest.mark.parametrize(("law", "reach"), SMALL, ids=str)
def test_sums_have_the_law_of_an_enumeration(law: Agreeing, reach: int) -> None:
    points, chances = enumerated(law, reach)
    cells = points.reshape(-1, *law.branches)
    variances = [law.variance for law in level_laws(law)]
    for fixed in itertools.product((False, True), repeat=len(law.branches)):
        kept = zip(fixed, law.branches, strict=True)
        last_of_each = [slice(b - 1 if item else 0, b) for item, b in kept]
        summed = cells[:, *last_of_each].reshape(len(points), -1).sum(axis=1)
        exact = float(chances @ summed**2)
        assert variance_of_sum(law.branches, variances, fixed) == pytest.approx(exact, rel=2e-2)
        for coverage in (0.5, 0.9, 0.95, 0.98):
            h = half_width_of_sum(law, fixed, coverage)
            inside = [float(chances @ (np.abs(summed) <= j)) for j in (h - 1, h)]
            assert inside[0] < coverage + _LEFT_OUT
            assert inside[1] >= coverage - _LEFT_OUT


def test_the_covariances_of_the_theory() -> None:
    """The chain of the table 20 × 2 × 10: sex, age, region; its standard deviations by table."""
    law = Agreeing(scale=1, branches=(2, 10, 20), shares=(0, "0.2", "0.1", "0.7"))
    variances = [law.variance for law in level_laws(law)]
    published = {
        (False, False, False): 8.78,
        (False, False, True): 8.45,
        (True, False, False): 6.21,
        (False, True, False): 8.32,
        (True, False, True): 5.98,
        (False, True, True): 2.70,
        (True, True, False): 5.88,
        (True, True, True): 1.91,
    }
    for fixed, std in published.items():
        assert math.sqrt(variance_of_sum(law.branches, variances, fixed)) == pytest.approx(
            std, abs=0.005
        )


def test_laws_that_take_too_long() -> None:
    law = Agreeing(scale=1, branches=(10, 10), shares=("0.1", "0.2", "0.7"))
    check_numbers(law)
    wide = law.scaled(30)
    assert half_width_of_sum(wide, (True, False), 0.95) > 0  # a node's own law is there
    for ask in (lambda: check_numbers(wide), lambda: half_width_of_sum(wide, (False, True), 0.95)):
        with pytest.raises(NotApplicable, match="numbers"):
            ask()


@pytest.mark.parametrize("coverage", [0, 1 - 1e-7, 1, 1.5])
def test_a_coverage_is_between_0_and_1_and_not_too_close_to_1(coverage: float) -> None:
    law = Agreeing(scale=1, branches=(3, 4), shares=(0, "0.4", "0.6"))
    fixed = (False, True)
    with pytest.raises(InvalidArgument, match="coverage"):
        half_width_of_sum(law, fixed, coverage)
