"""The bound on errors of a workload: below the optimum, near it, and in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.design.bounds.variance_bound import as_integers, least_rms
from leastnoise.guarantees.budget import Budget
from leastnoise.workloads.matrix_search import gaussian_strategy
from tests.workloads.test_matrix_search import WORKLOADS

PURE = Budget(epsilon=1)
GEOMETRIC = 1 / (2 * math.sinh(0.5) ** 2)


def nuclear(queries: Any, prices: Any) -> float:
    """The bound in floats, from the singular values of the weighted questions."""
    dual = np.linalg.norm(queries * np.sqrt(prices), "nuc") ** 2 / prices.sum()
    return math.sqrt(GEOMETRIC * dual / len(queries))


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_bound_is_below_the_dual_and_near_it(name: str) -> None:
    queries = WORKLOADS[name]
    _, prices = gaussian_strategy(queries.T @ queries)
    bound = least_rms(queries, prices, budget=PURE, max_rows=1)
    assert nuclear(queries, prices) * (1 - 1e-6) < bound <= nuclear(queries, prices) * (1 + 1e-14)


def test_any_prices_prove_a_bound_and_none_a_larger_one() -> None:
    queries, random = np.tri(20), np.random.default_rng(2)
    _, best = gaussian_strategy(queries.T @ queries)
    most = least_rms(queries, best, budget=PURE, max_rows=1)
    for _ in range(20):
        prices = random.exponential(size=20) ** 2
        bound = least_rms(queries, prices, budget=PURE, max_rows=1)
        assert 0 < bound < most
        assert bound == pytest.approx(nuclear(queries, prices), rel=1e-6)


def test_figures_of_cumulative_counts() -> None:
    queries = np.tri(100)
    _, prices = gaussian_strategy(queries.T @ queries)
    pure = least_rms(queries, prices, budget=PURE, max_rows=1)
    assert pure == pytest.approx(3.0335, abs=1e-4)  # theory/workloads.md §2: 3.03
    assert least_rms(queries, prices, budget=PURE, max_rows=3) == pytest.approx(3 * pure, rel=1e-12)
    approximate = least_rms(queries, prices, budget=Budget(epsilon=1, delta="1e-5"), max_rows=1)
    assert (approximate / pure) ** 2 == pytest.approx(1.83962 / 1.84135, abs=1e-5)  # §4's V₁


def test_a_histogram_has_the_bound_that_geometric_noise_attains() -> None:
    bound = least_rms(np.eye(7), np.ones(7), budget=PURE, max_rows=1)
    assert math.sqrt(GEOMETRIC) * (1 - 1e-7) < bound <= math.sqrt(GEOMETRIC)


def test_numbers_are_taken_as_they_are() -> None:
    queries = np.array([[0.1, -3.0, 0.0], [1e-9, 2.0**20, 1e9]])
    whole, bits = as_integers(queries)
    for number, exact in zip(whole.ravel(), queries.ravel(), strict=True):
        assert Fraction(int(number), 2**bits) == Fraction(exact)
    assert as_integers(np.eye(3))[1] == 0
