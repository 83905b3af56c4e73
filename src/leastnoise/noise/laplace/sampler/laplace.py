"""Exact Laplace draws: b/g times independent signed exponentials (theory/release.md §2)."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.entropy.base import Sampler
from leastnoise.entropy.quantiles import EXPONENTIAL
from leastnoise.entropy.scaled import Constant, ScaledSampler
from leastnoise.entropy.source import Entropy
from leastnoise.noise.base import Noise


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a Laplace `noise`, in units of `grid`."""
    factor = Constant(noise.scale / grid)
    return ScaledSampler(factor=factor, quantile=EXPONENTIAL, entropy=entropy)
