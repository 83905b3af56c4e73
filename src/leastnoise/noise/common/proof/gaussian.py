"""Enclosure of δ(ε) for Gaussian noise."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.base import Noise


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = Φ(−t) − e^ε Φ(−t−μ), t = ε/μ − μ/2, μ = shift/scale.

    Balle & Wang (2018), Theorem 8, as it stands: what cancels is paid for in precision.
    """
    return delta_of_ratio(ball(shift / noise.scale), epsilon=epsilon)


def delta_of_ratio(mu: arb, *, epsilon: Fraction) -> arb:
    """Enclose the same for any μ > 0."""
    e = ball(epsilon)
    t = e / mu - mu / 2
    root_half = arb(0.5).sqrt()
    return ((t * root_half).erfc() - e.exp() * ((t + mu) * root_half).erfc()) / 2


def tails(noise: Noise, shift: Fraction, loss: Fraction) -> tuple[arb, arb]:
    """Enclose P(Z > loss) and Q(Z > loss) of the loss Z ~ N(±μ²/2, μ²), μ = shift/scale."""
    mu, root_half = ball(shift / noise.scale), arb(0.5).sqrt()
    t = ball(loss) / mu - mu / 2
    return (t * root_half).erfc() / 2, ((t + mu) * root_half).erfc() / 2
