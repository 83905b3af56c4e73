"""The tail of a tree's total in balls: equal to two other computations, and never below."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from leastnoise.errors import NotApplicable
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.total import total_beyond
from tests.noise.trees.oracle import enumerated

TREES = [
    Agreeing(scale=1, branches=(3,), shares=(0, 1)),
    Agreeing(scale="0.6", branches=(2, 2), shares=("0.2", "0.3", "0.5")),
    Agreeing(scale=4, branches=(5, 6), shares=(0, "0.5", "0.5")),
    Agreeing(scale=2, branches=(1, 7), shares=("0.1", "0.1", "0.8")),
]


@pytest.mark.parametrize("noise", TREES, ids=str)
def test_balls_and_fourier_transforms_agree(noise: Agreeing) -> None:
    (law, *_) = level_laws(noise)
    masses = law.probabilities
    for t in (0, 1, 5, 12, 25):
        tail = total_beyond(noise, Fraction(t))
        error = 4 * law.error * np.sqrt(len(masses)) + 1e-12
        assert abs(float(tail.mid()) - masses[t + 1 :].sum()) <= error
        assert float(tail.rad()) <= 1e-15 + 1e-12 * float(tail.mid())
        # between two whole numbers nothing changes
        assert tail.overlaps(total_beyond(noise, t + Fraction(1, 2)))


def test_a_small_tree_by_enumeration() -> None:
    noise = TREES[1]
    points, weights = enumerated(noise, 10)
    sums = points.sum(axis=1)
    for t in range(8):
        assert abs(float(total_beyond(noise, Fraction(t)).mid()) - weights[sums > t].sum()) < 1e-6


def test_two_cells_in_exact_fractions() -> None:
    """P(Z = t) ∝ y^|t|(|t| + 1 + 2x/(1 − x)), y = e^−(rates of a cell and the root), x = e^−2r."""
    noise = Agreeing(scale=1, branches=(2,), shares=("0.25", "0.75"))
    y, x = (-arb(1)).exp(), (-arb("1.5")).exp()
    extra = 1 + 2 * x / (1 - x)
    whole = extra * (1 + y) / (1 - y) + 2 * y / (1 - y) ** 2
    for t in range(30):
        # Σ_{u > t} y^u(u + extra)
        first = t + 1
        tail = y**first * ((first + extra) / (1 - y) + y / (1 - y) ** 2) / whole
        assert total_beyond(noise, Fraction(t)).overlaps(tail)
        assert float(tail.rad()) < 1e-12


def test_what_lies_beyond_the_window_is_counted() -> None:
    noise = TREES[0]
    far = total_beyond(noise, Fraction(10**6))
    assert far.contains(0)
    assert 0 < far.upper() < arb(2) ** -90


def test_other_trees_are_refused() -> None:
    uneven = Agreeing(scale=1, branches=(2, 3, 1), shares=(0, "0.5", "0.5"))
    with pytest.raises(NotApplicable, match="not alike"):
        total_beyond(uneven, Fraction(3))
    wide = Agreeing(scale=10**6, branches=(3,), shares=(0, 1))
    with pytest.raises(NotApplicable, match="raise epsilon"):
        total_beyond(wide, Fraction(3))
