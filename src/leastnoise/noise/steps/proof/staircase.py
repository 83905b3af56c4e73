"""Enclosure of δ(ε) for staircase noise."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.steps.law.staircase import Staircase


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε), exactly 0 if decay·⌈shift/scale⌉ <= ε, which is decided between rationals.

    notation: s = shift/scale, n = ⌊s⌋, φ = s − n, j the least number of steps with decay·j > ε. The
    density is symmetric and unimodal, so the longest shift is the worst (theory/noise.md §1). The
    loss exceeds ε where x − s is at least j steps further down than x. On x > 0 that is up to some
    y, since the difference only falls there. On x < 0 it is n or n + 1 steps everywhere: all of it
    counts if j <= n, the part with n + 1 if j = n + 1, nothing if j > n + 1.
    """
    if not isinstance(noise, Staircase):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not a staircase")
    s = shift / noise.scale
    n = math.floor(s)
    j = math.floor(epsilon / noise.decay) + 1
    if j > math.ceil(s):
        return arb(0)
    law = _Masses(noise)
    factor = ball(epsilon).exp()
    end = _end(s, noise.gamma, j)
    if j <= n:
        total = law.half + law.below(end) - factor * law.above(s - end)
    else:
        phi = s - n
        mass = ball(min(noise.gamma, phi)) + ball(phi) * law.mean_step
        total = mass * (1 - (ball(epsilon - noise.decay * (n + 1))).exp())
        total += law.below(end) - factor * (law.above(s - end) - law.above(s))
    return total / (2 * law.half)


def _end(s: Fraction, gamma: Fraction, j: int) -> Fraction:
    """Return y, the end of {0 < x: k(s − x) − k(x) >= j}, or 0; k counts steps.

    On the i-th step, from γ + i − 1 (0 for i = 0) to γ + i, that is x <= s − γ − (j + i − 1). So y
    is on the last step i that begins before that point.
    """
    first = s - gamma - j + 1
    last = max(0, math.ceil((s - 2 * gamma - j + 2) / 2) - 1)
    return max(Fraction(0), min(first - last, gamma + last))


class _Masses:
    """Masses of |X|/scale in units of the peak of the density; `half` is P(X > 0)."""

    def __init__(self, law: Staircase) -> None:
        self._gamma, self._decay = law.gamma, law.decay
        self._gap = -ball(-law.decay).expm1()
        self.mean_step = ball(-law.decay).exp() / self._gap
        self.half = ball(law.gamma) + self.mean_step

    def above(self, r: Fraction) -> arb:
        """Enclose the mass beyond r: b^i m (1 − u(1 − b)) at r = γ + i + u."""
        if r < self._gamma:
            return self.half - ball(r)
        i = math.floor(r - self._gamma)
        u = r - self._gamma - i
        return ball(-self._decay * i).exp() * self.mean_step * (1 - ball(u) * self._gap)

    def below(self, r: Fraction) -> arb:
        """Enclose the mass up to r."""
        return ball(r) if r < self._gamma else self.half - self.above(r)


def largest_loss(noise: Staircase, shift: Fraction) -> Fraction:
    """Return the largest loss: so many whole steps lie between x and x − shift at most."""
    return noise.decay * math.ceil(shift / noise.scale)
