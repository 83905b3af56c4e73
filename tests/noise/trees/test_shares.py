from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.noise.trees.fit import best_shares
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from tests.grids import thin

ONE_ROW = Rows(most=1)
REPLACED = Rows(most=1, replaced=True)


def _mean_std(
    branches: tuple[int, ...],
    shares: tuple[Fraction, ...],
    importance: list[float],
    *,
    rows: Rows = ONE_ROW,
) -> float:
    """Return the geometric mean of the levels' stds at ε = 1."""
    law = Agreeing(scale=1, branches=branches, shares=shares)
    laws = level_laws(law.scaled(law.cost(rows)))
    logs = (weight * math.log(level.std) for weight, level in zip(importance, laws, strict=True))
    return math.exp(sum(logs) / sum(importance))


@pytest.mark.parametrize(
    ("branches", "figure"), [((20, 2, 10), 3.91), ((10, 10, 10), 4.66), ((50, 60), 4.09)]
)
def test_figures_of_the_theory(branches: tuple[int, ...], figure: float) -> None:
    equal = [1.0] * (len(branches) + 1)
    shares = best_shares(branches, 1, equal)
    assert sum(shares) == 1
    assert _mean_std(branches, shares, equal) == pytest.approx(figure, abs=0.006)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("branches", "importance", "rows"),
    thin(
        [
            ((4, 5), [1, 1, 1], Rows(most=1)),
            ((4, 5), [0, 1, 3], Rows(most=1)),
            ((4, 5), [1, 0, 1], REPLACED),
            ((1, 6), [1, 0, 1], REPLACED),
            ((6,), [0, 1], Rows(most=3)),
        ],
        3,
    ),
)
def test_no_shares_on_a_grid_are_better(
    branches: tuple[int, ...], importance: list[float], rows: Rows
) -> None:
    best = best_shares(branches, 1, importance, rows=rows)
    mean_std = _mean_std(branches, best, importance, rows=rows)
    tenths = range(11)
    for first in tenths:
        for second in tenths:
            units = (first, second)[: len(branches)]
            if sum(units) < 10:
                shares = tuple(Fraction(item, 10) for item in (*units, 10 - sum(units)))
                assert mean_std <= _mean_std(branches, shares, importance, rows=rows) * (1 + 1e-9)


def test_a_level_that_nobody_sees_needs_no_share() -> None:
    assert best_shares((6,), 1, [0, 1]) == (0, 1)


def test_a_replaced_row_leaves_half_of_the_shares_to_the_root() -> None:
    shares = best_shares((4, 5), 1, [1, 1, 1], rows=REPLACED)
    assert shares[0] == Fraction(1, 2)


def test_wide_noise_has_the_shares_of_narrower() -> None:
    assert best_shares((4, 5), 10_000, [1, 1, 1]) == best_shares((4, 5), 2, [1, 1, 1])


def test_next_to_no_noise_has_shares_too() -> None:
    assert sum(best_shares((4, 5), "1e-6", [1, 1, 1])) == 1


@pytest.mark.parametrize(
    "importance", [[1, 1], [1, 1, 1, 1], [0, 0, 0], [1, 1, -1], [1, 1, math.nan], "111"]
)
def test_weights_that_make_no_sense_are_refused(importance: Any) -> None:
    with pytest.raises(InvalidArgument, match="importance"):
        best_shares((4, 5), 1, importance)


def test_calibration_takes_the_best_shares_for_all_levels() -> None:
    shape: Any = {"branches": "4,5"}
    noise: Any = ln.calibrate(
        "agreeing", epsilon="0.5", sensitivity=ln.RowCounts(1), dimension=20, parameters=shape
    ).noise
    assert noise.shares == best_shares((4, 5), 2, [1, 1, 1])
    assert noise.scale == 2
