"""The closed forms of theory/noise.md §2, against brute force and against the general step sum."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.common.law import Steps
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import part_of
from leastnoise.noise.steps import profile as steps_profile
from leastnoise.noise.steps.law import TruncatedStaircase


def _best(epsilon: str, delta: str, loss: Loss, **fixed: Fraction) -> TruncatedStaircase:
    question = Question(budget=Budget(epsilon=epsilon, delta=delta), loss=loss, fixed=fixed)
    law = part_of(TruncatedStaircase, "fit")(question)
    assert isinstance(law, TruncatedStaircase)
    return law


def test_reference_radius() -> None:
    """theory/noise.md §2: (ε, δ, γ) = (1, 1e-5, .37) has R = 11.2885450872 and TV .438906947636."""
    law = _best("1", "1e-5", Loss.MAE, gamma=Fraction("0.37"))
    assert float(law.radius) == pytest.approx(11.2885450872, rel=1e-11)
    at_zero = prove_delta(law, L2(1), Fraction(0)).interval
    assert at_zero.lower == pytest.approx(0.438906947636, rel=1e-11)


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "value"),
    [
        ("1", "1e-2", Loss.MAE, 0.90757697),  # theory/noise.md §2
        ("1", "1e-6", Loss.MAE, 0.95955),  # issue: the best known is within this
        ("0.1", "1e-6", Loss.MAE, 9.9938),
    ],
)
def test_reference_losses(epsilon: str, delta: str, loss: Loss, value: float) -> None:
    assert loss.of(_best(epsilon, delta, loss)) <= value * (1 + 1e-5)


def test_small_delta_tends_to_the_geng_viswanath_staircase() -> None:
    """min E|X| = e^{ε/2}/(e^ε − 1) at δ = 0, approached from below."""
    for epsilon in (0.5, 1.0, 3.0):
        limit = np.exp(epsilon / 2) / np.expm1(epsilon)
        loss = _best(str(epsilon), "1e-12", Loss.MAE).mean_abs
        assert limit * (1 - 1e-8) < loss < limit


def test_epsilon_zero_is_uniform() -> None:
    law = _best("0", "0.01", Loss.MSE)
    assert float(law.radius) == pytest.approx(50)
    assert law.variance == pytest.approx(50**2 / 3)


@pytest.mark.slow
@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.floats(0.01, 20).map(lambda x: f"{x:.6g}"),
    st.floats(-12, -0.01).map(lambda x: f"{10**x:.6g}"),
    st.sampled_from(list(Loss)),
)
def test_meets_delta_just_so_and_never_leaks(epsilon: str, delta: str, loss: Loss) -> None:
    """The found radius meets δ, a hair less doesn't, and no shift in [0, Δ] exceeds δ."""
    budget = Budget(epsilon=epsilon, delta=delta)
    certificate = calibrate_family(
        TruncatedStaircase, Question(budget=budget, sensitivities=(L2(1),), loss=loss)
    ).certificate
    law = certificate.noise
    assert isinstance(law, TruncatedStaircase)
    assert certificate.delta.lower >= float(budget.delta) * (1 - 1e-5) or law.mean_abs < 1e-3
    for shift in ("0.2", "0.5", "0.999", "1"):
        value = steps_profile.delta(law.steps, shift=Fraction(shift), epsilon=budget.epsilon)
        assert value <= float(budget.delta) * (1 + 1e-9)


@pytest.mark.dense
@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries(
        {"decay": st.floats(0.05, 5), "gamma": st.floats(0.05, 1), "radius": st.floats(0.1, 8)}
    ),
    st.floats(0.05, 1.7),
    st.floats(0, 6),
)
def test_step_delta_three_ways(law_of: dict[str, Any], shift: float, epsilon: float) -> None:
    """The float sum, the ball and a plain Riemann sum agree for any shift and any ε."""
    law = TruncatedStaircase(scale=1, **law_of)
    exact_epsilon = Fraction(repr(epsilon))
    value = steps_profile.delta(law.steps, shift=Fraction(repr(shift)), epsilon=exact_epsilon)
    interval = prove_delta(law, L2(shift), exact_epsilon).interval
    assert interval.lower * (1 - 1e-12) <= value <= interval.upper * (1 + 1e-12) + 1e-300
    reach = law_of["radius"] + shift + 1
    x = np.linspace(-reach, reach, 200_001)[:, None]
    here, there = np.exp(law.log_density(x)), np.exp(law.log_density(x - shift))
    gap = np.maximum(here - np.exp(epsilon) * there, 0)
    assert value == pytest.approx(float(gap.sum() * (x[1, 0] - x[0, 0])), abs=2e-3)


def test_a_rising_density_is_not_taken_for_one_that_falls() -> None:
    """Three separate bumps: H(1) = 1/3 but H(½) = 1 (theory/noise.md §1c)."""
    edges = tuple(map(Fraction, ("0", "0.1", "0.9", "1.1")))
    steps = Steps(
        edges=edges,
        weights=(Fraction(1), Fraction(0), Fraction(1)),
        levels=(0, 0, 0),
        decay=Fraction(0),
    )
    assert not steps.falls
    assert steps_profile.delta(steps, shift=Fraction(1), epsilon=Fraction(0)) == pytest.approx(1)


def test_refusals() -> None:
    with pytest.raises(NotApplicable, match="one number"):
        calibrate_family(
            TruncatedStaircase,
            Question(budget=Budget(epsilon=1, delta="1e-5"), sensitivities=(L2(1),), dimension=2),
        )
    with pytest.raises(NotApplicable, match="delta=0"):
        calibrate_family(
            TruncatedStaircase, Question(budget=Budget(epsilon=1), sensitivities=(L2(1),))
        )
    with pytest.raises(Refused, match="radius"):
        _best("1e-6", "1e-9", Loss.MSE)
