"""The shift of generalized gamma noise is rounded up; both sides of a proof share quadratures."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import arb

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.balls.convolution import composed_lower, composed_upper
from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.radial import privacy_losses
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.radial.privacy_losses import _in_scales, _tails_at, _Widened, lower, upper

LAW = GeneralizedGamma(scale="1.7", alpha="0.9", p="1.4", dimension=2)
TINY = Fraction(1, 10**20)  # rounding at 128 bits
STEP = Fraction(1, 8)
SIZE = 20


def test_the_shift_is_rounded_up_and_by_little() -> None:
    for square in (2, 3, 5, 200):
        shift = Fraction(math.sqrt(square))
        law, scales = _in_scales(LAW, shift)
        assert (law.scale, law.alpha, law.p, law.dimension) == (1, LAW.alpha, LAW.p, 2)
        assert 1 <= scales / (shift / LAW.scale) <= 1 + Fraction(1, 2**43)


def test_shifts_of_classic_laws_stay_as_they_are() -> None:
    normal = GeneralizedGamma(scale="1.7", alpha=1, p=2, dimension=2)
    shift = Fraction(math.sqrt(3))
    assert _in_scales(normal, shift)[1] == shift / normal.scale


@pytest.mark.dense
def test_the_bound_from_below_takes_no_quadrature_of_its_own() -> None:
    shifts = ShiftBounds.of_length(Fraction(3))
    inner, outer = (LAW.worst_shift(side) for side in (shifts.inner, shifts.outer))
    assert inner < outer
    _tails_at.cache_clear()
    upper(LAW, outer, STEP, SIZE)
    quadratures = _tails_at.cache_info().misses
    lower(LAW, inner, STEP, SIZE)
    assert _tails_at.cache_info().misses == quadratures > 0


@pytest.mark.parametrize("factor", [Fraction(1), Fraction(1001, 1000), Fraction(11, 10)])
@pytest.mark.parametrize("law", [LAW, GeneralizedGamma(scale=1, alpha=6, p=3, dimension=7)])
def test_masses_of_wider_noise_lie_between_the_bounds(
    law: GeneralizedGamma, factor: Fraction
) -> None:
    """The masses of rings between two radii follow from the law of the radius."""
    widened = _Widened.of(law, factor)
    powers = [0.0, 0.01, 0.3, 1.0, 2.0, 5.0, 20.0]  # r^p
    with precision(128):
        k, shrunk = ball((law.alpha + 1) / law.p), ball(factor) ** -ball(law.p)
        beyond = [arb(power).gamma_upper(k, 1) for power in powers]
        wider_beyond = [(power * shrunk).gamma_upper(k, 1) for power in powers]
        for (p0, p1), (w0, w1) in zip(pairwise(beyond), pairwise(wider_beyond), strict=True):
            mass, wider = p0 - p1, w0 - w1
            assert widened.at_least(mass) <= wider * (1 + ball(TINY))
            assert wider <= widened.at_most(mass) * (1 + ball(TINY))
            if factor == 1:
                assert float(widened.at_most(mass)) == pytest.approx(float(mass), rel=1e-14)


@pytest.mark.dense
def test_a_shift_rounded_by_much_is_still_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """δ of both lattices against the quadrature at the very shift, which is rounded by 5 %."""
    monkeypatch.setattr(privacy_losses, "_SHIFT_BITS", 4)
    shift = Fraction(24, 25)
    assert Fraction(105, 100) < _in_scales(LAW, shift)[1] / (shift / LAW.scale)
    above, below = upper(LAW, shift, STEP, SIZE), lower(LAW, shift, STEP, SIZE)
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1)):
        truth = prove_delta(LAW, L2(shift), epsilon).interval
        least = float_below(composed_lower([(below, 1)], epsilon))
        assert 0 <= least <= truth.lower
        assert truth.upper <= float_above(composed_upper([(above, 1)], epsilon))
