from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import is_power_of_two
from leastnoise.mechanism.rounding import check_grid, default_grid, exponent_of
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.radial.law import SphericalLaplace

TWO = Fraction(2)


@pytest.mark.parametrize(
    ("noise", "exponent"),
    [
        (Gaussian(scale=1), -20),
        (Gaussian(scale=4), -18),
        (Gaussian(scale="3.999"), -19),
        (Gaussian(scale=1, dimension=50), -20),
        (Laplace(scale=1), -20),  # s = √2
        (Laplace(scale=Fraction(3, 2)), -19),  # s = 2.12
        (SphericalLaplace(scale=1, dimension=3), -19),  # s = √4
        (SphericalLaplace(scale=1, dimension=2), -20),  # s = √3
        (Gaussian(scale="1e-130"), math.floor(math.log2(1e-130)) - 20),
        (Gaussian(scale="1e130"), math.floor(math.log2(1e130)) - 20),
    ],
)
def test_default_grid(noise: Noise, exponent: int) -> None:
    assert default_grid(noise) == TWO**exponent
    check_grid(default_grid(noise), noise)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
@settings(derandomize=True, max_examples=200)
def test_default_grid_is_exact_at_every_scale(scale: Fraction) -> None:
    grid = default_grid(Gaussian(scale=scale))
    assert grid * 2**20 <= scale < grid * 2**21


@pytest.mark.parametrize("grid", [Fraction(0), Fraction(-1), Fraction(3), Fraction(1, 3)])
def test_only_powers_of_two(grid: Fraction) -> None:
    with pytest.raises(InvalidArgument, match="power of two") as refused:
        check_grid(grid, Gaussian(scale=1))
    assert refused.value.name == "grid"


def test_the_finest_grid_is_exactly_30_bits() -> None:
    noise = Gaussian(scale=1)
    check_grid(TWO**-30, noise)
    with pytest.raises(InvalidArgument, match=r"grid=2\^-31.*Use 2\^-30 or a larger"):
        check_grid(TWO**-31, noise)


def test_the_hint_is_the_finest_that_will_do() -> None:
    noise = Gaussian(scale=Fraction(3, 2))
    with pytest.raises(InvalidArgument, match=r"Use 2\^-29 or a larger"):
        check_grid(TWO**-30, noise)
    check_grid(TWO**-29, noise)


@pytest.mark.parametrize("exponent", [-1100, -1, 0, 1, 60, 1100])
def test_exponents(exponent: int) -> None:
    assert exponent_of(TWO**exponent) == exponent
    assert is_power_of_two(TWO**exponent)
