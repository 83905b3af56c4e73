"""Exact flipped Huber draws, by inversion: the tail is a normal law's, the body a Laplace law's.

notation: c = α/γ the corner; y = |X|/(scale·γ) has a density ∝ e^(−cy) up to c, and beyond it
∝ e^(−y²/2 − c²/2), where p of its mass lies. For u < p it is that of the normal law given |Z| > c:
P(|Z| > y) = P(|Z| > c)·u/p. For u > p, e^(−cy) = e^(−c²) + (1 − e^(−c²))(u − p)/(1 − p).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.pieces import PartConstants, PiecewiseRescaled, RescaledPart
from leastnoise.entropy.quantiles import EXPONENTIAL, HALF_NORMAL
from leastnoise.entropy.scaled import Constant, ScaledSampler
from leastnoise.entropy.source import Entropy
from leastnoise.noise.huber.law import FlippedHuber


def sampler(noise: FlippedHuber, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a flipped Huber `noise`, in units of `grid`."""
    c = noise.corner
    tail = RescaledPart(quantile=HALF_NORMAL, constants=lambda: _tail(c))
    body = RescaledPart(quantile=EXPONENTIAL, constants=lambda: _body(c))
    return ScaledSampler(
        factor=Constant(noise.scale * noise.gamma / grid),
        quantile=PiecewiseRescaled(tail, body) if c > 0 else HALF_NORMAL,
        entropy=entropy,
    )


def _tail(c: Fraction) -> PartConstants:
    share = _share_of_tail(c)
    return PartConstants(
        bottom=arb(0), top=share, low=arb(0), slope=_outside(c) / share, factor=arb(1)
    )


def _body(c: Fraction) -> PartConstants:
    share, rest = _share_of_tail(c), ball(-c * c).exp()
    slope = (1 - rest) / (1 - share)
    return PartConstants(bottom=share, top=arb(1), low=rest, slope=slope, factor=1 / ball(c))


def _share_of_tail(c: Fraction) -> arb:
    """Enclose p, from the masses ∫e^(−cy) up to c and e^(−c²/2)√(π/2)·P(|Z| > c)."""
    body = -ball(-c * c).expm1() / ball(c)
    tail = ball(-c * c / 2).exp() * (arb.pi() / 2).sqrt() * _outside(c)
    return tail / (body + tail)


def _outside(c: Fraction) -> arb:
    """P(|Z| > c) of a standard normal Z."""
    return (ball(c) / arb(2).sqrt()).erfc()
