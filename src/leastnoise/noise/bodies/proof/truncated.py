"""Enclosure of δ(ε) for a staircase in the gauge of a body that is cut off.

notation (theory/bodies.md §9): K the body, D its dimension, h = 1/scale, so that every shift s that
is hidden has N(s) <= h; e_0 < … < e_m = R the edges, q = e^(−decay) and q^k the height up to e_k.

By layer cake ∫ min(f, e^ε f(· − s)) is a sum of volumes |aK ∩ (s + bK)| of pairs of edges a <= b,
each at least (max(0, min(a, (a + b − h)/2)))^D |K| by the triangle inequality, and equal to that at
a corner of a box. So δ(ε) is at most that of a cube at its corner, for all s and ε at once.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.truncated_k_staircase import TruncatedKStaircase


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose a number that δ(ε) is at most, for all shifts that `noise` hides; ε >= 0.

    It is δ(ε) itself for a box and the shift to its corner. `shift` is 1, the largest gauge.
    """
    if not isinstance(noise, TruncatedKStaircase):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not that family")
    edges, d = noise.steps.edges, noise.dimension
    last, reach = edges[-1], shift / noise.scale
    if not noise.decay:  # all steps are equally high
        return _lost(last, last, reach, d) / ball(last) ** d
    fall, drop = (-ball(noise.decay)).exp(), -(-ball(noise.decay)).expm1()
    levels = epsilon // noise.decay
    rest = epsilon - levels * noise.decay
    # between q^k and q^(k + 1) the set {e^ε f(x − s) > t} grows by an edge at t = q^(k + 1)·e^rest
    parts = -ball(rest - noise.decay).expm1(), fall * ball(rest).expm1()
    moved, total, height = arb(0), arb(0), arb(1)  # height: q^k
    for k, edge in enumerate(edges[:-1]):
        total += height * drop * ball(edge) ** d
        for part, other in zip(parts, (k + levels, k + levels + 1), strict=True):
            moved += height * part * _lost(edge, edges[min(other, len(edges) - 1)], reach, d)
        height *= fall
    total += height * ball(last) ** d
    moved += height * _lost(last, last, reach, d)
    return moved / total


def _lost(a: Fraction, b: Fraction, reach: Fraction, dimension: int) -> arb:
    """Enclose the most that aK has outside s + bK, N(s) <= reach and a <= b, over |K|.

    Exactly 0 if b >= a + reach.
    """
    if b >= a + reach:
        return arb(0)
    whole = ball(a) ** dimension
    kept = (a + b - reach) / 2
    return whole - ball(kept) ** dimension if kept > 0 else whole
