from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import norm

from leastnoise.calibration import calibrate_family
from leastnoise.certificate import certificate as certificate_module
from leastnoise.certificate.certificate import ASSUMPTIONS, Certificate
from leastnoise.certificate.plan import COMPOSED, RULE, PlanCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, InvalidInput, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named

NAMES = ("gaussian", "laplace", "l2")
Record = dict[str, Any]


def _certificate(name: str) -> Certificate:
    return calibrate_family(
        family_named(name),
        Question(
            budget=Budget(epsilon="1", delta="1e-5"),
            sensitivities=(L2(1),),
            dimension=1 if name == "laplace" else 7,
        ),
    ).certificate


def _edited(name: str, edit: Callable[[Record], None]) -> str:
    record = json.loads(_certificate(name).to_json())
    edit(record)
    return json.dumps(record)


def _set(*path: str | int, to: object) -> Callable[[Record], None]:
    def edit(record: Any) -> None:
        for key in path[:-1]:
            record = record[key]
        assert json.dumps(record[path[-1]]) != json.dumps(to)
        record[path[-1]] = to

    return edit


def _scale_by(factor: float) -> Callable[[Record], None]:
    def edit(record: Record) -> None:
        parameters = record["noise"]["parameters"]
        parameters["scale"] = (float.fromhex(parameters["scale"]) * factor).hex()

    return edit


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_and_verify(name: str) -> None:
    certificate = _certificate(name)
    read = Certificate.from_json(certificate.to_json())
    assert read == certificate
    assert not read.proved
    fresh = read.verify()
    assert read.proved
    assert certificate.delta.encloses(fresh)
    assert certificate.delta.width <= 4 * fresh.width + 4 * math.ulp(fresh.upper)


def test_a_stored_certificate_counts_as_unproved() -> None:
    certificate = _certificate("l2")
    assert certificate.proved
    assert not pickle.loads(pickle.dumps(certificate)).proved


FALSE_STATEMENTS = {
    "epsilon down": _set("epsilon", to="0.999999"),
    "delta down": _set("delta", to="0.99999e-5"),
    "sensitivity up": _set("sensitivity", "bound", to="1.000001"),
    "scale down": _scale_by(1 - 1e-6),
    "scale up, so the interval is wrong": _scale_by(1.5),
    "interval elsewhere": _set("delta_interval", to=["0x0p+0", "0x1p-60"]),
    "interval above the truth": _set("delta_interval", to=["0x1p-10", "0x1p-9"]),
    "interval reversed": _set("delta_interval", to=["0x1p-9", "0x1p-10"]),
    "compositions up": _set("compositions", to=2),
    "sampling rate": _set("sampling_rate", to="0.5"),
    "fewer assumptions": _set("assumptions", to=list(ASSUMPTIONS[:-1])),
    "grid no power of two": _set("grid", to="0.3"),
    "grid zero": _set("grid", to="0"),
}
MALFORMED = {
    "unknown field": lambda r: r.update(extra=1),
    "missing field": lambda r: r.pop("grid"),
    "unknown nested field": lambda r: r["noise"].update(extra=1),
    "unknown parameter": lambda r: r["noise"]["parameters"].update(alpha="1"),
    "unknown version": _set("version", to=2),
    "version as text": _set("version", to="1"),
    "version as bool": _set("version", to=True),
    "unknown kind": _set("kind", to="plan-certificate"),
    "unknown noise": _set("noise", "name", to="gauss"),
    "unknown norm": _set("sensitivity", "kind", to="l3"),
    "dimension as text": _set("dimension", to="7"),
    "dimension as float": _set("dimension", to=7.5),
    "dimension as bool": _set("dimension", to=True),
    "dimension zero": _set("dimension", to=0),
    "epsilon as number": _set("epsilon", to=1),
    "epsilon infinite": _set("epsilon", to="inf"),
    "epsilon negative": _set("epsilon", to="-1"),
    "delta of one": _set("delta", to="1"),
    "scale NaN": _set("noise", "parameters", "scale", to="nan"),
    "scale in more digits than a double has": _set(
        "noise", "parameters", "scale", to="0x0.fffffffffffffffp0"
    ),
    "epsilon in more digits than a double has": _set("epsilon", to="0x1.00000000000000001p0"),
    "sensitivity a little more": _set("sensitivity", "bound", to="0x1.00000000000000001p0"),
    "digits of another script": _set("epsilon", to="\u0661"),
    "a huge dimension": _set("dimension", to=10**4000),
    "scale zero": _set("noise", "parameters", "scale", to="0x0p+0"),
    "scale infinite": _set("noise", "parameters", "scale", to="0x1p5000"),
    "noise as text": _set("noise", to="gaussian"),
    "interval of one end": _set("delta_interval", to=["0x1p-10"]),
}


