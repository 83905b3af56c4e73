"""Second moments: their sums are exact, and no two rows are beyond the stated sensitivity."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leastnoise.guarantees.sensitivity import L2
from leastnoise.guarantees.structured import Linf
from leastnoise.learn.moments import Moments
from leastnoise.learn.training import BITS

UNIT = 2**BITS
Row = tuple[Fraction, ...]


def numbers_of(row: Row, *, constant: bool, counted: bool) -> list[Fraction]:
    """The numbers that one row adds to the sums, from the definition."""
    fraction = Fraction(1)
    z = [fraction, *row] if constant else list(row)
    products = [a * b for a, b in itertools.combinations(z, 2)]
    return [fraction] * counted + products + [2 * x * x - 1 for x in row]


def every(variables: int, values: tuple[str, ...]) -> list[Row]:
    return list(itertools.product(*[[Fraction(value) for value in values]] * variables))


def in_units(rows: list[Row]) -> NDArray[np.float64]:
    return np.array([[float(x * UNIT) for x in row] for row in rows])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("counted", [True, False])
def test_sums_are_exact(constant: bool, counted: bool) -> None:
    draws = np.random.default_rng(2)
    whole = draws.integers(-UNIT, UNIT + 1, (70_000, 3)).astype(float)
    whole[:5] = [[UNIT] * 3, [-UNIT] * 3, [0, 1, -1], [UNIT, -UNIT, UNIT - 1], [1, 1, 1]]
    moments = Moments(variables=3, constant=constant, counted=counted)
    rows = [tuple(Fraction(int(x), UNIT) for x in row) for row in whole[:50]]
    few = [numbers_of(row, constant=constant, counted=counted) for row in rows]
    assert list(moments.sums(whole[:50])) == [sum(column) for column in zip(*few, strict=True)]
    assert len(few[0]) == moments.dimension
    # in several blocks, with whole numbers of Python
    first, last = (int(whole[:, j].astype(int).astype(object) @ whole[:, k].astype(int))
                   for j, k in ((0, 1), (2, 2)))  # fmt: skip
    sums = moments.sums(whole)
    assert sums[counted + 3 * constant] == Fraction(first, UNIT**2)
    assert sums[-1] == Fraction(2 * last, UNIT**2) - len(whole)


def test_sums_have_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be 2^32 rows: blocks here are as large as an int64 can say."""
    largest = np.full((3, 3), 2**63 - 1)
    monkeypatch.setattr(Moments, "_products", lambda *_: largest)
    moments = Moments(variables=2, constant=True, counted=False)
    rows = 5 << 16
    assert moments.sums(np.zeros((rows, 2)))[0] == Fraction(5 * (2**63 - 1), UNIT**2)
    assert moments.sums(np.zeros((rows, 2)))[-1] == Fraction(10 * (2**63 - 1), UNIT**2) - rows


def test_what_is_no_whole_number_in_the_box_is_cut_to_one() -> None:
    moments = Moments(variables=2, constant=True, counted=True)
    wild = np.array([[np.nan, np.inf], [-np.inf, 1e300], [-1e7, 0.7]])
    tame = np.array([[0, UNIT], [-UNIT, UNIT], [-UNIT, 0]])
    assert (moments.sums(wild) == moments.sums(tame)).all()


def test_no_rows() -> None:
    moments = Moments(variables=2, constant=True, counted=True)
    assert list(moments.sums(np.zeros((0, 2)))) == [0] * moments.dimension


# (variables, constant) and the square of how far a row that is replaced moves them in l2, by hand
SQUARES = [(2, True, 12), (2, False, 9), (3, True, 19), (3, False, 15), (6, True, 49)]


@pytest.mark.parametrize(("variables", "constant", "square"), SQUARES)
def test_the_sensitivity_where_a_row_is_replaced(
    variables: int, constant: bool, square: int
) -> None:
    moments = Moments(variables=variables, constant=constant, counted=False)
    ball, box = moments.sensitivity
    assert isinstance(ball, L2)
    assert square <= ball.bound**2 < square * (1 + Fraction(1, 10**9))
    assert box == Linf(2, l0=moments.dimension)


