"""Truncated staircases in a gauge: known losses, δ is used up, and no better one is near."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.balls.core import float_below, precision
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf
from leastnoise.noise.bodies.law.k_norm import TruncatedKStaircase
from leastnoise.noise.bodies.proof import truncated_delta_ball
from leastnoise.selection.public import calibrate

NAME = "truncated-k-staircase"


def law_of(sensitivity: Sensitivity, **asked: Any) -> TruncatedKStaircase:
    mechanism = calibrate(NAME, sensitivity=sensitivity, **asked)
    assert mechanism.certificate.delta.certainly_at_most(asked["delta"])
    assert isinstance(mechanism.noise, TruncatedKStaircase)
    return mechanism.noise


def leaks(law: TruncatedKStaircase, epsilon: str, delta: Fraction) -> bool:
    with precision(128):
        enclosure = truncated_delta_ball(law, shift=Fraction(1), epsilon=Fraction(epsilon))
        return Fraction(float_below(enclosure)) > delta


@pytest.mark.parametrize(
    ("sensitivity", "delta", "variance"),
    [
        (Linf(1, l0=2), "1e-2", 3.4949),  # theory/bodies.md §8: 6.99 in all, of 8
        (Linf(1, l0=2), "1e-3", 3.8852),
        (Linf(1, l0=3), "1e-2", 6.0048),
        (Linf(1, l0=3), "1e-3", 6.5482),
        (CountingQueries(dimension=3), "1e-2", 4.5036),
        (CountingQueries(dimension=3), "1e-3", 4.9111),
        (CountingQueries(dimension=5), "1e-2", 8.5965),
        (L1(1), "1e-2", 1.74744),
    ],
)
def test_known_variances(sensitivity: Sensitivity, delta: str, variance: float) -> None:
    d = sensitivity.coordinates or getattr(sensitivity, "l0", 2)
    law = law_of(sensitivity, epsilon="1", delta=delta, dimension=d)
    assert law.variance == pytest.approx(variance, rel=2e-5)
    assert law.scale == 1
    assert law.decay == 1


@settings(derandomize=True, max_examples=15, deadline=None)
@given(
    st.sampled_from([2, 3, 20, 200]),
    st.floats(0.05, 30).map(lambda x: f"{x:.6g}"),
    st.floats(-12, -0.05).map(lambda x: f"{10**x:.6g}"),
    st.sampled_from(["mse", "mae"]),
)
def test_meets_delta_just_so_and_never_leaks(
    dimension: int, epsilon: str, delta: str, loss: str
) -> None:
    """γ is set, so that a law without an end isn't preferred."""
    law = law_of(
        Linf(1, l0=dimension),
        epsilon=epsilon,
        delta=delta,
        dimension=dimension,
        loss=loss,
        parameters={"gamma": "0.6"},
    )
    assert not leaks(law, epsilon, Fraction(delta))
    shorter = TruncatedKStaircase(
        scale=1, body=law.body, gamma=law.gamma, radius=law.radius * (1 - Fraction(1, 10**6)),
        decay=law.decay,
    )  # fmt: skip
    assert leaks(shorter, epsilon, Fraction(delta) * (1 - Fraction(1, 10**9)))


@pytest.mark.grid
@pytest.mark.parametrize(("epsilon", "delta"), [("0.2", "1e-2"), ("1", "1e-3"), ("4", "5e-2")])
@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_gamma_is_the_best(epsilon: str, delta: str, loss: str) -> None:
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "dimension": 3, "loss": loss}
    best = calibrate(NAME, sensitivity=Linf(1, l0=3), **asked)
    for gamma in np.geomspace(0.01, 1, 25):
        parameters = {"gamma": f"{gamma:.6f}"}
        other = calibrate(NAME, sensitivity=Linf(1, l0=3), parameters=parameters, **asked)
        assert getattr(best, loss) <= getattr(other, loss) * (1 + 1e-6)


