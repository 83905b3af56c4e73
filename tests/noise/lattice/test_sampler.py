from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.lattice.law import DiscreteStaircase, Optimal

MASSES = (5, 3, 4, 0, 1)
_DRAWS = 100_000
_CRITICAL = 27.9  # χ² of 9 degrees of freedom, exceeded with probability 0.001


def _chi_squared(counts: np.ndarray, chances: np.ndarray) -> float:
    expected = chances * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def _counts(law: Optimal | DiscreteStaircase, edges: np.ndarray) -> np.ndarray:
    grid, cells = Fraction(1, 2**12), CellGeometry(count=_DRAWS)
    entropy = InsecureSeededEntropy(7)
    values = np.full(_DRAWS, 10.0)
    draws = add_noise(law, grid, values, geometry=cells, entropy=entropy) - 10
    assert draws.min() >= edges[0]
    assert draws.max() <= edges[-1]
    return np.histogram(draws, edges)[0]


def test_draws_have_the_probabilities_of_the_masses() -> None:
    counts = _counts(DiscreteStaircase(scale=1, cells=1, masses=MASSES), np.arange(-4.5, 5))
    weights = np.array([1, 0, 4, 3, 5, 3, 4, 0, 1]) / 21
    assert counts[1] == counts[7] == 0
    kept = weights > 0
    assert _chi_squared(counts[kept], weights[kept]) < _CRITICAL
    other = np.array([2, 8, 6, 11, 6, 8, 2]) / 43  # the middle 10 % too heavy
    assert _chi_squared(counts[kept], other) > _CRITICAL


def test_draws_spread_evenly_about_the_points() -> None:
    law = Optimal(scale=1, cells=1, masses=(5, 3, 4))
    edges = np.linspace(-2.5, 2.5, 11)
    counts = _counts(law, edges)
    assert _chi_squared(counts, np.repeat([4, 3, 5, 3, 4], 2) / 38) < _CRITICAL
    wide = _counts(law.scaled("1.1"), np.array([-3, *edges[1:-1], 3]))
    assert _chi_squared(wide, np.repeat([4, 3, 5, 3, 4], 2) / 38) > _CRITICAL


@pytest.mark.parametrize("value", [0, 3, -17, 2.5])
def test_what_is_released_is_a_whole_number_whatever_the_value(value: float) -> None:
    law = DiscreteStaircase(scale=1, cells=1, masses=MASSES)
    released = float(
        add_noise(law, Fraction(1, 2**12), float(value), entropy=InsecureSeededEntropy(1))
    )
    assert released % 1 == 0
