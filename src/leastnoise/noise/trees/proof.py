"""Enclosure of δ(ε) for noise on a tree.

Under a shift s the exponent Σ_v w_v|z_v|/scale moves by at most Σ_v w_v|s_v|/scale, whatever z is,
and the normaliser is one constant: no loss is larger than ε₀ = shift/scale, where `shift` is the
most that Σ_v w_v|s_v| is (`Agreeing.cost`, exact). Below ε₀ the curve is that of randomised
response, which no ε₀-DP law exceeds (theory/noise.md §11).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.trees.law import Agreeing


def delta_ball(noise: Agreeing, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose a number that δ(ε) is at most: exactly 0 from ε₀, decided between rationals."""
    largest = largest_loss(noise, shift)
    if epsilon >= largest:
        return arb(0)
    return -ball(epsilon - largest).expm1() / (1 + ball(-largest).exp())


def largest_loss(noise: Agreeing, shift: Fraction) -> Fraction:
    """Return ε₀, which is met where all sums that a shift moves have its sign, and are as large."""
    return shift / noise.scale


def attained(noise: Agreeing, sensitivity: Sensitivity) -> bool:
    """Return False: how often a loss is ε₀ isn't worked out."""
    del noise, sensitivity
    return False
