"""Exact truncated Laplace draws: b/g times independent signed truncated exponentials."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.noise.base import Noise
from leastnoise.noise.truncated_laplace import TruncatedLaplace
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.scalar import LazySampler, LazyTruncatedExponential


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a truncated Laplace `noise`, in units of `grid`."""
    if not isinstance(noise, TruncatedLaplace):
        raise TypeError(f"{noise.name} is not truncated-laplace")
    radius = noise.radius
    return LazySampler(lambda: LazyTruncatedExponential(entropy, radius), factor=noise.scale / grid)
