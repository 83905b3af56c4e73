"""The closed form of truncated staircases against the sum over the pieces, in balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.balls.core import precision
from leastnoise.noise.common.law import StepNoise
from leastnoise.noise.steps.law import TruncatedStaircase, Tulap
from leastnoise.noise.steps.proof import closed_form, sum_over_pieces

_HUNDREDTHS: dict[str, Any] = {"max_denominator": 100}


@pytest.mark.dense
@settings(derandomize=True, max_examples=80, deadline=None)
@given(
    gamma=st.fractions("0.01", 1, **_HUNDREDTHS),
    radius=st.fractions("0.1", 9, **_HUNDREDTHS),
    decay=st.fractions(0, 4, **_HUNDREDTHS),
    epsilon=st.fractions(0, 5, **_HUNDREDTHS),
    s=st.sampled_from((Fraction(1), 1 - Fraction(1, 2**53), Fraction(4, 5), Fraction(3, 100))),
)
def test_two_routes(
    *, gamma: Fraction, radius: Fraction, decay: Fraction, epsilon: Fraction, s: Fraction
) -> None:
    """Also where radius − γ or 2·radius is whole, decay is 0, or epsilon above or at decay."""
    shape: dict[str, Any] = {"scale": Fraction(7, 5), "radius": radius, "decay": decay}
    for law in (TruncatedStaircase(gamma=gamma, **shape), Tulap(**shape)):
        for asked in (epsilon, decay):
            with precision(128):
                closed = closed_form(law, s, asked)
                summed = sum_over_pieces(law, shift=s * law.scale, epsilon=asked)
            assert closed.overlaps(summed)
            assert closed.rad() < 1e-30


def test_two_hundred_thousand_steps() -> None:
    """A sum over the pieces would take minutes; 1/(2R) is the limit for a decay that vanishes."""
    law = TruncatedStaircase(scale=1, gamma="0.5", radius=199_999, decay=Fraction(1, 10**12))
    with precision(128):
        enclosure = closed_form(law, Fraction(1), Fraction(1, 10**12))
    assert abs(float(enclosure) * 2 * 199_999 - 1) < 1e-6


@pytest.mark.parametrize("radius", ["0.2", "0.5", "1", "1.5", "3.2", "40"])
@pytest.mark.parametrize("gamma", ["0.3", "0.5", "1"])
def test_the_largest_fall_is_counted_in_edges_below_the_radius(gamma: str, radius: str) -> None:
    laws = {
        TruncatedStaircase(scale=2, gamma=gamma, radius=radius, decay="0.7"): Fraction(gamma),
        Tulap(scale=2, radius=radius, decay="0.7"): Fraction(1, 2),
    }
    for law, first in laws.items():
        edges = sum(first + j < Fraction(radius) for j in range(50))
        assert edges == len(law.steps.edges) - 2
        for steps in range(5):
            assert law.fall_within(steps) == Fraction("0.7") * min(steps, edges)
            assert law.fall_within(steps) == StepNoise.fall_within(law, steps)
