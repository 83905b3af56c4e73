"""What `add_noise` refuses, with messages that contain no data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.rounding import add_noise
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.draw import make_sampler

TWO = Fraction(2)


@pytest.mark.parametrize(
    "values",
    [
        np.array([54321.5, 54321.5]),
        np.full((3, 1), 54321.5),
        54321.5,
        [[54321.5], [54321.5, 54321.5], 54321.5],
        np.array(["54321.5"] * 3),
        np.full(3, 54321.5 + 1j),
        ScaledIntegers(numerators=np.full(4, 54321), bits=0),
        np.full(3, 54321.5, dtype=np.longdouble),
        np.array(["1954-03-21"] * 3, dtype="datetime64[D]"),
    ],
)
def test_bad_shapes_and_types_name_no_value(values: Any) -> None:
    with pytest.raises(InvalidArgument, match="values") as refused:
        add_noise(Gaussian(scale=1, dimension=3), TWO**-20, values)
    assert "543" not in str(refused.value)
    assert "1954" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("numerators", [np.array([1.5]), np.array([1], dtype=np.int32)])
def test_numerators_are_int64(numerators: Any) -> None:
    with pytest.raises(InvalidArgument, match="int64"):
        ScaledIntegers(numerators=numerators, bits=0)


def test_bits_are_bounded() -> None:
    with pytest.raises(InvalidArgument, match="bits"):
        ScaledIntegers(numerators=np.array([1]), bits=5000)


def test_the_grid_is_checked() -> None:
    with pytest.raises(InvalidArgument, match="power of two"):
        add_noise(Gaussian(scale=1), Fraction(1, 3), 0.0)


def test_a_family_without_a_sampler_is_refused() -> None:
    class Unknown(Noise):
        name = "unknown"

        def __init__(self) -> None: ...
        def scaled(self, factor: Any) -> Any: ...
        def log_density(self, x: Any) -> Any: ...
        @classmethod
        def _why_not(cls, *, dimension: int, delta: Fraction) -> None: ...
        @property
        def variance(self) -> float:
            return 1.0

        @property
        def mean_abs(self) -> float:
            return 1.0

    with pytest.raises(NotApplicable, match="unknown"):
        make_sampler(Unknown(), grid=Fraction(1), entropy=InsecureSeededEntropy(1))
