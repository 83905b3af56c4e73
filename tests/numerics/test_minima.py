"""The least values of functions with kinks and several dips."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from leastnoise.numerics.searches import minimise

GRID = np.linspace(0, 1, 13).tolist()


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize(
    ("f", "least"),
    [
        (lambda x: abs(x - 0.3), 0.3),
        (lambda x: (x - 0.77) ** 2, 0.77),
        (lambda x: max(0.3 - x, 5 * (x - 0.3)), 0.3),
        (lambda x: math.cos(4 * math.pi * x) + 0.01 * x, 0.25),  # two dips, nearly as deep
        (lambda x: min(abs(x - 0.2), abs(x - 0.71) - 1e-4), 0.71),
        (lambda x: x, 0.0),
        (lambda x: -x, 1.0),
        (lambda x: math.inf if x < 0.5 else (x - 0.6) ** 2, 0.6),
        (lambda x: (x - 0.97) ** 2, 0.97),  # in the last interval of the grid
    ],
)
def test_finds_the_least_value(f: Callable[[float], float], least: float, thorough: bool) -> None:
    result = minimise(f, GRID, thorough=thorough)
    assert result == pytest.approx(least, abs=1e-4)
    assert f(result) <= f(least) + 1e-7


def test_leaves_dips_that_are_not_deep_enough() -> None:
    asked: list[float] = []

    def f(x: float) -> float:
        asked.append(x)
        return (x - 0.3) ** 2

    minimise(f, GRID, rounds=30, thorough=False)
    assert len(asked) < len(GRID) + 50  # a search around each of three places takes 32


def test_a_least_value_at_the_edge_of_where_a_function_is_finite() -> None:
    for value in np.linspace(0.36, 0.39, 4).tolist():
        result = minimise(lambda x, index=value: math.inf if x < index else 2 + x, GRID)
        assert value <= result <= value + 1e-7
