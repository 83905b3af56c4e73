from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.classic.law import TruncatedLaplace
from leastnoise.noise.draw import find_quantile


@pytest.mark.parametrize("radius", ["1e-9", "0.01", "1.99", "2", "2.01", "30", "1000"])
def test_moments_keep_their_digits(radius: str) -> None:
    law = TruncatedLaplace(scale=3, radius=radius)
    with mp.workdps(60):
        a = mp.mpf(radius)
        first = 3 * (1 - a / mp.expm1(a))
        second = 9 * (2 - (a * a + 2 * a) / mp.expm1(a))
    assert law.mean_abs == pytest.approx(float(first), rel=4e-15)
    assert law.variance == pytest.approx(float(second), rel=4e-15)


def test_the_density_ends_at_the_radius() -> None:
    law = TruncatedLaplace(scale=2, radius="1.5")
    inside, outside = law.log_density(np.array([[2.999], [-3.001]]))
    assert np.isfinite(inside)
    assert outside == -np.inf


@pytest.mark.parametrize("radius", ["0", "-1", "inf", "1e10"])
def test_refuses_a_bad_radius(radius: str) -> None:
    with pytest.raises(InvalidArgument, match="radius"):
        TruncatedLaplace(scale=1, radius=radius)


def test_quantiles() -> None:
    law = TruncatedLaplace(scale=2, radius="1.5")
    for probability in (0.05, 0.5, 0.95, 0.9999):
        t = mp.mpf(find_quantile(law, probability)) / 2
        assert float(mp.expm1(-t) / mp.expm1(-mp.mpf("1.5"))) == pytest.approx(probability)
    assert find_quantile(law.scaled(Fraction(1, 2)), 0.5) * 2 == find_quantile(law, 0.5)
