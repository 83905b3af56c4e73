"""Exact draws of noise that depends on the gauge of a body alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.scalar import choose
from leastnoise.entropy.scaled import Constant
from leastnoise.entropy.source import Entropy
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.bodies.law.k_staircase import KStaircase
from leastnoise.noise.bodies.law.truncated_k_staircase import TruncatedKStaircase
from leastnoise.noise.bodies.sampler.arrange import scaled
from leastnoise.noise.bodies.sampler.choices import log_concave
from leastnoise.noise.bodies.sampler.draw import Draw
from leastnoise.noise.bodies.sampler.reals import RealsSampler
from leastnoise.noise.bodies.sampler.source import alone
from leastnoise.noise.common.sampler import cumulative

if TYPE_CHECKING:
    from flint import arb


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a `k-norm` noise, in units of `grid`."""
    if not isinstance(noise, KNorm):
        raise TypeError(f"{noise.name} is not k-norm")
    unit = noise.scale / grid
    return RealsSampler(scaled(unit, Draw(entropy).falling(noise.body, 1)))


def staircase_sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a `k-staircase` noise, in units of `grid`.

    It is uniform in (k + γ)K with probability ∝ e^(−decay·k)(k + γ)^D.
    """
    if not isinstance(noise, KStaircase):
        raise TypeError(f"{noise.name} is not k-staircase")
    k = step(entropy, first=noise.gamma, decay=noise.decay, power=noise.dimension)
    radius = alone(Constant(noise.scale / grid * (k + noise.gamma)))
    return RealsSampler(Draw(entropy).uniform(noise.body, radius))


def truncated_sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a `truncated-k-staircase` noise, in units of `grid`.

    It is uniform in e_j·K, e_j its edges, with the same shares as for a ball.
    """
    if not isinstance(noise, TruncatedKStaircase):
        raise TypeError(f"{noise.name} is not truncated-k-staircase")
    j = choose(entropy, lambda: cumulative(noise.steps, noise.dimension))
    radius = alone(Constant(noise.scale / grid * noise.steps.edges[j]))
    return RealsSampler(Draw(entropy).uniform(noise.body, radius))


def step(entropy: Entropy, *, first: Fraction, decay: Fraction, power: int) -> int:
    """Return k >= 0 with probability ∝ e^(−decay·k)(k + first)^power."""

    def weights() -> Callable[[int], arb]:
        a, slope = ball(first), ball(-decay)
        return lambda k: (a + k) ** power * (slope * k).exp()

    return log_concave(entropy, weights, start=max(0, int(power / decay - first)))
