"""The certificate of a series covers all its releases together, and not one more."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED, RULE, PlanCertificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.certificate.unlisted import ThresholdCertificate
from leastnoise.errors import CertificateRejected, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.ledger.filters import Cost
from leastnoise.selection.public import calibrate
from tests.certificate.test_threshold import proved

TIMES = 12


def draw(epsilon: str, delta: str = "0") -> Certificate:
    family = "gaussian" if delta != "0" else "laplace"
    return calibrate(
        family, epsilon=epsilon, delta=delta, sensitivity=L2(1), compositions=TIMES
    ).certificate


def choose_case(epsilon: Fraction) -> QuantileCertificate:
    return QuantileCertificate.best(
        epsilon=epsilon,
        levels=(Fraction(1, 2),),
        candidates=10,
        parts=2,
        groups=1,
        reach=Fraction(1),
        neighbours="add-remove",
    )


def test_a_draw_spends_what_its_certificate_says_of_all_releases() -> None:
    plan = PlanCertificate.prove(
        budget=Budget(epsilon=1), draws=(("a", draw("1")),), releases=TIMES
    )
    assert plan.rule == RULE
    assert plan.verify().upper == 0
    read = PlanCertificate.from_json(plan.to_json())
    assert read == plan
    assert json.loads(plan.to_json())["releases"] == TIMES
    assert Cost.of(plan).epsilon == 1
    assert Cost.of(plan).rho == Cost.of(draw("1")).rho


def test_what_has_no_law_spends_its_budget_each_time() -> None:
    fraction = Fraction(1, 4 * TIMES)
    draws = (("a", draw("0.75")), ("b", choose_case(fraction)))
    plan = PlanCertificate.prove(budget=Budget(epsilon=1), draws=draws, releases=TIMES)
    plan.verify()
    # by hand: 3/4 for the draws, a quarter for twelve choices at 1/48
    assert plan.rule == RULE
    less = Budget(epsilon=Fraction(999, 1000))
    with pytest.raises(NotCertified, match="spend epsilon=1 in all"):
        PlanCertificate.prove(budget=less, draws=draws, releases=TIMES)
    with pytest.raises(CertificateRejected, match="spend epsilon=1 in all"):
        replace(plan, budget=less).verify()
    assert Cost.of(plan).rho == pytest.approx(
        float(Cost.of(draw("0.75")).rho + TIMES * fraction**2 / 2)
    )


def test_what_groups_may_leak_is_leaked_each_time() -> None:
    item = Budget(epsilon="0.25", delta="1e-5")
    law = calibrate("geometric", epsilon=item.epsilon, sensitivity=Integer(1)).certificate.noise
    noise = proved(law, item, groups=1, neighbours="add-remove")
    groups = ThresholdCertificate(budget=item, noise=noise, threshold=Fraction(60)).prove()
    budget = Budget(epsilon=TIMES * item.epsilon, delta=TIMES * item.delta)
    plan = PlanCertificate.prove(budget=budget, draws=(("g", groups),), releases=TIMES)
    assert Cost.of(plan).leak == TIMES * item.delta
    assert plan.verify().upper <= float(budget.delta)
    less = Budget(epsilon=budget.epsilon, delta=budget.delta - item.delta / 2)
    with pytest.raises(NotCertified, match="spend delta"):
        PlanCertificate.prove(budget=less, draws=(("g", groups),), releases=TIMES)


def test_draws_of_all_releases_compose_tightly_beside_choices() -> None:
    fraction = Fraction(1, 4 * TIMES)
    alone = [draw("0.5", "5e-7"), draw("0.5", "5e-7")]
    draws = (("a", alone[0]), ("b", alone[1]), ("c", choose_case(fraction)))
    budget = Budget(epsilon="1.1", delta="1e-6")  # by sums it would be 1.25
    plan = PlanCertificate.prove(budget=budget, draws=draws, releases=TIMES)
    assert plan.rule == COMPOSED
    assert plan.verify().upper <= 1e-6
    with pytest.raises(
        CertificateRejected, match="delta of all queries together is in"
    ):  # 0.45 is left of it
        replace(plan, budget=Budget(epsilon="0.7", delta="1e-6")).verify()


@pytest.mark.parametrize("releases", [2, TIMES - 1, TIMES + 1, 10**4])
def test_another_number_of_releases_is_rejected(releases: int) -> None:
    plan = PlanCertificate.prove(
        budget=Budget(epsilon=1), draws=(("a", draw("1")),), releases=TIMES
    )
    record = json.loads(plan.to_json()) | {"releases": releases}
    with pytest.raises(CertificateRejected, match=f"12 releases, the series has {releases:,}"):
        PlanCertificate.from_record(record).verify()
    with pytest.raises(NotCertified, match="about 12 releases"):
        PlanCertificate.prove(budget=plan.budget, draws=plan.draws, releases=releases)


@pytest.mark.parametrize("releases", [0, 1, -3, 2.0, "12", None, True])
def test_a_series_of_no_number_is_unreadable(releases: object) -> None:
    plan = PlanCertificate.prove(
        budget=Budget(epsilon=1), draws=(("a", draw("1")),), releases=TIMES
    )
    record = json.loads(plan.to_json()) | {"releases": releases}
    with pytest.raises(CertificateRejected):
        PlanCertificate.from_record(record)


def test_one_release_is_written_as_it_was() -> None:
    noise = calibrate("geometric", epsilon=1, sensitivity=Integer(1)).certificate
    plan = PlanCertificate.prove(budget=Budget(epsilon=1), draws=(("a", noise),))
    assert "releases" not in json.loads(plan.to_json())
