from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.classic.law import FlippedHuber, Gaussian, Laplace
from leastnoise.noise.question import Loss, Question

PROMISED = Fraction(1, 10**5)


def _certificate(
    epsilon: str,
    delta: str,
    *,
    loss: Loss = Loss.MSE,
    bound: str = "1",
    fixed: dict[str, Fraction] | None = None,
) -> Certificate:
    return calibrate_family(
        FlippedHuber,
        Question(
            budget=Budget(epsilon=epsilon, delta=delta),
            sensitivities=(L2(bound),),
            loss=loss,
            fixed=fixed or {},
        ),
    ).certificate


def _law(
    epsilon: str,
    delta: str,
    *,
    loss: Loss = Loss.MSE,
    fixed: dict[str, Fraction] | None = None,
) -> FlippedHuber:
    law = _certificate(epsilon, delta, loss=loss, fixed=fixed).noise
    assert isinstance(law, FlippedHuber)
    return law


@pytest.mark.slow
@settings(derandomize=True, max_examples=12, deadline=None)
@given(
    st.one_of(st.just(0.0), st.floats(-5, 4).map(math.exp)),
    st.floats(-18, -0.1).map(math.exp),
    st.sampled_from(list(Loss)),
)
def test_private_side_within_the_promise_and_no_worse_than_its_limits(
    epsilon: float, delta: float, loss: Loss
) -> None:
    """δ is met, and not with 1e-5 less noise; the Gaussian and Laplace laws have no less loss."""
    budget = Budget(epsilon=epsilon, delta=delta)
    law = _certificate(repr(epsilon), repr(delta), loss=loss, bound="0.3").noise
    assert law.scale == Fraction("0.3")
    smaller = law.scaled(1 - PROMISED)
    assert prove_delta(smaller, L2("0.3"), budget.epsilon).certainly_above(budget.delta)
    for limit in (Gaussian, Laplace):
        other = calibrate_family(limit, Question(budget=budget, sensitivities=(L2("0.3"),)))
        assert loss.of(law) <= loss.of(other.certificate.noise) * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", list(Loss))
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-4"), ("0.3", "0.05"), ("5", "0.1")])
def test_no_other_corner_has_less_loss(epsilon: str, delta: str, loss: Loss) -> None:
    best = loss.of(_law(epsilon, delta, loss=loss))
    for corner in np.geomspace(0.05, 20, 30):
        shape = {"alpha": Fraction(corner), "gamma": Fraction(1)}
        assert best <= loss.of(_law(epsilon, delta, fixed=shape)) * (1 + 1e-8)


def test_one_parameter_can_be_set() -> None:
    best = _law("1", "1e-3", loss=Loss.MAE)
    for name, value in (("alpha", best.alpha * 6 / 5), ("gamma", best.gamma * 6 / 5)):
        law = _law("1", "1e-3", loss=Loss.MAE, fixed={name: value})
        assert law.parameters[name] == value
        assert best.mae < law.mae < best.mae * 1.05
        smaller = law.scaled(1 - PROMISED)
        assert prove_delta(smaller, L2(1), Fraction(1)).certainly_above(Fraction(1, 1000))


def test_refusals() -> None:
    with pytest.raises(NotApplicable, match="delta=0"):
        _certificate("1", "0")
    with pytest.raises(NotApplicable, match="gamma is too small"):
        _law("1", "1e-9", fixed={"gamma": Fraction(1, 100)})
    with pytest.raises(NotApplicable, match="one number"):
        calibrate_family(
            FlippedHuber,
            Question(budget=Budget(epsilon=1, delta="1e-5"), sensitivities=(L2(1),), dimension=2),
        )
