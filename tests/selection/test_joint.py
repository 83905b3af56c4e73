"""Noise of several kinds at one budget: against formulas and sums, and 1 % less noise fails."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import leastnoise as ln
from leastnoise.certificate.plan import COMPOSED, RULE, PlanCertificate
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.sensitivity import Integer
from leastnoise.mechanism.mechanism import Mechanism

WEEKLY = ln.calibrate("laplace", epsilon="0.1", sensitivity=ln.L1(1))
YEARLY = ln.calibrate("gaussian", epsilon=1, delta="1e-6", sensitivity=ln.L2(3), dimension=4)
MONTHLY = ln.calibrate("l2", epsilon="0.2", delta="1e-7", sensitivity=ln.L2(2), dimension=5)


def test_gaussians_get_the_scale_of_one_gaussian() -> None:
    # Σ k(Δ/σ)² is that of the one Gaussian that the budget allows
    joint = ln.calibrate_jointly([(YEARLY, 3), (YEARLY, 4)], epsilon=1, delta="1e-6")
    assert joint.factor == pytest.approx(math.sqrt(7), rel=1e-6)
    assert joint.factor >= math.sqrt(7) * (1 - 1e-9)


@pytest.mark.slow
def test_the_whole_meets_the_budget_and_half_a_per_cent_less_does_not() -> None:
    plan = [(WEEKLY, 20), (YEARLY, 2), (MONTHLY, 5)]
    joint = ln.calibrate_jointly(plan, epsilon=2, delta="1e-6")
    assert joint.certificate.rule == COMPOSED
    assert joint.certificate.verify().upper <= 1e-6
    assert PlanCertificate.from_json(joint.certificate.to_json()).verify().upper <= 1e-6
    ratios = [
        float(new.noise.scale / old.noise.scale)
        for new, (old, _) in zip(joint.mechanisms, plan, strict=True)
    ]
    assert ratios == pytest.approx([joint.factor] * 3, rel=1e-12)
    assert [mechanism.certificate.compositions for mechanism in joint.mechanisms] == [20, 2, 5]
    tighter = [
        (_scaled(new, Fraction("0.995")), count)
        for new, (_, count) in zip(joint.mechanisms, plan, strict=True)
    ]
    assert ln.compose(tighter).delta(epsilon=2).lower > 1e-6


def _scaled(mechanism: Mechanism, factor: Fraction) -> Mechanism:
    certificate = mechanism.certificate
    return Mechanism(
        ln.Certificate.prove(
            budget=ln.Budget(epsilon=50, delta="0.1"),
            noise=certificate.noise.scaled(factor),
            sensitivity=certificate.sensitivity,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        "cactus",
        pytest.param("flipped-huber", marks=pytest.mark.slow),
        pytest.param("gaussian-mixture", marks=pytest.mark.slow),
        "quasi-gaussian",
        "truncated-laplace",
    ],
)
def test_noise_with_parameters_keeps_them(noise: str) -> None:
    shaped = ln.calibrate(noise, epsilon=1, delta="1e-6", sensitivity=ln.L2(2))
    joint = ln.calibrate_jointly([(WEEKLY, 10), (shaped, 3)], epsilon=2, delta="1e-5")
    assert 0.9999e-5 < joint.certificate.verify().upper <= 1e-5
    law = joint.mechanisms[1].noise
    assert float(law.scale / shaped.noise.scale) == pytest.approx(joint.factor, rel=1e-12)
    assert law == shaped.noise.scaled(law.scale / shaped.noise.scale)
    first, second = (_scaled(mechanism, Fraction("0.97")) for mechanism in joint.mechanisms)
    tighter = [(first, 10), (second, 3)]
    assert ln.compose(tighter).delta(epsilon=2).lower > 1e-5


@pytest.mark.dense
def test_each_part_is_worth_less_than_the_whole() -> None:
    joint = ln.calibrate_jointly([(WEEKLY, 20), (MONTHLY, 5)], epsilon=1, delta="1e-6")
    alone = [mechanism.certificate for mechanism in joint.mechanisms]
    assert all(
        0 < item.budget.epsilon < 1 and item.budget.delta == Fraction("1e-6") for item in alone
    )
    assert sum(item.budget.epsilon for item in alone) > 1  # which basic composition would charge


def test_pure_budgets_are_shared_out_exactly() -> None:
    wide = ln.calibrate("laplace", epsilon="0.4", sensitivity=ln.L1(2))
    ball = ln.calibrate("l2", epsilon="0.3", sensitivity=ln.L2(1), dimension=3)
    joint = ln.calibrate_jointly([(wide, 1), (WEEKLY, 3), (ball, 2)], epsilon="0.5")
    assert joint.certificate.rule == RULE
    assert sum(mechanism.certificate.budget.epsilon for mechanism in joint.mechanisms) == Fraction(
        "0.5"
    )
    assert joint.factor == pytest.approx(1.3 / 0.5, rel=1e-8)  # Σε of all draws over ε
    assert joint.certificate.verify().upper == 0


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_each_part_keeps_the_neighbours_that_were_stated(delta: str) -> None:
    stated = Mechanism(WEEKLY.certificate.about("replace-one"))
    joint = ln.calibrate_jointly([(stated, 3), (stated, 1)], epsilon=1, delta=delta)
    assert joint.certificate.neighbours == "replace-one"
    assert all(mechanism.certificate.neighbours == "replace-one" for mechanism in joint.mechanisms)
    read = PlanCertificate.from_json(joint.certificate.to_json())
    assert read.neighbours == "replace-one"
    assert read.verify().upper <= float(delta)
    other = Mechanism(WEEKLY.certificate.about("add-remove"))
    with pytest.raises(NotApplicable, match="added or removed"):
        ln.compose([(joint.mechanisms[0], 1), (other, 1)])


@pytest.mark.dense
def test_what_cannot_be_scaled_together_is_refused() -> None:
    record = {"epsilon": 1, "delta": "1e-5"}
    for noise, sensitivity, why in (
        ("discrete-staircase", Integer(1), "whole numbers"),
        ("truncated-staircase", ln.L2(1), "largest privacy loss"),
        ("tulap", ln.L2(1), "largest privacy loss"),
        ("generalized-gamma", ln.L2(1), "seconds to prove"),
    ):
        shaped = ln.calibrate(noise, sensitivity=sensitivity, **record)
        with pytest.raises(NotApplicable, match=why):
            ln.calibrate_jointly([(WEEKLY, 2), (shaped, 1)], **record)
    sampled = ln.calibrate("gaussian", sensitivity=ln.L2(1), sampling_rate="0.1", **record)
    with pytest.raises(NotApplicable, match="sample of the rows"):
        ln.calibrate_jointly([(WEEKLY, 2), (sampled, 1)], **record)
    pure = ln.calibrate("staircase", epsilon=1, sensitivity=ln.L2(1))
    with pytest.raises(NotApplicable, match="budgets add up"):
        ln.calibrate_jointly([(WEEKLY, 2), (pure, 1)], epsilon=1)
    with pytest.raises(NotApplicable, match="delta=0 is impossible"):
        ln.calibrate_jointly([(YEARLY, 1), (WEEKLY, 1)], epsilon=1)
    for counts in ([], [(WEEKLY, 0)], [(WEEKLY, True)]):
        with pytest.raises(InvalidArgument, match=r"at least one|compositions >= 1"):
            ln.calibrate_jointly(counts, epsilon=1, delta="1e-5")
