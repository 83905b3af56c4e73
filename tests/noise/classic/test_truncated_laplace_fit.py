from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.classic.law import TruncatedLaplace
from leastnoise.noise.question import Question

PROMISED = Fraction(1, 10**9)


def _certificate(epsilon: str, delta: str, *, bound: str = "1", **fixed: Fraction) -> Certificate:
    return calibrate_family(
        TruncatedLaplace,
        Question(
            budget=Budget(epsilon=epsilon, delta=delta), sensitivities=(L2(bound),), fixed=fixed
        ),
    ).certificate


# E|X| and E X² for sensitivity 1: the closed forms of Geng, Ding, Guo & Kumar (2020), evaluated
# elsewhere to 1e-13 and checked numerically.
@pytest.mark.parametrize(
    ("epsilon", "delta", "mae", "mse"),
    [
        ("0.1", "1e-6", 9.9979328479523, 199.73395310915),
        ("0.1", "0.1", 1.9644204316924, 5.3336942982365),
        ("0.5", "0.01", 1.7835967326772, 5.6153939407741),
        ("1", "0.1", 0.7368455186603, 0.8787335396083),
        ("2", "1e-4", 0.49983766285855, 0.49899579778089),
        ("5", "1e-6", 0.199999950844, 0.079999802239493),
        ("10", "0.1", 0.099989458201066, 0.019985653242481),
    ],
)
def test_reference_losses(epsilon: str, delta: str, mae: float, mse: float) -> None:
    law = _certificate(epsilon, delta).noise
    assert law.scale == 1 / Fraction(epsilon)
    assert law.mae == pytest.approx(mae, rel=2e-13)
    assert law.mse == pytest.approx(mse, rel=2e-13)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    st.floats(-9, 6).map(math.exp),
    st.one_of(st.floats(-60, -0.02).map(math.exp), st.floats(0.4, 0.999)),
    st.sampled_from(["1", "0.3", "1/7"]),
)
def test_private_side_and_within_the_promise(epsilon: float, delta: float, bound: str) -> None:
    """δ is proved met by the found law, and proved broken with 1e-9 less noise or range."""
    budget, shift = Budget(epsilon=epsilon, delta=delta), L2(Fraction(bound))
    law = _certificate(repr(epsilon), repr(delta), bound=bound).noise
    assert isinstance(law, TruncatedLaplace)
    assert law.scale * budget.epsilon >= shift.bound
    tighter = TruncatedLaplace(scale=law.scale, radius=law.radius * (1 - PROMISED))
    for smaller in (law.scaled(1 - PROMISED), tighter):
        assert prove_delta(smaller, shift, budget.epsilon).certainly_above(budget.delta)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.one_of(st.just(0.0), st.floats(-6, 4).map(math.exp)),
    st.floats(-20, -0.02).map(math.exp),
    st.floats(-5, 5).map(math.exp),
)
def test_at_a_fixed_radius_the_scale_is_the_least(
    epsilon: float, delta: float, radius: float
) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    law = _certificate(repr(epsilon), repr(delta), radius=Fraction(repr(radius))).noise
    assert law.parameters == {"radius": Fraction(repr(radius))}
    smaller = law.scaled(1 - PROMISED)
    assert prove_delta(smaller, L2(1), budget.epsilon).certainly_above(budget.delta)


def test_refusals() -> None:
    with pytest.raises(NotApplicable, match="epsilon > 0"):
        _certificate("0", "0.01")
    with pytest.raises(NotApplicable, match="delta=0"):
        _certificate("1", "0")
    with pytest.raises(NotApplicable, match="one number"):
        calibrate_family(
            TruncatedLaplace,
            Question(budget=Budget(epsilon=1, delta="1e-5"), sensitivities=(L2(1),), dimension=2),
        )
