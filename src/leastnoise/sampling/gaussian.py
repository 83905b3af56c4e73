"""Exact Gaussian draws: σ/g times independent standard normals (theory/release.md §2)."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.noise.base import Noise
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.quantiles import HALF_NORMAL
from leastnoise.sampling.scaled import Constant, ScaledSampler


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a Gaussian `noise`, in units of `grid`."""
    factor = Constant(noise.scale / grid)
    return ScaledSampler(factor=factor, quantile=HALF_NORMAL, entropy=entropy)
