"""Several Poisson samples with noise that has parameters: proved, just so, and worth having."""

from __future__ import annotations

from fractions import Fraction

import pytest

import leastnoise as ln
from leastnoise.errors import Refused

SEVERAL = ("staircase", "truncated-laplace", "truncated-staircase", "tulap")


@pytest.mark.parametrize("noise", SEVERAL)
def test_samples_meet_the_budget_just_so(noise: str) -> None:
    found = ln.calibrate(
        noise,
        epsilon="1",
        delta="1e-3",
        sensitivity=ln.L2("0.5"),
        compositions=4,
        sampling_rate="0.2",
    )
    certificate = found.certificate
    assert 0.98e-3 < certificate.delta.upper <= 1e-3
    assert certificate.verify() == certificate.delta
    assert certificate.delta.lower > 0.9e-3
    assert found.compose(4, sampling_rate="0.25").delta(epsilon=1).lower > 1e-3
    # each record in each sample needs more, and so do shares of the budget
    whole = ln.calibrate(noise, epsilon="1", delta="1e-3", sensitivity=ln.L2("0.5"), compositions=4)
    assert found.mse < whole.mse
    shared = ln.calibrate(
        noise,
        epsilon=Fraction(1, 4),
        delta=Fraction(1, 4000),
        sensitivity=ln.L2("0.5"),
        sampling_rate="0.2",
    )
    assert found.mse <= shared.mse * (1 + 1e-9)


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


def test_what_sampling_alone_hides_needs_no_noise() -> None:
    with pytest.raises(Refused, match="sampling rate"):
        ln.calibrate(
            "tulap",
            epsilon="1",
            delta="0.02",
            sensitivity=ln.L2(1),
            compositions=3,
            sampling_rate="0.01",
        )
