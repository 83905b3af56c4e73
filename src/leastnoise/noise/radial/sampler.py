"""Exact draws of generalized gamma and l2 noise: a radius, and a uniform direction.

Notation: d is the dimension, α and p are the parameters of generalized gamma noise, and G is a
gamma variable of scale 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.lazy import LazyAnyGamma, LazyGamma, LazyReal
from leastnoise.entropy.scaled import ScaledSampler
from leastnoise.entropy.smooth_quantiles import HALF_NORMAL
from leastnoise.entropy.source import Entropy
from leastnoise.entropy.spherical import SphericalSampler
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace

if TYPE_CHECKING:
    from flint import arb


# Exact draws of spherical generalized gamma noise: a radius times a uniform direction.
#
# The radius is scale·G^(1/p), where G has the shape (α+1)/p (theory/release.md §2).


def generalized_gamma_sampler(noise: GeneralizedGamma, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return a sampler of one draw of generalized gamma `noise`, in units of `grid`."""
    return SphericalSampler(radius(noise, grid, entropy), noise.dimension, entropy)


def radius(noise: GeneralizedGamma, grid: Fraction, entropy: Entropy) -> LazyReal:
    """Return the length of one draw, in units of `grid`."""
    return _Radius(noise, grid, entropy)


@final
class _Radius(LazyReal):
    """The radius (scale/grid)·G^(1/p), where the gamma variable G has the shape (α + 1)/p."""

    def __init__(self, noise: GeneralizedGamma, grid: Fraction, entropy: Entropy) -> None:
        self._scale, self._p = noise.scale / grid, noise.p
        self._gamma = LazyAnyGamma(entropy, shape=(noise.alpha + 1) / noise.p)

    def enclose(self, bits: int) -> arb:
        return ball(self._scale) * (self._gamma.enclose(bits).log() / ball(self._p)).exp()


# Exact draws of the l2 mechanism's noise: σ√(2G)·Z, one G for all coordinates.
#
# G has the shape (d+1)/2, and Z is standard normal in R^d. The characteristic function of σ√(2G)·Z
# is (1 + σ²|t|²)^(−(d+1)/2), as for the density ∝ exp(−|x|/σ) (theory/release.md §2).


def spherical_laplace_sampler(noise: SphericalLaplace, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return a sampler of one draw of l2 `noise`, in units of `grid`."""
    gamma = LazyGamma(entropy, shape=Fraction(noise.dimension + 1, 2))
    factor = _RootOfGamma(noise.scale / grid, gamma)
    return ScaledSampler(factor=factor, quantile=HALF_NORMAL, entropy=entropy)


@final
class _RootOfGamma(LazyReal):
    """The common factor scale·√(2G) of all coordinates, where G has the shape (d + 1)/2."""

    def __init__(self, scale: Fraction, gamma: LazyGamma) -> None:
        self._scale = scale
        self._gamma = gamma

    def enclose(self, bits: int) -> arb:
        return ball(self._scale) * (2 * self._gamma.enclose(bits)).sqrt()
