"""Importances of queries that share one budget, and baselines of standard noise."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

import leastnoise as ln
from leastnoise.guarantees.budget import Budget
from leastnoise.tables.noise.joint_scaling import scale_jointly
from tests.tables.unlisted import planned


def gaussian(epsilon: float, delta: float) -> float:
    """Return σ of Balle & Wang (2018), Theorem 8, for an l2 norm of 1."""

    def excess(sigma: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return float(ndtr(a - b) - math.exp(epsilon) * ndtr(-a - b)) - delta

    return float(brentq(excess, 0.1, 100))  # pyright: ignore[reportArgumentType]


def test_noise_together_has_precisions_as_importances_are() -> None:
    """Σ share·ln(variance) is least where 1/variance is by share: not at one factor for all."""
    budget, shares = Budget(epsilon=1, delta="1e-6"), (Fraction(4, 5), Fraction(1, 5))
    offers = [
        (
            ln.calibrate(
                "gaussian",
                epsilon=budget.epsilon * share,
                delta=budget.delta * share,
                sensitivity=ln.L2(1),
            ),
        )
        for share in shares
    ]
    scaled = scale_jointly(budget, offers)
    assert scaled is not None
    first, second = (mechanism.mse for mechanism in scaled[0])
    assert second / first == pytest.approx(4, rel=0.01)
    assert 1 / first + 1 / second == pytest.approx(gaussian(1, 1e-6) ** -2, rel=1e-3)


@pytest.mark.parametrize(("neighbours", "units"), [("add-remove", 1), ("replace-one", 2)])
@pytest.mark.parametrize("groups", [1, 3])
def test_plain_gaussian_noise_of_groups_that_nobody_listed(
    neighbours: str, units: int, groups: int
) -> None:
    limits = {"max_groups": groups, "max_rows_per_group": 1}
    (part,) = planned(contribution=limits, privacy={"neighbours": neighbours}).noisy_parts
    wanted = gaussian(1, 1e-5) * math.sqrt(units * groups)
    assert part.errors[0].plain_gaussian_std == pytest.approx(wanted, rel=1e-6)
