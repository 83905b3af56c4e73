"""Certificates of a chosen limit: how far one unit moves a score, and what is rejected."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from leastnoise.certificate.limits import LimitCertificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import CertificateRejected, InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.mechanism.limits import choose_limit
from tests.tables.found_limits import CANDIDATES, claimed, cut_off, small_plan

_RANDOM = Random(5)  # draws cases, no noise


def test_a_unit_that_is_added_removed_or_replaced_moves_no_score_by_more_than_1() -> None:
    reached = Fraction(0)
    for _ in range(500):
        candidates = sorted(_RANDOM.sample(range(1, 60), _RANDOM.randint(2, 6)))
        noise = [_RANDOM.randint(0, 200) for _ in candidates]
        claim = claimed(noise, candidates)
        others = [_RANDOM.randint(0, 70) for _ in range(_RANDOM.randint(0, 30))]
        tables = [others, *([*others, _RANDOM.choice((1, 5, 30, 200))] for _ in range(3))]
        scores = [claim.scores(cut_off(table, candidates)) for table in tables]
        for before in scores:
            for after in scores:
                moved = max(abs(a - b) for a, b in zip(before, after, strict=True))
                assert moved <= 1
                reached = max(reached, moved)
    assert reached == 1


def test_the_score_is_0_exactly_where_the_total_is_least() -> None:
    for _ in range(200):
        noise = [_RANDOM.randint(0, 40) for _ in CANDIDATES]
        beyond = cut_off([_RANDOM.randint(0, 14) for _ in range(12)])
        totals = [a + b for a, b in zip(noise, beyond, strict=True)]
        zeros = [score == 0 for score in claimed(noise).scores(beyond)]
        assert zeros == [total == min(totals) for total in totals]


def test_where_one_candidate_is_far_best_it_is_chosen() -> None:
    """Its score is better by 9 thousand, and a twentieth of that is 450 in the exponent."""
    beyond = cut_off([4] * 100_000)
    assert choose_limit(claimed([0, 0, 10**4, 10**6]), beyond, entropy=SystemEntropy()) == 2


def test_it_verifies_and_reads_back() -> None:
    claim = claimed([1, 2, 5, 10])
    assert claim.spent == Fraction(1, 10)
    assert claim.verify().upper == 0
    plan = PlanCertificate.prove(budget=claim.budget, draws=(("max_rows", claim),))
    plan.verify()
    read = PlanCertificate.from_json(plan.to_json())
    assert read == plan
    assert LimitCertificate.from_json(claim.to_json()) == claim


@pytest.mark.parametrize(
    "change",
    [
        {"rate": Fraction(6, 100)},
        {"budget": Budget(epsilon="0.99", delta=0)},
        {
            "plans": (
                *[small_plan()] * 3,
                replace(small_plan(), budget=Budget(epsilon="0.91", delta=0)),
            )
        },
        {
            "plans": (
                *[small_plan()] * 3,
                replace(small_plan(), budget=Budget(epsilon="0.8", delta=0)),
            )
        },
        {"plans": (*[small_plan()] * 3, replace(small_plan(), releases=2))},
    ],
)
def test_a_choice_or_a_plan_that_spends_more_is_rejected(change: dict[str, object]) -> None:
    with pytest.raises(CertificateRejected):
        replace(claimed([1, 2, 5, 10]), **change).verify()


def test_plans_that_choose_again_are_rejected() -> None:
    claim = claimed([1, 2, 5, 10])
    again = PlanCertificate(budget=claim.budget, draws=(("max_rows", claim),))
    nested = replace(claim, budget=Budget(epsilon=2, delta=0), plans=(again,) * 4)
    with pytest.raises(CertificateRejected, match="chooses a limit again"):
        nested.verify()
    record = json.loads(claim.to_json())
    record["plans"][0] = json.loads(again.to_json())
    with pytest.raises(CertificateRejected, match="None of these plans may choose a limit"):
        LimitCertificate.from_record(record)


def test_plans_about_other_neighbours_are_rejected() -> None:
    choices = [
        QuantileCertificate.best(
            epsilon=Fraction(1, 10),
            levels=(Fraction(1, 2),),
            candidates=5,
            parts=1,
            neighbours=neighbours,
        )
        for neighbours in NEIGHBOURS
    ]
    pairs = [(f"q{index}", choice) for index, choice in enumerate(choices)]
    for draws in (pairs, pairs[1:]):
        plan = PlanCertificate(budget=Budget(epsilon="0.5", delta=0), draws=tuple(draws))
        with pytest.raises(CertificateRejected, match=r"neighbours|records"):
            replace(claimed([1, 2, 5, 10]), plans=(plan,) * 4).verify()


def test_impossible_numbers_are_refused() -> None:
    for change in (
        {"candidates": (Fraction(1), Fraction(1), Fraction(2), Fraction(3))},
        {"noise": (Fraction(1), Fraction(2))},
        {"rate": Fraction(0)},
        {"plans": (1, 2, 3, 4)},
    ):
        with pytest.raises(InvalidArgument):
            replace(claimed([1, 2, 5, 10]), **change)
