from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.base import Noise
from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian

MIXTURE = GaussianMixture(scale="0.4", modes=2, spacing="1.5", decay="0.7")
# cut off where it still has 16 % of its mass, and hardly at all
WIDE, NARROW = (QuasiGaussian(scale=s, spacing=1, decay="0.3") for s in ("1", "0.25"))
ACCEPT, REJECT = 1e-3, 1e-4


def _mixture_cdf(x: np.ndarray) -> np.ndarray:
    weights = {k: math.exp(-0.7 * abs(k)) for k in range(-2, 3)}
    parts = [w * ndtr((x - 1.5 * k) / 0.4) for k, w in weights.items()]
    return np.sum(parts, axis=0) / sum(weights.values())


def _folded_cdf(x: np.ndarray, scale: float) -> np.ndarray:
    """P(X <= x) of a folded mixture, by Liu, Selvi & Wiesemann (2026), appendix C.2."""
    outer, side = np.exp(-0.3), ndtr(1 / scale)
    left = ndtr(x / scale) + outer * ndtr((x + 1) / scale)
    right = ndtr(x / scale) + outer * (ndtr((x - 1) / scale) + side - (1 - side))
    return np.where(x < 0, left, right) / (1 + 2 * outer * side)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("law", "cdf"),
    [
        pytest.param(MIXTURE, _mixture_cdf, marks=pytest.mark.slow),
        pytest.param(WIDE, lambda x: _folded_cdf(x, 1.0), marks=pytest.mark.slow),
        (NARROW, lambda x: _folded_cdf(x, 0.25)),
    ],
    ids=["mixture", "wide", "narrow"],
)
def test_draws_have_the_law(law: Noise, cdf: Callable[[np.ndarray], np.ndarray]) -> None:
    source = InsecureSeededEntropy(31)
    zero = np.zeros(1)
    grid = Fraction(1, 2**20)
    drawn = np.array([add_noise(law, grid, zero, entropy=source)[0] for _ in range(6000)])
    assert kstest(drawn, cdf).pvalue > ACCEPT
    assert kstest(drawn, lambda x: cdf(x / 1.1)).pvalue < REJECT
    assert kstest(drawn, lambda x: cdf(x * 1.1)).pvalue < REJECT
