from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Interval


def test_compares_exactly() -> None:
    tenth = Interval(0.1, 0.1)  # the float is a little above 1/10
    assert not tenth.certainly_at_most(Fraction(1, 10))
    assert tenth.certainly_at_most(Fraction(0.1))
    assert not Interval(0.0, math.inf).certainly_at_most(1)
    assert tenth.contains(0.1)
    assert not tenth.contains(Fraction(1, 10))


@pytest.mark.parametrize("ends", [(1.0, 0.0), (math.nan, 1.0), (0.0, math.nan)])
def test_refuses_reversed_ends(ends: tuple[float, float]) -> None:
    with pytest.raises(InvalidArgument, match=r"interval|lower|upper"):
        Interval(*ends)
