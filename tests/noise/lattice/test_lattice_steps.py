"""δ of `optimal` noise in whole numbers, against the general sum over steps in balls."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.balls.core import precision
from leastnoise.noise.lattice import proof as lattice
from leastnoise.noise.lattice.law import Optimal
from leastnoise.noise.steps import proof as steps_proof

FALLING = Optimal(scale=1, cells=3, masses=(9, 8, 8, 5, 2, 1))
# two far bumps beside the one in the middle: a shorter shift can be worse than the longest
BUMPS = Optimal(scale=1, cells=4, masses=(9, 1, 0, 0, 7, 0, 0, 1, 3))


@pytest.mark.parametrize("law", [FALLING, BUMPS], ids=["falling", "bumps"])
@pytest.mark.parametrize("shift", ["1/7", "1/3", "1/2", "0.9", "1", "1.1", "2.4"])
@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "4"])
def test_agrees_with_the_sum_over_steps(law: Optimal, shift: str, epsilon: str) -> None:
    asked = {"shift": Fraction(shift), "epsilon": Fraction(epsilon)}
    with precision(128):
        whole, general = (
            lattice.step_delta_ball(law, **asked),
            steps_proof.step_delta_ball(law, **asked),
        )
    assert whole.overlaps(general)
    assert whole.rad() < 1e-30
    assert general.rad() < 1e-30
