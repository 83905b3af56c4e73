from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from leastnoise.errors import NumericalFailure, Refused
from leastnoise.noise.common.profile import solve
from leastnoise.numerics.searches import IncreasingRoot, falling_root

PROBLEMS: dict[str, tuple[Callable[[float], float], float]] = {
    "cubic": (lambda x: x**3 - 2, 2 ** (1 / 3)),
    "line": (lambda x: 1000 * (x - 0.1), 0.1),
    "steep": (lambda x: math.expm1(50 * (x - 1)), 1.0),
    "flat": (lambda x: math.atan(x - 7) ** 3, 7.0),
    "step": (lambda x: -1.0 if x < math.pi else 1.0, math.pi),
    "log": (lambda x: math.log1p(x) - 5 if x > -1 else -1e9, math.exp(5) - 1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("guess", [0.0, 0.5, 9.0])
def test_ends_on_the_safe_side_and_close(name: str, guess: float) -> None:
    f, root = PROBLEMS[name]
    result = IncreasingRoot(tolerance=1e-12).find(f, guess=guess)
    assert f(result) <= 0
    slack = 1e-12 + 4 * math.ulp(root) if name != "flat" else 1e-4  # a triple root is ill-posed
    assert root - 2 * slack <= result <= root + slack


def test_says_so_when_there_is_no_root() -> None:
    with pytest.raises(Refused, match="No scale"):
        IncreasingRoot(tolerance=1e-9).find(lambda _: -1.0, guess=0.0)


@pytest.mark.parametrize(
    ("f", "low", "high", "root"),
    [
        (lambda x: 2 - x * x, 0.0, 1e9, math.sqrt(2)),
        (lambda x: math.exp(-x) - 1e-5, -690.0, 690.0, math.log(1e5)),
        (lambda x: math.inf if x < -500 else math.exp(-x) - 2, -690.0, 300.0, -math.log(2)),
        (lambda x: 1.0 if x < 0.3 else -1.0, 0.0, 1.0, 0.3),
        (lambda x: (0.1 - x) ** 9, -1.0, 1.0, 0.1),
        (lambda _: -1.0, 0.0, 5.0, 0.0),
        (lambda _: 1.0, 0.0, 5.0, 5.0),
    ],
)
def test_where_a_function_falls_through_0(
    f: Callable[[float], float], low: float, high: float, root: float
) -> None:
    assert falling_root(f, low, high) == pytest.approx(root, rel=1e-14, abs=1e-14)


def test_a_fall_is_found_in_few_steps() -> None:
    asked: list[float] = []

    def f(x: float) -> float:
        asked.append(x)
        return math.exp(-x) - 1e-5

    falling_root(f, -690.0, 690.0)
    assert len(asked) <= 20  # bisection takes 60


def test_a_function_that_is_no_number_is_not_reported_as_the_budgets_fault() -> None:
    with pytest.raises(NumericalFailure, match="Neither the budget"):
        IncreasingRoot(tolerance=1e-9).find(lambda x: math.nan if x > 1 else -1.0, guess=0.0)
    with pytest.raises(NumericalFailure, match="quantile"):
        solve(lambda _: 0.9, 0.05, guess=1.0)
