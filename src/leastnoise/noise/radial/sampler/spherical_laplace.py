"""Exact draws of the l2 mechanism's noise: X = σ√(2G)·Z, one G for all coordinates.

notation: G ~ Gamma((d+1)/2, 1), Z standard normal in R^d. The characteristic function of σ√(2G)·Z
is (1 + σ²|t|²)^(−(d+1)/2), that of the density ∝ exp(−|x|/σ) (theory/release.md §2).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.lazy import LazyGamma, LazyReal
from leastnoise.entropy.quantiles import HALF_NORMAL
from leastnoise.entropy.scaled import ScaledSampler
from leastnoise.entropy.source import Entropy
from leastnoise.noise.base import Noise

if TYPE_CHECKING:
    from flint import arb


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of an l2 `noise`, in units of `grid`."""
    gamma = LazyGamma(entropy, shape=Fraction(noise.dimension + 1, 2))
    factor = _RootOfGamma(noise.scale / grid, gamma)
    return ScaledSampler(factor=factor, quantile=HALF_NORMAL, entropy=entropy)


@final
class _RootOfGamma(LazyReal):
    """scale · √(2G)."""

    def __init__(self, scale: Fraction, gamma: LazyGamma) -> None:
        self._scale = scale
        self._gamma = gamma

    def enclose(self, bits: int) -> arb:
        return ball(self._scale) * (2 * self._gamma.enclose(bits)).sqrt()
