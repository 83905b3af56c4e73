from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.projections import projections_of
from leastnoise.guarantees.sensitivity import Rows
from tests.noise.trees.oracle import moved_by_rows

KINDS = [ln.RowCounts(2), ln.RowCounts(2, neighbours="replace-one"), ln.RowCounts(1)]


@pytest.mark.parametrize("counts", KINDS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_radii_and_the_hull_are_those_of_all_shifts(counts: Any, dimension: int) -> None:
    replaced = counts.neighbours == "replace-one"
    shifts = moved_by_rows(dimension, int(counts.bound), replaced=replaced)
    longest = max(float(np.linalg.norm(shift)) for shift in shifts)
    assert float(counts.radius("l2", dimension=dimension)) == pytest.approx(longest)
    l1 = counts.radius("l1", dimension=dimension)
    assert l1 is None or l1 == max(int(np.abs(shift).sum()) for shift in shifts)
    assert (l1 is None) == (replaced and dimension > 1)
    body = counts.body(dimension=dimension)
    assert all(body.holds(shift.tolist()) for shift in shifts)
    assert {tuple(corner) for corner in body.corners()} <= {tuple(shift) for shift in shifts}


def test_rows_are_those_that_are_declared() -> None:
    assert ln.RowCounts(3).rows(dimension=5) == Rows(most=3)
    assert ln.RowCounts(1, neighbours="replace-one").rows(dimension=5) == Rows(
        most=1, replaced=True
    )
    assert ln.Linf(2, l0=3, whole=True).rows(dimension=2) == Rows(most=4)
    assert ln.Integer(4).rows(dimension=1) == Rows(most=4)
    for none in (ln.Integer(4), ln.Linf(1), ln.L1(1), ln.CountingQueries(dimension=2)):
        assert none.rows(dimension=2) is None


def test_a_whole_number_is_one_in_one_dimension_alone() -> None:
    assert ln.RowCounts(3).radius("integer", dimension=1) == 3
    assert ln.RowCounts(3).radius("integer", dimension=2) is None
    assert projections_of(ln.RowCounts(3), dimension=2) is None  # its shifts have no volume


@pytest.mark.parametrize("bound", [0, "0.5", "2.5", -1, math.inf])
def test_bounds_are_whole(bound: Any) -> None:
    with pytest.raises(InvalidArgument, match="sensitivity"):
        ln.RowCounts(bound)


def test_counts_get_geometric_noise_or_better_where_they_can() -> None:
    """All rows of a unit may be in one cell: Laplace noise of 3/ε on each."""
    noise = ln.calibrate("laplace", epsilon=1, sensitivity=ln.RowCounts(3), dimension=4).noise
    assert noise.scale == Fraction(3)
