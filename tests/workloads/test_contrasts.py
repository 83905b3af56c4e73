"""Contrasts of tables against dense matrices: their values, and how far a row moves them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.workloads.contrasts import (
    BITS,
    component,
    exact_contrasts,
    numerators,
    squared_norms,
    squared_reach,
    variance_of_component,
)

SIZES = [(), (2,), (7,), (1,), (3, 4), (2, 3, 4), (40, 3)]


def dense(sizes: tuple[int, ...]) -> np.ndarray:
    """Return H from its definition, shape (Π(n_i − 1), Πn_i)."""
    matrix = np.ones((1, 1), dtype=np.int64)
    for n in sizes:
        rows = [[1] * k + [-k] + [0] * (n - k - 1) for k in range(1, n)]
        matrix = np.kron(matrix, np.array(rows, dtype=np.int64).reshape(n - 1, n))
    return matrix


@pytest.mark.parametrize("sizes", SIZES)
def test_contrasts_are_those_of_the_definition(sizes: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(3).integers(-(2**30), 2**30, math.prod(sizes))
    matrix = dense(sizes)
    assert squared_norms(sizes).tolist() == (matrix**2).sum(axis=1).tolist()
    wanted = (matrix.astype(object) @ numbers.astype(object)) * numerators(sizes).astype(object)
    assert exact_contrasts(numbers, sizes).tolist() == wanted.tolist()


@pytest.mark.parametrize("sizes", SIZES)
def test_components_are_projections(sizes: tuple[int, ...]) -> None:
    """Without noise they are I − J/n for each attribute."""
    numbers = np.random.default_rng(4).integers(0, 99, math.prod(sizes))
    projection = np.ones((1, 1))
    for n in sizes:
        projection = np.kron(projection, np.eye(n) - 1 / n)
    noisy = exact_contrasts(numbers, sizes) / 2.0**BITS
    estimate = component(noisy, sizes)
    assert estimate.shape == sizes
    np.testing.assert_allclose(estimate.reshape(-1), projection @ numbers, atol=1e-9)


@pytest.mark.parametrize("sizes", [*SIZES[:-1], pytest.param(SIZES[-1], marks=pytest.mark.dense)])
def test_how_far_a_row_moves_them_is_bounded_in_fractions(sizes: tuple[int, ...]) -> None:
    """For every row that is added, and for every pair of cells that a row moves between."""
    factors = [Fraction(value, 2**BITS) for value in numerators(sizes).tolist()]
    columns = [
        [factor * int(entry) for factor, entry in zip(factors, column, strict=True)]
        for column in dense(sizes).T.tolist()
    ]
    added = max(sum((x * x for x in column), Fraction(0)) for column in columns)
    assert added <= squared_reach(sizes)
    moved = max(
        sum(((x - y) ** 2 for x, y in zip(item, other, strict=True)), Fraction(0))
        for item, other in itertools.combinations_with_replacement(columns, 2)
    )
    replaced = squared_reach(sizes, replaced=True)
    assert max(added, moved) <= replaced
    if 1 not in sizes:  # no less could be said, but for the last bits of the factors
        assert float(added) == pytest.approx(float(squared_reach(sizes)), rel=1e-5)
        assert not sizes or float(moved) == pytest.approx(float(replaced), rel=1e-5)


@pytest.mark.parametrize("sizes", [size for size in SIZES if 1 not in size])
def test_the_variance_of_a_component(sizes: tuple[int, ...]) -> None:
    basis = np.eye(math.prod(n - 1 for n in sizes))
    mapped = np.array([component(basi, sizes).reshape(-1) for basi in basis]).T
    variances = (mapped**2).sum(axis=1)
    bound = variance_of_component(sizes)
    assert variances.max() <= bound * (1 + 1e-12)
    assert variances.min() == pytest.approx(bound, rel=1e-5)


def test_contrasts_end_where_no_row_moves_them_further() -> None:
    """Attack: numbers at the end of int64 would wrap around."""
    numbers = np.array([2**63 - 1, -(2**63) + 1, 2**63 - 1], dtype=np.int64)
    contrasts = exact_contrasts(numbers, (3,))
    assert contrasts.tolist() == [2**62, -(2**62)]
