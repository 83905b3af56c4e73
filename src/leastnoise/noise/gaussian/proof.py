"""Enclosure of δ(ε) for Gaussian noise."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.common import proof as common_proof
from leastnoise.noise.gaussian.law import Gaussian


def delta_ball(noise: Gaussian, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = Φ(−t) − e^ε Φ(−t−μ), t = ε/μ − μ/2, μ = shift/scale."""
    return common_proof.delta_of_ratio(ball(shift / noise.scale), epsilon=epsilon)


def tails(noise: Gaussian, shift: Fraction, loss: Fraction) -> tuple[arb, arb]:
    """Enclose P(Z > loss) and Q(Z > loss) of the loss Z ~ N(±μ²/2, μ²), μ = shift/scale."""
    mu, root_half = ball(shift / noise.scale), arb(0.5).sqrt()
    t = ball(loss) / mu - mu / 2
    return (t * root_half).erfc() / 2, ((t + mu) * root_half).erfc() / 2


def beyond(noise: Gaussian, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose P(X_i > t) = ½ erfc(t/(scale·√2))."""
    del coordinate
    return (ball(t / noise.scale) * arb(0.5).sqrt()).erfc() / 2
