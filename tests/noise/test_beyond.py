"""P(X_i > t) in balls against the quantiles in floats, against sums, and against draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leastnoise.balls.core import float_above, float_below, precision
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.classic.law import Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.lattice.law import DiscreteStaircase
from leastnoise.noise.registry import part_of
from leastnoise.noise.steps.law import Geometric

_CONTINUOUS: list[Noise] = [
    Gaussian(scale="3.7", dimension=2),
    Laplace(scale="1.5"),
    TruncatedLaplace(scale=2, radius=5),
    KNorm(scale=1, body=Box(bounds=[1])),
    KNorm(scale="0.5", body=Box(bounds=[1, 3])),
    KNorm(scale=2, body=Box(bounds=[1, 1, 2, 1])),
]
_WHOLE: list[Noise] = [
    Geometric(scale=1, cells=1, core=1, decay=1),
    Geometric(scale=3, cells=3, core=2, decay="0.7"),
    DiscreteStaircase(scale=1, cells=1, masses=(40, 20, 9, 2, 1)),
]


def _beyond(noise: Noise, t: Fraction, coordinate: int = 0) -> tuple[float, float]:
    with precision(128):
        enclosure = part_of(type(noise), "beyond")(noise, t, coordinate)
        return float_below(enclosure), float_above(enclosure)


@pytest.mark.parametrize("noise", _CONTINUOUS, ids=repr)
@pytest.mark.parametrize("outside", [0.9, 0.1, 1e-6])
def test_it_is_half_of_what_the_quantile_leaves_outside(noise: Noise, outside: float) -> None:
    for coordinate in range(noise.dimension):
        t = find_quantile(noise, 1 - outside, coordinate)
        low, high = _beyond(noise, Fraction(t), coordinate)
        assert low <= high <= low * (1 + 1e-12)
        assert 2 * low == pytest.approx(outside, rel=1e-6)


@pytest.mark.parametrize("noise", _WHOLE, ids=repr)
def test_on_whole_numbers_it_is_the_sum_of_what_is_beyond(noise: Noise) -> None:
    places = np.arange(-400, 401, dtype=float)
    masses = np.exp(noise.log_density(places[:, None]))
    for t in ("-3", "-1/2", "0", "1/3", "1", "2.9", "4", "7"):
        expected = float(masses[places > float(Fraction(t))].sum())
        low, high = _beyond(noise, Fraction(t))
        assert low <= high <= low + 1e-15
        assert low == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_two_numbers_of_a_box_have_the_closed_form_of_the_note() -> None:
    """¼(εt + 2)e^(−εt): theory/workloads.md §1, at its own threshold of 13.83 for δ = 1e-5."""
    low, high = _beyond(KNorm(scale=1, body=Box(bounds=[1, 1])), Fraction("12.83"))
    expected = (12.83 + 2) / 4 * np.exp(-12.83)
    assert low <= expected * (1 + 1e-12)
    assert high >= expected * (1 - 1e-12)
    assert high < 1.0e-5 < _beyond(KNorm(scale=1, body=Box(bounds=[1, 1])), Fraction("12.82"))[1]
