"""Exact draws: laplace."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.pieces import PartConstants, PiecewiseRescaled, RescaledPart
from leastnoise.entropy.quantiles import EXPONENTIAL
from leastnoise.entropy.scaled import Constant, ScaledSampler
from leastnoise.entropy.source import Entropy
from leastnoise.noise.laplace.law import Laplace, TruncatedLaplace

# Exact Laplace draws: b/g times independent signed exponentials (theory/release.md §2).


def laplace_sampler(noise: Laplace, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a Laplace `noise`, in units of `grid`."""
    factor = Constant(noise.scale / grid)
    return ScaledSampler(factor=factor, quantile=EXPONENTIAL, entropy=entropy)


# Exact truncated Laplace draws: b/g times signed exponentials, cut off at a = radius.
#
# P(|X|/b > r) = u is e^(−r) = e^(−a) + (1 − e^(−a))u.


def truncated_laplace_sampler(noise: TruncatedLaplace, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a truncated Laplace `noise`, in units of `grid`."""
    radius = noise.radius

    def constants() -> PartConstants:
        rest = ball(-radius).exp()
        return PartConstants(bottom=arb(0), top=arb(1), low=rest, slope=1 - rest, factor=arb(1))

    quantile = PiecewiseRescaled(RescaledPart(quantile=EXPONENTIAL, constants=constants))
    return ScaledSampler(factor=Constant(noise.scale / grid), quantile=quantile, entropy=entropy)
