from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.classic.profile import gaussian_differential, zero_concentrated
from leastnoise.noise.kernels.law import GaussianMixture


@pytest.mark.dense
def test_a_mixture_keeps_the_curve_of_its_gdp() -> None:
    mixture = GaussianMixture(scale="0.7", modes=2, spacing=1, decay=1)
    mu = gaussian_differential(sigma=mixture.scale, sensitivity=Fraction(3, 2))
    plain = Gaussian(scale=1 / mu)
    for epsilon in (Fraction(0), Fraction(1), Fraction(4)):
        interval = prove_delta(mixture, L2("1.5"), epsilon).interval
        assert interval.upper <= prove_delta(plain, L2(1), epsilon).interval.upper


def test_zcdp_of_a_gaussian_is_half_its_squared_gdp() -> None:
    sigma, bound = Fraction(7, 3), Fraction(5)
    mu = gaussian_differential(sigma=sigma, sensitivity=bound)
    assert zero_concentrated(sigma=sigma, sensitivity=bound) == mu**2 / 2
