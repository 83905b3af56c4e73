"""Enclosure of δ(ε) for i.i.d. Laplace noise against l1 shifts."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.base import Noise


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = 1 − exp((ε − shift/scale)/2), or exactly 0 if ε >= shift/scale.

    The worst shift of the l1 ball is along an axis (theory/noise.md §1d), where all but one
    coordinate cancel. The test for 0 is between Fractions.
    """
    excess = shift / noise.scale - epsilon
    return -ball(-excess / 2).expm1() if excess > 0 else arb(0)
