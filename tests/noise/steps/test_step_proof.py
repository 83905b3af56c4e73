"""The closed form of truncated staircases against the sum over the pieces, in balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.balls.core import precision
from leastnoise.noise.steps.law import TruncatedStaircase, Tulap
from leastnoise.noise.steps.proof import closed_form, sum_over_pieces

_HUNDREDTHS: dict[str, Any] = {"max_denominator": 100}


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
        found = closed_form(law, Fraction(1), Fraction(1, 10**12))
    assert abs(float(found) * 2 * 199_999 - 1) < 1e-6
