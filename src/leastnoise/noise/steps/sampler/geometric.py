"""Exact draws on the whole numbers, by inversion: a whole number is a piece, a logarithm its step.

notation: c = cells, a = core, b = e^(−decay), m = b/(1 − b). In units of the weight of 0, the mass
of all k >= j is T_j = a − j + cm for 1 <= j <= a, b^i (cm − bv) for j = a + ic + v, 0 <= v <= c.
All of it is 2T_1 + 1, and S_j = 2T_j/(2T_1 + 1) for j >= 1. A uniform u stands for
t = u(2T_1 + 1)/2: t > cm for |K| = ⌊a + cm − t⌋, which is 0 for t in (T_1, T_1 + ½); and below it
|K| = a + ic + ⌊v⌋ with i = ⌊−ln(t/cm)/decay⌋, v = (cm − t/b^i)/b.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.pieces import Pieces, inverting
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.steps.law.geometric import Geometric
from leastnoise.noise.steps.sampler.staircase import LARGEST_TABLE, LAST


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of `Geometric`, in units of `grid`."""
    if not isinstance(noise, Geometric):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not geometric")
    return inverting(_pieces(noise, noise.scale / grid / noise.cells), entropy)


def _pieces(noise: Geometric, unit: Fraction) -> Pieces:
    """Return the points |K| = 0, 1, … in multiples of `unit`; there is no last one."""
    cells, core, decay = noise.cells, noise.core, noise.decay

    def ends(j: int) -> tuple[Fraction, Fraction]:
        return (point := unit * j), point

    def beyond() -> arb:
        """Enclose cm, the mass of all k >= a."""
        return cells / ball(decay).expm1()

    def half() -> arb:
        """Enclose T_1 + ½."""
        return core - arb("0.5") + beyond()

    def survival(j: int) -> arb:
        if j == 0:
            return arb(1)
        if j <= core:
            return (core - j + beyond()) / half()
        i, v = divmod(j - core, cells)
        return ball(-decay * i).exp() * (beyond() - v * ball(-decay).exp()) / half()

    def locate(u: arb) -> int | None:
        t, middle = u * half(), beyond()
        if t > middle:
            return _floor(core + middle - t)
        i = _floor(-(t / middle).log() / ball(decay)) if t < middle else None
        if i is None:
            return None
        v = _floor((middle - t * ball(decay * i).exp()) * ball(decay).exp())
        return None if v is None else core + i * cells + v

    count = core + cells * math.ceil(LAST / decay) + 1
    tabled = count if count <= LARGEST_TABLE else 0
    return Pieces(ends=ends, survival=survival, locate=locate, tabled=tabled)


def _floor(number: arb) -> int | None:
    """Return ⌊number⌋ if it is certain."""
    whole = number.floor().unique_fmpz() if number.is_finite() else None
    return None if whole is None else int(whole)
