"""Fits of noise in the shape of a body: its errors, and that its parameters are the best."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument, NotApplicable, NotCertified
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.bodies.law.two_sided import SMALLEST_CORE
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.selection.public import calibrate
from tests.grids import thin

FAMILIES = ("k-norm", "k-staircase", "two-sided-staircase", "two-sided-laplace")


def counts(queries: int, **more: Any) -> CountingQueries:
    return CountingQueries(dimension=queries, **more)


def every_case(found: Mechanism) -> float:
    """The mean variance of one number."""
    return found.mse / found.certificate.dimension


@pytest.mark.dense
@pytest.mark.parametrize("delta", ["0", "1e-5"])
@pytest.mark.parametrize(
    ("queries", "variance"),
    [(2, 3.194), (3, 4.662), (4, 6.328), (5, 8.191), (10, 20.41), (20, 58.82), (30, 115.5)],
)
def test_counting_queries(queries: int, variance: float, delta: str) -> None:
    stds = [
        every_case(calibrate(name, epsilon="1", delta=delta, sensitivity=counts(queries)))
        for name in ("two-sided-staircase", "two-sided-laplace")
    ]
    assert 0.995 * variance < min(stds) <= variance


@pytest.mark.parametrize(
    ("name", "epsilon", "query", "variance"),
    [
        # theory/bodies.md §1, §3, §4, §6: numbers made elsewhere
        ("k-norm", "1", (counts(10), 10), 26.0),
        ("two-sided-staircase", "0.3", (counts(4), 4), 71.0087),
        ("two-sided-staircase", "6", (counts(12), 12), 0.660766),
        ("two-sided-staircase", "5", (counts(3), 3), 0.1210),
        ("k-staircase", "5", (counts(3), 3), 0.1459),
        ("k-staircase", "10", (counts(5), 5), 0.041),
        ("k-norm", "1", (counts(5, max_nonzero=2), 5), 5.47),
        ("k-norm", "1", (counts(5, neighbours="replace-one"), 5), 14.0),
        ("k-norm", "1", (counts(5, max_nonzero=2, neighbours="replace-one"), 5), 11.96),
        ("k-norm", "1", (Linf(1, l0=2), 2), 4.0),
        ("k-staircase", "5", (L2(1), 2), 0.587 * 6 / 50),
    ],
)
def test_known_variances(
    name: str, epsilon: str, query: tuple[Sensitivity, int], variance: float
) -> None:
    sensitivity, dimension = query
    mechanism = calibrate(name, epsilon=epsilon, sensitivity=sensitivity, dimension=dimension)
    assert every_case(mechanism) == pytest.approx(variance, rel=2e-3 if variance > 0.05 else 2e-2)
    assert mechanism.certificate.delta.upper == 0.0


def _laws_around(law: VectorNoise, name: str) -> list[float]:
    value = getattr(law, name)
    given = {**law.parameters, "scale": law.scale}
    near = [value * Fraction(round(by * 10**6), 10**6) for by in np.geomspace(1 / 4, 4, 61)]
    return [
        type(law)(**given | {name: candidate}).mse  # type: ignore[arg-type]  # by name
        for candidate in near
        if not (name == "gamma" and candidate > 1) and candidate >= SMALLEST_CORE
    ]


@pytest.mark.dense
@pytest.mark.parametrize("epsilon", ["0.05", "1", "4", "20", "60"])
@pytest.mark.parametrize("name", FAMILIES[1:])
@pytest.mark.parametrize("queries", [2, 6])
def test_the_shape_is_the_best_nearby(name: str, epsilon: str, queries: int) -> None:
    law = calibrate(name, epsilon=epsilon, sensitivity=counts(queries)).noise
    assert isinstance(law, VectorNoise)
    shape = "gamma" if name == "k-staircase" else "core"
    assert law.mse <= min(_laws_around(law, shape)) * (1 + 1e-9)


@pytest.mark.parametrize("name", FAMILIES[1:])
def test_a_shape_may_be_set(name: str) -> None:
    shape = "gamma" if name == "k-staircase" else "core"
    best, other = (
        calibrate(name, epsilon="1", sensitivity=counts(3), parameters=given)
        for given in ({}, {shape: "0.9"})
    )
    assert other.noise.parameters[shape] == Fraction(9, 10)
    assert other.mse > best.mse


def test_the_loss_decides_the_shape() -> None:
    by = {
        loss: calibrate("two-sided-staircase", epsilon="2", sensitivity=counts(3), loss=loss)
        for loss in ("mse", "mae")
    }
    assert by["mse"].mse < by["mae"].mse
    assert by["mae"].mae < by["mse"].mae


@pytest.mark.grid
@pytest.mark.parametrize("name", FAMILIES)
def test_no_delta_is_left_that_less_noise_could_spend(name: str) -> None:
    """What several releases are calibrated to is proved, and a little less noise isn't."""
    mechanism = calibrate(name, epsilon="1", delta="1e-3", sensitivity=counts(2), compositions=20)
    apart = calibrate(name, epsilon="0.05", sensitivity=counts(2))
    assert mechanism.mse < 0.8 * apart.mse
    certificate = mechanism.certificate
    assert 0.99e-3 < certificate.delta.upper <= 1e-3
    law: Any = certificate.noise
    if "decay" in law.parameters:
        decay = law.parameters["decay"] * Fraction(10_001, 10_000)
        less = type(law)(**{**law.parameters, "scale": 1, "decay": decay})
    else:
        less = law.scaled(Fraction(9999, 10_000))
    with pytest.raises(NotCertified):
        Certificate.prove(
            budget=certificate.budget,
            noise=less,
            sensitivity=certificate.sensitivity,
            compositions=20,
        )


