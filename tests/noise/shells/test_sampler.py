from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.common.law import RadialStepNoise
from leastnoise.noise.shells.law import OptimalRadial, SphericalStaircase

LAWS = [
    SphericalStaircase(scale=2, dimension=2, gamma="0.3", radius="4.3", decay="0.7"),
    SphericalStaircase(scale=2, dimension=6, gamma="0.9", radius="2.5", decay="2"),
    OptimalRadial(scale="1.5", dimension=3, cells=4, edges=(2, 3, 9), weights=(60, 20, 1)),
]


def _draws(law: RadialStepNoise, count: int) -> np.ndarray:
    entropy, zero = InsecureSeededEntropy(41), np.zeros(law.dimension)
    grid = Fraction(1, 2**24)
    return np.array([add_noise(law, grid, zero, entropy=entropy) for _ in range(count)])


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name}-d{law.dimension}")
def test_the_law_is_drawn(law: RadialStepNoise) -> None:
    """Radius by KS and by shell, from the heights alone; direction; 10 % too wide is rejected."""
    d, count = law.dimension, 5000
    x = _draws(law, count) / float(law.scale)
    radius = np.linalg.norm(x, axis=1)
    edges = np.append(0.0, law.steps.float_edges)
    masses = np.exp(law.steps.log_heights) * np.diff(edges**d)
    inside = np.append(0.0, np.cumsum(masses)) / masses.sum()

    def cdf(r: np.ndarray) -> np.ndarray:
        return np.interp(r**d, edges**d, inside)

    assert radius.max() <= edges[-1]
    assert stats.kstest(radius, cdf).pvalue > 1e-3
    assert stats.kstest(1.1 * radius, cdf).pvalue < 1e-5
    counts = np.histogram(radius, edges)[0]
    assert stats.chisquare(counts, np.diff(inside) * count).pvalue > 1e-3
    for axis in range(d):
        cosine = (1 + x[:, axis] / radius) / 2
        beta = stats.beta((d - 1) / 2, (d - 1) / 2)
        assert stats.kstest(cosine, beta.cdf).pvalue > 1e-3
    assert abs(np.corrcoef(x[:, 0] / radius, radius)[0, 1]) < 4 / np.sqrt(count)
