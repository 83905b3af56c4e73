"""Half-widths of sums of Laplace numbers: never too narrow, and hardly too wide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leastnoise.workloads.laplace_sums import half_width_of_laplace_sum

PROBABILITIES = (0.95, 0.975, 1 - 0.05 / 3)


def inside(t: float, weights: np.ndarray) -> float:
    """P(|S| ≤ t) of Laplace numbers with variances w, from E e^(iuS) = Π 1/(1 + w u²/2)."""
    law = lambda u: math.exp(-np.log1p(weights * u * u / 2).sum()) * math.sin(u * t) / u  # noqa: E731
    return 2 / math.pi * quad(law, 1e-12, 60 / math.sqrt(len(weights)) + 400, limit=4000)[0]


@pytest.mark.grid
@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("largest", [0.9, 0.5, 0.3, 0.11, 0.04])
def test_sums_are_within_it(probability: float, largest: float) -> None:
    parts = math.floor(1 / largest)
    rng = np.random.default_rng(parts)
    cases = [np.full(parts, 1 / parts), np.append(np.full(parts, largest), 1 - parts * largest)]
    small = rng.dirichlet(np.full(60, 0.7)) * (1 - largest)
    if small.max() <= largest:
        cases.append(np.append(small, largest))
    t = half_width_of_laplace_sum(probability, largest)
    for weights in cases:
        assert inside(t, weights) >= probability - 1e-7
    # one that is a tenth narrower would miss some of them
    assert min(inside(0.9 * t, weights) for weights in cases) < probability


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_many_small_parts_are_normal(probability: float) -> None:
    normal = norm.ppf((1 + probability) / 2)
    assert normal < half_width_of_laplace_sum(probability, 1e-5) < 1.0003 * normal


def test_one_number_is_no_wider_than_any_log_concave_law() -> None:
    """2.170 standard deviations hold 95 % of each such law."""
    laplace = math.log(20) / math.sqrt(2)
    assert laplace < half_width_of_laplace_sum(0.95, 1.0) < 2.170