@pytest.mark.parametrize("grid", [3, -1, 0, "0.3", "2/3", -4])
def test_no_certificate_is_on_a_grid_that_verify_rejects(grid: Any) -> None:
    claim = _certificate("gaussian")
    assert claim.proved
    with pytest.raises(InvalidArgument, match="grid to be a power of two"):
        claim.on_grid(grid)
    assert claim.on_grid("0.25").proved


@pytest.mark.grid
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("edit", [*FALSE_STATEMENTS, *MALFORMED])
def test_every_edit_that_makes_it_false_is_rejected(name: str, edit: str) -> None:
    text = _edited(name, {**FALSE_STATEMENTS, **MALFORMED}[edit])
    with pytest.raises(CertificateRejected):
        Certificate.from_json(text).verify()


def test_dimension_up_is_rejected_where_delta_depends_on_it() -> None:
    with pytest.raises(CertificateRejected, match="delta"):
        Certificate.from_json(_edited("l2", _set("dimension", to=8))).verify()


def test_a_certificate_is_proved_by_proving_it_alone() -> None:
    """Neither a claim put together by hand nor a copy of a proved one may release anything."""
    proved = _certificate("gaussian")
    claim = Certificate(
        budget=proved.budget,
        noise=proved.noise.scaled("0.001"),
        sensitivity=proved.sensitivity,
        delta=proved.delta,
    )
    assert not claim.proved
    assert not replace(proved, noise=claim.noise).proved
    assert not copy.copy(proved).proved
    public = [name for name in dir(claim) if not name.startswith("_")]
    assert not [name for name in public if "proved" in name and callable(getattr(claim, name))]
    with pytest.raises(CertificateRejected):
        claim.verify()
    assert not claim.proved


def _loose() -> Certificate:
    """A certificate whose interval of δ contains many floats."""
    return calibrate_family(
        family_named("laplace"),
        Question(budget=Budget(epsilon="1", delta="1e-3"), sensitivities=(L2(1),), compositions=3),
    ).certificate


def test_a_part_of_a_loose_enclosure_is_rejected() -> None:
    """What is proved is the whole of it: of a part nobody knows whether it holds the truth."""
    certificate = _loose()
    lower, upper = certificate.delta.lower, certificate.delta.upper
    assert upper - lower > 100 * math.ulp(upper)
    Certificate.from_json(certificate.to_json()).verify()
    middle = 0.5 * (lower + upper)
    for low, high in ((middle, upper), (lower, middle)):
        part = replace(certificate, delta=Interval(low, high))
        with pytest.raises(CertificateRejected, match="doesn't contain"):
            part.verify()
    replace(certificate, delta=Interval(0.5 * lower, 2 * upper)).verify()


@pytest.mark.parametrize("ulps", [-1, 0, 1])
def test_a_proof_that_ends_some_ulps_elsewhere_lies_in_what_is_widen(ulps: int) -> None:
    """Sums in floats differ between machines; both enclosures hold the truth."""
    interval = Interval(1e-6, 1.5e-6)
    stated = certificate_module._widen(interval, Fraction(1, 10**5))
    moved = interval.width * ulps
    elsewhere = Interval(interval.lower + moved, interval.upper + moved)
    assert certificate_module._is_reproduced(elsewhere, stated, Fraction(1, 10**5))
    half = Interval(stated.lower, 1.2e-6)
    assert not certificate_module._is_reproduced(elsewhere, half, Fraction(1, 10**5)) or ulps == -1


