"""Three routes to one δ: positive closed forms, the proof's CDF difference, and a sum of pieces."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.steps import profile as steps_profile
from leastnoise.noise.steps.law import Staircase, TruncatedStaircase
from leastnoise.noise.steps.profile import log_delta
from tests.scalar import plain_delta

# Relative, of δ. Worst met on 4,000 random laws: 1.4e-15.
TOLERANCE = 2e-14

FINE = st.fractions("1/20", 1, max_denominator=20)


@pytest.mark.dense
@settings(derandomize=True, max_examples=50, deadline=None)
@given(
    FINE,
    st.fractions("1/20", 3, max_denominator=20),
    st.fractions("1/20", 9, max_denominator=20),
    st.one_of(st.fractions(0, 12, max_denominator=20), st.integers(0, 8)),
)
def test_three_routes(gamma: Fraction, decay: Fraction, shift: Fraction, by: Fraction) -> None:
    """`by` as an integer puts ε on a whole number of steps, where the pieces change their sign."""
    law = Staircase(scale=2, gamma=gamma, decay=decay)
    epsilon = decay * by if isinstance(by, int) else by
    by_float = log_delta(law, shift=2 * shift, epsilon=epsilon)
    interval = prove_delta(law, L2(2 * shift), epsilon).interval
    cut = TruncatedStaircase(
        scale=1, gamma=gamma, decay=decay, radius=gamma + math.ceil(45 / decay) + 9
    )
    summed = steps_profile.delta(cut.steps, shift=shift, epsilon=epsilon)
    if by_float == -math.inf:
        assert (interval.lower, interval.upper) == (0, 0)
        assert summed < 1e-15
        return
    assert interval.width <= 5e-16 * interval.upper
    assert math.exp(by_float) == pytest.approx(interval.upper, rel=TOLERANCE)
    assert summed == pytest.approx(interval.upper, rel=1e-12, abs=1e-15)


@pytest.mark.grid
@pytest.mark.parametrize("shift", ["0.1", "0.75", "1", "2.3", "6"])
@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "1.7"])
def test_proof_against_plain_quadrature(shift: str, epsilon: str) -> None:
    law = Staircase(scale="1.5", gamma="0.3", decay="1")
    kinks = [0.0, *(1.5 * (0.3 + j) for j in range(40))]
    plain = plain_delta(law, 1.5 * float(shift), float(epsilon), kinks)
    interval = prove_delta(law, L2(Fraction(shift) * law.scale), Fraction(epsilon)).interval
    assert interval.upper == pytest.approx(plain, rel=1e-6, abs=1e-12)


@pytest.mark.slow
def test_the_longest_shift_is_the_worst() -> None:
    law = Staircase(scale=1, gamma="0.3", decay="0.8")
    kinks = [0.0, *(0.3 + j for j in range(50))]
    for epsilon in (0.0, 0.5, 0.8, 1.1):
        worst = max(plain_delta(law, v, epsilon, kinks) for v in np.linspace(0.04, 1.4, 35))
        proved = prove_delta(law, L2("1.4"), Fraction(repr(epsilon))).interval
        assert proved.upper == pytest.approx(worst, rel=1e-6)


def test_zero_is_exact_from_the_pure_guarantee_on() -> None:
    law = Staircase(scale="1/3", gamma="0.4", decay="0.7")
    hair = Fraction(1, 10**12)
    for shift, epsilon in (("1/3", "0.7"), ("2/3", "1.4"), ("0.5", "1.4"), ("0.1", "0.7")):
        at = prove_delta(law, L2(shift), Fraction(epsilon)).interval
        assert (at.lower, at.upper) == (0, 0)
        assert prove_delta(law, L2(shift), Fraction(epsilon) - hair).interval.lower > 0
    assert prove_delta(law, L2(Fraction(1, 3) + hair), Fraction("0.7")).interval.lower > 0
