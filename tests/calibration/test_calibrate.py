from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise import calibration
from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.errors import NotApplicable, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.noise.base import Noise
from leastnoise.noise.kernels.law import GaussianMixture
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named
from tests.problems import MINIMAL_SCALES, MinimalScale, fractions_of

PROMISED = Fraction(1, 10**9)  # relative excess over the exact minimum


def _scale(
    family: str, epsilon: str, delta: str, dimension: int = 1, *, bound: str = "1"
) -> Fraction:
    mechanism = calibrate_family(
        family_named(family),
        Question(
            budget=Budget(epsilon=epsilon, delta=delta),
            sensitivities=(L2(bound),),
            dimension=dimension,
        ),
    )
    return mechanism.certificate.noise.scale


@pytest.mark.parametrize("problem", MINIMAL_SCALES, ids=lambda problem: problem.name)
def test_reference_scales(problem: MinimalScale) -> None:
    exact = fractions_of(problem)
    result = _scale(problem.family, problem.epsilon, problem.delta, problem.dimension)
    slack = Fraction(problem.relative_error)
    assert exact["scale"] * (1 - slack) <= result <= exact["scale"] * (1 + PROMISED + slack)


def test_the_scale_is_proportional_to_the_sensitivity() -> None:
    for family, dimension in (("gaussian", 4), ("laplace", 1), ("l2", 4)):
        item = _scale(family, "0.7", "1e-6", dimension)
        many = _scale(family, "0.7", "1e-6", dimension, bound="12.5")
        assert abs(many / item / Fraction("12.5") - 1) < 1e-14


@pytest.mark.parametrize("family", ["laplace", "l2"])
def test_pure_budgets_get_the_inverse_epsilon(family: str) -> None:
    scale = _scale(family, "3", "0", dimension=1 if family == "laplace" else 9)
    assert 0 <= scale - Fraction(1, 3) < Fraction(1, 10**15)


def test_delta_zero_is_refused_for_a_gaussian() -> None:
    with pytest.raises(NotApplicable, match="delta=0"):
        _scale("gaussian", "1", "0")


def test_l1_sensitivity_serves_iid_laplace_on_vectors() -> None:
    mechanism = calibrate_family(
        family_named("laplace"),
        Question(budget=Budget(epsilon="1", delta="1e-5"), sensitivities=(L1(2),), dimension=50),
    )
    assert mechanism.certificate.noise.scale == pytest.approx(2 * 0.9999800002999953)


@pytest.mark.dense
@settings(derandomize=True, max_examples=120, deadline=None)
@given(
    st.sampled_from(["gaussian", "l2", "laplace"]),
    st.sampled_from([2, 3, 6, 33, 400, 10**5]),
    st.one_of(st.just(0.0), st.floats(-9, 5).map(math.exp)),
    st.floats(-69, -0.02).map(math.exp),
)
def test_private_side_and_within_the_promise(
    family: str, dimension: int, epsilon: float, delta: float
) -> None:
    """δ is proved met at the found scale, and proved broken a promised step below it."""
    d = 1 if family == "laplace" else dimension
    budget = Budget(epsilon=epsilon, delta=delta)
    noise = calibrate_family(
        family_named(family), Question(budget=budget, sensitivities=(L2(1),), dimension=d)
    ).certificate.noise
    assert prove_delta(noise, L2(1), budget.epsilon).certainly_at_most(budget.delta)
    smaller = noise.scaled(1 - PROMISED)
    assert prove_delta(smaller, L2(1), budget.epsilon).certainly_above(budget.delta)


@pytest.mark.parametrize(("rest", "answered"), [("1.5e-12", True), ("0.5e-12", False)])
def test_a_delta_next_to_1_is_refused(rest: str, *, answered: bool) -> None:
    budget = Budget(epsilon=1, delta=1 - Fraction(rest))
    asked = Question(budget=budget, sensitivities=(L2(1),), dimension=1)
    if answered:
        assert calibrate_family(family_named("laplace"), asked).certificate.noise.name == "laplace"
        return
    with pytest.raises(NotApplicable, match="protects nobody"):
        calibrate_family(family_named("laplace"), asked)


@pytest.mark.parametrize(("delta", "most"), [("1e-6", 1e-9), ("9e-7", 4e-6)])
def test_only_below_a_millionth_a_mixture_is_widened_by_more(
    delta: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing proof is tried up to 1e-9 beyond the scale found; beyond it, below a millionth."""
    tried: list[float] = []

    def fail(_question: Question, noise: Noise) -> None:
        tried.append(noise.scale)
        raise NotCertified(interval=None, why="a test")

    monkeypatch.setattr(calibration, "prove_answer", fail)
    law = GaussianMixture(scale="0.5", modes=1, spacing=2, decay="0.5")
    question = Question(budget=Budget(epsilon=1, delta=delta))
    with pytest.raises(NotCertified):
        calibrate_family(GaussianMixture, question, search=lambda _: law)
    assert 0.5 * most <= max(tried) / min(tried) - 1 <= 1.5 * most
