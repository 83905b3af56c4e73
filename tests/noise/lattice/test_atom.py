"""Truncated staircases with an atom at 0: proved, drawn, and used only if asked for."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, InvalidArgument, Refused
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.steps.law import TruncatedStaircase
from leastnoise.selection.public import calibrate, compare, privacy_profile
from tests.scalar import density, draws

PLAIN = TruncatedStaircase(scale="0.7", gamma="0.4", radius="3.3", decay="1")
LAW = TruncatedStaircase(scale="0.7", gamma="0.4", radius="3.3", decay="1", atom="0.1")


@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "5"])
@pytest.mark.parametrize("shift", ["0.1", "0.7", "1.2", "9"])
def test_every_shift_uncovers_the_atom(epsilon: str, shift: str) -> None:
    """δ(ε) = w + (1 − w)·δ of the steps, also where the steps alone leak nothing."""
    plain = prove_delta(PLAIN, L2(shift), Fraction(epsilon)).interval
    interval = prove_delta(LAW, L2(shift), Fraction(epsilon)).interval
    assert interval.lower == pytest.approx(0.1 + 0.9 * plain.lower, rel=1e-14)
    assert interval.upper == pytest.approx(0.1 + 0.9 * plain.upper, rel=1e-14)


def test_by_a_sum_over_fine_cells() -> None:
    """The atom as a cell of its own, beside a Riemann sum of the density."""
    x = np.linspace(-4, 4, 800_001) + 3e-6
    step = x[1] - x[0]
    gap = density(LAW, x) - math.exp(0.5) * density(LAW, x - 0.7)
    assert density(LAW, x).sum() * step == pytest.approx(0.9, rel=1e-5)
    interval = prove_delta(LAW, L2("0.7"), Fraction(1, 2)).interval
    assert interval.upper == pytest.approx(0.1 + np.maximum(gap, 0).sum() * step, abs=1e-4)


def test_moments_and_quantiles() -> None:
    assert LAW.mean_abs == pytest.approx(0.9 * PLAIN.mean_abs)
    assert LAW.variance == pytest.approx(0.9 * PLAIN.variance)
    assert find_quantile(LAW, 0.09) == 0
    assert find_quantile(LAW, 0.55) == pytest.approx(find_quantile(PLAIN, 0.5))
    assert LAW.scaled(2).atom == LAW.atom


def test_a_fixed_atom_is_paid_for() -> None:
    mechanism = calibrate(
        "truncated-staircase",
        epsilon=8,
        delta="0.1",
        sensitivity=L2(1),
        parameters={"atom": "0.05"},
    )
    law = mechanism.noise
    assert isinstance(law, TruncatedStaircase)
    assert law.atom == Fraction("0.05")
    assert mechanism.certificate.delta.upper <= 0.1
    assert mechanism.certificate.delta.lower >= 0.1 * (1 - 1e-9)
    assert prove_delta(law, L2(1), Fraction(100)).interval.lower >= 0.05  # it stays, whatever ε is


@pytest.mark.slow
def test_it_is_never_taken_unasked() -> None:
    """Even where it would be better: at (5, 0.3) it lowers E X²."""
    arguments = {"epsilon": 5, "delta": "0.3", "sensitivity": L2(1)}
    with_atom = calibrate("truncated-staircase", parameters={"atom": "0.25"}, **arguments)
    mechanism = calibrate("truncated-staircase", **arguments)
    assert with_atom.mse < mechanism.mse
    assert isinstance(mechanism.noise, TruncatedStaircase)
    assert mechanism.noise.atom == 0
    offered = [mechanism.noise for mechanism in compare(**arguments).mechanisms]
    assert not any(item.parameters.get("atom") for item in offered)


def test_a_certificate_with_an_edited_atom_is_rejected() -> None:
    certificate = calibrate(
        "truncated-staircase",
        epsilon=1,
        delta="0.1",
        sensitivity=L2(1),
        parameters={"atom": "0.01"},
    ).certificate
    text = certificate.to_json()
    assert certificate.delta.encloses(Certificate.from_json(text).verify())
    record = json.loads(text)
    record["noise"]["parameters"]["atom"] = "0.02"
    with pytest.raises(CertificateRejected):
        Certificate.from_json(json.dumps(record)).verify()


def test_draws() -> None:
    """Zeros are as many as the atom says, beside the steps' law; 10 % more are noticed."""
    drawn = draws(LAW, 4000, seed=3)
    zeros = int((drawn == 0).sum())
    assert stats.binomtest(zeros, 4000, 0.1).pvalue > 1e-3
    assert stats.binomtest(zeros, 4000, 0.14).pvalue < 1e-5
    steps = LAW.steps
    below = np.append(0.0, np.cumsum(steps.masses))
    rest = np.abs(drawn[drawn != 0]) / 0.7
    cdf = lambda x: np.interp(x, steps.float_edges, below)  # noqa: E731
    assert stats.kstest(rest, cdf).pvalue > 1e-3
    assert stats.kstest(1.1 * rest, cdf).pvalue < 1e-5


def test_refusals_and_defaults() -> None:
    for atom in ("-0.1", "1"):
        with pytest.raises(InvalidArgument, match="atom"):
            replace(LAW, atom=Fraction(atom))
    with pytest.raises(Refused, match="atom < delta"):
        calibrate(
            "truncated-staircase",
            epsilon=1,
            delta="0.01",
            sensitivity=L2(1),
            parameters={"atom": "0.01"},
        )
    shape = {"gamma": "0.5", "radius": 2, "decay": 1}
    asked = {"scale": 1, "epsilons": ["1"], "sensitivity": L2(1)}
    plain = privacy_profile("truncated-staircase", parameters=shape, **asked)
    assert plain == privacy_profile("truncated-staircase", parameters=shape | {"atom": 0}, **asked)
