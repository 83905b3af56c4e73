from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.steps.law import TruncatedStaircase

LAW = TruncatedStaircase(scale=2, gamma="0.37", radius="3.3", decay="0.8")


def _draws(count: int, seed: int) -> np.ndarray:
    grid, cells = Fraction(1, 2**20), CellGeometry(count=count)
    entropy = InsecureSeededEntropy(seed)
    return add_noise(LAW, grid, np.zeros(count), geometry=cells, entropy=entropy)


def _p_value(draws: np.ndarray, law: TruncatedStaircase) -> float:
    """The p-value of a χ² test of the draws' counts in the steps of `law`, for both signs."""
    edges = law.steps.float_edges * float(law.scale)
    ends = np.concatenate([-edges[::-1], edges[1:]])
    expected = np.concatenate([law.steps.masses[::-1], law.steps.masses]) / 2 * len(draws)
    counts = np.histogram(np.clip(draws, ends[0], ends[-1]), ends)[0]
    return float(stats.chisquare(counts, expected).pvalue)


def test_the_law_is_drawn_and_a_wrong_scale_is_not_accepted() -> None:
    draws = _draws(8000, seed=5)
    assert _p_value(draws, LAW) > 1e-3
    assert _p_value(draws, LAW.scaled("1.1")) < 1e-5
    assert np.abs(draws).max() <= 6.6


def test_within_a_step_it_is_uniform() -> None:
    draws = np.abs(_draws(3000, seed=6)) / 2
    inside = draws[(draws > 0.37) & (draws < 1.37)] - 0.37
    assert stats.kstest(inside, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("scale", ["1", "1/3"])
def test_every_value_is_on_the_grid(scale: str) -> None:
    law = LAW.scaled(Fraction(scale))
    value = add_noise(law, Fraction(1, 8), [1.0], entropy=InsecureSeededEntropy(1))[0]
    assert value * 8 == round(value * 8)
