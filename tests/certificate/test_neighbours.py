"""Budgets under different neighbour relations never add up: a certificate states one relation."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED, RULE, PlanCertificate
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    NotApplicable,
    NotCertified,
    Refused,
)
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours
from leastnoise.ledger.preregistered import Preregistered
from leastnoise.mechanism.mechanism import Mechanism

BUDGET = ln.Budget(epsilon=1, delta="1e-6")
WIDE = ln.Budget(epsilon=3, delta="1e-5")


def _counting(neighbours: Neighbours) -> Mechanism:
    return ln.calibrate(
        "gaussian",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        sensitivity=ln.CountingQueries(dimension=3, max_nonzero=1, neighbours=neighbours),
    )


def _sampled() -> Mechanism:
    return ln.calibrate(
        "gaussian",
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        sensitivity=ln.L2(1),
        sampling_rate="0.1",
    )


ADDED, REPLACED = _counting("add-remove"), _counting("replace-one")
PLAIN = ln.calibrate("gaussian", epsilon=1, delta="1e-6", sensitivity=ln.L2(1))
MIXED = [(ADDED, REPLACED), (REPLACED, _sampled())]


@pytest.mark.parametrize("pair", MIXED)
def test_different_neighbours_are_not_composed(pair: tuple[Mechanism, Mechanism]) -> None:
    with pytest.raises(NotApplicable, match="replaced"):
        ln.compose([(item, 1) for item in pair])
    draws = tuple((str(i), mechanism.certificate) for i, mechanism in enumerate(pair))
    with pytest.raises(NotCertified, match="replaced"):
        PlanCertificate.prove(budget=WIDE, draws=draws)
    for rule in (RULE, COMPOSED):
        with pytest.raises(CertificateRejected, match="replaced"):
            PlanCertificate(budget=WIDE, draws=draws, rule=rule).verify()
    with pytest.raises(NotCertified, match="replaced"):
        Preregistered(budget=WIDE, releases=tuple((c, 1) for _, c in draws)).prove()
    with pytest.raises(NotApplicable, match="replaced"):
        ln.calibrate_jointly([(item, 1) for item in pair], epsilon=3, delta="1e-5")


@pytest.mark.parametrize("own", [ADDED, REPLACED])
def test_a_sensitivity_that_states_no_neighbours_is_about_those_of_the_others(
    own: Mechanism,
) -> None:
    assert PLAIN.certificate.neighbours is None
    together = ln.compose([(own, 1), (PLAIN, 1)])
    assert together.delta(epsilon=2).upper < 1e-5
    draws = (("a", own.certificate), ("b", PLAIN.certificate))
    plan = PlanCertificate.prove(budget=WIDE, draws=draws)
    assert plan.neighbours == own.certificate.neighbours
    plan.verify()


def test_a_statement_about_samples_is_about_records_that_are_there_or_not() -> None:
    assert _sampled().certificate.neighbours == "add-remove"
    assert ln.compose([(ADDED, 1), (_sampled(), 2)]).parts[1].neighbours == "add-remove"
    with pytest.raises(NotApplicable, match="replaced"):
        ln.compose([(REPLACED, 1)], sampling_rate="0.1")


def test_an_edit_of_the_neighbours_is_rejected() -> None:
    """An added record with two entries at most moves less than a replaced one."""
    record = json.loads(_counting("add-remove").certificate.to_json())
    record["sensitivity"]["neighbours"] = "replace-one"
    with pytest.raises(CertificateRejected):
        ln.Certificate.from_json(json.dumps(record)).verify()


@pytest.mark.parametrize("mechanism", [REPLACED, ADDED, _sampled()])
def test_a_ledger_takes_statements_about_its_own_neighbours(
    tmp_path: Path, mechanism: Mechanism
) -> None:
    stated = mechanism.certificate.neighbours
    other = {"add-remove": "replace-one", "replace-one": "add-remove"}[str(stated)]
    ledger = ln.Ledger(tmp_path / "a.ledger")
    for neighbours in ("add-remove", "replace-one"):
        ledger.open_account(neighbours, unit="row", budget=WIDE, neighbours=neighbours)
    with pytest.raises(Refused, match="neighbours"):
        ledger.charge(mechanism.certificate, unit="row", neighbours=other, dataset=other)
    assert ledger.accounts()[other].spent.epsilon == 0
    ledger.charge(mechanism.certificate, unit="row", neighbours=str(stated), dataset=stated)
    assert ledger.accounts()[str(stated)].spent.epsilon == Fraction(1)


def test_a_certificate_names_neighbours_that_its_sensitivity_does_not() -> None:
    for neighbours in NEIGHBOURS:
        about = PLAIN.certificate.about(neighbours)
        assert (about.neighbours, about.proved) == (neighbours, True)
        read = Certificate.from_json(about.to_json())
        assert read == about != PLAIN.certificate
        read.verify()
        assert read.one_release.neighbours == neighbours
    assert "neighbours" not in json.loads(PLAIN.certificate.to_json())
    with pytest.raises(NotApplicable):
        ln.compose([(Mechanism(PLAIN.certificate.about("replace-one")), 1), (ADDED, 1)])


def test_neighbours_are_named_once_and_without_contradiction() -> None:
    computed = ADDED.certificate
    assert computed.about("add-remove") == computed
    for certificate in (computed, _sampled().certificate):
        with pytest.raises(InvalidArgument, match="neighbours"):
            certificate.about("replace-one")
    record = json.loads(PLAIN.certificate.to_json())
    for value in (None, "bounded", 1, ["add-remove"]):
        with pytest.raises(CertificateRejected):
            Certificate.from_record(record | {"neighbours": value})
    with pytest.raises(NotApplicable):
        PLAIN.certificate.about("replace-one").one_release_at("0.5")


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_what_is_stated_is_kept_and_never_another(neighbours: Neighbours) -> None:
    stated = Mechanism(PLAIN.certificate.about(neighbours))
    assert stated.certificate.about(neighbours) == stated.certificate
    (other,) = set(NEIGHBOURS) - {neighbours}
    with pytest.raises(InvalidArgument, match="neighbours"):
        stated.certificate.about(other)
    assert stated.at_accuracy(10).certificate.neighbours == neighbours
    assert stated.on_grid(1).certificate.neighbours == neighbours
