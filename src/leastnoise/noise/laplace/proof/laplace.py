"""Enclosure of δ(ε) for i.i.d. Laplace noise against l1 shifts."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.noise.base import Noise
from leastnoise.noise.common.proof import laplace


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = 1 − exp((ε − shift/scale)/2), or exactly 0 if ε >= shift/scale.

    The worst shift of the l1 ball is along an axis (theory/noise.md §1d), where all but one
    coordinate cancel.
    """
    return laplace.delta_of_excess(shift / noise.scale - epsilon)
