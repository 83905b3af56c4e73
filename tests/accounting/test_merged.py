"""Draws of one law are merged into one part of a composition, however they are listed."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.guarantees.sensitivity import L1, ShiftBounds
from leastnoise.noise.classic.law import Laplace
from leastnoise.noise.question import Releases


def test_parts_of_one_law_are_composed_as_one() -> None:
    shifts = ShiftBounds.of(L1(1))
    item, other = (Releases(noise=Laplace(scale=scale), shifts=shifts) for scale in (5, 7))
    listed, counted = [item, other, item, item, other], [item.times(3), other.times(2)]
    at = Fraction(1, 2)
    assert prove_composed(listed, at).interval == prove_composed(counted, at).interval
