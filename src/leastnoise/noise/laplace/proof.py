"""Proofs: δ(ε) in balls: laplace."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.common import proof as common_proof
from leastnoise.noise.laplace.law import Laplace, TruncatedLaplace

# Enclosure of δ(ε) for i.i.d. Laplace noise against l1 shifts.


def laplace_delta_ball(noise: Laplace, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = 1 − exp((ε − shift/scale)/2), or exactly 0 if ε >= shift/scale.

    The worst shift of the l1 ball is along an axis (theory/noise.md §1d), where all but one
    coordinate cancel.
    """
    return common_proof.delta_of_excess(shift / noise.scale - epsilon)


# Enclosure of δ(ε) for truncated Laplace noise.


def truncated_laplace_delta_ball(
    noise: TruncatedLaplace, *, shift: Fraction, epsilon: Fraction
) -> arb:
    """Enclose δ(ε) = F(y) − e^ε F(y − t), y the end of {x: f(x) > e^ε f(x − t)}.

    notation: t = shift/scale, a = radius, F(x) = P(X/scale <= x). The density is symmetric and
    unimodal, so the longest shift is the worst (theory/noise.md §1). Going right from −a, the
    other density is 0 up to t − a; then the loss is t up to 0, t − 2x up to t, and −t; so it
    exceeds ε up to y. Which case applies is decided between rationals.
    """
    t, a = shift / noise.scale, noise.radius
    if t >= 2 * a:
        return arb(1)
    end = t - a
    if t > epsilon:  # if t − a < 0 the stretch of loss t counts too
        end = max(end, (t - epsilon) / 2)
    return _below(end, a) - ball(epsilon).exp() * _below(end - t, a)


def _below(x: Fraction, a: Fraction) -> arb:
    """Enclose F(x), −a <= x <= a: (e^x − e^(−a))/(2(1 − e^(−a))) for x <= 0, symmetric."""
    if x > 0:
        return 1 - _below(-x, a)
    if x <= -a:
        return arb(0)
    floor = ball(-a)
    return ball(x + a).expm1() * floor.exp() / (-2 * floor.expm1())


def beyond(noise: Laplace | TruncatedLaplace, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose P(X_i > t) = ½ e^(−t/scale), t >= 0; of a truncated law 1 − F(t)."""
    x = t / noise.scale
    if isinstance(noise, TruncatedLaplace):
        return 1 - _below(min(x, noise.radius), noise.radius)
    if t < 0:
        return 1 - beyond(noise, -t, coordinate)
    return ball(-x).exp() / 2
