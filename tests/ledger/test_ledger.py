"""A ledger on a real disk: what it admits, what it refuses, and what it notices."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    InvalidInput,
    NotCertified,
    OverBudget,
    Refused,
)
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1
from leastnoise.guarantees.structured import CountingQueries
from leastnoise.ledger import store
from leastnoise.ledger.account import _is_short
from leastnoise.ledger.check import check_ledger
from leastnoise.ledger.filters import SUMS, ZCDP, Cost, fits
from leastnoise.noise.classic.law import Gaussian, Laplace
from tests.ledger.releases import account, certificate, sampled


def test_a_budget_is_spent_to_the_last_and_no_further(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1", "3e-7", SUMS)
    third = certificate("truncated-laplace", "1/3", "1e-7")
    assert [ledger.charge(third, unit="person").number for _ in range(3)] == [2, 3, 4]
    for more in (third, certificate("laplace", "1e-6")):
        with pytest.raises(OverBudget, match="epsilon=0 and delta=0 left"):
            ledger.charge(more, unit="person")
    spent = ledger.accounts()["visits"].spent
    assert (spent.epsilon, spent.delta) == (1, Fraction(3, 10**7))
    assert check_ledger(ledger.path).entries == 4


def test_a_release_of_the_whole_budget_fits_by_default(tmp_path: Path) -> None:
    for index, name in enumerate(("gaussian", "truncated-laplace", "tulap")):
        folder = tmp_path / str(index)
        folder.mkdir()
        ledger = account(folder, "1", "1e-6")
        assert ledger.charge(certificate(name, "1", "1e-6"), unit="person").rule == SUMS
        with pytest.raises(OverBudget):
            ledger.charge(certificate(name, "0.1", "1e-7"), unit="person")


@pytest.mark.dense
def test_adaptive_charges_are_admitted_as_a_brute_recomputation_says(tmp_path: Path) -> None:
    kinds = [
        certificate("gaussian", "0.1", "1e-8"),
        certificate("gaussian", "0.02", "1e-9", 3),
        certificate("laplace", "0.05"),
        certificate("truncated-laplace", "0.05", "2e-8"),
        certificate("l2", "0.1", "1e-8", 4),
    ]
    for rule in (SUMS, ZCDP):
        draw, spent, refused = random.Random(7), Cost(), 0
        folder = tmp_path / rule
        folder.mkdir()
        ledger = account(folder, "1", "1e-6", rule)
        budget = ledger.accounts()["visits"].budget
        for _ in range(50):
            item = draw.choice(kinds)
            # sums in another order than the ledger's, from the certificates
            wanted = fits(Cost.of(item) + spent, budget, rule)
            try:
                ledger.charge(item, unit="person")
                assert wanted
                spent = Cost.of(item) + spent
            except OverBudget:
                assert not wanted
                refused += 1
        assert ledger.accounts()["visits"].spent == spent
        assert refused or rule == ZCDP
        check_ledger(ledger.path)


def test_many_gaussians_go_further_by_zcdp(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1", "1e-6")
    item = certificate("gaussian", "0.1", "1e-7")
    for _ in range(30):  # sums hold 10
        assert ledger.charge(item, unit="person").rule == ZCDP


@pytest.mark.parametrize(
    ("unit", "neighbours", "why"),
    [("row", "add-remove", "unit='person'"), ("person", "replace-one", "neighbours='add-remove'")],
)
def test_another_unit_or_neighbour_relation_is_refused(
    tmp_path: Path, unit: str, neighbours: str, why: str
) -> None:
    ledger = account(tmp_path, "1")
    with pytest.raises(Refused, match=why):
        ledger.charge(certificate("laplace", "0.1"), unit=unit, neighbours=neighbours)
    assert ledger.accounts()["visits"].charges == 0


def test_a_sensitivity_of_other_neighbours_is_refused(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1", "1e-5")
    other = Certificate.prove(
        budget=Budget(epsilon=1, delta="1e-5"),
        noise=Gaussian(scale=50, dimension=2),
        sensitivity=CountingQueries(dimension=2, neighbours="replace-one"),
    )
    with pytest.raises(Refused, match="replace-one"):
        ledger.charge(other, unit="person")


def test_sampling_is_for_records_added_or_removed(tmp_path: Path) -> None:
    stored = account(tmp_path, "1").accounts()["visits"]
    release = sampled("gaussian", "0.5", "1e-7")
    stored.check_statement(release, unit="person", neighbours="add-remove")
    with pytest.raises(Refused, match="add-remove neighbours"):
        replace(stored, neighbours="replace-one").check_statement(
            release, unit="person", neighbours="replace-one"
        )


def test_a_false_certificate_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    good = certificate("laplace", "0.5")
    false = replace(good, noise=Laplace(scale=1, dimension=1))  # needs ε = 1
    for release in (
        false,
        PlanCertificate(budget=Budget(epsilon="0.1"), draws=(("a", good),)),
        PlanCertificate(budget=Budget(epsilon="0.5"), draws=(("a", false),)),
    ):
        with pytest.raises(CertificateRejected):
            ledger.charge(release, unit="person")
    assert len(ledger.history()) == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"rho": Fraction(1, 10**6)}, "more than 1e-6"),
        ({"budget": Budget(epsilon="1", delta="1.5e-7")}, "The queries spend delta"),
        ({"budget": Budget(epsilon="0.3", delta="1e-8")}, "The queries spend epsilon"),
        ({"budget": Budget(epsilon="0.9", delta="2e-7")}, "The queries spend epsilon"),
        (
            {"budget": Budget(epsilon="0.3", delta="1e-8"), "rule": COMPOSED},
            "delta of all queries together is",
        ),
        ({"releases": 2}, "the series has 2"),
        ({"draws": ()}, "at least one query"),
        ({"draws": (("a", certificate("gaussian", "0.5", "1e-7")),) * 2}, "its own name"),
    ],
)
def test_a_plan_of_proved_draws_is_refused_for_any_field_that_is_false(
    tmp_path: Path, fields: dict[str, Any], why: str
) -> None:
    """The ledger charges nothing that `check_ledger` would reject."""
    draws = tuple((name, certificate("gaussian", "0.5", "1e-7")) for name in "ab")
    plan = PlanCertificate.prove(budget=Budget(epsilon="1", delta="2e-7"), draws=draws)
    false = replace(plan, **fields)
    ledger = account(tmp_path, "2", "1e-5")
    with pytest.raises(CertificateRejected, match=why):
        false.verify()
    with pytest.raises(CertificateRejected, match=why):
        ledger.charge(false, unit="person")
    with pytest.raises(CertificateRejected, match=why):
        ledger.register([(false, 1)], budget=plan.budget, unit="person")
    assert len(ledger.history()) == 1


@pytest.mark.parametrize(
    "fields",
    [{"rule": COMPOSED}, {"rho": Fraction(1, 10)}, {"rho": Fraction(1, 10), "rule": COMPOSED}],
)
def test_a_plan_of_proved_draws_is_charged_for_any_statement_that_holds(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    draws = tuple((name, certificate("gaussian", "0.5", "1e-7")) for name in "ab")
    plan = PlanCertificate.prove(budget=Budget(epsilon="1", delta="2e-7"), draws=draws)
    ledger = account(tmp_path, "2", "1e-5")
    ledger.charge(replace(plan, **fields), unit="person")
    assert check_ledger(ledger.path).entries == 2


def test_accounts_are_apart_and_named(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    ledger.open_account("claims", unit="row", budget=Budget(epsilon=2))
    item = certificate("laplace", "1")
    ledger.charge(item, unit="row", dataset="claims")
    ledger.charge(item, unit="person", dataset="visits")
    assert {name: stored.spent.epsilon for name, stored in ledger.accounts().items()} == {
        "visits": 1,
        "claims": 1,
    }
    for name in (None, "visit"):
        with pytest.raises(InvalidArgument, match="'visits', 'claims'"):
            ledger.charge(item, unit="row", dataset=name)
    with pytest.raises(Refused, match="already"):
        ledger.open_account("claims", unit="row", budget=Budget(epsilon=5))
    with pytest.raises(InvalidArgument):
        ledger.open_account("a\nb", unit="row", budget=Budget(epsilon=5))
    with pytest.raises(InvalidArgument):
        ledger.open_account("pure", unit="row", budget=Budget(epsilon=5), rule=ZCDP)


def test_draws_of_one_sample_are_no_plan() -> None:
    """Together such draws have log(1 + γ(e^(2·3) − 1)) = 0.338, above twice the 0.1 of each."""
    proof = Certificate.prove(
        budget=Budget(epsilon="0.1"),
        noise=Laplace(scale=Fraction(1, 3), dimension=1),
        sensitivity=L1(1),
        sampling_rate=Fraction(1, 1000),
    )
    budget, draws = Budget(epsilon="0.2"), (("a", proof), ("b", proof))
    with pytest.raises(NotCertified, match="one sample"):
        PlanCertificate.prove(budget=budget, draws=draws)
    with pytest.raises(CertificateRejected, match="one sample"):
        PlanCertificate(budget=budget, draws=draws).verify()


def test_a_plan_of_no_draws_or_of_equal_names_is_not_proved() -> None:
    for draws in ((), (("a", certificate("laplace", "0.1")),) * 2):
        with pytest.raises(NotCertified, match="its own name"):
            PlanCertificate.prove(budget=Budget(epsilon=1), draws=draws)


def test_a_plan_composes_tightly_and_is_used_once_each(tmp_path: Path) -> None:
    """12 releases at (0.3, 1e-7) cost 3.6 by sums; together they are proved to cost 1.3."""
    ledger = account(tmp_path, "1.5", "2e-6", SUMS)
    monthly = certificate("gaussian", "0.3", "1e-7", 2)
    budget = Budget(epsilon="1.3", delta="1e-6")
    with pytest.raises(NotCertified):
        ledger.register([(monthly, 12)], budget=Budget(epsilon="0.9", delta="1e-6"), unit="person")
    plan = ledger.register([(monthly, 12)], budget=budget, unit="person")
    assert (plan.cost.epsilon, plan.cost.delta) == (budget.epsilon, budget.delta)
    with pytest.raises(OverBudget):
        ledger.register([(monthly, 12)], budget=budget, unit="person")
    ledger.charge(certificate("laplace", "0.1"), unit="person")  # interleaved
    for _ in range(12):
        ledger.use(monthly, plan=plan.number, unit="person")
    with pytest.raises(Refused, match="12 releases with this certificate, and none is left"):
        ledger.use(monthly, plan=plan.number, unit="person")
    with pytest.raises(Refused, match="no release with this"):
        ledger.use(certificate("gaussian", "0.3", "1e-8"), plan=plan.number, unit="person")
    for wrong in (1, 3, 99):
        with pytest.raises(Refused, match="no plan"):
            ledger.use(monthly, plan=wrong, unit="person")
    assert ledger.accounts()["visits"].spent.epsilon == Fraction("1.4")
    check_ledger(ledger.path)


def test_a_plan_of_several_queries_and_of_noise_without_tight_composition(tmp_path: Path) -> None:
    ledger = account(tmp_path, "2", "1e-5", SUMS)
    parts = (("a", certificate("gaussian", "0.2", "1e-7")), ("b", certificate("laplace", "0.1")))
    both = PlanCertificate.prove(budget=Budget(epsilon="0.3", delta="1e-7"), draws=parts)
    plan = ledger.register([(both, 2)], budget=Budget(epsilon="0.6", delta="2e-7"), unit="person")
    ledger.use(both, plan=plan.number, unit="person")
    with pytest.raises(InvalidArgument):
        ledger.register([(both, 0)], budget=Budget(epsilon=1), unit="person")
    check_ledger(ledger.path)


def test_every_order_of_two_charges_gives_the_same_sums(tmp_path: Path) -> None:
    releases = [certificate("laplace", "0.1"), certificate("gaussian", "0.3", "1e-7")]
    results: list[Cost] = []
    for index, order in enumerate(itertools.permutations(releases)):
        folder = tmp_path / str(index)
        folder.mkdir()
        ledger = account(folder, "1", "1e-6", SUMS)
        for item in order:
            ledger.charge(item, unit="person")
        results.append(ledger.accounts()["visits"].spent)
    assert results[0] == results[1]


def test_a_ledger_that_another_process_holds_is_refused_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = account(tmp_path, "1")
    monkeypatch.setattr(store, "_PATIENCE", 0.05)
    with sqlite3.connect(ledger.path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Refused, match="Other processes hold"):
            ledger.charge(certificate("laplace", "0.1"), unit="person")
        other.execute("ROLLBACK")
    assert ledger.accounts()["visits"].charges == 0


def test_a_charge_that_cannot_be_written_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, as SQLite reports one."""
    ledger = account(tmp_path, "1")
    opened = store.Store._open

    @contextmanager
    def small(self: store.Store, *, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        with opened(self, mode=mode) as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")
            yield connection

    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "_open", small)
        with pytest.raises(InvalidInput, match="can't be written to"):
            _ = [ledger.charge(certificate("laplace", "0.01"), unit="person") for _ in range(10)]
    stored = ledger.accounts()["visits"]
    assert stored.spent.epsilon == stored.charges * Fraction(1, 100)
    check_ledger(ledger.path)


