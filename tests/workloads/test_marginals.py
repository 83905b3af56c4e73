"""Least squares from measured tables: closed forms against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from leastnoise.workloads.marginal import Marginals

SIZES = (4, 2, 3)
CELLS = 24
MEASURED = [
    {7: 1.0},
    {7: 0.3, 2: 0.7},
    {7: 0.2, 0: 0.5, 1: 0.1, 5: 0.4, 6: 2.0},
    {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0, 7: 1.0},
]


def sum_matrix(table: int) -> np.ndarray:
    """Return the matrix S_B by adding up an array of cells, without the source's algebra."""
    others = tuple(i for i in range(3) if not table >> i & 1)
    rows = [item.reshape(SIZES).sum(axis=others).reshape(-1) for item in np.eye(CELLS)]
    return np.array(rows).T


def dense(measured: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the stacked measurement matrix, and 1/variance of each of its rows."""
    matrix = np.vstack([sum_matrix(table) for table in measured])
    weights = np.concatenate([
        np.full(len(sum_matrix(table)), tau) for table, tau in measured.items()
    ])  # fmt: skip
    return matrix, weights


def information(measured: dict[int, float]) -> np.ndarray:
    result = np.zeros(8)
    result[list(measured)] = list(measured.values())
    return result


@pytest.mark.parametrize("measured", MEASURED)
def test_variances_are_those_of_dense_least_squares(measured: dict[int, float]) -> None:
    marginals = Marginals(sizes=SIZES, tables=tuple(range(8)))
    matrix, weights = dense(measured)
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    variances = marginals.variances(marginals.carried @ information(measured))
    for table in range(8):
        computed = sum_matrix(table) @ covariance @ sum_matrix(table).T
        np.testing.assert_allclose(np.diag(computed), variances[table], rtol=1e-9)


@pytest.mark.parametrize("measured", MEASURED)
def test_the_estimate_is_that_of_dense_least_squares(measured: dict[int, float]) -> None:
    marginals = Marginals(sizes=SIZES, tables=(7,))
    matrix, weights = dense(measured)
    noisy = np.random.default_rng(1).normal(size=len(weights))
    root = np.sqrt(weights)
    wanted = np.linalg.lstsq(root[:, None] * matrix, root * noisy, rcond=None)[0]
    ends = np.cumsum([marginals.cells(table) for table in measured])[:-1]
    tables = dict(zip(measured, np.split(noisy, ends), strict=True))
    estimate = marginals.estimate(information(measured), tables)
    np.testing.assert_allclose(estimate.reshape(-1), wanted, atol=1e-9)


@pytest.mark.parametrize("measured", MEASURED)
@pytest.mark.parametrize("table", range(8))
def test_coefficients_are_those_of_the_estimate(measured: dict[int, float], table: int) -> None:
    marginals = Marginals(sizes=SIZES, tables=(table,))
    matrix, weights = dense(measured)
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    row = (sum_matrix(table) @ covariance @ matrix.T * weights)[0]
    parts = np.split(row, np.cumsum([marginals.cells(entry) for entry in measured])[:-1])
    result = marginals.coefficients(information(measured), table)
    for item, part in zip(measured, parts, strict=True):
        spelled = np.concatenate([np.full(times, value) for value, times in result[item]])
        np.testing.assert_allclose(np.sort(spelled), np.sort(part), atol=1e-9)


def test_tables_that_nothing_determines_have_no_variance() -> None:
    marginals = Marginals(sizes=SIZES, tables=(7, 1))
    assert np.isinf(marginals.variances(marginals.carried @ information({1: 1.0, 6: 1.0}))).all()
    without_cells = Marginals(sizes=SIZES, tables=(1, 2))
    variances = without_cells.variances(without_cells.carried @ information({1: 1.0, 2: 1.0}))
    # the total is measured twice, by 4 numbers and by 2
    np.testing.assert_allclose(
        variances, [1 - 1 / 4 + 1 / 4 / 4 * 4 / 6 * 2, 1 - 1 / 2 + 1 / 2 * 4 / 6]
    )


def test_an_estimate_without_noise_is_the_truth() -> None:
    marginals = Marginals(sizes=(3, 1, 2), tables=(7,))
    truth = np.arange(6.0).reshape(3, 1, 2)
    tables = {7: truth.reshape(-1), 1: truth.sum(axis=(1, 2)), 0: truth.sum().reshape(1)}
    estimate = marginals.estimate(np.array([0.3, 0.2, 0, 0, 0, 0, 0, 0.5]), tables)
    np.testing.assert_allclose(estimate, truth, atol=1e-12)
