"""The probabilities with which keys alone are published, against proved and known optima."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.certificate.unlisted import CERTAIN
from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.tables.answers.unlisted.search import GroupSizes, find_claims_of_units
from leastnoise.tables.answers.unlisted.search_keys import NEARLY, find_chances
from tests.tables.unlisted import planned

HALF = Fraction(1, 2)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("groups", "delta", "half", "nearly"),
    [(1, "1e-5", 12, 14), (3, "1e-5", 27, 36), (10, "1e-5", 42, 60), (1, "1e-8", 19, 21)],
)
def test_from_how_many_units_on(groups: int, delta: str, half: int, nearly: int) -> None:
    """The figures of theory/workloads.md §1."""
    chances = find_chances(Budget(epsilon=1, delta=delta), groups, "add-remove")
    assert chances is not None
    assert (chances.first(HALF), chances.first(NEARLY)) == (half, nearly)
    assert Fraction(chances.verify().upper) <= Fraction(delta)
    assert list(chances.chances) == sorted(chances.chances)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("epsilon", "delta", "groups", "half", "nearly", "chance"),
    [
        ("8", "1e-6", 2, 5, 5, 0.98),
        ("8", "1e-5", 2, 4, 5, 0.82),
        ("10", "1e-6", 4, 7, 8, 0.88),
        ("10", "1e-8", 10, 14, 17, 0.64),  # of counts, which an even split is far from
    ],
)
def test_no_fewer_keys_than_by_two_simple_rules(  # noqa: PLR0917
    epsilon: str, delta: str, groups: int, half: int, nearly: int, chance: float
) -> None:
    """An even split of the budget, and a count of units with a threshold that isn't published.

    The second has 2 % less δ, and ε less by what rounding takes: within one of n₅₀.
    """
    budget = Budget(epsilon=epsilon, delta=delta)
    chances = find_chances(budget, groups, "add-remove")
    split = find_chances(budget.share(Fraction(1, groups)), 1, "add-remove")
    assert chances is not None
    assert split is not None
    assert (chances.first(HALF), chances.first(NEARLY)) == (half, nearly)
    assert chances.chance(half) > chance
    assert half <= split.first(HALF)
    assert half <= GroupSizes.of(find_claims_of_units(budget, groups, "add-remove")[0]).half + 1
    assert Fraction(chances.verify().upper) <= budget.delta


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("0.3", "1e-3"), ("3", "0.2")])
def test_one_group_a_unit_has_the_largest_chances(epsilon: str, delta: str) -> None:
    """The recurrence that bounds every mechanism, in rationals of its own."""
    chances = find_chances(Budget(epsilon=epsilon, delta=delta), 1, "add-remove")
    assert chances is not None
    c, largest, part = Fraction(math.exp(float(epsilon))), Fraction(0), Fraction(delta)
    for units, chance in enumerate(chances.chances, 1):
        largest = min(c * largest + part, 1 - (1 - largest - part) / c, Fraction(1))
        assert abs(largest - Fraction(chance, CERTAIN)) < Fraction(1, 10**9), units
    upper = Fraction(chances.verify().upper)
    assert Fraction(999, 1000) * Fraction(delta) < upper <= Fraction(delta)


@pytest.mark.dense
def test_replaced_units_and_small_budgets() -> None:
    replaced = find_chances(Budget(epsilon=1, delta="1e-5"), 3, "replace-one")
    assert replaced is not None
    assert replaced.first(HALF) == 55
    for epsilon, half in ((10, 5), (100, 2), (100_000, 2)):
        large = find_chances(Budget(epsilon=epsilon, delta="1e-5"), 3, "add-remove")
        assert large is not None
        assert large.first(HALF) == half
    for groups in (1, 2):
        assert find_chances(Budget(epsilon="1e-4", delta="1e-9"), groups, "add-remove") is None
    with pytest.raises(Refused, match=r"with this part of the budget.*Raise epsilon or delta"):
        planned(statistics=[], privacy={"epsilon": "1e-4", "delta": "1e-9"})