def test_no_more_is_stated_than_the_budget_allows() -> None:
    interval = Interval(9.5e-6, 9.9e-6)
    assert certificate_module._widen(interval, Fraction(1, 10**5)).certainly_at_most(
        Fraction(1, 10**5)
    )
    assert certificate_module._widen(Interval(0.0, 0.0), Fraction(0)) == Interval(0.0, 0.0)


def test_true_edits_are_accepted() -> None:
    """A weaker statement is still true: more epsilon would move delta, more delta does not."""
    Certificate.from_json(_edited("l2", _set("delta", to="2e-5"))).verify()
    Certificate.from_json(_edited("l2", _set("grid", to="0x1.0000000000000p-20"))).verify()


def test_duplicate_fields_are_rejected() -> None:
    text = _certificate("l2").to_json().replace('"delta":', '"delta": "0.5", "delta":', 1)
    with pytest.raises(CertificateRejected, match="Duplicate field: delta"):
        Certificate.from_json(text)


@pytest.mark.parametrize(
    "text", ["", "{", "not json", "[" * 100_000, "\x00", '{"dimension": 1' + "0" * 5000 + "}"]
)
def test_what_is_not_json_is_invalid_input(text: str) -> None:
    with pytest.raises(InvalidInput, match="not JSON"):
        Certificate.from_json(text)


@pytest.mark.parametrize("text", ["1", "[]", "null", '"x"', "NaN"])
def test_what_is_no_object_is_rejected(text: str) -> None:
    with pytest.raises(CertificateRejected, match="object"):
        Certificate.from_json(text)


def test_an_unprovable_claim_gets_no_certificate() -> None:
    with pytest.raises(NotCertified, match="Not proved") as caught:
        Certificate.prove(
            budget=Budget(epsilon="1", delta="1e-5"),
            noise=family_named("l2")(scale="0.93", dimension=7),
            sensitivity=L2(1),
        )
    assert caught.value.interval is not None
    assert caught.value.interval.lower > 1e-5


def _plan(epsilon: str = "2", delta: str = "2e-5") -> PlanCertificate:
    return PlanCertificate.prove(
        budget=Budget(epsilon=epsilon, delta=delta),
        draws=(("a", _certificate("l2")), ("b", _certificate("gaussian"))),
    )


def test_plan_round_trip_and_total() -> None:
    plan = _plan()
    total = PlanCertificate.from_json(plan.to_json()).verify()
    parts = [draw.delta for _, draw in plan.draws if isinstance(draw, Certificate)]
    assert len(parts) == 2
    assert Fraction(total.lower) <= sum(Fraction(part.upper) for part in parts)
    assert Fraction(total.upper) >= sum(Fraction(part.lower) for part in parts)
    assert total.certainly_at_most(Fraction("2e-5"))


def test_plan_over_budget_is_refused() -> None:
    with pytest.raises(NotCertified, match=r"spend epsilon=2 .* their delta is up to 0\.0037"):
        _plan(epsilon="1")


PLAN_EDITS = {
    "less budget": _set("epsilon", to="1.99"),
    "a false draw": _set("draws", 0, "certificate", "sensitivity", "bound", to="1.1"),
    "two of a name": _set("draws", 1, "name", to="a"),
    "no draw": _set("draws", to=[]),
    "another rule": _set("rule", to="parallel composition"),
    "unknown version": _set("version", to=2),
    "unknown field": lambda r: r.update(extra=1),
    "a draw with more": lambda r: r["draws"][0].update(extra=1),
    "bad budget": _set("delta", to="2"),
}


