"""Gaussian noise in balls: δ(ε) by how many standard deviations the shift has."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball


def delta_of_ratio(mu: arb, *, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = Φ(−t) − e^ε Φ(−t−μ), t = ε/μ − μ/2, for a shift by μ > 0 standard deviations.

    Balle & Wang (2018), Theorem 8, as it stands: what cancels is paid for in precision.
    """
    e = ball(epsilon)
    t = e / mu - mu / 2
    root_half = arb(0.5).sqrt()
    return ((t * root_half).erfc() - e.exp() * ((t + mu) * root_half).erfc()) / 2
