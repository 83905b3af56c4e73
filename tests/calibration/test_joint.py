"""Scales of noise for several queries with one budget: against formulas, and each query alone."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy.optimize import root_scalar
from scipy.stats import norm

from leastnoise.calibration import find_joint_factor, is_scalable, rescale
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.errors import NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.selection.public import calibrate

BUDGET = Budget(epsilon=1, delta="1e-6")
SHARES = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))


def share_draw(name: str, shares: tuple[Fraction, ...] = SHARES) -> list[Certificate]:
    return [
        calibrate(
            name,
            epsilon=BUDGET.epsilon * share,
            delta=BUDGET.delta * share,
            sensitivity=L2(index + 1),
            dimension=3,
        ).certificate
        for index, share in enumerate(shares)
    ]


def test_gaussians_meet_the_budget_by_the_exact_formula() -> None:
    def log_delta(mu: float) -> float:
        delta = norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)
        return math.log(delta / 1e-6)

    alone = share_draw("gaussian")
    ratios = [(index + 1) / float(mechanism.noise.scale) for index, mechanism in enumerate(alone)]
    exact = math.hypot(*ratios) / root_scalar(log_delta, bracket=(0.05, 1.0)).root
    assert exact == pytest.approx(find_joint_factor(alone, BUDGET), rel=3e-4)
    assert find_joint_factor(alone, BUDGET) >= exact * (1 - 1e-12)
    assert exact < 0.75


@pytest.mark.dense
def test_alike_queries_get_what_calibration_for_as_many_finds() -> None:
    together = calibrate(
        "l2", epsilon=1, delta="1e-6", sensitivity=L2(1), dimension=3, compositions=3
    )
    mechanism = calibrate(
        "l2", epsilon=Fraction(1, 3), delta=Fraction(1, 3 * 10**6), sensitivity=L2(1), dimension=3
    )
    factor = find_joint_factor([mechanism.certificate] * 3, BUDGET)
    wanted = float(together.noise.scale / mechanism.noise.scale)
    assert wanted <= factor * (1 + 1e-6)
    assert factor == pytest.approx(wanted, rel=1e-3)


@pytest.mark.dense
def test_the_scaled_noise_is_proved_together_and_one_percent_less_is_not() -> None:
    alone = share_draw("l2")
    factor = find_joint_factor(alone, BUDGET)
    for further, proved in ((1.0, True), (0.99, False)):
        draws = tuple(
            (str(index), rescale(item, factor * further)) for index, item in enumerate(alone)
        )
        if proved:
            assert PlanCertificate.prove(budget=BUDGET, draws=draws).rule == COMPOSED
        else:
            with pytest.raises(NotCertified, match="Together their delta"):
                PlanCertificate.prove(budget=BUDGET, draws=draws)


@pytest.mark.parametrize("name", ["gaussian", "l2"])
def test_a_scaled_certificate_states_what_the_noise_is_worth_alone(name: str) -> None:
    (alone,) = share_draw(name, (Fraction(1, 2),))
    moved = rescale(alone, 0.8)
    assert float(moved.noise.scale) == pytest.approx(0.8 * float(alone.noise.scale), rel=1e-12)
    assert moved.budget.delta == alone.budget.delta
    assert moved.budget.epsilon > alone.budget.epsilon * Fraction("1.1")
    moved.verify()
    with pytest.raises(NotCertified):
        Certificate.prove(
            budget=Budget(
                epsilon=moved.budget.epsilon * Fraction("0.9999"), delta=moved.budget.delta
            ),
            noise=moved.noise,
            sensitivity=moved.sensitivity,
        )


@pytest.mark.dense
def test_a_budget_that_no_lattice_resolves_is_met_by_the_largest_losses() -> None:
    tiny = Budget(epsilon=1, delta=Fraction(1, 10**60))
    alone = [
        calibrate("l2", epsilon="0.5", delta=tiny.delta / 2, sensitivity=L2(1), dimension=2)
    ] * 2
    assert 1 <= find_joint_factor([mechanism.certificate for mechanism in alone], tiny) <= 1 + 1e-3


@pytest.mark.slow
def test_only_noise_that_is_a_scale_alone_is_scaled() -> None:
    whole = calibrate(
        "discrete-staircase", epsilon=1, delta="1e-6", sensitivity=Integer(1)
    ).certificate
    shaped = calibrate(
        "generalized-gamma", epsilon=1, delta="1e-6", sensitivity=L2(1), dimension=3
    ).certificate
    assert not is_scalable(whole)
    assert not is_scalable(shaped)
    assert all(is_scalable(item) for item in share_draw("l2"))
    sampled = calibrate("gaussian", epsilon=1, delta="1e-6", sensitivity=L2(1), sampling_rate="0.1")
    assert not is_scalable(sampled.certificate)
