"""Exact draws of Laplace, Gaussian and flipped Huber noise.

Notation of flipped Huber noise: c = α/γ is the corner, which the other files call u. y =
|X|/(scale·γ) has a density ∝ e^(−cy) up to c, and beyond it ∝ e^(−y²/2 − c²/2), where p of its mass
lies. Z is a standard normal variable, and u a uniform number. The draw is the y beyond which the
mass is u. For u < p it has the law of |Z| given |Z| > c: P(|Z| > y) = P(|Z| > c)·u/p. For u > p,
e^(−cy) = e^(−c²) + (1 − e^(−c²))(u − p)/(1 − p).
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.pieces import PartConstants, PiecewiseRescaled, RescaledPart
from leastnoise.entropy.scaled import ScaledDraws
from leastnoise.entropy.smooth_quantiles import EXPONENTIAL, HALF_NORMAL
from leastnoise.errors import NotApplicable
from leastnoise.noise.classic.law import FlippedHuber, Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.draw import Share


def gaussian_draws(noise: Gaussian, grid: Fraction) -> ScaledDraws:
    """A factory of draws of Gaussian `noise`, in units of `grid`."""
    return ScaledDraws(factor=noise.scale / grid, quantile=HALF_NORMAL)


# Shares of Gaussian noise: σ/√n each, rounded by each client; see theory/release.md §8.


_LEAST_STEPS, _MOST_SHARES = 1 << 10, 1 << 20
"""Limits of the proof: the least standard deviation of a share, in grid steps; the most shares."""
_DISTANCE = Fraction(1, 1 << 6000)
"""A bound on the `distance` of shares, d·e^(−4s²) (theory/release.md §8).

It holds for d <= 2^53 coordinates, and shares with a standard deviation of s >= 2^10 grid steps.
"""
_ROOT_BITS = 64


def gaussian_share(noise: Gaussian, grid: Fraction, count: int) -> Share:
    """The share of each of `count` clients: Gaussian noise of scale/√count, slightly rounded up.

    Raises NotApplicable for a coarse grid or more than 2^20 shares.
    """
    scale = noise.scale / _root_below(count)
    if count > _MOST_SHARES or scale < _LEAST_STEPS * grid:
        why = f"{count:,} shares on a grid of {grid} are more than is proved; use a finer grid"
        raise NotApplicable(family=noise.name, why=why)
    law = Gaussian(scale=scale, dimension=noise.dimension)
    return Share(sampler=gaussian_draws(law, grid), grid=grid, distance=_DISTANCE)


def _root_below(count: int) -> Fraction:
    """The root √count, rounded down by less than 2^-64."""
    return Fraction(isqrt(count << 2 * _ROOT_BITS), 1 << _ROOT_BITS)


# Exact Laplace draws: b/g times independent signed exponentials (theory/release.md §2).


def laplace_draws(noise: Laplace, grid: Fraction) -> ScaledDraws:
    """A factory of draws of Laplace `noise`, in units of `grid`."""
    return ScaledDraws(factor=noise.scale / grid, quantile=EXPONENTIAL)


# Exact truncated Laplace draws: b/g times signed exponentials, cut off at a = radius.
#
# P(|X|/b > r) = u means e^(−r) = e^(−a) + (1 − e^(−a))u.


def truncated_laplace_draws(noise: TruncatedLaplace, grid: Fraction) -> ScaledDraws:
    """A factory of draws of truncated Laplace `noise`, in units of `grid`."""
    radius = noise.radius

    def constants() -> PartConstants:
        rest = ball(-radius).exp()
        return PartConstants(bottom=arb(0), top=arb(1), low=rest, slope=1 - rest, factor=arb(1))

    quantile = PiecewiseRescaled(RescaledPart(quantile=EXPONENTIAL, constants=constants))
    return ScaledDraws(factor=noise.scale / grid, quantile=quantile)


def huber_draws(noise: FlippedHuber, grid: Fraction) -> ScaledDraws:
    """A factory of draws of flipped Huber `noise`, in units of `grid`."""
    c = noise.corner
    tail = RescaledPart(quantile=HALF_NORMAL, constants=lambda: _tail(c))
    body = RescaledPart(quantile=EXPONENTIAL, constants=lambda: _body(c))
    return ScaledDraws(
        factor=noise.scale * noise.gamma / grid,
        quantile=PiecewiseRescaled(tail, body) if c > 0 else HALF_NORMAL,
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
    """Enclose p, the part of the mass beyond the corner c.

    In the same unit, the mass up to c is ∫₀^c e^(−cy) dy, and the mass beyond is
    e^(−c²/2)√(π/2)·P(|Z| > c).
    """
    body = -ball(-c * c).expm1() / ball(c)
    tail = ball(-c * c / 2).exp() * (arb.pi() / 2).sqrt() * _outside(c)
    return tail / (body + tail)


def _outside(c: Fraction) -> arb:
    """Enclose the probability that |Z| > c for a standard normal Z."""
    return (ball(c) / arb(2).sqrt()).erfc()
