"""Bounds on δ(ε) of two discrete laws P and Q: sums over atoms in floats, chords in balls.

From above by sums of atoms and by chords, from below by merging atoms.

notation: atoms (p_k, q_k), H(ε) = Σ (p_k − α q_k)₊, α = e^ε. A sum of n positive floats is off by
a relative n·2^-53 at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, final

import numpy as np
from flint import arb

from leastnoise.balls.core import PRECISE, UNIT, ball

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Falling:
    """Sums of atoms in the order of falling p/q: they answer for every ε."""

    quotients: Floats  # negated, so that they rise
    p_sums: Floats
    q_sums: Floats

    @classmethod
    def of(cls, p: Floats, q: Floats) -> Self:
        """Return the sums of atoms; p > 0 is at least their mass of P, q >= 0 at most that of Q."""
        with np.errstate(divide="ignore", over="ignore"):
            quotients = -(p / q)
        order = np.argsort(quotients)
        return cls(
            quotients=quotients[order],
            p_sums=np.concatenate([[0.0], np.cumsum(p[order])]),
            q_sums=np.concatenate([[0.0], np.cumsum(q[order])]),
        )

    def above(self, alphas: Floats) -> Floats:
        """Return upper bounds of H at every ε with e^ε >= alphas: P(A) − α Q(A).

        A holds all k with p > αq, and as the quotients are rounded, perhaps some for which p is
        below αq by a relative 2^-49: they take so much of P(A) off the sum.
        """
        slack = (len(self.p_sums) + 64) * UNIT  # of sums of as many terms, and a few operations
        count = np.searchsorted(self.quotients, -alphas * (1 - 2.0**-50), side="right")
        more = self.p_sums[count] * (1 + slack + 2.0**-48)
        less = alphas * self.q_sums[count] * (1 - slack)
        return np.maximum(np.nextafter(more - less, 2.0), 0.0)


def inscribe(p: Floats, q: Floats, step: float, size: int) -> tuple[Floats, Floats]:
    """Merge atoms so that the merged ones lie at the lattice points −size·step … size·step.

    p > 0 is at most an atom's mass of P, q > 0 at least that of Q; so are the sums returned, by
    lattice point. From the largest loss on, atoms are added up, the last in part, until the sum's
    p/q has fallen to that of a lattice point. So no loss is rounded down to one: that would cost
    half a step of each release. A part of an atom is one whatever the share, so nothing here need
    be exact.
    """
    q = np.maximum(q, p * PRECISE)  # losses are at most ln of its inverse: e^loss is a float
    order = np.argsort(-(p / q))
    p_low, q_high, added = _merged(p[order].tolist(), q[order].tolist(), step, size)
    slack = (added + 8) * UNIT  # of so many sums, and of shares
    least_step = 2.0**-1070  # more than what products lose where they are hardly floats
    least = added * least_step
    return np.maximum(p_low * (1 - slack) - least, 0.0), q_high * (1 + slack) + least


def _merged(p: list[float], q: list[float], step: float, size: int) -> Floats:
    """Return the masses of P and of Q and the number of summands, by lattice point."""
    sums = np.zeros((3, 2 * size + 1))
    n, rest = 0, 1.0
    while n < len(p):
        loss = math.log(p[n]) - math.log(q[n])
        index = max(-size, min(size, math.floor(loss / step)))
        ratio = math.exp(index * step)
        p_sum, q_sum = rest * p[n], rest * q[n]
        excess = p_sum - ratio * q_sum
        start, n, rest = n, n + 1, 1.0
        while n < len(p):
            gain = p[n] - ratio * q[n]
            if 0 <= excess < -gain:
                share = excess / -gain
                p_sum, q_sum, rest = p_sum + share * p[n], q_sum + share * q[n], 1 - share
                break
            p_sum, q_sum, excess = p_sum + p[n], q_sum + q[n], excess + gain
            n += 1
        sums[:, index + size] += p_sum, q_sum, n - start + 2
    return sums


Point = tuple[Fraction, arb]
"""ε, and a number that δ(ε) isn't above."""


def chords(points: Sequence[Point], epsilons: Sequence[Fraction]) -> list[arb]:
    """Return chords in α = e^ε between some of the points, at `epsilons`: nearly the convex hull.

    δ falls, is convex in α and nowhere above the points, so that any chords are above it. Without
    the points above the hull, which rounding has put there, hardly any mass comes out negative.
    Both sequences rise, `epsilons` from the first point on; beyond the last, δ is at most as there.
    """
    kept: list[_Vertex] = []
    least = points[0][1]
    for epsilon, delta in points:
        least = least.min(delta)
        vertex = _Vertex(epsilon, ball(epsilon).exp(), least)
        while len(kept) >= 2 and vertex.buries(kept[-1], kept[-2]):
            kept.pop()
        kept.append(vertex)
    found: list[arb] = []
    i = 0
    for epsilon in epsilons:
        while i + 1 < len(kept) and epsilon > kept[i + 1].epsilon:
            i += 1
        if i + 1 == len(kept):
            found.append(kept[i].delta)
            continue
        left, right = kept[i], kept[i + 1]
        share = (ball(epsilon).exp() - left.alpha) / (right.alpha - left.alpha)
        found.append(left.delta + (right.delta - left.delta) * share)
    return found


@final
@dataclass(frozen=True)
class _Vertex:
    epsilon: Fraction
    alpha: arb
    delta: arb

    def buries(self, middle: _Vertex, first: _Vertex) -> bool:
        """Return whether `middle` is on or above the chord from `first` to here."""
        rise = (middle.delta - first.delta) * (self.alpha - first.alpha)
        return bool(rise >= (self.delta - first.delta) * (middle.alpha - first.alpha))
