from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtr
from scipy.stats import kstest

from leastnoise.noise.gaussian_mixture import GaussianMixture
from leastnoise.release.rounding import add_noise
from leastnoise.sampling.entropy import InsecureSeededEntropy

LAW = GaussianMixture(scale="0.4", modes=2, spacing="1.5", decay="0.7")
ACCEPT, REJECT = 1e-3, 1e-4


def _cdf(x: np.ndarray, scale: float = 1.0) -> np.ndarray:
    weights = {k: math.exp(-0.7 * abs(k)) for k in range(-2, 3)}
    parts = [w * ndtr((x / scale - 1.5 * k) / 0.4) for k, w in weights.items()]
    return np.sum(parts, axis=0) / sum(weights.values())


def test_draws_have_the_law() -> None:
    source = InsecureSeededEntropy(31)
    zero = np.zeros(1)
    grid = Fraction(1, 2**20)
    drawn = np.array([add_noise(LAW, grid, zero, entropy=source)[0] for _ in range(6000)])
    assert kstest(drawn, _cdf).pvalue > ACCEPT
    assert kstest(drawn, lambda x: _cdf(x, 1.1)).pvalue < REJECT
    # the right components: a mixture without its outer ones is rejected
    assert np.mean(np.abs(drawn) > 2.25) > 0.1
