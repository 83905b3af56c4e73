"""Three routes to one δ: quadrature of a positive function, the proof's CDFs, and brute force."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.classic.law import FlippedHuber, Gaussian
from leastnoise.noise.classic.profile import log_delta
from tests.scalar import plain_delta

# Of ln δ. Worst met on 2,000 random laws like these: 3.9e-13.
TOLERANCE = 2e-12


@pytest.mark.dense
@settings(derandomize=True, max_examples=250, deadline=None)
@given(
    st.one_of(st.just(-math.inf), st.floats(-5, 4)),
    st.floats(-8, 5),
    st.one_of(st.floats(-8, 5), st.sampled_from([1.0 - 1e-9, 1.0, 1.0 + 1e-9]).map(str)),
)
def test_floats_agree_with_the_proof(
    log_corner: float, log_shift: float, epsilon: float | str
) -> None:
    """A text is a multiple of u·t, the loss where both copies are linear."""
    u, t = math.exp(log_corner), math.exp(log_shift)
    e = float(epsilon) * u * t if isinstance(epsilon, str) else math.exp(epsilon)
    by_float = log_delta(corner=u, shift_ratio=t, epsilon=e)
    if by_float > -600:
        law = FlippedHuber(scale=3, alpha=Fraction(u), gamma=1)
        interval = prove_delta(law, L2(3 * Fraction(t)), Fraction(e)).interval
        assert interval.width <= 5e-16 * interval.upper
        assert by_float == pytest.approx(math.log(interval.upper), abs=TOLERANCE, rel=TOLERANCE)


@pytest.mark.parametrize(("alpha", "gamma"), [("1.2", "0.8"), ("0.3", "1"), ("2.4", "0.9")])
@pytest.mark.parametrize("shift", ["0.3", "1", "2.2", "4"])
@pytest.mark.parametrize("epsilon", ["0", "0.4", "1.5"])
def test_proof_against_plain_quadrature(alpha: str, gamma: str, shift: str, epsilon: str) -> None:
    law = FlippedHuber(scale=1, alpha=alpha, gamma=gamma)
    plain = plain_delta(law, float(shift), float(epsilon), [0.0, float(alpha), 6.0, 14.0])
    interval = prove_delta(law, L2(shift), Fraction(epsilon)).interval
    assert interval.upper == pytest.approx(plain, rel=1e-4, abs=1e-9)


def test_the_longest_shift_is_the_worst() -> None:
    law = FlippedHuber(scale=1, alpha="1.2", gamma="0.8")
    for epsilon in (0.0, 0.5, 1.0, 1.7):
        shifts = np.linspace(0.03, 1.1, 25)
        worst = max(plain_delta(law, v, epsilon, [0.0, 1.2, 6.0, 12.0]) for v in shifts)
        proved = prove_delta(law, L2("1.1"), Fraction(repr(epsilon))).interval
        assert proved.upper == pytest.approx(worst, rel=1e-4)


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.fractions("1/20", 20, max_denominator=50), st.fractions(0, 9, max_denominator=50))
def test_without_a_body_it_is_the_gaussian(shift: Fraction, epsilon: Fraction) -> None:
    law = FlippedHuber(scale=1, alpha=0, gamma=2)
    interval = prove_delta(law, L2(shift), epsilon).interval
    other = prove_delta(Gaussian(scale=2), L2(shift), epsilon).interval
    assert interval.lower <= other.upper
    assert other.lower <= interval.upper
