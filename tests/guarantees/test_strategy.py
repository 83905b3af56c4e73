"""How far a unit moves sums of cells: the bound is exact, and some unit attains it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours
from leastnoise.guarantees.strategy import BITS, MOST_SUMS, StrategyMatrix

if TYPE_CHECKING:
    from leastnoise.guarantees.strategy import MOST_SUMS, StrategyNorm

RANDOM = np.random.default_rng(7)
UNIT = 2**BITS
MATRICES = [
    RANDOM.integers(-UNIT, UNIT, (4, 3), endpoint=True),
    np.eye(3, dtype=np.int64) * UNIT,
    np.array([[UNIT, UNIT, 5], [0, UNIT, 0]]),
    np.array([[3]]),
]


def units(cells: int, rows: int) -> list[tuple[int, ...]]:
    """All counts of cells that a unit of at most `rows` rows can have."""
    return [case for case in itertools.product(range(rows + 1), repeat=cells) if sum(case) <= rows]


def moved(
    strategy: StrategyMatrix, norm: StrategyNorm, neighbours: Neighbours, rows: int
) -> Fraction:
    """The largest l1 norm, or squared l2 norm, by which one unit moves A x; by enumeration."""
    cells = strategy.numerators.shape[1]
    nobody = [(0,) * cells]
    others = units(cells, rows) if neighbours == "replace-one" else nobody
    lengths: list[Fraction] = []
    for item, other in itertools.product(units(cells, rows), others):
        shift = [Fraction(a - b) for a, b in zip(item, other, strict=True)]
        parts = strategy.image(shift)
        lengths.append(sum((abs(x) if norm == "l1" else x * x for x in parts), Fraction(0)))
    return max(lengths)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("matrix", MATRICES)
def test_no_unit_moves_further_and_one_moves_so_far(
    matrix: Any, rows: int, neighbours: Neighbours
) -> None:
    strategy = StrategyMatrix(numerators=matrix)
    assert rows * strategy.reach("l1", neighbours) == moved(strategy, "l1", neighbours, rows)
    square = moved(strategy, "l2", neighbours, rows)
    assert rows**2 * strategy.reach("l2", neighbours) == square
    assert strategy.sensitivity("l1", neighbours, rows).bound == moved(
        strategy, "l1", neighbours, rows
    )
    bound = strategy.sensitivity("l2", neighbours, rows).bound
    assert square <= bound**2 <= square * (1 + Fraction(1, 2**50))


def test_the_largest_numbers_do_not_wrap() -> None:
    far = np.full((2048, 2), UNIT)
    far[:, 1] = -UNIT
    strategy = StrategyMatrix(numerators=far)
    assert strategy.reach("l2", "add-remove") == 2048
    assert strategy.reach("l2", "replace-one") == 4 * 2048
    assert strategy.reach("l1", "replace-one") == 2 * 2048


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_total_is_free_where_rows_are_replaced(norm: StrategyNorm) -> None:
    strategy = StrategyMatrix.within(np.vstack([np.eye(4) * 0.7, [0.3, 0.2, 0.1, 0.3]]))
    more = strategy.with_total(norm)
    assert more.reach(norm, "replace-one") == strategy.reach(norm, "replace-one")
    assert len(more.numerators) == len(strategy.numerators) + 1
    total = more.numerators[-1].copy()
    assert len(set(total.tolist())) == 1
    longer = np.vstack([strategy.numerators, total + 1])
    assert StrategyMatrix(numerators=longer).reach(norm, "replace-one") > more.reach(
        norm, "replace-one"
    )


def test_a_total_that_costs_something_is_not_added() -> None:
    alike = StrategyMatrix.within(np.array([[0.5, 0.5], [0.0, 0.1]]))
    assert alike.with_total("l1") is alike


def test_a_total_is_not_added_to_the_most_sums() -> None:
    most = StrategyMatrix(numerators=np.tile([1, -1], (MOST_SUMS, 1)))
    assert most.with_total("l2") is most


def test_sums_are_exact() -> None:
    strategy = StrategyMatrix(numerators=RANDOM.integers(-UNIT, UNIT, (3, 5)))
    cells = [Fraction(1, 3), Fraction(2**80), Fraction(-7, 8), Fraction(0.1), Fraction(10**15)]
    by_hand = [
        sum((Fraction(int(a), UNIT) * x for a, x in zip(row, cells, strict=True)), Fraction(0))
        for row in strategy.numerators
    ]
    assert strategy.image(cells) == by_hand


def test_no_number_of_a_matrix_grows() -> None:
    matrix = RANDOM.uniform(-1, 1, (5, 4))
    rounded = StrategyMatrix.within(matrix).matrix
    assert (np.abs(rounded) <= np.abs(matrix)).all()
    assert np.abs(rounded - matrix).max() < 2.0**-BITS


def test_what_was_given_may_change_afterwards() -> None:
    given = np.eye(2, dtype=np.int64)
    strategy = StrategyMatrix(numerators=given)
    given[:] = 9
    assert strategy.reach("l1", "add-remove") == Fraction(1, UNIT)
    with pytest.raises(ValueError, match="read-only"):
        strategy.numerators[0, 0] = 5


@pytest.mark.parametrize(
    "hostile",
    [
        np.eye(2), np.array([1]), np.zeros((0, 2), dtype=int), np.zeros((2, 0), dtype=int),
        np.full((1, 1), UNIT + 1), np.full((1, 1), -(2**63)), np.ones((2049, 1), dtype=np.int64),
        None, "x", [[1.5]], np.array([["a"]]),
    ],
)  # fmt: skip
def test_hostile_matrices(hostile: Any) -> None:
    with pytest.raises(InvalidArgument, match="numerators"):
        StrategyMatrix(numerators=hostile)
