"""An enclosure of δ(ε) for noise on a tree.

Notation: v runs over the nodes, and w_v is the share of the level of v. For noise z and a shift s
on the cells, z_v and s_v are their sums over the cells below v.

A shift s moves the exponent Σ_v w_v|z_v|/scale by at most Σ_v w_v|s_v|/scale, for every z, and the
normaliser is one constant. So no loss exceeds ε₀ = shift/scale, where `shift` is the maximum of Σ_v
w_v|s_v| (`Agreeing.cost`, exact). Below ε₀ the bound on δ(ε) is the curve of randomised response,
which no ε₀-DP law exceeds (theory/noise.md §11).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.trees.law import Agreeing


def delta_ball(noise: Agreeing, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose an upper bound on δ(ε): exactly 0 if ε >= ε₀, which rationals decide."""
    largest = largest_loss(noise, shift)
    if epsilon >= largest:
        return arb(0)
    return -ball(epsilon - largest).expm1() / (1 + ball(-largest).exp())


def largest_loss(noise: Agreeing, shift: Fraction) -> Fraction:
    """The largest loss ε₀, attained where each z_v has the sign of s_v and |z_v| >= |s_v|."""
    return shift / noise.scale


def attained(noise: Agreeing, sensitivity: Sensitivity) -> bool:
    """Always False: the ball bounds δ(ε), as the probability that the loss is ε₀ isn't computed."""
    del noise, sensitivity
    return False
