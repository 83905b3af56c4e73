"""No suppressed number follows from the shown numbers of tables that add up."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.workloads.suppression import Suppression

pytestmark = pytest.mark.filterwarnings("error")


def add_up(cells: np.ndarray, tables) -> dict[int, np.ndarray]:
    """The counts of each table, in the order of its keys."""
    axes = range(cells.ndim)
    return {
        table: cells.sum(axis=tuple(i for i in axes if not table >> i & 1)).reshape(-1)
        for table in tables
    }


def sums_of_cells(sizes, table) -> list[list[int]]:
    """For each number of a table, the coefficients of the cells in it."""
    keys = [*product(*map(range, sizes))]
    axes = [i for i in range(len(sizes)) if table >> i & 1]
    groups = product(*(range(sizes[i]) for i in axes))
    return [[int(tuple(key[i] for i in axes) == group) for key in keys] for group in groups]


def followers(sizes, hidden, *, total_is_known=False) -> set[tuple[int, int]]:
    """The suppressed numbers, by table and position, that the shown numbers determine.

    Cells may change by any vector in the null space of the shown sums. A number is determined if no
    such change moves it. A known total counts as shown.
    """
    sums = {table: sums_of_cells(sizes, table) for table in hidden}
    shown = [
        row
        for table, marks in hidden.items()
        for row, is_hidden in zip(sums[table], marks, strict=True)
        if not is_hidden
    ]
    if total_is_known:
        shown += sums_of_cells(sizes, 0)
    changes, count = fmpz_mat(shown or [[0] * math.prod(sizes)]).nullspace()
    return {
        (table, at)
        for table, marks in hidden.items()
        for at in np.flatnonzero(marks).tolist()
        if not any((fmpz_mat([sums[table][at]]) * changes).entries()[:count])
    }


FAMILIES = [
    ((3, 4), (0, 1, 2, 3)),
    ((3, 4), (3, 1)),
    ((3, 4), (3, 0)),
    ((4, 4), (1, 2)),
    ((2, 2, 2), tuple(range(8))),
    ((2, 3, 3), tuple(range(8))),
    ((2, 3, 3), (7, 4, 0)),
    ((2, 3, 3), (3, 5, 6)),
    ((2, 3, 2), (3, 5, 6, 1, 0)),
    ((1, 3, 3), tuple(range(8))),
    ((2, 1, 4), (7, 5, 3)),
    ((3, 12), (3, 2, 1, 0)),  # more keys than are searched near a cell
    ((12, 3), (3, 1)),
]


@pytest.mark.dense
@pytest.mark.parametrize(("sizes", "tables"), FAMILIES)
def test_no_suppressed_number_follows(sizes, tables):
    random = np.random.default_rng(5)
    suppression = Suppression(sizes=sizes, tables=tables)
    for mean in (1, 6, 20) * 3:
        counts = add_up(random.poisson(mean, size=sizes).astype(float), tables)
        hidden = suppression.add_secondary(counts, 5)
        small = {table: numbers < 5 for table, numbers in counts.items()}
        assert all((hidden[table] >= small[table]).all() for table in tables)
        assert followers(sizes, hidden) == set()
        assert suppression.find_open(hidden) is None


@pytest.mark.parametrize(
    ("sizes", "tables"), [*FAMILIES, ((3,), (1,)), ((2, 3), (3,)), ((1, 3), (0, 1, 3))]
)
def test_no_suppressed_number_follows_from_a_public_total(sizes, tables):
    """A table by itself has no shown total to subtract from, but the number of rows may be public.

    A total below the limit is suppressed, and known all the same.
    """
    random = np.random.default_rng(7)
    suppression = Suppression(sizes=sizes, tables=tables, total_is_known=True)
    totals = {(table, 0) for table in tables if len(sums_of_cells(sizes, table)) == 1}
    for mean in (-3, 1, 6, 20) * 2:
        cells = random.poisson(abs(mean), size=sizes) * np.sign(mean)
        cells[(0,) * len(sizes)] = 2
        hidden = suppression.add_secondary(add_up(cells.astype(float), tables), 5)
        assert followers(sizes, hidden, total_is_known=True) <= totals
        assert suppression.find_open(hidden) is None


def test_one_small_cell_beside_a_public_total_is_open():
    one = {1: np.array([True, False, False])}
    assert Suppression(sizes=(3,), tables=(1,)).find_open(one) is None
    assert Suppression(sizes=(3,), tables=(1,), total_is_known=True).find_open(one) == 1


@pytest.mark.parametrize(("sizes", "tables"), FAMILIES[:8])
def test_small_cells_alone_would_follow(sizes, tables):
    cells = np.full(sizes, 9.0)
    cells[(0,) * len(sizes)] = 1.0
    small = {table: numbers < 5 for table, numbers in add_up(cells, tables).items()}
    if any(marks.any() for marks in small.values()) and len(tables) > 1:
        assert followers(sizes, small)
        assert Suppression(sizes=sizes, tables=tables).find_open(small) is not None


@pytest.mark.dense
@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    sizes=st.sampled_from([(2, 3), (3, 3), (4, 2), (2, 2, 2), (2, 1, 3)]),
    data=st.data(),
)
def test_whatever_the_counts_nothing_follows(sizes, data):
    size = math.prod(sizes)
    numbers = st.integers(-20, 80).map(lambda x: x / 4)
    cells = np.array(data.draw(st.lists(numbers, min_size=size, max_size=size))).reshape(sizes)
    tables = tuple(range(2 ** len(sizes)))
    counts = add_up(cells, tables)
    suppression = Suppression(sizes=sizes, tables=tables)
    hidden = suppression.add_secondary(counts, 5)
    assert followers(sizes, hidden) == set()
    again = suppression.add_secondary({t: numbers.copy() for t, numbers in counts.items()}, 5)
    assert all((hidden[table] == again[table]).all() for table in tables)


@pytest.mark.parametrize("sizes", [(4, 5), (3, 3, 3), (2, 4, 3)])
def test_one_small_cell_takes_the_fewest_others(sizes):
    """A shift that keeps all totals of a table by d columns changes 2^d of its cells or more."""
    tables = tuple(range(2 ** len(sizes)))
    cells = np.arange(100, 100 + math.prod(sizes), dtype=float).reshape(sizes)
    cells[(1,) * len(sizes)] = 3
    hidden = Suppression(sizes=sizes, tables=tables).add_secondary(add_up(cells, tables), 5)
    assert hidden[tables[-1]].sum() == 2 ** len(sizes)
    assert not any(hidden[table].any() for table in tables[:-1])  # totals stay


def test_the_least_sum_of_counts_is_suppressed():
    """The rectangle at a small cell with the smallest other corners is chosen."""
    random = np.random.default_rng(2)
    for _ in range(20):
        cells = random.integers(10, 60, size=(4, 5)).astype(float)
        cells[2, 3] = 1
        hidden = Suppression(sizes=(4, 5), tables=(0, 1, 2, 3)).add_secondary(
            add_up(cells, (0, 1, 2, 3)), 5
        )
        corners = [
            cells[2, column] + cells[row, 3] + cells[row, column]
            for row in range(4)
            for column in range(5)
            if row != 2 and column != 3
        ]
        assert cells.reshape(-1)[hidden[3]].sum() - 1 == min(corners)


def test_small_cells_serve_each_other():
    cells = np.full((3, 4), 50.0)
    cells[0, 0] = cells[0, 2] = cells[2, 0] = cells[2, 2] = 2
    tables = (0, 1, 2, 3)
    hidden = Suppression(sizes=(3, 4), tables=tables).add_secondary(add_up(cells, tables), 5)
    assert hidden[3].sum() == 4


def test_a_small_total_takes_another_and_cells_of_both():
    """Rows of small sums are suppressed in pairs, with cells that hide their sums."""
    cells = np.full((4, 3), 50.0)
    cells[1] = [2, 1, 1]
    tables = (0, 1, 2, 3)
    counts = add_up(cells, tables)
    hidden = Suppression(sizes=(4, 3), tables=tables).add_secondary(counts, 5)
    assert hidden[1].sum() == 2  # of the table by the first column
    assert not hidden[0].any()
    assert followers((4, 3), hidden) == set()


def test_far_keys_are_found():
    """Boxes are sought beyond the nearest keys."""
    cells = np.full((40, 30), 90.0)
    cells[0, 0], cells[39, 29], cells[39, 0], cells[0, 29] = 1, 9, 9, 9
    tables = (0, 1, 2, 3)
    hidden = Suppression(sizes=(40, 30), tables=tables).add_secondary(add_up(cells, tables), 5)
    assert sorted(np.flatnonzero(hidden[3]).tolist()) == [0, 29, 39 * 30, 39 * 30 + 29]


@pytest.mark.dense
def test_all_patterns_of_a_small_table():
    """All 2^9 patterns of cells: those that are accepted determine nothing; rectangles pass."""
    suppression = Suppression(sizes=(3, 3), tables=(1, 2, 3))
    totals = {1: np.zeros(3, dtype=bool), 2: np.zeros(3, dtype=bool)}
    accepted = 0
    for pattern in product([False, True], repeat=9):
        hidden = {**totals, 3: np.array(pattern)}
        if suppression.find_open(hidden) is None:
            accepted += 1
            assert followers((3, 3), hidden) == set()
        boxes = [
            {3 * i + j for i in rows for j in columns}
            for rows in combinations(range(3), 2)
            for columns in combinations(range(3), 2)
        ]
        cells = set(np.flatnonzero(pattern).tolist())
        in_boxes = set().union(*(box for box in boxes if box <= cells))
        assert (suppression.find_open(hidden) is None) == (in_boxes == cells)
    assert accepted > 20
