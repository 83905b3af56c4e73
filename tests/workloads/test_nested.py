"""Tables by levels of a tree and other columns: against dense matrices, margins and simulation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from leastnoise.workloads.marginal import Marginals
from leastnoise.workloads.nested import Nested

# 5 towns in 2 regions, × 2 × 3; a tree of three levels whose regions have unlike numbers of towns
SIZES = (2, 3)
PARENTS = ((0, 0), (0, 1, 0, 1, 0))
COUNTS, EVERY = (1, 2, 5), range(12)
MEASURED = [
    {11: 1.0},
    {11: 0.3, 4: 0.7},
    {11: 0.2, 0: 0.5, 2: 0.1, 5: 0.4, 7: 2.0, 9: 0.3},
    {table: 1.0 + table for table in EVERY},
]
# towns without other columns, regions with both: of towns by columns only sums are known
COARSE = {8: 0.5, 7: 0.4}


def sum_matrix(table: int) -> np.ndarray:
    """The matrix of a table's sums by adding up an array of cells, without the source's code."""
    level, mask = divmod(table, 4)
    others = tuple(i + 1 for i in range(2) if not mask >> i & 1)
    rows: list[np.ndarray] = []
    for cell in np.eye(30):
        array = cell.reshape(5, 2, 3)
        for above in PARENTS[level:][::-1]:
            summed = np.zeros((max(above) + 1, *array.shape[1:]))
            for node, parent in enumerate(above):
                summed[parent] += array[node]
            array = summed
        rows.append(array.sum(axis=others).reshape(-1))
    return np.array(rows).T


def dense(measured: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """The stacked measurement matrix, and 1/variance of each of its rows."""
    matrices = {table: sum_matrix(table) for table in measured}
    weights = [np.full(len(matrices[table]), tau) for table, tau in measured.items()]
    return np.vstack([*matrices.values()]), np.concatenate(weights)


def information(measured: dict[int, float]) -> np.ndarray:
    taus = np.zeros(12)
    taus[list(measured)] = list(measured.values())
    return taus


def split_tables(measured: dict[int, float], noisy: np.ndarray) -> dict[int, np.ndarray]:
    ends = np.cumsum([0, *(len(sum_matrix(table)) for table in measured)])
    pairs = zip(measured, pairwise(ends.tolist()), strict=True)
    return {table: noisy[start:end] for table, (start, end) in pairs}


@pytest.mark.parametrize("measured", MEASURED)
def test_variances_are_those_of_dense_least_squares(measured: dict[int, float]) -> None:
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=tuple(EVERY))
    matrix, weights = dense(measured)
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    for table, rows in enumerate(nested.row_variances(information(measured))):
        wanted = np.diag(sum_matrix(table) @ covariance @ sum_matrix(table).T)
        np.testing.assert_allclose(np.repeat(rows, len(wanted) // len(rows)), wanted, rtol=1e-9)


@pytest.mark.parametrize("measured", [*MEASURED, COARSE])
def test_the_estimate_is_that_of_dense_least_squares(measured: dict[int, float]) -> None:
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=(11,))
    matrix, weights = dense(measured)
    noisy = np.random.default_rng(1).normal(size=len(weights))
    root = np.sqrt(weights)
    wanted = np.linalg.lstsq(root[:, None] * matrix, root * noisy, rcond=None)[0]
    cells = nested.estimate(information(measured), split_tables(measured, noisy)).reshape(-1)
    for table in EVERY if measured is not COARSE else (8, 7, 4, 5, 6, *range(4)):
        sums = sum_matrix(table)
        np.testing.assert_allclose(sums @ cells, sums @ wanted, rtol=1e-9, atol=1e-9)


def test_tables_that_nothing_determines_have_no_variance() -> None:
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=(8, 7, 11, 9))
    towns, regions, cells, by_column = nested.row_variances(information(COARSE))
    assert np.isfinite(towns).all()
    assert np.isfinite(regions).all()
    assert np.isinf(cells).all()
    assert np.isinf(by_column).all()
    assert np.isinf(nested.variances(nested.carried @ information(COARSE))).all()


def test_an_even_tree_is_one_of_margins() -> None:
    """Regions and the towns in each as two columns: the same variances and the same estimate."""
    parents = ((0,) * 4, tuple(town // 3 for town in range(12)))
    tables = tuple(EVERY)
    nested = Nested(parents=parents, sizes=SIZES, tables=tables)
    # the columns region (1), town in the region (2), and two others (4, 8)
    masks = [(0, 1, 3)[table // 4] | table % 4 << 2 for table in tables]
    margins = Marginals(sizes=(4, 3, *SIZES), tables=tuple(masks))
    taus = np.random.default_rng(2).uniform(0.1, 2, size=12)
    of_margins = np.zeros(16)
    of_margins[masks] = taus
    wanted = margins.variances(margins.carried @ of_margins)
    np.testing.assert_allclose(nested.variances(nested.carried @ taus), wanted, rtol=1e-9)
    for table, rows in enumerate(nested.row_variances(taus)):
        np.testing.assert_allclose(rows, wanted[table], rtol=1e-9)
    draws = np.random.default_rng(3)
    noisy = {table: draws.normal(size=nested.cells(table)) for table in tables}
    of_masks = {masks[table]: values for table, values in noisy.items()}
    np.testing.assert_allclose(
        nested.estimate(taus, noisy).reshape(-1),
        margins.estimate(of_margins, of_masks).reshape(-1),
        rtol=1e-9,
        atol=1e-9,
    )


def test_errors_of_the_estimate_have_the_variances() -> None:
    """The estimate is linear: from one unit of each measured number follow its variances."""
    measured = MEASURED[2]
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=tuple(EVERY))
    taus, (_, weights) = information(measured), dense(measured)
    units = [split_tables(measured, noisy) for noisy in np.eye(len(weights))]
    cells = np.array([nested.estimate(taus, noisy).reshape(-1) for noisy in units])
    for table, rows in enumerate(nested.row_variances(taus)):
        wanted = (1 / weights) @ (cells @ sum_matrix(table).T) ** 2
        np.testing.assert_allclose(np.repeat(rows, len(wanted) // len(rows)), wanted, rtol=1e-9)


@pytest.mark.parametrize("measured", MEASURED)
def test_no_number_has_a_larger_part_of_a_variance(measured: dict[int, float]) -> None:
    """Parts of dense least squares: coefficient²/information, over the variance."""
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=tuple(EVERY))
    matrix, weights = dense(measured)
    inverse = np.linalg.inv(matrix.T @ (weights[:, None] * matrix)) @ (matrix.T * weights)
    for table in EVERY:
        squares = (sum_matrix(table) @ inverse) ** 2 / weights
        largest = (squares.max(axis=1) / squares.sum(axis=1)).max()
        bound = nested.largest_part(information(measured), table)
        assert largest <= bound * (1 + 1e-9)
        assert bound <= 1 + 1e-9


def test_sums_are_those_of_arrays() -> None:
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=tuple(EVERY))
    cells = np.random.default_rng(5).integers(0, 9, size=30)
    for table in EVERY:
        for wider in EVERY:
            shared = nested.meet(table, wider)
            wanted = sum_matrix(shared) @ cells
            for of in (table, wider, 11):
                sums = nested.sums(sum_matrix(of) @ cells, shared, of=of)
                assert sums.shape == nested.shape(shared)
                np.testing.assert_array_equal(sums.reshape(-1), wanted)


def test_the_join_is_the_smallest_table_that_tells_both() -> None:
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=tuple(EVERY))
    told = {at: {table for table in EVERY if _tells(at, table)} for at in EVERY}
    for table in EVERY:
        for other in EVERY:
            telling = [at for at in EVERY if told[at] >= {table, other}]
            assert nested.join(table, other) == min(telling, key=nested.cells)


def _tells(table: int, other: int) -> bool:
    """True if the numbers of the table `other` are linear combinations of those of `table`."""
    given = sum_matrix(table)
    both = np.vstack([given, sum_matrix(other)])
    return bool(np.linalg.matrix_rank(both) == np.linalg.matrix_rank(given))


def test_nodes_below_are_counted() -> None:
    nested = Nested(parents=PARENTS, sizes=SIZES, tables=tuple(EVERY))
    for lowest in range(3):
        below = sum_matrix(4 * lowest)
        for level in range(lowest + 1):
            wanted = (sum_matrix(4 * level) @ below.T > 0).sum(axis=1)
            np.testing.assert_array_equal(nested.nodes_below(level, lowest), wanted)
