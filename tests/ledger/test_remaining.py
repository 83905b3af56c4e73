"""The ledger admits a charge of what an account is said to have left, and no more."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument, OverBudget
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.account import Account
from leastnoise.ledger.filters import (
    MOST_ALIKE,
    RULES,
    SUMS,
    ZCDP,
    Cost,
    Remaining,
    count_fitting,
    fits,
    rho_left,
)
from leastnoise.ledger.ledger import Ledger
from tests.ledger.releases import certificate

BUDGET = Budget(epsilon=1, delta="1e-6")


def opened(folder: Path, rule: str | None, budget: Budget = BUDGET) -> Ledger:
    ledger = Ledger(folder / "a.ledger")
    ledger.open_account("a", unit="person", budget=budget, rule=rule)
    return ledger


def account(ledger: Ledger) -> Account:
    return ledger.accounts()["a"]


@pytest.mark.grid
@pytest.mark.parametrize(
    ("named", "rule", "first"),
    [
        (("laplace", "0.11"), SUMS, "0.3"),
        (("gaussian", "0.05", "5e-8"), SUMS, "0.1"),
        (("gaussian", "0.25", "1e-8"), ZCDP, "0.1"),
        (("laplace", "0.05"), ZCDP, "0.1"),
        (("truncated-laplace", "0.04", "4e-8"), ZCDP, "0.1"),  # here δ' runs out first
        (("laplace", "0.2"), None, "0.2"),
    ],
)
def test_so_many_more_are_admitted_and_one_more_is_not(
    tmp_path: Path, named: tuple[str, ...], rule: str | None, first: str
) -> None:
    ledger = opened(tmp_path, rule)
    ledger.charge(certificate("laplace", first), unit="person")
    release = certificate(*named)
    more = account(ledger).more_like(release)
    assert 3 <= more <= 40
    for left in range(more, 0, -1):
        assert account(ledger).more_like(Cost.of(release)) == left
        ledger.charge(release, unit="person")
        assert account(ledger).last == Cost.of(release)
    assert account(ledger).more_like(Cost.of(release)) == 0
    with pytest.raises(OverBudget):
        ledger.charge(release, unit="person")


@pytest.mark.parametrize("rule", RULES)
def test_so_many_more_plans_are_admitted_and_one_more_is_not(tmp_path: Path, rule: str) -> None:
    ledger = opened(tmp_path, rule)
    plan = [(certificate("gaussian", "0.1", "1e-8"), 3)]
    budget = Budget(epsilon="0.19", delta="1e-7")
    ledger.register(plan, budget=budget, unit="person")
    cost = account(ledger).last
    assert cost is not None
    more = account(ledger).more_like(cost)
    assert 2 <= more <= 40
    for _ in range(more):
        ledger.register(plan, budget=budget, unit="person")
    with pytest.raises(OverBudget):
        ledger.register(plan, budget=budget, unit="person")
    used = ledger.use(plan[0][0], plan=2, unit="person")  # which charges nothing more
    assert used == more + 3
    assert account(ledger).more_like(cost) == 0


@pytest.mark.parametrize("rule", RULES)
def test_a_pure_release_of_the_epsilon_that_is_left_fits(tmp_path: Path, rule: str) -> None:
    ledger = opened(tmp_path, rule)
    ledger.charge(certificate("laplace", "0.07"), unit="person")
    epsilon = account(ledger).remaining.epsilon
    above = epsilon * (1 + Fraction(1, 10**6))
    assert ledger.afford(certificate("laplace", str(epsilon)), unit="person") == rule
    with pytest.raises(OverBudget):
        ledger.afford(certificate("laplace", str(above)), unit="person")


def test_before_the_first_charge_all_is_left(tmp_path: Path) -> None:
    ledger = opened(tmp_path, None)
    result = account(ledger)
    assert result.last is None
    assert result.remaining == Remaining(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    small, large = Cost.of(certificate("laplace", "0.01")), Cost.of(certificate("laplace", "0.5"))
    assert result.more_like(small) == count_fitting(small, BUDGET, ZCDP) > 100
    assert result.more_like(large) == 2


def test_words_are_rounded_down() -> None:
    third = Cost(epsilon=Fraction(1, 3), rho=Fraction(1, 18))
    left = Remaining.of(Budget(epsilon=1, delta="1e-5"), third, SUMS)
    assert str(left) == "ε 0.6666 and δ 1e-5"
    assert repr(left) == "<Remaining: ε 0.6666 and δ 1e-5>"
    shown = str(Remaining.of(Budget(epsilon=2, delta="1e-5"), third, ZCDP))
    assert shown == "ρ 0.04578 of 0.1013 (one release with ε 0.3026, δ 0) and δ' 5e-6"


@pytest.mark.dense
@given(
    epsilon=st.fractions(Fraction(1, 100), Fraction(20), max_denominator=100),
    used=st.fractions(Fraction(0), Fraction(1), max_denominator=1000),
    digits=st.integers(2, 12),
)
@settings(max_examples=40, deadline=None)
def test_rho_that_is_left_fits_to_nine_digits(
    epsilon: Fraction, used: Fraction, digits: int
) -> None:
    budget = Budget(epsilon=epsilon, delta=Fraction(1, 10**digits))
    whole = rho_left(budget)
    spent = Cost(rho=used * whole)
    left = rho_left(budget, spent)
    assert fits(spent + Cost(rho=left), budget, ZCDP)
    assert not fits(spent + Cost(rho=left + whole / 10**6), budget, ZCDP)


TINY = [(epsilon, delta) for epsilon in ("1e-9", "1e-11", "1e-13", "1e-15")
        for delta in ("0.3", "1e-6", "1e-30")]  # fmt: skip
NOTHING = [("0", delta) for delta in ("0.3", "1e-3", "1e-6", "1e-9", "1e-12", "1e-15")]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [*TINY, *NOTHING, ("1e-300", "1e-6"), ("1", "1e-300"), ("1e-3", "1e-200")],
)
def test_what_is_left_of_a_tiny_budget_is_as_precise(epsilon: str, delta: str) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    left = Remaining.of(budget, Cost(), ZCDP)
    assert left.rho is not None
    assert left.rho > 0
    assert fits(Cost(rho=left.rho), budget, ZCDP)
    assert not fits(Cost(rho=left.rho * (1 + Fraction(2, 10**9))), budget, ZCDP)
    assert left.epsilon**2 <= 2 * left.rho <= (left.epsilon * (1 + Fraction(1, 10**15))) ** 2


@pytest.mark.dense
@given(
    spent=st.fractions(Fraction(0), Fraction(1), max_denominator=50),
    each=st.fractions(Fraction(1, 1000), Fraction(1, 10), max_denominator=1000),
    rule=st.sampled_from(RULES),
)
@settings(max_examples=40, deadline=None)
def test_every_charge_on_the_way_fits(spent: Fraction, each: Fraction, rule: str) -> None:
    """What bisection alone doesn't try."""
    before = Cost(epsilon=spent, rho=spent**2 / 60)
    cost = Cost(epsilon=each, rho=each**2 / 2)
    more = count_fitting(cost, BUDGET, rule, spent=before, most=60)
    assert all(fits(before + cost.times(count), BUDGET, rule) for count in range(1, more + 1))
    assert more == 60 or not fits(before + cost.times(more + 1), BUDGET, rule)


