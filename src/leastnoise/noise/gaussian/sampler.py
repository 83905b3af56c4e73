"""Exact Gaussian draws: σ/g times independent standard normals (theory/release.md §2)."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import isqrt

from leastnoise.entropy.base import Sampler
from leastnoise.entropy.quantiles import HALF_NORMAL
from leastnoise.entropy.scaled import Constant, ScaledSampler
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotApplicable
from leastnoise.noise.draw import Share
from leastnoise.noise.gaussian.law import Gaussian


def sampler(noise: Gaussian, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a Gaussian `noise`, in units of `grid`."""
    factor = Constant(noise.scale / grid)
    return ScaledSampler(factor=factor, quantile=HALF_NORMAL, entropy=entropy)


# Shares of Gaussian noise: σ/√n each, rounded by each client; see theory/release.md §8.


_LEAST_STEPS, _MOST_SHARES = 1 << 10, 1 << 20
"""The standard deviation of a share in grid steps, and how many shares: what §8 is proved for."""
_DISTANCE = Fraction(1, 1 << 6000)
"""Above d·e^(−4s²) for d <= 2^53 coordinates and s >= 2^10; it is far less."""
_ROOT_BITS = 64


def share(noise: Gaussian, grid: Fraction, count: int) -> Share:
    """Return one of `count` shares; raises NotApplicable if the grid is too coarse for so many."""
    scale = noise.scale / _root_below(count)
    if count > _MOST_SHARES or scale < _LEAST_STEPS * grid:
        why = f"{count:,} shares on a grid of {grid} are more than is proved; take a finer grid"
        raise NotApplicable(family=noise.name, why=why)
    law = Gaussian(scale=scale, dimension=noise.dimension)
    return Share(sampler=partial(sampler, law, grid), grid=grid, distance=_DISTANCE)


def _root_below(count: int) -> Fraction:
    """Return √count, rounded down by less than 2^-64."""
    return Fraction(isqrt(count << 2 * _ROOT_BITS), 1 << _ROOT_BITS)
