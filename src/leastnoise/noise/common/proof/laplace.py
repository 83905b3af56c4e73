"""Laplace noise for one number in balls: δ(ε)."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball


def delta_of_excess(excess: Fraction) -> arb:
    """Enclose δ(ε) = 1 − e^(−excess/2), excess = shift/b − ε, or exactly 0 where that is <= 0."""
    return -ball(-excess / 2).expm1() if excess > 0 else arb(0)