def test_more_budget_is_never_worse_and_no_end_is_the_limit() -> None:
    box, asked = Linf(1, l0=3), {"epsilon": "0.7", "dimension": 3}
    errors = [law_of(box, delta=delta, **asked).mse for delta in ("0.3", "1e-2", "1e-3", "1e-4")]
    pure = calibrate("k-staircase", sensitivity=box, **asked).mse
    assert errors == sorted(errors)
    assert 0.99 * pure < errors[-1] < pure
    with pytest.raises(NotApplicable, match="k-staircase has the same error"):
        calibrate(NAME, sensitivity=box, delta="1e-9", **asked)


def test_epsilon_zero_is_uniform() -> None:
    """δ = 1 − (1 − 1/2R)^D."""
    law = law_of(Linf(1, l0=3), epsilon="0", delta="0.01", dimension=3)
    assert law.decay == 0
    radius = 1 / (-2 * math.expm1(math.log1p(-0.01) / 3))
    assert float(law.radius) == pytest.approx(radius, rel=1e-10)
    assert law.variance == pytest.approx(radius**2 / 3, rel=1e-10)


def test_a_body_of_other_lengths_has_the_same_shape() -> None:
    law = law_of(Linf(1, l0=2), epsilon="1", delta="1e-2", dimension=2)
    two = law_of(Linf("2.5", l0=2), epsilon="1", delta="1e-2", dimension=2)
    assert (two.gamma, two.radius) == (law.gamma, law.radius)
    assert two.mse == pytest.approx(6.25 * law.mse)


def test_a_shape_may_be_set() -> None:
    asked: dict[str, Any] = {"epsilon": "1", "delta": "1e-2", "sensitivity": Linf(1, l0=2)}
    best = calibrate(NAME, dimension=2, **asked)
    shape = {"gamma": "0.4", "radius": "8", "decay": "1.1"}
    other = calibrate(NAME, dimension=2, parameters=shape, **asked)
    assert other.noise.parameters["radius"] == 8
    assert 0.999_999e-2 <= other.certificate.delta.upper <= 1e-2
    assert other.mse > best.mse
    with pytest.raises(InvalidArgument, match="gamma and radius"):
        calibrate(NAME, dimension=2, parameters={"decay": "0.9"}, **asked)


@pytest.mark.parametrize(
    ("sensitivity", "dimension", "why"),
    [
        (L2(1), 1, "the same law as truncated-staircase"),
        (Integer(1), 1, "the same law as truncated-staircase"),
        (L2(1), 4, "on this body it is spherical-staircase"),
        (CountingQueries(dimension=1), 1, "the same law as truncated-staircase"),
        (Groups(groups=2, dimension=2, neighbours="replace-one"), 6, "isn't known"),
    ],
)
def test_what_another_family_is_and_what_has_no_body_is_refused(
    sensitivity: Sensitivity, dimension: int, why: str
) -> None:
    with pytest.raises(NotApplicable, match=why):
        calibrate(NAME, epsilon="1", delta="1e-2", sensitivity=sensitivity, dimension=dimension)


def test_what_is_not_offered_is_named() -> None:
    asked: dict[str, Any] = {"epsilon": "1", "sensitivity": Linf(1, l0=2), "dimension": 2}
    with pytest.raises(NotApplicable, match="delta=0 is impossible"):
        calibrate(NAME, **asked)
    with pytest.raises(NotApplicable, match="its shape isn't searched for several releases"):
        calibrate(NAME, delta="1e-2", compositions=2, **asked)
    asked["epsilon"] = "0"
    with pytest.raises(NotApplicable, match="a radius beyond 20,000"):
        calibrate(NAME, delta="1e-9", **asked)


def test_a_sample_takes_less_noise() -> None:
    asked: dict[str, Any] = {"epsilon": "1", "delta": "1e-3", "dimension": 2}
    whole = law_of(Linf(1, l0=2), **asked)
    sampled = law_of(Linf(1, l0=2), sampling_rate="0.1", **asked)
    assert sampled.mse < 0.25 * whole.mse
    assert float(sampled.decay) == pytest.approx(math.log1p(10 * math.expm1(1)))