def test_an_error_names_the_fields_of_a_plan_that_have_other_names() -> None:
    record = json.loads(_plan().to_json())
    record["blocks"] = record.pop("draws")
    why = "plan certificate: unknown field 'blocks', missing field 'draws'"
    with pytest.raises(CertificateRejected, match=why):
        PlanCertificate.from_record(record)


def test_what_sums_do_not_prove_is_proved_by_composition() -> None:
    assert _plan().rule == RULE
    plan = _plan(epsilon="1.6")
    assert plan.rule == COMPOSED
    read = PlanCertificate.from_json(plan.to_json())
    assert read == plan
    total = read.verify()
    assert 1e-6 < total.lower <= total.upper <= 2e-5
    assert total.upper <= total.lower * 1.01


def test_gaussians_compose_by_the_exact_formula() -> None:
    mechanism = _certificate("gaussian")
    budget = Budget(epsilon="1.5", delta="2e-5")
    total = PlanCertificate.prove(
        budget=budget, draws=(("a", mechanism), ("b", mechanism))
    ).verify()
    mu = math.sqrt(2) / float(mechanism.noise.scale)
    delta = norm.cdf(mu / 2 - 1.5 / mu) - math.exp(1.5) * norm.cdf(-mu / 2 - 1.5 / mu)
    assert total.lower <= delta * (1 + 1e-9)
    assert total.upper >= delta * (1 - 1e-9)
    assert total.upper == pytest.approx(delta, rel=1e-9)


COMPOSED_EDITS = {
    "sums": _set("rule", to=RULE),
    "another rule": _set("rule", to=None),
    "less epsilon": _set("epsilon", to="1.2"),
    "less delta": _set("delta", to="1e-8"),
    "less noise": lambda r: _scale_by(0.7)(r["draws"][0]["certificate"]),
    "a false draw": _set("draws", 0, "certificate", "epsilon", to="0.9"),
    "more draws": _set("draws", 1, "certificate", "compositions", to=2),
    "a larger shift": _set("draws", 1, "certificate", "sensitivity", "bound", to="1.5"),
    "two of a name": _set("draws", 1, "name", to="a"),
    "no draw": _set("draws", to=[]),
}


@pytest.mark.parametrize("edit", COMPOSED_EDITS)
def test_edits_of_a_composed_plan_are_rejected(edit: str) -> None:
    record = json.loads(_plan(epsilon="1.6").to_json())
    COMPOSED_EDITS[edit](record)
    with pytest.raises(CertificateRejected):
        PlanCertificate.from_json(json.dumps(record)).verify()


def test_true_blocks_do_not_make_a_composed_plan_true() -> None:
    """The draws' own budgets may be anything true; only all draws together count."""
    draws = (("a", _certificate("l2")), ("b", _certificate("gaussian")))
    false = PlanCertificate(budget=Budget(epsilon="1.1", delta="2e-5"), draws=draws, rule=COMPOSED)
    with pytest.raises(CertificateRejected, match="delta of all queries together is"):
        false.verify()


def test_draws_of_one_sample_are_not_composed() -> None:
    proof = Certificate.prove(
        budget=Budget(epsilon="1", delta="1e-5"),
        noise=family_named("gaussian")(scale=2, dimension=1),
        sensitivity=L2(1),
        sampling_rate=Fraction(1, 100),
    )
    draws = (("a", proof), ("b", proof))
    budget = Budget(epsilon="1.9", delta="2e-5")
    with pytest.raises(NotCertified, match="draws from a sample"):
        PlanCertificate.prove(budget=budget, draws=draws)
    with pytest.raises(CertificateRejected, match="draws from a sample"):
        PlanCertificate(budget=budget, draws=draws, rule=COMPOSED).verify()


@pytest.mark.parametrize("edit", PLAN_EDITS)
def test_plan_edits_are_rejected(edit: str) -> None:
    record = json.loads(_plan().to_json())
    PLAN_EDITS[edit](record)
    with pytest.raises(CertificateRejected):
        PlanCertificate.from_json(json.dumps(record)).verify()
