from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument
from leastnoise.noise.trees.law import MOST_CELLS, Agreeing
from tests.noise.trees.oracle import enumerated

SMALL = Agreeing(scale="0.4", branches=(2, 2), shares=("0.2", "0.1", "0.7"))


@pytest.mark.dense
def test_the_density_is_that_of_the_weights() -> None:
    points, chances = enumerated(SMALL, 9)
    logs = SMALL.log_density(points)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-5)
    assert logs == pytest.approx(np.log(chances), abs=1e-5)  # less what is beyond 9
    assert SMALL.log_density([0.5, 0, 0, 0]) == -math.inf
    assert SMALL.log_density(np.zeros((2, 3, 4))).shape == (2, 3)


def test_the_moments_are_those_of_the_cells() -> None:
    points, chances = enumerated(SMALL, 9)
    assert SMALL.variance == pytest.approx(chances @ points[:, 0] ** 2, rel=1e-4)
    assert SMALL.mean_abs == pytest.approx(chances @ np.abs(points[:, 3]), rel=1e-4)
    assert SMALL.variances.tolist() == [SMALL.variance] * 4
    assert SMALL.mse == pytest.approx(4 * SMALL.variance)


def test_without_other_shares_it_is_geometric_noise() -> None:
    law = Agreeing(scale=2, branches=(5,), shares=(0, 1))
    geometric: Any = ln.noise.Geometric(scale=1, cells=1, core=1, decay="0.5")
    assert law.variance == pytest.approx(geometric.variance, rel=1e-12)
    assert law.mean_abs == pytest.approx(geometric.mean_abs, rel=1e-12)
    points = [[0], [1], [-3]]
    alone = Agreeing(scale=2, branches=(1,), shares=(0, 1))
    assert alone.log_density(points) == pytest.approx(geometric.log_density(points))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"branches": ()}, "branches"),
        ({"branches": (0, 3)}, "branches"),
        ({"branches": (2,) * 13, "shares": ("0.05",) * 14}, "branches"),
        ({"branches": (MOST_CELLS, 2)}, "branches"),
        ({"branches": (MOST_CELLS,) * 5000}, "branches"),
        ({"shares": ("0.5", "0.5")}, "shares"),
        ({"shares": ("0.2", "0.3", "0.5000001")}, "shares"),
        ({"shares": ("0.2", "-0.3", "0.5")}, "shares"),
        ({"shares": ("0.5", "0.5", 0)}, "shares"),
        ({"shares": ("0.5", "1e-12", "0.4")}, "shares"),
        ({"scale": 0}, "scale"),
    ],
)
def test_what_is_no_such_law_is_refused(changed: dict[str, Any], named: str) -> None:
    shape: dict[str, Any] = {"scale": 1, "branches": (2, 3), "shares": ("0.2", "0.3", "0.5")}
    with pytest.raises(InvalidArgument, match=named):
        Agreeing(**shape | changed)


def test_a_tenth_is_a_tenth() -> None:
    """An optimiser's floats may sum to more than 1; their decimals are what is meant."""
    assert sum(Agreeing(scale=1, branches=(2, 3), shares=(0.1, 0.2, 0.7)).shares) == 1
