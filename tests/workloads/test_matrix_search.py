"""Strategies for a workload: closed forms, duality, and derivatives by differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from leastnoise.workloads.marginal import Marginals
from leastnoise.workloads.matrix_search import gaussian_strategy, p_identity

RANDOM = np.random.default_rng(3)
SIZES = (4, 2, 3)


def table(sizes: tuple[int, ...], by: int) -> Any:
    """The 0/1 matrix that sums cells to the table `by`, a bit mask of the columns."""
    parts = [np.eye(n) if by >> i & 1 else np.ones((1, n)) for i, n in enumerate(sizes)]
    result = np.ones((1, 1))
    for part in parts:
        result = np.kron(result, part)
    return result


def ranges(cells: int) -> Any:
    ends = itertools.combinations(range(cells + 1), 2)
    return np.array([[float(low <= i < high) for i in range(cells)] for low, high in ends])


WORKLOADS = {
    "identity": np.eye(12),
    "cumulative": np.tri(40),
    "ranges": ranges(12),
    "one total": np.ones((1, 9)),
    "a cell nobody asks for": np.hstack([np.tri(5), np.zeros((5, 1))]),
    "weights": RANDOM.normal(size=(6, 15)),
    "two-way tables": np.vstack([table(SIZES, by) for by in (1, 3, 5)]),
}


@pytest.mark.parametrize("tables", [(1, 2, 4), (3, 5, 6), (1, 2, 4, 3, 5, 6), (0, 7)])
def test_tables_have_the_closed_form_of_margins(tables: tuple[int, ...]) -> None:
    """(Σ r_A √a_A)²/N of theory/workloads.md §2, for the sum of all variances."""
    queries = np.vstack([table(SIZES, by) for by in tables])
    marginals = Marginals(sizes=SIZES, tables=tables)
    weights = np.array([marginals.cells(table) for table in tables], dtype=float)
    contrasts = np.array([marginals.contrasts(item) for item in marginals.every])
    closed = np.sqrt(contrasts * (weights @ marginals.spread)).sum() ** 2 / math.prod(SIZES)
    matrix, _ = gaussian_strategy(queries.T @ queries)
    assert variance(queries, matrix) == pytest.approx(closed, rel=2e-6)
    assert variance(queries, matrix) > closed * (1 - 1e-9)


def variance(queries: Any, matrix: Any) -> float:
    """tr(W X⁻¹ Wᵀ) by least squares, unlike the search."""
    return float(np.sum(np.linalg.lstsq(matrix.T, queries.T, rcond=None)[0] ** 2))


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_gaussian_strategy_is_feasible_and_proved_best(name: str) -> None:
    queries = WORKLOADS[name]
    matrix, prices = gaussian_strategy(queries.T @ queries)
    lengths = (matrix**2).sum(axis=0)
    assert lengths.max() <= 1 + 1e-12
    dual = np.linalg.norm(queries * np.sqrt(prices), "nuc") ** 2 / prices.sum()
    # the weights' fixed point has a gap of 1.6e-4 left after its steps; others of 1e-6 to spare
    allowed = 3e-4 if name == "weights" else 3e-6
    assert dual * (1 - 1e-9) <= variance(queries, matrix) <= dual * (1 + allowed)


def test_the_figure_of_cumulative_counts() -> None:
    queries = np.tri(100)
    matrix, _ = gaussian_strategy(queries.T @ queries)
    assert variance(queries, matrix) / 100 == pytest.approx(4.99746, abs=3e-5)


@pytest.mark.grid
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_p_identity_spends_1_on_each_cell_and_is_no_worse_than_the_cells(name: str) -> None:
    queries = WORKLOADS[name]
    matrix = p_identity(queries, queries.T @ queries)
    assert (matrix >= 0).all()
    np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=1e-12)
    assert variance(queries, matrix) <= np.sum(queries**2) * (1 + 1e-9)


def test_sums_help_where_they_are_asked_for() -> None:
    total = WORKLOADS["one total"]
    matrix = p_identity(total, total.T @ total)
    assert 1 < variance(total, matrix) < 1.05  # the total alone would have 1, the cells 9
    cumulative = np.tri(100)
    matrix = p_identity(cumulative, cumulative.T @ cumulative)
    assert math.sqrt(2 * variance(cumulative, matrix) / 100) < 5.98  # theory: 5.95


def test_no_small_step_is_better() -> None:
    """What is found is an optimum of [I; Θ]: what the search was told of slopes is true."""
    queries = np.tri(20)
    matrix = p_identity(queries, queries.T @ queries)
    best = variance(queries, matrix)
    theta = matrix[20:] / np.diag(matrix[:20])
    assert len(theta)
    for row, cell, step in itertools.product(range(len(theta)), range(20), (-0.05, 0.05)):
        moved = theta.copy()
        moved[row, cell] = max(0.0, moved[row, cell] + step)
        whole = np.vstack([np.eye(20), moved])
        assert variance(queries, whole / whole.sum(axis=0)) >= best * (1 - 1e-5)
