from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.lattice.law import DiscreteStaircase, Lattice, Optimal

MASSES = (5, 3, 4, 0, 1)


def test_probabilities_add_up_and_have_the_stated_moments() -> None:
    law = DiscreteStaircase(scale="1.4", cells=2, masses=MASSES)
    places = np.arange(-5, 6) * 0.7
    chances = np.exp(law.log_density(places[:, None]))
    assert chances.sum() == pytest.approx(1)
    assert chances @ np.abs(places) == pytest.approx(law.mean_abs)
    assert chances @ places**2 == pytest.approx(law.variance)
    assert law.log_density([0.35]) == -math.inf  # between lattice points
    twice = law.scaled(2)
    assert twice.log_density(2 * places[:, None]) == pytest.approx(law.log_density(places[:, None]))
    assert twice.mean_abs == pytest.approx(2 * law.mean_abs)


def test_the_spread_adds_its_own_error() -> None:
    """Even steps of width h add h/4 times P(K = 0) to E|X| and h²/12 to the variance."""
    points = DiscreteStaircase(scale=3, cells=6, masses=MASSES)
    spread = Optimal(scale=3, cells=6, masses=MASSES)
    assert spread.mean_abs - points.mean_abs == pytest.approx(0.5 / 4 * 5 / 21)
    assert spread.variance - points.variance == pytest.approx(0.25 / 12)


@pytest.mark.parametrize(
    "wrong",
    [{"cells": 0}, {"cells": 10**6}, {"cells": "1.5"}, {"masses": ()}, {"masses": (0, 1)},
     {"masses": (1, -1)}, {"masses": (1 << 30_000,)}, {"masses": ("0.5",)}],
)  # fmt: skip
def test_refuses_what_is_no_law(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"cells|masses"):
        Lattice(**{"cells": 2, "masses": MASSES} | wrong)
