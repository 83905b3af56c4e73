"""Exact draws from mixtures of Gaussians: a component by its weight, then a normal about it."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.base import Noise
from leastnoise.noise.gaussian_mixture import GaussianMixture
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.lazy import LazyNormal, LazyReal
from leastnoise.sampling.scalar import LazySampler, choose


@final
class LazyShifted(LazyReal):
    """A lazy real plus a rational."""

    def __init__(self, real: LazyReal, by: Fraction) -> None:
        self._real, self._by = real, by

    def enclose(self, bits: int) -> arb:
        """See `LazyReal.enclose`."""
        return self._real.enclose(bits) + ball(self._by)


def mixture_sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a `gaussian-mixture`, in units of `grid`."""
    if not isinstance(noise, GaussianMixture):
        raise TypeError(f"{noise.name} is not gaussian-mixture")

    def draw_one() -> LazyReal:
        k = choose(entropy, lambda: _cumulative(noise)) - noise.modes
        return LazyShifted(LazyNormal(entropy), k * noise.spacing / noise.scale)

    return LazySampler(draw_one, factor=noise.scale / grid)


def _cumulative(noise: GaussianMixture) -> list[arb]:
    """Enclose P(k <= j) for j = −K … K; the last is exactly 1."""
    sums = [arb(0)]
    for k in range(-noise.modes, noise.modes + 1):
        sums.append(sums[-1] + ball(-abs(k) * noise.decay).exp())
    return [*(partial / sums[-1] for partial in sums[1:-1]), arb(1)]
