"""Three routes to one δ: positive terms in floats, the proof's CDF difference, plain quadrature."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.classic.law import TruncatedLaplace
from leastnoise.noise.classic.profile import truncated_laplace_log_delta
from tests.scalar import plain_delta

# Of ln δ. Worst met on 6,000 random laws like these: 1.2e-15.
TOLERANCE = 1e-14


def _float_log(shift: Fraction, epsilon: Fraction, radius: Fraction) -> float:
    return truncated_laplace_log_delta(
        shift_ratio=float(shift), excess=float(shift - epsilon), radius=float(radius)
    )


@pytest.mark.dense
@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.floats(-7, 4), st.floats(-7, 4), st.one_of(st.just(None), st.floats(-30, 4)))
def test_floats_agree_with_the_proof(
    log_radius: float, log_epsilon: float, log_excess: float | None
) -> None:
    radius, epsilon = Fraction(math.exp(log_radius)), Fraction(math.exp(log_epsilon))
    excess = Fraction(0) if log_excess is None else Fraction(math.exp(log_excess))
    log_delta = _float_log(epsilon + excess, epsilon, radius)
    if log_delta > -600:
        law = TruncatedLaplace(scale=1 / (epsilon + excess), radius=radius)
        interval = prove_delta(law, L2(1), epsilon).interval
        assert interval.width <= 5e-16 * interval.upper
        assert log_delta == pytest.approx(math.log(interval.upper), abs=TOLERANCE, rel=TOLERANCE)


@pytest.mark.grid
@pytest.mark.parametrize("radius", ["0.3", "1", "2.5", "9"])
@pytest.mark.parametrize("shift", ["0.2", "0.7", "1.6", "2.6", "4.9"])
@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.7", "1.5", "3"])
def test_proof_against_plain_quadrature(radius: str, shift: str, epsilon: str) -> None:
    law = TruncatedLaplace(scale="0.7", radius=radius)
    plain = plain_delta(law, float(shift) * 0.7, float(epsilon), [0.0, float(radius) * 0.7])
    interval = prove_delta(law, L2(Fraction(shift) * law.scale), Fraction(epsilon)).interval
    assert interval.upper == pytest.approx(plain, rel=2e-4, abs=2e-7)


def test_the_longest_shift_is_the_worst() -> None:
    """Dense shifts, brute force: none leaks more than the end, where δ is what is certified."""
    law = TruncatedLaplace(scale=1, radius="2.2")
    for epsilon in (0.0, 0.4, 1.0, 1.3):
        worst = max(plain_delta(law, v, epsilon, [0.0, 2.2]) for v in np.linspace(0.02, 1.5, 75))
        proved = prove_delta(law, L2("1.5"), Fraction(repr(epsilon))).interval
        assert proved.upper == pytest.approx(worst, rel=1e-4)


def test_a_range_that_is_left_altogether_hides_nothing() -> None:
    law = TruncatedLaplace(scale=1, radius="0.5")
    assert prove_delta(law, L2(1), Fraction(3)).interval.lower == 1
    assert _float_log(Fraction(1), Fraction(3), Fraction(1, 2)) == 0
    assert prove_delta(law, L2("0.99"), Fraction(3)).interval.upper < 1


@pytest.mark.parametrize("epsilon", ["0", "0.5", "1.2", "3"])
@pytest.mark.parametrize("shift", ["0.7", "1", "1.5", "1.99"])
def test_floats_agree_where_a_part_of_the_range_is_left(shift: str, epsilon: str) -> None:
    log_delta = _float_log(Fraction(shift), Fraction(epsilon), Fraction(1))
    interval = prove_delta(
        TruncatedLaplace(scale=1 / Fraction(shift), radius=1), L2(1), Fraction(epsilon)
    ).interval
    assert log_delta == pytest.approx(math.log(interval.upper), rel=TOLERANCE, abs=TOLERANCE)
