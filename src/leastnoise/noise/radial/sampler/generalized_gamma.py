"""Exact draws of spherical generalized gamma noise: a radius times a uniform direction.

notation: k = (α+1)/p. R/scale = G^(1/p), G ~ Gamma(k) (theory/release.md §2).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.lazy import LazyAnyGamma, LazyReal
from leastnoise.entropy.source import Entropy
from leastnoise.entropy.spherical import SphericalSampler
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.radial.law.generalized_gamma import GeneralizedGamma

if TYPE_CHECKING:
    from flint import arb


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a generalized gamma `noise`, in units of `grid`."""
    return SphericalSampler(radius(noise, grid, entropy), noise.dimension, entropy)


def radius(noise: Noise, grid: Fraction, entropy: Entropy) -> LazyReal:
    """Return the length of one draw, in units of `grid`."""
    if not isinstance(noise, GeneralizedGamma):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not generalized-gamma")
    return _Radius(noise, grid, entropy)


@final
class _Radius(LazyReal):
    """(scale/grid)·G^(1/p)."""

    def __init__(self, noise: GeneralizedGamma, grid: Fraction, entropy: Entropy) -> None:
        self._scale, self._p = noise.scale / grid, noise.p
        self._gamma = LazyAnyGamma(entropy, shape=(noise.alpha + 1) / noise.p)

    def enclose(self, bits: int) -> arb:
        return ball(self._scale) * (self._gamma.enclose(bits).log() / ball(self._p)).exp()