@pytest.mark.dense
def test_what_is_said_to_be_left_of_no_epsilon_is_what_fits(tmp_path: Path) -> None:
    """It said that ρ 0 of 0 was left, where three of these fit."""
    result = account(opened(tmp_path, ZCDP, Budget(epsilon=0, delta="1e-9")))
    assert result.more_like(Cost(rho=Fraction(1, 10**20))) >= 3
    assert result.remaining.rho is not None
    assert result.remaining.rho > Fraction(3, 10**20)
    assert not str(result.remaining).startswith("ρ 0 of 0")


def test_counts_end() -> None:
    free = Account(dataset="a", unit="row", neighbours="add-remove", budget=BUDGET, rule=SUMS)
    assert free.more_like(Cost()) == MOST_ALIKE
    assert free.more_like(Cost(epsilon=Fraction(1, 10**200))) == MOST_ALIKE
    for wrong in (None, 1, "0.1"):
        with pytest.raises(InvalidArgument, match="release to be a Certificate"):
            free.more_like(wrong)  # pyright: ignore[reportArgumentType]


def test_a_certificate_of_many_compositions_is_one_charge(tmp_path: Path) -> None:
    ledger = opened(tmp_path, SUMS)
    ten = ln.calibrate("laplace", epsilon="0.3", sensitivity=ln.L1(1), compositions=10).certificate
    assert isinstance(ten, Certificate)
    ledger.charge(ten, unit="person")
    last = account(ledger).last
    assert last is not None
    assert account(ledger).more_like(last) == 2
