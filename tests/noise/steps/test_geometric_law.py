"""Moments, probabilities and quantiles on the whole numbers, against sums over the lattice."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import count
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.steps.law import Geometric
from tests.whole_steps import chance, chances, weight

SHAPES = [(1, 1, "1"), (1, 1, "0.02"), (4, 2, "0.5"), (7, 7, "0.3"), (3, 1, "6"), (5, 3, "40")]


def _law(cells: int, core: int, decay: str) -> Geometric:
    return Geometric(scale="0.7", cells=cells, core=core, decay=decay)


@pytest.mark.parametrize(("cells", "core", "decay"), SHAPES)
def test_moments_are_sums_over_the_lattice(cells: int, core: int, decay: str) -> None:
    law = _law(cells, core, decay)
    with mp.workdps(30):
        weights = chances(law)
        step = mp.mpf(7) / 10 / cells
        first = 2 * step * mp.fsum(k * p for k, p in enumerate(weights))
        second = 2 * step**2 * mp.fsum(k * k * p for k, p in enumerate(weights))
    assert law.mean_abs == pytest.approx(float(first), rel=4e-15)
    assert law.variance == pytest.approx(float(second), rel=4e-15)


def test_moments_of_hardly_any_and_of_huge_noise() -> None:
    """2b/(1 + b) and more by hand for one cell; beyond that those of the staircase."""
    rare = Geometric(scale=1, cells=1, core=1, decay=600)
    assert rare.variance == pytest.approx(2 * math.exp(-600), rel=1e-12)
    wide = Geometric(scale=2**53, cells=2**53, core=2**52, decay="1e-100")
    assert wide.variance == pytest.approx(wide.staircase.variance, rel=1e-12)
    assert wide.mean_abs == pytest.approx(wide.staircase.mean_abs, rel=1e-12)
    assert math.isfinite(Geometric(scale=1, cells=1, core=1, decay="1e-140").variance)


@pytest.mark.parametrize(("cells", "core", "decay"), SHAPES)
def test_log_density_is_the_probability_of_a_point(cells: int, core: int, decay: str) -> None:
    law = _law(cells, core, decay)
    places = np.arange(-40, 41)
    densities = law.log_density(places[:, None] * 0.7 / cells)
    with mp.workdps(30):
        middle = mp.log(chance(law, 0))
        expected = [float(mp.log(weight(law, k)) + middle) for k in places.tolist()]
    assert densities == pytest.approx(expected, rel=1e-13)
    assert law.log_density([0.35 / cells]) == -math.inf  # between lattice points


@pytest.mark.parametrize(("cells", "core", "decay"), SHAPES)
def test_quantiles_are_the_least_points_that_hold_so_much(
    cells: int, core: int, decay: str
) -> None:
    law = _law(cells, core, decay)
    for probability in (0.001, 0.3, 0.5, 0.8, 0.95, 0.99999):
        with mp.workdps(30):
            inside, k = chance(law, 0), 0
            for k in count():
                inside += 2 * chance(law, k) if k else 0
                if inside >= probability:
                    break
        quantile = find_quantile(law, probability)
        assert quantile == pytest.approx(0.7 * k / cells, rel=1e-14)


def test_scaled() -> None:
    law = _law(4, 2, "0.5")
    twice = law.scaled(2)
    assert twice == Geometric(scale="1.4", cells=4, core=2, decay="0.5")
    assert twice.variance == pytest.approx(4 * law.variance)


@pytest.mark.parametrize(
    "wrong",
    [{"cells": 0}, {"cells": 2**53 + 1}, {"cells": "2"}, {"core": 0}, {"core": 3}, {"core": 1.0},
     {"decay": 0}, {"decay": "1e7"}, {"dimension": 2}],
)  # fmt: skip
def test_refuses_what_is_no_law(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InvalidArgument, match=name):
        Geometric(**{"scale": 1, "cells": 2, "core": 1, "decay": 1} | wrong)


def test_the_staircase_has_the_mass_of_each_point_on_its_cell() -> None:
    law = _law(4, 2, "0.5")
    assert law.staircase.gamma == Fraction(3, 8)
    pitch = 0.7 / 4
    inner = law.staircase.log_density((np.arange(20)[:, None] + 0.499) * pitch)
    outer = law.staircase.log_density((np.arange(20)[:, None] - 0.499) * pitch)
    here = law.log_density(np.arange(20)[:, None] * pitch) - math.log(pitch)
    assert inner == pytest.approx(here)
    assert outer == pytest.approx(here)
