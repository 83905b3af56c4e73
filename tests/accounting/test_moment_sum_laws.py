"""Moment generating functions of losses: their values, and bounds far up the complex line."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from flint import arb
from mpmath import besseli, besselk, log, mp, mpf

from leastnoise.balls.core import precision
from tests.angles import angle_integral, spherical, weights


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3, 10, 51, 1000])
@pytest.mark.parametrize(("ratio", "tilt", "height"), [("0.5", "3", "7"), ("4", "0.3", "11")])
def test_moments_are_those_of_the_angle(dimension: int, ratio: str, tilt: str, height: str) -> None:
    law = spherical(dimension, ratio)
    with mp.workdps(40):
        whole = angle_integral(law, lambda z: mpf(1))
        real = angle_integral(law, lambda z: mp.exp(mpf(tilt) * z))
        top = angle_integral(law, lambda z: mp.exp((mpf(tilt) + 1j * mpf(height)) * z))
        expected = log(real / whole), abs(top) / real
    with precision(128):
        (log_moment,) = law.log_moments((Fraction(tilt),))
        _, item = law.ratios(Fraction(tilt), Fraction(height), 1)
        assert abs(log_moment - arb(mp.nstr(expected[0], 35))) < arb("1e-30")
        assert abs(abs(item) - arb(mp.nstr(expected[1], 35))) < arb("1e-30")


@pytest.mark.dense
@pytest.mark.parametrize("dimension", [2, 10])
def test_moments_of_a_large_ratio_have_all_digits(dimension: int) -> None:
    # K_0 and K_1 of flint lose most of theirs there at first
    law = spherical(dimension, "125.1")
    with mp.workdps(60):
        nu, r = weights(law)
        x, beta = mpf("62.55"), r * (2 * nu + 1) / (2 * (nu + 1))

        def g(z: Any) -> Any:
            return (
                mp.gamma(nu + 1) * (2 / z) ** nu * (besseli(nu, z) + more * besseli(nu + 1, z) / z)
            )

        more = 2 * beta * (nu + 1)
        expected = log(g(3 * x) / g(x))
    with precision(128):
        (log_moment,) = law.log_moments((Fraction(1),))
        assert abs(log_moment - arb(mp.nstr(expected, 50))) < arb("1e-25")


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3, 10, 101, 1000, 10**5])
@pytest.mark.parametrize(
    ("ratio", "tilt"), [("0.01", "20"), ("1", "0.01"), ("1", "20"), ("30", "1")]
)
def test_no_moment_is_above_its_envelope(dimension: int, ratio: str, tilt: str) -> None:
    law, c = spherical(dimension, ratio), Fraction(tilt)
    # from about a tenth of one over the spread of the loss on
    kappa = (float(c) + 0.5) * float(law.ratio)
    spacing = Fraction(round(10 * (math.sqrt(dimension) + kappa))) / 100 / law.ratio
    with precision(128):
        envelope, steps = law.envelope(c), [1, 2, 4, 9, 20, 50, 120, 300]
        bounds = [envelope.beyond(spacing * n) for n in steps]
        sizes = [abs(x) for x in law.ratios(c, spacing, 300)]
        assert sizes[0].overlaps(arb(1))
        for n, bound in zip(steps, bounds, strict=True):
            assert all(size.lower() <= bound.upper() for size in sizes[n:] if size.is_finite())
        assert all(not high < low for high, low in itertools.pairwise(bounds))
        assert bounds[-1] < arb(0.6)


def test_an_envelope_falls_where_one_bound_takes_over_from_another() -> None:
    envelope = spherical(1001, "1").envelope(Fraction(324))
    with precision(128):
        bounds = [envelope.beyond(Fraction(height)) for height in range(480, 600, 10)]
        assert all(not high < low for high, low in itertools.pairwise(bounds))


@pytest.mark.grid
@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 10, 30])
@pytest.mark.parametrize("height", [40, 400])
def test_far_up_no_bound_is_below_its_formula(dimension: int, height: int) -> None:
    law, tilt = spherical(dimension, "1"), Fraction(2)
    with precision(128):
        bound = law.envelope(tilt).beyond(Fraction(height))
    with mp.workdps(30):
        nu, r = weights(law)
        kappa, beta = mpf("2.5"), r * (2 * nu + 1) / (2 * (nu + 1))
        size = mp.sqrt(kappa**2 + height**2)

        def form(of: Any, z: Any) -> Any:
            return of(nu, z) + 2 * beta * (nu + 1) / z * of(nu + 1, z)

        at_kappa = form(besseli, kappa) / kappa**nu
        from_k = mp.exp(size) * form(besselk, size) / mp.pi
        if dimension == 2:  # K_0 is bounded in another way
            from_k += 1 / mp.sqrt(2 * mp.pi * height) - mp.exp(size) * besselk(0, size) / mp.pi
        hankel = 2 * mp.cosh(kappa) * from_k / size**nu / at_kappa
    # of the other bounds none is less there, and half-odd orders cost little
    assert hankel <= float(bound.upper()) * (1 + 1e-12)
    assert float(bound) <= 1.2 * hankel
