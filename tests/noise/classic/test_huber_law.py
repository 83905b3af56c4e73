from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.base import exponential_moment
from leastnoise.noise.classic.law import FlippedHuber, Gaussian
from leastnoise.noise.draw import find_quantile
from tests.routes import integrate


def _moment(power: int, u: mp.mpf) -> mp.mpf:
    body = integrate(lambda y: y**power * mp.exp(-u * y), [0, min(u, 40 / u), u])
    tail = integrate(lambda y: y**power * mp.exp(-(y * y + u * u) / 2), [u, u + 1, u + 4, u + 12])
    return body + tail


@pytest.mark.grid
@pytest.mark.parametrize("alpha", ["1e-8", "0.1", "1", "1.999", "2.001", "6", "50"])
def test_moments_keep_their_digits(alpha: str) -> None:
    law = FlippedHuber(scale=3, alpha=Fraction(alpha) / 2, gamma="0.5")
    with mp.workdps(30):
        sums = [_moment(power, mp.mpf(alpha)) for power in range(3)]
        first, second = 3 * sums[1] / sums[0] / 2, 9 * sums[2] / sums[0] / 4
    assert law.mean_abs == pytest.approx(float(first), rel=2e-14)
    assert law.variance == pytest.approx(float(second), rel=2e-14)


@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("limit", ["1e-9", "0.3", "1.9999", "2", "30"])
def test_exponential_moment(power: int, limit: str) -> None:
    with mp.workdps(30):
        a = mp.mpf(limit)
        exact = mp.gammainc(power + 1, 0, a) / a ** (power + 1)
    assert exponential_moment(power, float(limit)) == pytest.approx(float(exact), rel=3e-15)


def test_the_definition() -> None:
    """ρ(r) = αr up to α and (r² + α²)/2 beyond, over γ²."""
    law = FlippedHuber(scale=2, alpha="1.5", gamma="0.7")
    x = np.array([[0.0], [2.0], [-3.0], [5.0]])
    logs = law.log_density(x) - law.log_density([0.0])
    rho = np.array([0, 1.5, 1.5**2, (2.5**2 + 1.5**2) / 2])
    assert logs == pytest.approx(-rho / 0.49, rel=1e-12)


def test_quantiles() -> None:
    gaussian = FlippedHuber(scale=2, alpha=0, gamma=3)
    assert find_quantile(gaussian, 0.95) == pytest.approx(
        find_quantile(Gaussian(scale=6), 0.95), rel=1e-9
    )
    law = FlippedHuber(scale=2, alpha="1.2", gamma="0.8")
    for probability in (0.05, 0.5, 0.9, 0.95, 0.9999):
        t = find_quantile(law, probability)
        points = sorted({0.0, min(t, 2.4), t})
        inside = integrate(lambda x: np.exp(float(law.log_density([float(x)]))), points)
        assert 2 * float(inside) == pytest.approx(probability, rel=1e-9)


def test_refuses_bad_parameters() -> None:
    for gamma in ("0", "-1", "1e200"):
        with pytest.raises(InvalidArgument, match="gamma"):
            FlippedHuber(scale=1, alpha=1, gamma=gamma)
    for alpha in ("-1", "1e9"):
        with pytest.raises(InvalidArgument, match="alpha"):
            FlippedHuber(scale=1, alpha=alpha, gamma=1)
