"""Bounds on δ(ε) of two discrete laws P and Q, from sums of their atoms.

Upper bounds come from sums of atoms in floats and from chords in balls; lower bounds come from
merged atoms.

Notation: atom k has the mass p_k under P and q_k under Q, so its privacy loss is log(p_k/q_k). α =
e^ε, and H = Σ (p_k − α q_k)₊ is δ(ε) of the two laws. A sum of n positive floats has a relative
error of at most n·2^-53.
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
class SortedAtoms:
    """Partial sums of atoms' masses, in the order of decreasing p/q: upper bounds for every ε.

    Entry n of `p_sums` and of `q_sums` is the sum of the first n masses.
    """

    quotients: Floats  # the negated quotients, so that they increase
    p_sums: Floats
    q_sums: Floats

    @classmethod
    def of(cls, p: Floats, q: Floats) -> Self:
        """Compute the sums for atoms with the masses `p` > 0 under P and `q` ≥ 0 under Q.

        For upper bounds on δ, `p` may be rounded up and `q` down.
        """
        with np.errstate(divide="ignore", over="ignore"):
            quotients = -(p / q)
        order = np.argsort(quotients)
        return cls(
            quotients=quotients[order],
            p_sums=np.concatenate([[0.0], np.cumsum(p[order])]),
            q_sums=np.concatenate([[0.0], np.cumsum(q[order])]),
        )

    def above(self, alphas: Floats) -> Floats:
        """Upper bounds on δ: entry i of the result holds at every ε with e^ε >= alphas[i].

        The bound is P(A) − α Q(A), where the set A contains all atoms with p > αq. As quotients are
        rounded, A may also contain atoms for which p is below αq by at most a relative 2^-49. They
        reduce the bound by less than 2^-48·P(A), which is added.
        """
        # the relative error of a sum of len(p_sums) terms, and of a few operations
        slack = (len(self.p_sums) + 64) * UNIT
        count = np.searchsorted(self.quotients, -alphas * (1 - 2.0**-50), side="right")
        more = self.p_sums[count] * (1 + slack + 2.0**-48)
        less = alphas * self.q_sums[count] * (1 - slack)
        return np.maximum(np.nextafter(more - less, 2.0), 0.0)


def inscribe(p: Floats, q: Floats, step: float, size: int) -> tuple[Floats, Floats]:
    """Merge atoms so that their losses log(p/q) become lattice points, in steps of `step`.

    The 2·`size` + 1 lattice points are −size·step … size·step. p > 0 bounds the atoms' masses under
    P from below, and q > 0 their masses under Q from above. So do the two returned arrays of sums,
    with one entry per lattice point.

    Atoms are added in order of decreasing loss until the quotient p/q of the sums has fallen to
    e^loss of a lattice point. The last atom is split, and the rest of it begins the next sum. So
    hardly any loss is rounded down to a lattice point, which would cost half a step for each
    release. Splits need not be exact, as any part of an atom is an atom, too. The atoms may run out
    before the quotient of the last sum has fallen so far. At the lowest point, a quotient may be
    smaller than e^loss.
    """
    q = np.maximum(q, p * PRECISE)  # keeps losses below ln(1/PRECISE), so that e^loss is a float
    order = np.argsort(-(p / q))
    p_low, q_high, added = _merge_atoms(p[order].tolist(), q[order].tolist(), step, size)
    slack = (added + 8) * UNIT  # the relative error of the sums, and of shares
    least_step = 2.0**-1070  # more than the underflow of products
    least = added * least_step
    return np.maximum(p_low * (1 - slack) - least, 0.0), q_high * (1 + slack) + least


def _merge_atoms(p: list[float], q: list[float], step: float, size: int) -> Floats:
    """Merge atoms, sorted by decreasing loss, as `inscribe` does; the sums are in floats.

    Returns three rows, with one entry per lattice point: the sums of the masses under P, the sums
    under Q, and upper bounds on the numbers of summands.
    """
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
"""A pair (ε, upper bound on δ(ε))."""


def chords(points: Sequence[Point], epsilons: Sequence[Fraction]) -> list[arb]:
    """Upper bounds on δ at `epsilons`: chords in α = e^ε between some of the points.

    δ decreases, is convex in α and nowhere above the points, so all chords are above it. Points
    above the hull, which come from rounding, are dropped, so that hardly any mass becomes negative.
    `points` and `epsilons` increase, and `epsilons` start at the first point or later. Beyond the
    last point, the smallest δ of all points is the bound.
    """
    hull: list[_Vertex] = []
    least = points[0][1]
    for epsilon, delta in points:
        least = least.min(delta)
        vertex = _Vertex(epsilon, ball(epsilon).exp(), least)
        while len(hull) >= 2 and vertex.buries(hull[-1], hull[-2]):
            hull.pop()
        hull.append(vertex)
    bounds: list[arb] = []
    i = 0
    for epsilon in epsilons:
        while i + 1 < len(hull) and epsilon > hull[i + 1].epsilon:
            i += 1
        if i + 1 == len(hull):
            bounds.append(hull[i].delta)
            continue
        left, right = hull[i], hull[i + 1]
        share = (ball(epsilon).exp() - left.alpha) / (right.alpha - left.alpha)
        bounds.append(left.delta + (right.delta - left.delta) * share)
    return bounds


@final
@dataclass(frozen=True)
class _Vertex:
    """A vertex of the hull in `chords`: the point (α, δ) with α = e^`epsilon`."""

    epsilon: Fraction
    alpha: arb
    delta: arb

    def buries(self, middle: _Vertex, first: _Vertex) -> bool:
        """True if `middle` is surely on or above the chord from `first` to this vertex."""
        rise = (middle.delta - first.delta) * (self.alpha - first.alpha)
        return bool(rise >= (self.delta - first.delta) * (middle.alpha - first.alpha))
