"""Exact Gaussian draws: σ/g times independent standard normals (theory/release.md §2)."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.entropy.base import Sampler
from leastnoise.entropy.quantiles import HALF_NORMAL
from leastnoise.entropy.scaled import Constant, ScaledSampler
from leastnoise.entropy.source import Entropy
from leastnoise.noise.gaussian.law import Gaussian


def sampler(noise: Gaussian, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a Gaussian `noise`, in units of `grid`."""
    factor = Constant(noise.scale / grid)
    return ScaledSampler(factor=factor, quantile=HALF_NORMAL, entropy=entropy)
