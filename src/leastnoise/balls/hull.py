"""Chords of a convex function that is known at some points from above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball

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
        """Say whether `middle` is on or above the chord from `first` to here."""
        rise = (middle.delta - first.delta) * (self.alpha - first.alpha)
        return bool(rise >= (self.delta - first.delta) * (middle.alpha - first.alpha))
