"""δ of l2 noise at all points of a lattice, from one pass and one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.balls.core import precision
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.radial.proof.spherical_laplace import delta_ball, lattice_deltas

SHIFTS = ("1e-9", "1/20000", "1/3", "30", "5000")  # in scales


@pytest.mark.grid
@pytest.mark.parametrize("reach", ["2/3", "1", "5/4"])  # the last loss, in shifts
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("dimension", [2, 20, 300, 1_000])
def test_one_pass_gives_what_single_integrals_give(dimension: int, shift: str, reach: str) -> None:
    noise = SphericalLaplace(scale=1 / Fraction(shift), dimension=dimension)
    size = 12
    step = Fraction(shift) * Fraction(reach) / size
    with precision(192):
        deltas = lattice_deltas(noise, shift=Fraction(1), step=step, size=size)
        single = [
            delta_ball(noise, shift=Fraction(1), epsilon=step * index) for index in range(size + 1)
        ]
    assert len(deltas) == size + 1
    for delta, other in zip(deltas, single, strict=True):
        assert delta.overlaps(other)
        assert delta.is_zero() == other.is_zero()
        assert delta.is_zero() or delta.rel_accuracy_bits() > 110
