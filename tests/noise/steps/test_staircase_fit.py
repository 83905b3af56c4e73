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
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.steps.fit import find_best_gamma
from leastnoise.noise.steps.law import Staircase

PROMISED = Fraction(1, 10**9)


def _certificate(
    epsilon: str,
    delta: str = "0",
    *,
    loss: Loss = Loss.MSE,
    bound: str = "1",
    fixed: dict[str, Fraction] | None = None,
) -> Certificate:
    return calibrate_family(
        Staircase,
        Question(
            budget=Budget(epsilon=epsilon, delta=delta),
            sensitivities=(L2(bound),),
            loss=loss,
            fixed=fixed or {},
        ),
    ).certificate


# Least E|X| and least E X² for sensitivity 1: the closed forms of Geng & Viswanath (2014),
# evaluated elsewhere to 1e-13 and checked numerically.
@pytest.mark.parametrize(
    ("epsilon", "mae", "mse"),
    [
        ("0.1", 9.9958345482908, 199.91668056106),
        ("0.5", 1.979317581651, 7.9170172153663),
        ("1", 0.95951737566747, 1.9181035312355),
        ("2", 0.42545906411966, 0.42273284904655),
        ("5", 0.082641834927548, 0.029711024136373),
        ("10", 0.0067382529152945, 0.00084721017697886),
    ],
)
def test_reference_losses(epsilon: str, mae: float, mse: float) -> None:
    assert _certificate(epsilon, loss=Loss.MAE).noise.mae == pytest.approx(mae, rel=2e-13)
    assert _certificate(epsilon, loss=Loss.MSE).noise.mse == pytest.approx(mse, rel=2e-13)


@pytest.mark.parametrize("loss", list(Loss))
@pytest.mark.parametrize("decay", [1e-9, 1e-4, 0.3, 0.9999, 1.0001, 4.0, 30.0])
def test_gamma_is_the_minimum(loss: Loss, decay: float) -> None:
    """No other γ has less loss, and the two formulas for E X² meet at decay = 1."""
    gamma = find_best_gamma(decay, loss)
    best = loss.of(Staircase(scale=1, gamma=gamma, decay=decay))
    for factor in (0.5, 0.9, 0.999, 1.001, 1.1, 1.6):
        other = Staircase(scale=1, gamma=gamma * Fraction(factor), decay=decay)
        assert loss.of(other) >= best * (1 - 1e-14)
    if decay < 1e-3:
        assert float(gamma) == pytest.approx(0.5, rel=decay)


@pytest.mark.dense
@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.floats(-20, 11).map(math.exp),
    st.sampled_from(list(Loss)),
    st.sampled_from(["1", "0.3", "1/7"]),
)
def test_purely_private_at_its_own_epsilon_and_at_no_less(
    epsilon: float, loss: Loss, bound: str
) -> None:
    certificate = _certificate(repr(epsilon), loss=loss, bound=bound)
    assert (certificate.delta.lower, certificate.delta.upper) == (0, 0)
    law, shift = certificate.noise, L2(Fraction(bound))
    assert law.scale == shift.bound
    smaller = law.scaled(1 - PROMISED)
    assert prove_delta(smaller, shift, Fraction(repr(epsilon))).certainly_above(Fraction(0))
    assert loss.of(law) > 0


def test_a_positive_delta_is_left_unspent() -> None:
    assert _certificate("1", "0.1").noise == _certificate("1").noise


def test_gamma_can_be_set() -> None:
    law = _certificate("1", fixed={"gamma": Fraction(1, 3)}).noise
    assert law.parameters == {"gamma": Fraction(1, 3), "decay": Fraction(1)}


def test_another_decay_gets_the_least_scale() -> None:
    pure = _certificate("1", fixed={"decay": Fraction("0.3")}).noise
    assert pure.scale == Fraction(1, 3)  # three steps of .3 fit in 1
    for fixed in ({"decay": Fraction(2)}, {"decay": Fraction("0.3"), "gamma": Fraction(1, 2)}):
        law = _certificate("1", "1e-3", fixed=fixed).noise
        assert fixed.items() <= law.parameters.items()
        smaller = law.scaled(1 - PROMISED)
        assert prove_delta(smaller, L2(1), Fraction(1)).certainly_above(Fraction(1, 1000))
    noise = _certificate("1", "1e-3", fixed={"decay": Fraction(2)}).noise
    for gamma in np.linspace(0.05, 1, 20):
        fixed = {"decay": Fraction(2), "gamma": Fraction(gamma)}
        assert noise.mse <= _certificate("1", "1e-3", fixed=fixed).noise.mse * (1 + 1e-9)


def test_refusals() -> None:
    with pytest.raises(NotApplicable, match="which is 0"):
        _certificate("0", "0.01")
    with pytest.raises(NotApplicable, match="decay above epsilon"):
        _certificate("1", fixed={"decay": Fraction(2)})
    with pytest.raises(NotApplicable, match="one number"):
        calibrate_family(
            Staircase, Question(budget=Budget(epsilon=1), sensitivities=(L2(1),), dimension=2)
        )
