"""Exact draws from sums of Gaussian kernels: choose a kernel by its weight, then draw in it."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.lazy import LazyNormal, LazyReal, certainly_less, decide
from leastnoise.entropy.scaled import LazySampler, choose
from leastnoise.entropy.source import Entropy
from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian


@final
class LazyShifted(LazyReal):
    """A lazy real plus a rational, times a sign."""

    def __init__(self, real: LazyReal, by: Fraction, *, negative: bool = False) -> None:
        self._real, self._by, self._negative = real, by, negative

    def enclose(self, bits: int) -> arb:
        value = self._real.enclose(bits) + ball(self._by)
        return -value if self._negative else value


def mixture_sampler(noise: GaussianMixture, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of a `gaussian-mixture`, in units of `grid`."""

    def draw_one() -> LazyReal:
        k = choose(entropy, lambda: _cumulative(noise)) - noise.modes
        return LazyShifted(LazyNormal(entropy), k * noise.spacing / noise.scale)

    return LazySampler(draw_one, factor=noise.scale / grid)


def _cumulative(noise: GaussianMixture) -> list[arb]:
    """Enclose the probabilities that the chosen kernel is one of the first j, j = 1 … 2·modes + 1.

    Kernels are counted from the left. The last number is exactly 1.
    """
    sums = [arb(0)]
    for k in range(-noise.modes, noise.modes + 1):
        sums.append(sums[-1] + ball(-abs(k) * noise.decay).exp())
    return [*(partial / sums[-1] for partial in sums[1:-1]), arb(1)]


def quasi_gaussian_sampler(noise: QuasiGaussian, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of a `quasi-gaussian`, in units of `grid`."""
    t = noise.spacing / noise.scale

    def middle_probability() -> list[arb]:
        """Enclose the probability 1/(1 + 2wΦ(t)) of the inner kernel; the second number is 1.

        w = e^(−decay) is the weight of an outer kernel, and t = spacing/scale. Φ is the normal
        distribution function, so Φ(t) is the outer kernel's mass on its own side of 0.
        """
        side = (ball(-t) / arb(2).sqrt()).erfc()  # 2Φ(t)
        return [1 / (1 + ball(-noise.decay).exp() * side), arb(1)]

    def draw_one() -> LazyReal:
        if choose(entropy, middle_probability) == 0:
            return LazyNormal(entropy)
        return LazyShifted(_normal_above(-t, entropy), t, negative=entropy.bits(1) == 1)

    return LazySampler(draw_one, factor=noise.scale / grid)


def _normal_above(limit: Fraction, entropy: Entropy) -> LazyNormal:
    """A normal variable above `limit` <= 0; draws that are certainly below it are repeated."""
    while True:
        normal = LazyNormal(entropy)
        if decide(lambda bits, x=normal: certainly_less(ball(limit), x.enclose(bits))):
            return normal
