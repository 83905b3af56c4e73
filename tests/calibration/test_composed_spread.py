"""Flipped Huber and cactus noise for several releases: δ is nearly used up, parameters are best."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import leastnoise as ln
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.calibration import ProvedSeveral
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import ShiftBounds
from leastnoise.noise.classic import fit as huber
from leastnoise.noise.classic.law import FlippedHuber
from leastnoise.noise.common.several import find_least_factor
from leastnoise.noise.lattice.law import Cactus
from leastnoise.noise.lattice.several import cactus_several
from leastnoise.noise.question import Loss, Question, Releases
from tests.grids import thin


@pytest.mark.slow
@pytest.mark.parametrize("loss", [pytest.param("mse", marks=pytest.mark.slow), "mae"])
def test_flipped_huber_noise_meets_the_budget_just_so(loss: str) -> None:
    budget = {"epsilon": "1", "delta": "1e-5", "sensitivity": ln.L2(3), "compositions": 20}
    mechanism = ln.calibrate("flipped-huber", loss=loss, **budget)
    certificate = mechanism.certificate
    assert 0.9999e-5 < certificate.delta.upper <= 1e-5
    assert certificate.delta.lower > 0.99e-5
    assert certificate.delta.encloses(certificate.verify())
    part = Releases(
        noise=mechanism.noise.scaled("0.999"), shifts=ShiftBounds.of(ln.L2(3)), compositions=20
    )
    assert prove_composed((part,), Fraction(1)).certainly_above(Fraction("1e-5"))
    others = [ln.calibrate(name, **budget) for name in ("gaussian", "laplace")]
    least = min(Loss.named(loss).of(other) for other in others)
    assert Loss.named(loss).of(mechanism) <= least * (1 + 1e-4)


@pytest.mark.slow
def test_flipped_huber_noise_is_nearly_laplace_noise_where_that_is_best() -> None:
    budget = {"epsilon": "1", "delta": "1e-9", "sensitivity": ln.L2(1), "compositions": 3}
    laplace = ln.calibrate("laplace", **budget)
    mechanism = ln.calibrate("flipped-huber", **budget)
    assert mechanism.mse <= laplace.mse * (1 + 1e-4)
    assert laplace.mse < 0.3 * ln.calibrate("gaussian", **budget).mse


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "count"), [("1", 40), pytest.param("0.2", 60, marks=pytest.mark.slow)]
)
def test_no_other_corner_is_much_better(rate: str, count: int) -> None:
    budget = Budget(epsilon="2", delta="1e-4")
    question = Question(budget=budget, compositions=count, sampling_rate=Fraction(rate))
    task = ProvedSeveral(family=FlippedHuber, question=question)
    result = huber.huber_several(task)
    for corner in ("0.1", "0.5", "1.5"):
        law = FlippedHuber(scale=1, alpha=corner, gamma=1)
        first = math.sqrt(result.variance / law.variance) * 0.99
        other = law.scaled(find_least_factor(task, law, first=first))
        assert result.variance <= other.variance * 1.003


@pytest.mark.dense
@pytest.mark.parametrize(
    ("corner", "gamma", "count", "epsilon"),
    thin(
        [
            ("0", "5", 3, "1"),
            ("2.5", "100", 2, "0.01"),
            ("4.6", "2", 3, "2"),
            ("9", "0.7", 10, "50"),
        ],
        2,
    ),
)
def test_what_is_searched_is_near_what_is_proved(
    corner: str, gamma: str, count: int, epsilon: str
) -> None:
    law = FlippedHuber(scale=gamma, alpha=corner, gamma=1)
    part = Releases(noise=law, shifts=ShiftBounds.of(ln.L2(1)), compositions=count)
    proved = prove_composed((part,), Fraction(epsilon)).interval.upper
    question = Question(budget=Budget(epsilon=epsilon, delta="0.1"), compositions=count)
    result = huber._log_delta_of_several(float(corner), 1 / float(gamma), question)
    assert result == pytest.approx(math.log(proved), abs=2e-3)


@pytest.mark.dense
def test_alpha_and_gamma_may_be_set_together_alone() -> None:
    shape = {"alpha": "1", "gamma": "2"}
    budget = {"epsilon": "1", "delta": "1e-4", "sensitivity": ln.L2(1), "compositions": 3}
    mechanism = ln.calibrate("flipped-huber", parameters=shape, **budget)
    assert isinstance(mechanism.noise, FlippedHuber)
    assert (mechanism.noise.alpha, mechanism.noise.gamma) == (1, 2)
    assert 0.9999e-4 < mechanism.certificate.delta.upper <= 1e-4
    with pytest.raises(InvalidArgument, match="both alpha and gamma"):
        ln.calibrate("flipped-huber", parameters={"alpha": "1"}, **budget)


@pytest.mark.slow
def test_cactus_for_samples_needs_about_the_gaussians_noise() -> None:
    budget, rate = Budget(epsilon="1", delta="1e-4"), Fraction(1, 10)
    question = Question(budget=budget, compositions=50, sampling_rate=rate)
    result = cactus_several(ProvedSeveral(family=Cactus, question=question))
    gauss = ln.calibrate(
        "gaussian",
        epsilon="1",
        delta="1e-4",
        sensitivity=ln.L2(1),
        compositions=50,
        sampling_rate=rate,
    )
    assert result.variance <= 1.01 * gauss.mse
