"""Enclosure of δ(ε) for noise on the whole numbers that falls in steps: that of a staircase.

The density of the staircase is constant on every cell of the lattice. Where both copies of it are
told apart by their cells alone, as under a shift by whole cells, to round to the lattice loses
nothing: the privacy losses of the two laws are the same (theory/noise.md §10).
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.steps.law.geometric import Geometric
from leastnoise.noise.steps.proof import staircase


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the largest δ(ε) over whole shifts |v| <= shift; the longest is the worst."""
    if not isinstance(noise, Geometric):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not geometric")
    most = Fraction(math.floor(shift))
    if most and (noise.cells / noise.scale).denominator != 1:
        return arb(1)  # a shift by 1 leaves the lattice, and gives everything away
    return staircase.delta_ball(noise.staircase, shift=most, epsilon=epsilon)


def largest_loss(noise: Geometric, shift: Fraction) -> Fraction:
    """Return the largest loss: that of a staircase, where whole shifts alone count."""
    return noise.decay * math.ceil(math.floor(shift) / noise.scale)
