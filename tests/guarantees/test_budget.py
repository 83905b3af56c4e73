from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget, amplify, samples_hide_all


def test_is_exact() -> None:
    budget = Budget(epsilon="0.1", delta=1e-5)
    assert (budget.epsilon, budget.delta) == (Fraction(1, 10), Fraction(1, 100_000))
    assert budget.share(Fraction(2, 3)).epsilon == Fraction(1, 15)


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        ("-1", "0", "0 <= epsilon"),
        ("nan", "0", "epsilon"),
        ("inf", "0", "epsilon"),
        ("1e6", "0", "epsilon <= 100,000"),
        ("1", "1", "percentage"),
        ("1", "1.5", "percentage"),
        ("1", "-1e-9", "probability"),
        ("0", "0", "epsilon > 0 or delta > 0"),
        ("one", "0", "decimal"),
    ],
)
def test_refuses_impossible_budgets(epsilon: str, delta: str, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Budget(epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("compositions", [1, 2, 7])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**20)])
def test_samples_hide_all_from_the_chance_to_be_in_any(compositions: int, rate: Fraction) -> None:
    """Ties are decided, and one part in 10^80 of the chance beside them."""
    any_sample = 1 - (1 - rate) ** compositions
    apart = any_sample / 10**80
    for delta, hides in (
        (any_sample, True), (any_sample + apart, True), (any_sample - apart, False), (0, False),
    ):  # fmt: skip
        budget = Budget(epsilon=1, delta=delta)
        assert samples_hide_all(budget, rate, compositions=compositions) is hides


def test_many_samples_are_told_from_the_limit_without_the_power() -> None:
    """1 − (1 − q)^k for k = 2^53 and q = 1/k is 1 − 1/e − q/(2e) − …, too long to be written."""
    often = 2**53
    rate = Fraction(1, often)
    below, above = Fraction("0.632120558828557"), Fraction("0.632120558828558")
    assert not samples_hide_all(Budget(epsilon=1, delta=below), rate, compositions=often)
    assert samples_hide_all(Budget(epsilon=1, delta=above), rate, compositions=often)


def test_a_search_for_several_samples_starts_below_what_one_of_them_may_leak() -> None:
    budget = Budget(epsilon=1, delta="0.05")
    with pytest.raises(Refused, match="sampling rate"):
        amplify(budget, Fraction(1, 100))
    with pytest.raises(Refused, match="the 5 samples"):
        amplify(budget, Fraction(1, 100), compositions=5)
    assert amplify(budget, Fraction(1, 100), compositions=6).delta == Fraction(1, 2)
