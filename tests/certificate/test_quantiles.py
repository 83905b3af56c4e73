"""Certificates of chosen quantiles: what they recompute, and that no false edit verifies."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.certificate.quantiles import QuantileCertificate, list_choices
from leastnoise.errors import CertificateRejected, InvalidArgument, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.filters import Cost
from leastnoise.ledger.preregistered import Preregistered

_NINE = tuple(Fraction(k, 10) for k in range(1, 10))


def best(**options: Any) -> QuantileCertificate:
    asked: dict[str, Any] = {
        "epsilon": Fraction(1), "levels": _NINE, "candidates": 100, "parts": 8, "groups": 3,
    }  # fmt: skip
    return QuantileCertificate.best(**asked | options)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("levels", [_NINE[:1], _NINE[:2], _NINE[:3], _NINE])
@pytest.mark.parametrize("groups", [1, 3])
def test_what_is_best_spends_all_and_verifies_again(
    neighbours: str, levels: tuple[Fraction, ...], groups: int
) -> None:
    claim = best(levels=levels, neighbours=neighbours, groups=groups, reach=Fraction(5, 2))
    again = QuantileCertificate.from_json(claim.to_json())
    assert again == claim
    assert again.spent == again.budget.epsilon
    assert again.verify().upper == 0


def test_levels_are_halved_in_as_few_depths_as_can_be() -> None:
    for count in range(1, 40):
        levels = tuple(Fraction(k, count + 1) for k in range(1, count + 1))
        choices = list_choices(levels, nested=True)
        assert max(choice.depth for choice in choices) + 1 == count.bit_length()
        for index, item in enumerate(choices):
            low = Fraction(0) if item.below is None else levels[item.below]
            high = Fraction(1) if item.above is None else levels[item.above]
            assert low + item.level * (high - low) == levels[index]
            parents = [end for end in (item.below, item.above) if end is not None]
            assert item.depth == max((choices[end].depth + 1 for end in parents), default=0)


_HALVED = ["1/2"] * 9


@pytest.mark.parametrize(
    "edit",
    [
        {"epsilon": "0.999999"},
        {"rates": [*best().to_record()["rates"][:4], "1", *best().to_record()["rates"][5:]]},
        {"rates": _HALVED},
        {"nested": False},
        {"reach": "2"},
        {"neighbours": "replace-one"},
        {"levels": [str(Fraction(k, 100)) for k in range(1, 10)]},
        {"levels": [*map(str, reversed(_NINE))]},
        {"levels": ["0.1"]},
        {"levels": []},
        {"levels": ["0", *map(str, _NINE[1:])]},
        {"reach": "-1"},
        {"reach": 1},
        {"rates": ["0"] * 9},
        {"rates": ["-1"] * 9},
        {"candidates": 0},
        {"groups": True},
        {"parts": "8"},
        {"nested": 1},
        {"neighbours": "none"},
        {"assumptions": []},
        {"kind": "threshold-certificate"},
        {"version": 2},
        {"more": 1},
    ],
)
def test_attack_an_edit_that_says_more_is_rejected(edit: dict[str, Any]) -> None:
    text = json.dumps(best().to_record() | edit)
    with pytest.raises(CertificateRejected):
        QuantileCertificate.from_json(text).verify()


def test_smaller_rates_say_no_more_and_verify() -> None:
    record = best().to_record()
    record["rates"] = [str(Fraction(rate) / 2) for rate in record["rates"]]
    assert QuantileCertificate.from_record(record).spent == Fraction(1, 2)


def test_a_ledger_charges_what_any_pure_release_costs() -> None:
    draws = (("one", best()),)
    plan = PlanCertificate.prove(budget=Budget(epsilon=1, delta=0), draws=draws)
    cost = Cost.of(plan)
    assert (cost.epsilon, cost.delta, cost.rho, cost.leak) == (1, 0, Fraction(1, 2), 0)
    Preregistered(budget=Budget(epsilon=2, delta=0), releases=((plan, 2),)).prove()
    with pytest.raises(NotCertified):
        Preregistered(budget=Budget(epsilon="1.9", delta="1e-9"), releases=((plan, 2),)).prove()


def test_noise_composes_tightly_in_what_quantiles_leave() -> None:
    noise = ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1)).certificate
    draws = (("one", noise), ("two", noise))
    less = Budget(epsilon="1.6", delta="1e-5")
    assert PlanCertificate.prove(budget=less, draws=draws).rule == COMPOSED
    both = (*draws, ("quantiles", best(epsilon=Fraction(1, 2))))
    plan = PlanCertificate.prove(budget=Budget(epsilon="2.1", delta="1e-5"), draws=both)
    assert plan.rule == COMPOSED
    assert 0 < plan.verify().upper <= 1e-5
    with pytest.raises(NotCertified):
        PlanCertificate.prove(budget=less, draws=both)


def test_levels_that_fall_are_no_certificate() -> None:
    with pytest.raises(InvalidArgument, match="levels between 0 and 1"):
        best(levels=(Fraction(1, 2), Fraction(1, 2)))


def test_a_plan_adds_them_up_and_reads_them_back() -> None:
    claim = best()
    draws = (("one", claim), ("two", claim))
    plan = PlanCertificate.prove(budget=Budget(epsilon=2, delta=0), draws=draws)
    again = PlanCertificate.from_json(plan.to_json())
    assert again == plan
    assert again.verify().upper == 0
    with pytest.raises(CertificateRejected):
        PlanCertificate.from_json(
            plan.to_json().replace('"epsilon": "2"', '"epsilon": "1.9"')
        ).verify()
