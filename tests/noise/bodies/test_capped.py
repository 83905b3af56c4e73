"""Gauges of cells under a cap, by each of the proposals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from leastnoise.balls.core import precision
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.noise.bodies.sampler import combined
from leastnoise.noise.bodies.sampler.reals import Reals
from tests.noise.bodies.examples import same_law

# cells, shape, cap
CASES = [
    *[(3, 1, 3), (3, 1, 1), (4, 1, 2), (5, 2, 3), (6, 3, 5), (40, 1, 3)],
    pytest.param(12, 2, 7, marks=pytest.mark.dense),
]


def _values(parts: Reals) -> np.ndarray:
    return parts.floats(0, parts.size).values


@pytest.mark.parametrize(("cells", "shape", "cap"), CASES)
def test_the_law_by_rejection(cells: int, shape: int, cap: int) -> None:
    """Against cubes that are thrown away until the sum is below the cap (or by spacings)."""
    entropy = InsecureSeededEntropy(9)
    x = np.array(
        [
            _values(combined.draw_capped(entropy, cells=cells, shape=shape, cap=cap))
            for _ in range(200)
        ]
    )
    assert (x.sum(axis=1) <= cap + 1e-9).all()
    assert x.min() >= 0
    assert x.max() <= 1
    rng = np.random.default_rng(10)
    if cells == 40:
        gaps = rng.dirichlet(np.ones(cells + 1), size=20_000)[:, :-1] * cap
        reference = gaps[gaps.max(axis=1) < 1]
    else:
        tried = rng.random((100_000, cells)) ** (1 / shape)
        reference = tried[tried.sum(axis=1) <= cap][:20_000]
    assert len(reference) > 500
    for statistic in (lambda y: y.sum(axis=1), lambda y: y.max(axis=1), lambda y: y[:, 0]):
        assert same_law(statistic(x), statistic(reference)) > 1e-4


@pytest.mark.parametrize("tilt", [Fraction(1, 2), Fraction(7, 3), Fraction(9)])
@pytest.mark.parametrize("shape", [1, 3])
def test_tilted_parts(tilt: Fraction, shape: int) -> None:
    """Density ∝ x^(q−1)e^(−θx) on (0, 1)."""
    drawn = combined._tilted(InsecureSeededEntropy(11), 4000, shape, tilt)
    law = stats.gamma(shape, scale=float(1 / tilt))

    def cdf(x: np.ndarray, factor: float = 1.0) -> np.ndarray:
        return law.cdf(np.minimum(x * factor, 1)) / law.cdf(1)

    x = _values(drawn)
    assert stats.kstest(x, cdf).pvalue > 1e-3
    assert stats.kstest(x, lambda y: cdf(y, 1.1)).pvalue < 1e-3


@pytest.mark.parametrize("simplex", [True, False])
def test_whichever_proposal_the_law_is_the_same(
    *, simplex: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans only choose how often a proposal is thrown away."""
    monkeypatch.setattr(combined, "_plan", lambda *_: (Fraction(2), simplex))
    entropy = InsecureSeededEntropy(12)
    x = [_values(combined.draw_capped(entropy, cells=3, shape=1, cap=2)).sum() for _ in range(150)]
    # P(S <= 2) = 5/6; its law is that of Irwin and Hall below
    s = np.random.default_rng(1).random((60_000, 3)).sum(axis=1)
    assert same_law(x, s[s <= 2]) > 1e-3


def test_floats_and_balls_compare_alike() -> None:
    entropy = InsecureSeededEntropy(13)
    drawn = combined._tilted(entropy, 50, 2, Fraction(5))
    with precision(200):
        balls = [drawn.enclose(index, 120) for index in range(50)]
        assert all(value < 1 for value in balls)
        for value, near in zip(balls, _values(drawn), strict=True):
            assert abs(value - arb(near)) <= arb(drawn.floats(0, 50).error)
