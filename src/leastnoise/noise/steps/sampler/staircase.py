"""Exact staircase draws, by inversion: a step is a piece, and a logarithm tells which.

notation: b = e^(−decay), m = b/(1 − b). Step 0, |X|/scale < γ, has a density of 1, step j from
there to γ + j one of b^j, all over 2(γ + m): beyond the first j + 1 steps lies
S_{j+1} = b^j m/(γ + m). A uniform u < S_1 is in step 1 + ⌊−ln(u/S_1)/decay⌋.
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
from leastnoise.noise.steps.law.staircase import Staircase

LAST = 16  # a table ends where the density has fallen by e^-16, about 2^-23
LARGEST_TABLE = 1 << 17  # steps; beyond that (a decay below 1e-4) every number goes to balls


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a staircase `noise`, in units of `grid`."""
    if not isinstance(noise, Staircase):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not a staircase")
    return inverting(_pieces(noise, noise.scale / grid), entropy)


def _pieces(noise: Staircase, unit: Fraction) -> Pieces:
    """Return the steps in multiples of `unit`; there is no last one."""
    gamma, decay = noise.gamma, noise.decay

    def ends(j: int) -> tuple[Fraction, Fraction]:
        return unit * (gamma + j - 1 if j else 0), unit * (gamma + j)

    def survival(j: int) -> arb:
        if j == 0:
            return arb(1)
        return ball(-decay * (j - 1)).exp() / (1 + ball(gamma) * ball(decay).expm1())

    def locate(u: arb) -> int | None:
        middle = survival(1)
        if not u < middle:
            return 0 if u >= middle else None
        steps = -(u / middle).log() / ball(decay)
        whole = steps.floor().unique_fmpz() if steps.is_finite() else None
        return None if whole is None else int(whole) + 1

    count = math.ceil(LAST / decay) + 2
    tabled = count if count <= LARGEST_TABLE else 0
    return Pieces(ends=ends, survival=survival, locate=locate, tabled=tabled)
