"""Noise with parameters for several Poisson samples: δ is proved, nearly used up, and pays off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import leastnoise as ln
from leastnoise.accounting.proof import common_lattice
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.sensitivity import Integer

SEVERAL = (
    "cactus",
    pytest.param("gaussian-mixture", marks=pytest.mark.slow),
    "quasi-gaussian",
    "staircase",
    "truncated-laplace",
    pytest.param("truncated-staircase", marks=pytest.mark.slow),
    "tulap",
)


@pytest.mark.slow
@pytest.mark.parametrize("noise", SEVERAL)
def test_samples_meet_the_budget_just_so(noise: str) -> None:
    mechanism = ln.calibrate(
        noise,
        epsilon="1",
        delta="1e-3",
        sensitivity=ln.L2("0.5"),
        compositions=4,
        sampling_rate="0.2",
    )
    certificate = mechanism.certificate
    assert 0.98e-3 < certificate.delta.upper <= 1e-3
    proved = certificate.verify()  # what is stated leaves room on either side of it
    assert certificate.delta.encloses(proved)
    assert proved.lower > 0.9e-3
    assert mechanism.compose(4, sampling_rate="0.25").delta(epsilon=1).lower > 1e-3
    # each record in each sample needs more, and so do shares of the budget
    whole = ln.calibrate(noise, epsilon="1", delta="1e-3", sensitivity=ln.L2("0.5"), compositions=4)
    assert mechanism.mse < whole.mse
    if noise in {"cactus", "gaussian-mixture", "quasi-gaussian"}:  # theirs is another shape
        return
    shared = ln.calibrate(
        noise,
        epsilon=Fraction(1, 4),
        delta=Fraction(1, 4000),
        sensitivity=ln.L2("0.5"),
        sampling_rate="0.2",
    )
    assert mechanism.mse <= shared.mse * (1 + 1e-9)


@pytest.mark.slow
def test_steps_for_samples_beat_laplace_where_losses_are_large() -> None:
    mse = {
        noise: ln.calibrate(
            noise,
            epsilon="8",
            delta="1e-6",
            sensitivity=ln.L2(1),
            compositions=5,
            sampling_rate="0.3",
        ).mse
        for noise in ("laplace", "truncated-staircase")
    }
    assert mse["truncated-staircase"] < 0.8 * mse["laplace"]


@pytest.mark.dense
def test_a_tiny_delta_is_shared_out() -> None:
    """Then the shares' law is the best, for samples as for all of the data."""
    budget = {"sensitivity": ln.L2(1), "sampling_rate": "0.5"}
    mechanism = ln.calibrate("tulap", epsilon="0.1", delta="1e-9", compositions=3, **budget)
    shared = ln.calibrate("tulap", epsilon=Fraction(1, 30), delta=Fraction(1, 3 * 10**9), **budget)
    assert mechanism.mse <= shared.mse * (1 + 1e-7)


HIDDEN = 1 - Fraction(99, 100) ** 2
"""The probability that a record is in any of two samples at a rate of 1 %."""


@pytest.mark.dense
@pytest.mark.parametrize(
    "noise",
    [
        "gaussian",
        "laplace",
        pytest.param("flipped-huber", marks=pytest.mark.slow),
        pytest.param("tulap", marks=pytest.mark.slow),
    ],
)
def test_samples_are_released_as_they_are_only_if_a_record_is_hardly_in_any(noise: str) -> None:
    """At 0.01 <= δ < 0.0199 one sample needs no noise, and two need some."""
    of_two = {"epsilon": "1", "sensitivity": ln.L2(1), "compositions": 2, "sampling_rate": "0.01"}
    with pytest.raises(Refused, match=r"1 − \(1 − 0.01\)\^2"):
        ln.calibrate(noise, delta=HIDDEN, **of_two)
    mechanism = ln.calibrate(noise, delta="0.018", **of_two)
    assert 0.0175 < mechanism.certificate.delta.upper <= 0.018


@pytest.mark.dense
def test_whole_numbers_for_samples_do_better_than_shares() -> None:
    mechanism = ln.calibrate(
        "discrete-staircase",
        epsilon="2",
        delta="1e-4",
        sensitivity=Integer(2),
        compositions=5,
        sampling_rate="0.1",
    )
    shared = ln.calibrate(
        "discrete-staircase",
        epsilon=Fraction(2, 5),
        delta=Fraction(1, 50_000),
        sensitivity=Integer(2),
        sampling_rate="0.1",
    )
    assert mechanism.mse < shared.mse
    assert 0.9e-4 < mechanism.certificate.delta.upper <= 1e-4


@pytest.mark.slow
def test_sums_of_gaussians_are_no_worse_than_one_for_many_samples() -> None:
    mse = {
        noise: ln.calibrate(
            noise,
            epsilon="1",
            delta="0.01",
            sensitivity=ln.L2(1),
            compositions=20,
            sampling_rate="0.05",
        ).mse
        for noise in ("gaussian", "gaussian-mixture")
    }
    assert mse["gaussian-mixture"] < 0.75 * mse["gaussian"]


def test_what_takes_too_long_for_samples_is_refused() -> None:
    for noise, dimension in (("generalized-gamma", 3), ("spherical-staircase", 3)):
        with pytest.raises(NotApplicable, match=r"for several (releases from )?samples"):
            ln.calibrate(
                noise,
                epsilon="1",
                delta="1e-5",
                sensitivity=ln.L2(1),
                dimension=dimension,
                compositions=3,
                sampling_rate="0.1",
            )


@pytest.mark.slow
def test_the_gaussian_of_a_thousand_samples_is_within_5e_5_of_the_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A finer lattice than that of certificates proves that 5e-5 less noise leaks more than δ."""
    mechanism = ln.calibrate(
        "gaussian",
        epsilon="1",
        delta="1e-5",
        sensitivity=ln.L2(1),
        compositions=1000,
        sampling_rate="0.01",
    )
    part = mechanism.certificate.releases
    less = replace(part, noise=part.noise.scaled(1 - Fraction(5, 10**5)))
    monkeypatch.setattr(common_lattice, "_MOST_QUICK_POINTS", 48_000)
    proved = prove_composed((less,), Fraction(1), points_per_std=256)
    assert proved.certainly_above(Fraction(1, 10**5))
