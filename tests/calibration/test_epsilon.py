from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.calibration.epsilon import enclose_epsilon
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.gaussian import Gaussian
from leastnoise.noise.laplace import Laplace
from leastnoise.noise.spherical_laplace import SphericalLaplace


def test_inverts_the_calibration() -> None:
    at = enclose_epsilon(
        Gaussian(scale="3.730631634815941832250"), Hidden.of(L2(1)), Fraction("1e-5")
    )
    assert at.lower <= 1 <= at.upper * (1 + 1e-20)
    assert at.width < 1e-11


def test_pure_guarantee() -> None:
    at = enclose_epsilon(SphericalLaplace(scale="0.5", dimension=4), Hidden.of(L2(1)), Fraction(0))
    assert at.lower <= 2 <= at.upper
    assert at.width < 1e-11


def test_enough_noise_needs_no_epsilon() -> None:
    at = enclose_epsilon(Laplace(scale=1000), Hidden.of(L2(1)), Fraction(1, 2))
    assert (at.lower, at.upper) == (0, 0)


def test_a_gaussian_is_never_pure() -> None:
    with pytest.raises(NotApplicable, match="delta=0"):
        enclose_epsilon(Gaussian(scale=1), Hidden.of(L2(1)), Fraction(0))
