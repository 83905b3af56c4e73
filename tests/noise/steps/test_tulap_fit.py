from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.question import Question
from leastnoise.noise.steps.law import Tulap
from tests.scalar import plain_delta

PROMISED = Fraction(1, 10**9)


def _certificate(epsilon: str, delta: str, *, bound: str = "1", **fixed: Fraction) -> Certificate:
    return calibrate_family(
        Tulap,
        Question(
            budget=Budget(epsilon=epsilon, delta=delta), sensitivities=(L2(bound),), fixed=fixed
        ),
    ).certificate


def _law(epsilon: str, delta: str) -> Tulap:
    law = _certificate(epsilon, delta).noise
    assert isinstance(law, Tulap)
    return law


# E|X| and E X² for sensitivity 1, computed elsewhere to 1e-13 and checked numerically.
@pytest.mark.parametrize(
    ("epsilon", "delta", "mae", "mse"),
    [
        ("0.1", "1e-4", 9.8766662185945, 190.06553416898),
        ("0.5", "1e-4", 1.9752799011721, 7.8183974106124),
        ("1", "1e-4", 0.96539328303784, 1.9130957841648),
        ("1", "0.1", 0.70443790531819, 0.82620603025196),
        ("2", "1e-4", 0.46595745183687, 0.4443782376946),
        ("5", "0.01", 0.25991622700427, 0.096532364368629),
        ("10", "1e-6", 0.25006810072196, 0.08342414088252),
    ],
)
def test_reference_losses(epsilon: str, delta: str, mae: float, mse: float) -> None:
    law = _law(epsilon, delta)
    assert law.mae == pytest.approx(mae, rel=2e-13)
    assert law.mse == pytest.approx(mse, rel=2e-13)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-3"), ("0.2", "0.3"), ("3", "0.8")])
def test_the_law_is_that_of_the_definition(epsilon: str, delta: str) -> None:
    """The central 1 − q of discrete Laplace plus uniform, q as Awan & Slavković (2020) have it."""
    law = _law(epsilon, delta)
    with mp.workdps(30):
        b, d = mp.exp(-mp.mpf(epsilon)), mp.mpf(delta)
        q = 2 * d * b / (1 - b + 2 * d * b)

        def height(x: float) -> mp.mpf:
            return (1 - b) / (1 + b) * b ** round(abs(x)) / (1 - q)

        reach = float(law.radius)
        ends = [0, *(n + 0.5 for n in range(math.ceil(reach - 0.5))), reach]
        mass = sum(height((left + right) / 2) * (right - left) for left, right in pairwise(ends))
    assert float(2 * mass) == pytest.approx(1, rel=1e-12)
    for x in (0.0, 0.3, 0.51):
        if x < reach:
            assert math.exp(float(law.log_density(np.array([x])))) == pytest.approx(
                float(height(x)), rel=1e-12
            )


@settings(derandomize=True, max_examples=80, deadline=None)
@given(
    st.one_of(st.just(0.0), st.floats(-3, 4).map(math.exp)),
    st.one_of(st.floats(-7, -0.02).map(math.exp), st.floats(0.4, 0.999)),
    st.sampled_from(["1", "1/7"]),
)
def test_meets_delta_just_so(epsilon: float, delta: float, bound: str) -> None:
    """δ is met at the canonical radius, and exceeded at one 1e-9 smaller."""
    budget, shift = Budget(epsilon=epsilon, delta=delta), L2(Fraction(bound))
    certificate = _certificate(repr(epsilon), repr(delta), bound=bound)
    law = certificate.noise
    assert isinstance(law, Tulap)
    assert law.scale == shift.bound
    assert certificate.delta.certainly_at_most(budget.delta)
    smaller = Tulap(scale=law.scale, decay=law.decay, radius=law.radius * (1 - PROMISED))
    assert prove_delta(smaller, shift, budget.epsilon).certainly_above(budget.delta)


def test_a_small_budget_takes_many_steps() -> None:
    assert len(_law("0.01", "1e-9").steps.levels) > 1000


def test_no_shift_leaks_more() -> None:
    law = _law("1.3", "0.02")
    kinks = [0.0, *law.steps.float_edges[1:].tolist()]
    for v in np.linspace(0.05, 1, 20):
        assert plain_delta(law, v, 1.3, kinks) <= 0.02 * (1 + 1e-9)
    assert plain_delta(law, 1.0, 1.3, kinks) == pytest.approx(0.02, rel=1e-9)


@pytest.mark.parametrize(("radius", "decay"), [("3", "1"), ("3", "0.4"), ("0.4", "2")])
def test_at_a_fixed_radius_the_scale_is_the_least(radius: str, decay: str) -> None:
    fixed = {"radius": Fraction(radius), "decay": Fraction(decay)}
    law = _certificate("1", "1e-3", bound="1", **fixed).noise
    assert law.parameters == fixed
    smaller = law.scaled(1 - PROMISED)
    assert prove_delta(smaller, L2(1), Fraction(1)).certainly_above(Fraction(1, 1000))


def test_refusals() -> None:
    with pytest.raises(NotApplicable, match="delta=0"):
        _certificate("1", "0")
    with pytest.raises(NotApplicable, match="steps"):
        _certificate("1e-6", "1e-9")
    with pytest.raises(InvalidArgument, match="decay"):
        _certificate("1", "1e-3", decay=Fraction(1, 2))
    with pytest.raises(NotApplicable, match="one number"):
        calibrate_family(
            Tulap,
            Question(budget=Budget(epsilon=1, delta="1e-5"), sensitivities=(L2(1),), dimension=2),
        )
