"""Exact sums of grid steps, against the same sums of Fractions one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.values import LARGEST_STEPS, ScaledIntegers
from leastnoise.mechanism.whitening import total_steps

RNG = np.random.default_rng(5)  # makes values, no noise
LARGE = RNG.normal(0, 1, 40_000)
FLOATS = {
    "one": np.array([0.1]),
    "zeros": np.zeros(3),
    "all cancels": np.concatenate([LARGE, -LARGE]),
    "all scales": LARGE * np.exp2(RNG.integers(-900, 900, len(LARGE))),
    "small beside large": np.array([1e300, 1e-300, -1e300, 5e-324, 1.0]),
    "the largest": np.array([1.7e308, 1.7e308, -3.0, 5e-324]),
    "no numbers": np.array([math.nan, 2.0, math.inf, -math.inf, math.inf, math.nan]),
    "full mantissas": np.full(20_000, 1 - 2.0**-53),
    "alternate": np.where(np.arange(20_000) % 2, 2.0**60, -(2.0**60) + 2**8),
}
WHOLE = {
    "counts": np.arange(40_000),
    "extremes": np.array([2**63 - 1, -(2**63), 2**63 - 1, 7]),
    "many large": np.full(40_000, 2**62 + 1),
    "mixed": RNG.integers(-(2**63), 2**63 - 1, 40_000),
}
EXPONENTS = [-1060, -70, -3, 0, 2, 64, 900, 961, 970]


def slow_sum(values: list[Fraction], exponent: int) -> Fraction:
    largest = Fraction(LARGEST_STEPS)
    steps = (value / Fraction(2) ** exponent for value in values)
    return sum((max(-largest, min(largest, step)) for step in steps), Fraction(0))


def fraction(value: float, exponent: int) -> Fraction:
    if math.isnan(value):
        return Fraction(0)
    if math.isinf(value):
        return Fraction(LARGEST_STEPS if value > 0 else -LARGEST_STEPS) * Fraction(2) ** exponent
    return Fraction(value)


@pytest.mark.dense
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_floats(name: str, exponent: int) -> None:
    values = FLOATS[name]
    if exponent != -3:
        values = values[:200]
    with np.errstate(all="ignore"):  # as a release has it
        total = total_steps(values, exponent)
    assert total == slow_sum([fraction(float(v), exponent) for v in values], exponent)


@pytest.mark.dense
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("exponent", [-100, -62, -61, -60, -3, 0, 1, 2, 3, 70])
def test_integers(name: str, exponent: int) -> None:
    values = WHOLE[name] if exponent in {-3, 1} else WHOLE[name][:100]
    scaled = ScaledIntegers(numerators=values.astype(np.int64), bits=0)
    exact = [Fraction(int(value)) for value in values]
    assert total_steps(scaled, exponent) == slow_sum(exact, exponent)


def test_bits_are_powers_of_two_and_slices_are_parts() -> None:
    scaled = ScaledIntegers(numerators=np.arange(10), bits=3)
    assert total_steps(scaled, -4, slice(2, 5)) == 2 * (2 + 3 + 4)
    rationals = as_exact([Fraction(1, 3), Fraction(1, 6), Fraction(5)])
    assert total_steps(rationals, -1, slice(0, 2)) == 1
