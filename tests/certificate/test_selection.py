"""Certificates of selections: what they recompute, and that no false edit verifies."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import leastnoise_check as checker
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Neighbours
from tests.check import corpus


def best(**options: Any) -> SelectionCertificate:
    asked: dict[str, Any] = {
        "epsilon": Fraction(1, 2), "rounds": 10, "candidates": 2000, "neighbours": "add-remove",
    }  # fmt: skip
    return SelectionCertificate.best(**asked | options)


@pytest.mark.parametrize(("neighbours", "rate"), [("add-remove", "1/20"), ("replace-one", "1/40")])
def test_the_best_certificate_spends_its_budget_and_verifies(
    neighbours: Neighbours, rate: str
) -> None:
    claim = best(neighbours=neighbours)
    assert claim.rate == Fraction(rate)
    again = SelectionCertificate.from_json(claim.to_json())
    assert again == claim
    assert again.spent == again.budget.epsilon
    assert again.verify().upper == 0


_REJECTED: list[dict[str, Any]] = [
    {"epsilon": "0.499999"},
    {"rate": "0.0500001"},
    {"rate": "0"},
    {"rate": "-1"},
    {"rate": 1},
    {"rounds": 11},
    {"rounds": 0},
    {"rounds": True},
    {"rounds": 2000},
    {"candidates": 10},
    {"candidates": "2000"},
    {"neighbours": "replace-one"},
    {"neighbours": "none"},
    {"assumptions": []},
    {"version": 2},
]


@pytest.mark.parametrize("edit", _REJECTED)
def test_no_edit_says_more(edit: dict[str, Any]) -> None:
    record = best().to_record() | edit
    with pytest.raises(CertificateRejected):
        SelectionCertificate.from_json(json.dumps(record)).verify()
    assert corpus.verdict(checker, json.dumps(record)) == "rejected"


def test_the_small_checker_proves_it_too() -> None:
    for neighbours in ("add-remove", "replace-one"):
        assert corpus.verdict(checker, best(neighbours=neighbours).to_json()) == "proved"


def test_a_plan_adds_it_up_once_for_each_release() -> None:
    claim = best()
    budget = Budget(epsilon="1.5")
    plan = PlanCertificate.prove(budget=budget, draws=(("top", claim),), releases=3)
    assert PlanCertificate.from_json(plan.to_json()).verify().upper == 0
    with pytest.raises(NotCertified):
        PlanCertificate.prove(budget=Budget(epsilon="1.4"), draws=(("top", claim),), releases=3)
    with pytest.raises(CertificateRejected):
        replace(plan, releases=4).verify()


@pytest.mark.parametrize("wrong", [{"rounds": 1001}, {"rounds": 2000}, {"epsilon": Fraction(0)}])
def test_impossible_selections_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        best(**wrong)
