"""Tilted laws in floats, against the same laws in 60 digits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import log, mp, mpf

from leastnoise.balls.core import ball, precision
from leastnoise.balls.losses import LossLattice
from leastnoise.balls.rounded import (
    BLOCK,
    Tilted,
    geometric,
    join_floats,
    log_moment_above,
    progression,
)

UNIT = mpf(2) ** -53


def exactly(number: Fraction) -> mpf:
    return mpf(number.numerator) / number.denominator


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    count=st.integers(1, 3 * BLOCK),
    first=st.integers(-500, 100),
    tilt=st.fractions(Fraction(1, 64), 300, max_denominator=64),
    seed=st.integers(0, 2**31),
)
def test_every_weight_is_as_accurate_as_promised(
    *, count: int, first: int, tilt: Fraction, seed: int
) -> None:
    rng = np.random.default_rng(seed)  # makes masses, no noise
    masses = rng.random(count) * 10.0 ** rng.uniform(-12, 0, count)
    masses[rng.random(count) < 0.2] = 0.0
    masses[-1] = 0.5
    lattice = LossLattice(
        step=Fraction(1, 37), origin=Fraction(1, 3), first=first, masses=masses, infinity=0.0
    )
    with precision(128):
        result = Tilted.of(lattice, 1, tilt)
        log_moment = result.log_moment.mid().str(40, radius=False)
        assert result.log_moment.rad() < 1e-25 * max(1, abs(float(result.log_moment)))
    with mp.workdps(60):
        scale = mp.exp(mpf(log_moment))
        for i in {0, count - 1, *rng.integers(0, count, 30).tolist()}:
            weight, exact = result.weights[i], mpf(float(masses[i]))
            exact *= mp.exp(exactly(tilt * lattice.point(i))) / scale
            assert abs(exact - mpf(float(weight))) <= exact * mpf(2) ** -50 + mpf(2) ** -1070
        assert abs(sum(map(mpf, result.weights.tolist())) - 1) <= mpf(2) ** -50


def test_terms_are_rounded_to_the_nearest_float() -> None:
    """Halfway to the next float too, and where floats are no longer normal, or too small."""
    last_bits = [2**60 + 2**7, 2**60 + 2**8 - 1, 2**60 + 2**7 + 2**8, 2**61 - 1, 3**50, 2**200 + 1]
    for mantissa, exponent in itertools.product(last_bits, [0, -900, 700, -1090, -1200, -5000]):
        with precision(256):
            (result,), (power,) = progression(arb(mantissa) * arb(2) ** exponent, arb(1), 1)
        size = mantissa.bit_length()
        nearest = float(Fraction(mantissa, 2**size))
        assert math.ldexp(result, int(power) - exponent - size) == nearest


@pytest.mark.parametrize("ratio", ["0.003", "-0.4", "9.5", "-80"])
def test_progressions_are_within_three_units(ratio: str) -> None:
    with precision(128):
        mantissas, exponents = geometric(ball(Fraction(ratio)), 2 * BLOCK + 5)
    with mp.workdps(60):
        for i in (0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 4):
            exact = mp.exp(mpf(ratio) * i)
            term = mpf(float(mantissas[i])) * mpf(2) ** int(exponents[i])
            assert abs(term / exact - 1) <= 3 * UNIT


def test_far_below_all_floats_is_zero_and_far_above_infinite() -> None:
    result = join_floats(np.array([0.5, 0.75, 0.5, 0.5]), np.array([1, -1074, -(10**12), 10**12]))
    assert result.tolist() == [1.0, 2.0**-1074, 0.0, math.inf]


def test_log_moments_are_bounded_from_above_and_closely() -> None:
    weights = np.array([0.25, 0.0, 0.5, 0.25])
    with precision(128):
        interval = log_moment_above(weights, ball(Fraction(-3, 2)))
        below, above = float(interval.lower()), float(interval.upper())
    with mp.workdps(40):
        exact = log(sum(mpf(float(w)) * mp.exp(mpf(-1.5) * i) for i, w in enumerate(weights)))
        assert exact <= mpf(above) <= exact + mpf("1e-14")
    assert above - below < 1e-14