def test_a_cost_that_could_not_be_read_again_is_not_charged(tmp_path: Path) -> None:
    """Each δ has digits that a ledger holds; their sum doesn't, and would make it unreadable."""
    ledger = account(tmp_path, "9", "0.1", ZCDP)
    deltas = [f"{10**250 + n}/{10**257 + n}" for n in (1, 3, 7)]
    releases = [(certificate("truncated-laplace", "1", delta), 1) for delta in deltas]
    with pytest.raises(Refused, match="more digits than a ledger stores"):
        ledger.register(releases, budget=Budget(epsilon=3, delta="1e-6"), unit="person")
    assert ledger.accounts()["visits"].charges == 0


def test_what_is_known_without_a_certificate_is_said_before(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1", rule=SUMS)
    budget = Budget(epsilon=1)
    ledger.check_account(unit="person", budget=budget)
    for why, wrong in (
        ("unit", {"unit": "row"}),
        ("neighbours", {"unit": "person", "neighbours": "replace-one"}),
        ("no plan with the number 1", {"unit": "person", "plan": 1}),
        ("Over budget", {"unit": "person", "budget": Budget(epsilon=2)}),
    ):
        with pytest.raises(Refused, match=why):
            ledger.check_account(**wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgument, match="dataset"):
        ledger.check_account(unit="person", dataset="other")
    ledger.charge(certificate("laplace", "1"), unit="person")
    with pytest.raises(OverBudget):
        ledger.check_account(unit="person", budget=budget)


@pytest.mark.parametrize(("bits", "short"), [(10_000, True), (10_001, False)])
def test_how_long_a_cost_may_grow(bits: int, *, short: bool) -> None:
    longest = 2**bits - 1
    assert _is_short(Cost(epsilon=Fraction(1, longest))) == short
    assert _is_short(Cost(epsilon=Fraction(longest, 2))) == short
