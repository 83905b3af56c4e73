from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget


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
