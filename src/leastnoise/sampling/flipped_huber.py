"""Exact flipped Huber draws: the body by inversion, the tail by the normal quantile.

notation: u = α/γ; in units of scale·γ the body is a Laplace law of rate u cut off at u, the tail a
normal law beyond u: Q(V·P(|Z| > u)) for a uniform V, where P(|Z| > Q(v)) = v.
"""

from __future__ import annotations

from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.base import Noise
from leastnoise.noise.flipped_huber import FlippedHuber
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.lazy import LazyReal, LazyUniform
from leastnoise.sampling.quantiles import HALF_NORMAL
from leastnoise.sampling.scalar import LazySampler, LazyTruncatedExponential, choose


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a flipped Huber `noise`, in units of `grid`."""
    if not isinstance(noise, FlippedHuber):
        raise TypeError(f"{noise.name} is not flipped-huber")
    u = noise.corner

    def draw_one() -> LazyReal:
        if u > 0 and choose(entropy, lambda: _shares(u)) == 0:
            return _Body(entropy, u)
        return _Tail(entropy, u)

    return LazySampler(draw_one, factor=noise.scale * noise.gamma / grid)


def _shares(u: Fraction) -> list[arb]:
    """Enclose P(|Y| <= u), and 1."""
    body = -ball(-u * u).expm1() / ball(u)
    tail = ball(-u * u / 2).exp() * (arb.pi() / 2).sqrt() * _outside(u)
    return [body / (body + tail), arb(1)]


def _outside(u: Fraction) -> arb:
    """P(|Z| > u) of a standard normal Z."""
    return (ball(u) / arb(2).sqrt()).erfc()


@final
class _Body(LazyReal):
    """Density ∝ e^(−u|y|) on |y| <= u."""

    def __init__(self, entropy: Entropy, u: Fraction) -> None:
        self._u = u
        self._exponential = LazyTruncatedExponential(entropy, u * u)

    def enclose(self, bits: int) -> arb:
        """See `LazyReal.enclose`."""
        return self._exponential.enclose(bits) / ball(self._u)


@final
class _Tail(LazyReal):
    """A standard normal law given |y| > u."""

    def __init__(self, entropy: Entropy, u: Fraction) -> None:
        self._u = u
        self._negative = entropy.bits(1) == 1
        self._uniform = LazyUniform(entropy)

    def enclose(self, bits: int) -> arb:
        """See `LazyReal.enclose`."""
        value = HALF_NORMAL.enclose(self._uniform.enclose(bits) * _outside(self._u))
        return -value if self._negative else value