@pytest.mark.parametrize("name", FAMILIES)
def test_purely_private_releases_share_epsilon(name: str) -> None:
    three = calibrate(name, epsilon="3", sensitivity=counts(2), compositions=3)
    mechanism = calibrate(name, epsilon="1", sensitivity=counts(2))
    assert three.mse == pytest.approx(mechanism.mse)
    assert three.certificate.delta.upper == 0.0


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sample_takes_less_noise(name: str) -> None:
    """(e^ε − 1)/γ = e^ε₀ − 1, never more than that."""
    mechanism = calibrate(name, epsilon="1", sampling_rate="0.1", sensitivity=counts(2))
    law = mechanism.noise
    assert isinstance(law, VectorNoise)
    exact = np.log1p(10 * np.expm1(1))
    assert exact * (1 - 1e-9) <= float(law.largest_loss) <= exact * (1 + 1e-15)
    assert mechanism.certificate.delta.upper == 0.0


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    ("epsilon", "why"), [("0", "purely private, so it needs epsilon > 0"), ("1e-9", "steps")]
)
def test_what_has_no_such_law_is_named(name: str, epsilon: str, why: str) -> None:
    if why == "steps" and "staircase" not in name:
        assert calibrate(name, epsilon=epsilon, sensitivity=counts(2)).mse > 1e18
        return
    with pytest.raises(NotApplicable, match=f"{name} does not apply.*{why}"):
        calibrate(name, epsilon=epsilon, delta="1e-5", sensitivity=counts(2))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_huge_epsilon_is_served(name: str) -> None:
    assert 0 < calibrate(name, epsilon="1e5", sensitivity=counts(3)).mse < 1e-4


@pytest.mark.parametrize("name", ["k-staircase", "two-sided-staircase"])
def test_sums_that_are_too_long_are_no_malformed_request(name: str) -> None:
    """Once, steps for 10,000 queries were an invalid `decay`, which ended a comparison."""
    with pytest.raises(NotApplicable, match="too short to help"):
        calibrate(name, epsilon="0.002", sensitivity=counts(20_000))


@pytest.mark.parametrize(
    ("name", "sensitivity", "dimension", "known"),
    [
        ("k-norm", L2(1), 1, "on this body it is laplace"),
        ("k-norm", L1(1), 5, "on this body it is laplace"),
        ("k-norm", L2(1), 5, "on this body it is l2"),
        ("k-norm", counts(4, max_nonzero=1), 4, "on this body it is laplace"),
        ("k-staircase", Integer(1), 1, "on this body it is staircase"),
        ("k-norm", Vertices([["1", "0", "0"], ["0", "1", "1"], ["0", "0", "1"]]), 3, "isn't known"),
        ("k-staircase", Groups(groups=2, dimension=2, neighbours="replace-one"), 6, "isn't known"),
        ("two-sided-staircase", Linf(1, l0=2), 2, "state what a unit adds or removes"),
        (
            "two-sided-laplace",
            counts(2, neighbours="replace-one"),
            2,
            "state what a unit adds or removes",
        ),
    ],
)
def test_what_another_family_is_and_what_has_no_body_is_refused(
    name: str, sensitivity: Sensitivity, dimension: int, known: str
) -> None:
    with pytest.raises(NotApplicable, match=known):
        calibrate(name, epsilon="1", sensitivity=sensitivity, dimension=dimension)


@pytest.mark.parametrize("name", thin(FAMILIES, 2))
def test_several_samples_spend_delta_too(name: str) -> None:
    asked: dict[str, Any] = {"sensitivity": counts(2), "compositions": 10, "sampling_rate": "0.1"}
    pure = calibrate(name, epsilon="1", **asked)
    mechanism = calibrate(name, epsilon="1", delta="1e-4", **asked)
    assert pure.certificate.delta.upper == 0.0
    assert 0.99e-4 < mechanism.certificate.delta.upper <= 1e-4
    assert mechanism.mse < 0.65 * pure.mse
    law = pure.noise
    assert isinstance(law, VectorNoise)
    # (e^(ε/10) − 1)/γ = e^ε₀ − 1
    exact = np.log1p(10 * np.expm1(0.1))
    assert exact * (1 - 1e-9) <= float(law.largest_loss) <= exact * (1 + 1e-15)


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("k-staircase", {"gamma": "2"}, "gamma"),
        ("two-sided-staircase", {"core": "0"}, "core"),
        ("two-sided-laplace", {"core": "-1"}, "core"),
        ("k-staircase", {"decay": "5"}, "decay follows from epsilon"),
        ("two-sided-staircase", {"decay": "5"}, "decay follows from epsilon"),
    ],
)
def test_what_is_set_is_used_or_refused(name: str, given: dict[str, str], why: str) -> None:
    with pytest.raises((InvalidArgument, NotApplicable), match=why):
        calibrate(name, epsilon="1", sensitivity=counts(3), parameters=given)
