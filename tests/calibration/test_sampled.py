"""Noise for Poisson samples: calibrated, certified, composed, refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner

import leastnoise as ln
from leastnoise.certificate.certificate import SAMPLING
from leastnoise.cli.main import app
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.structured import CountingQueries, Linf

SMALL: dict[str, Any] = {"epsilon": "1", "delta": "1e-5", "sampling_rate": "0.1"}


@pytest.mark.parametrize("noise", ["gaussian", "laplace", "truncated-laplace", "tulap"])
def test_one_release_is_calibrated_to_the_least(noise: str) -> None:
    mechanism = ln.calibrate(noise, sensitivity=ln.L2(1), **SMALL)
    certificate = mechanism.certificate
    assert certificate.delta.upper <= 1e-5
    assert certificate.delta.lower >= 1e-5 * (1 - 1e-8)
    assert certificate.delta.encloses(certificate.verify())
    # the whole data at log(1 + (e − 1)/0.1) and δ/0.1, by the profile alone
    whole = ln.compose([(mechanism, 1)], sampling_rate=1)
    base = math.log1p(math.expm1(1) / 0.1)
    assert whole.delta(epsilon=base).upper == pytest.approx(1e-4, rel=1e-7)


def test_a_pure_budget_is_amplified() -> None:
    three = ln.calibrate(
        "laplace", epsilon="0.6", sensitivity=ln.L1(2), sampling_rate="0.25", compositions=3
    )
    least = 2 / math.log1p(math.expm1(0.2) / 0.25)
    assert least <= three.noise.scale <= least * (1 + 1e-9)
    assert three.certificate.delta.upper == 0


@pytest.mark.dense
def test_many_releases_are_calibrated_to_the_private_side() -> None:
    mechanism = ln.calibrate("laplace", sensitivity=ln.L1(1), compositions=40, **SMALL)
    assert mechanism.certificate.delta.upper <= 1e-5
    assert mechanism.certificate.delta.lower >= 0.995e-5
    assert mechanism.certificate.delta.encloses(mechanism.compose(40).delta(epsilon=1))
    assert mechanism.compose(41).delta(epsilon=1).lower > 1e-5
    assert mechanism.compose(40, sampling_rate="0.11").delta(epsilon=1).lower > 1e-5
    assert mechanism.delta_per_release(epsilon=1).upper < 1e-5 / 40
    assert mechanism.epsilon_per_release(delta="1e-5").upper < 0.2


@pytest.mark.slow
def test_compare_ranks_for_samples() -> None:
    comparison = ln.compare(sensitivity=ln.L2(1), **SMALL)
    assert {mechanism.certificate.sampling_rate for mechanism in comparison.mechanisms} == {
        Fraction("0.1")
    }
    assert comparison.best_possible is None
    whole = ln.calibrate("laplace", epsilon="1", delta="1e-5", sensitivity=ln.L2(1))
    assert comparison.mechanisms[0].mse < whole.mse / 4


FALSE = {
    "a smaller rate": {"sampling_rate": "0.09"},
    "a larger rate": {"sampling_rate": "0.11"},
    "no rate": {"sampling_rate": "0"},
    "a rate above 1": {"sampling_rate": "1.5"},
    "a rate that is no number": {"sampling_rate": "often"},
    "all of the data": {"sampling_rate": "1"},
    "more releases": {"compositions": 3},
    "a smaller epsilon": {"epsilon": "0.999"},
    "a smaller delta": {"delta": "0.99e-5"},
    "records replaced": {
        "sensitivity": {
            "kind": "counting-queries", "bound": "1", "dimension": 1, "max_nonzero": 1,
            "neighbours": "replace-one", "with_total": False,
        }
    },
}  # fmt: skip


@pytest.mark.dense
@pytest.mark.parametrize("edit", FALSE)
def test_what_is_false_is_rejected(edit: str) -> None:
    record = json.loads(
        ln.calibrate("gaussian", sensitivity=ln.L2(1), **SMALL).certificate.to_json()
    )
    assert record["assumptions"][-1] == SAMPLING
    with pytest.raises(CertificateRejected):
        ln.Certificate.from_json(json.dumps(record | FALSE[edit])).verify()


def test_poisson_sampling_is_assumed_only_where_it_is_used() -> None:
    record = json.loads(
        ln.calibrate("gaussian", sensitivity=ln.L2(1), **SMALL).certificate.to_json()
    )
    silent = record | {"assumptions": record["assumptions"][:-1]}
    with pytest.raises(CertificateRejected, match="assumptions"):
        ln.Certificate.from_json(json.dumps(silent))
    whole = ln.calibrate("gaussian", sensitivity=ln.L2(1), epsilon="1", delta="1e-5").certificate
    assert SAMPLING not in whole.assumptions


def test_what_is_not_proved_is_refused() -> None:
    replaced = CountingQueries(dimension=3, neighbours="replace-one")
    with pytest.raises(Refused, match="not replaced"):
        ln.calibrate("gaussian", sensitivity=replaced, **SMALL)
    with pytest.raises(NotApplicable, match="draws of one sample"):
        ln.calibrate("laplace", sensitivity=Linf(1, l0=2), dimension=5, **SMALL)
    with pytest.raises(NotApplicable, match="several releases from samples"):
        ln.calibrate("generalized-gamma", sensitivity=ln.L2(1), compositions=2, **SMALL)
    with pytest.raises(Refused, match="sampling rate"):
        ln.calibrate(
            "gaussian", sensitivity=ln.L2(1), epsilon="1", delta="0.01", sampling_rate="0.01"
        )
    for rate in ("0", "-1", "1.01", "1e-40"):
        with pytest.raises(InvalidArgument, match="sampling-rate"):
            ln.calibrate(
                "gaussian", sensitivity=ln.L2(1), epsilon="1", delta="1e-5", sampling_rate=rate
            )


def test_commands_take_a_sampling_rate(tmp_path: object) -> None:
    path = f"{tmp_path}/c.json"
    budget = ["--noise", "gaussian", "--epsilon", "1", "--delta", "1e-5", "--sampling-rate", "0.1"]
    done = CliRunner().invoke(app, ["calibrate", *budget, "--certificate", path, "--json"])
    record = json.loads(done.stdout)
    assert record["sampling_rate"] == 0.1
    scale = repr(record["scale"])
    done = CliRunner().invoke(app, ["compose", path, "--epsilon", "1", "--json"])
    interval = ln.Interval(*json.loads(done.stdout)["points"][0]["delta_interval"])
    assert ln.Interval(*record["delta_interval"]).encloses(interval)
    rate = ["--epsilon", "1", "--sampling-rate", "0.1", "--json"]
    done = CliRunner().invoke(app, ["profile", "--noise", "gaussian", "--scale", scale, *rate])
    interval = json.loads(done.stdout)["points"][0]["delta_interval"]
    assert interval == pytest.approx(record["delta_interval"])
    done = CliRunner().invoke(app, ["compose", path, "--epsilon", "1", "--sampling-rate", "1"])
    assert "at least" in done.stdout