GRIDS = [(2, ("-1", "-0.7", "0", "0.3", "1")), (3, ("-1", "-0.5", "0", "1"))]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("variables", "values"), GRIDS)
def test_no_pair_of_rows_of_a_grid_is_further_apart(
    variables: int, values: tuple[str, ...], constant: bool
) -> None:
    vectors = np.array(
        [
            [int(20_000 * x) for x in numbers_of(row, constant=constant, counted=False)]
            for row in every(variables, values)
        ]
    )
    apart = vectors[:, None] - vectors  # exact: values have one digit
    ball, _ = Moments(variables=variables, constant=constant, counted=False).sensitivity
    assert isinstance(ball, L2)
    farthest = Fraction(int((apart**2).sum(axis=2).max()), 20_000**2)
    assert ball.bound**2 * Fraction(85, 100) < farthest <= ball.bound**2
    assert np.abs(apart).max() == 2 * 20_000


def test_it_is_reached_by_seven_variables() -> None:
    """‖zzᵀ − z'z'ᵀ‖ where z·z' = 0, which a vector of eight signs has."""
    moments = Moments(variables=7, constant=True, counted=False)
    ones, half = (Fraction(1),) * 7, (Fraction(1),) * 3 + (Fraction(-1),) * 4
    shift = moments.sums(in_units([ones])) - moments.sums(in_units([half]))
    assert (shift**2).sum() == 64
    ball, _ = moments.sensitivity
    assert isinstance(ball, L2)
    assert 64 <= ball.bound**2 < 64.001


@pytest.mark.grid
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("variables", [2, 3, 5, pytest.param(9, marks=pytest.mark.dense)])
def test_no_random_rows_are_further_apart(variables: int, constant: bool) -> None:
    """A search by coordinates makes pairs as far apart as it can."""
    draws = np.random.default_rng(variables)
    replaced = Moments(variables=variables, constant=constant, counted=False)
    added = Moments(variables=variables, constant=constant, counted=True)
    ball, _ = replaced.sensitivity
    assert isinstance(ball, L2)
    ends = np.array([-UNIT, -UNIT // 2, 0, UNIT // 3, UNIT])

    def apart(pair: NDArray[Any]) -> Fraction:
        shift = replaced.sums(pair[:1]) - replaced.sums(pair[1:])
        assert abs(shift).max() <= 2
        return (shift**2).sum()

    for _ in range(4):
        pair = draws.integers(-UNIT, UNIT + 1, (2, variables)).astype(float)
        far = apart(pair)
        for row, column in np.ndindex(2, variables):
            for end in ends:
                other = pair.copy()
                other[row, column] = end
                if (there := apart(other)) > far:
                    pair, far = other, there
        assert far <= ball.bound**2
        alone = added.sums(pair[:1])
        assert abs(alone).max() <= 1
        assert (alone**2).sum() <= added.dimension
    assert added.sensitivity == (Linf(1, l0=added.dimension),)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("counted", [True, False])
def test_what_was_released_is_read_as_a_matrix(constant: bool, counted: bool) -> None:
    """E[N P N] is checked against a sum over the released numbers."""
    draws = np.random.default_rng(3)
    moments = Moments(variables=3, constant=constant, counted=counted)
    rows = draws.integers(-UNIT, UNIT + 1, (40, 3))
    z = np.column_stack([np.full(40, UNIT), rows])[:, not constant :] / UNIT
    public = None if counted else 40
    values = moments.sums(rows.astype(float)).astype(float)
    variances = draws.uniform(1, 2, moments.dimension)
    text = moments.read(values, variances, rows=public)
    assert text.sums == pytest.approx(z.T @ z, abs=1e-9)
    assert text.rows == 40
    inner = draws.normal(size=(moments.size, moments.size))
    inner = inner + inner.T
    total = np.zeros_like(inner)
    for index, variance in enumerate(variances):
        moved = values.copy()
        moved[index] += 1
        value = moments.read(moved, variances, rows=public).sums - text.sums
        total += variance * value @ inner @ value
    assert text.spread(inner) == pytest.approx(total, abs=1e-9)
