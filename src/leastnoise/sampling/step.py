"""Exact draws from step densities: a step by its mass, then uniform on it; theory/release.md §2.

An atom at 0 comes first: whether it is drawn is decided in balls, like the step.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.base import Noise
from leastnoise.noise.steps import StepNoise, Steps
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.lazy import LazyReal
from leastnoise.sampling.scalar import LazyBetween, LazySampler, choose
from leastnoise.sampling.scaled import Constant


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a step `noise`, in units of `grid`."""
    if not isinstance(noise, StepNoise):
        raise TypeError(f"{noise.name} has no steps")
    steps, atom = noise.steps, noise.atom

    def draw_one() -> LazyReal:
        if atom and choose(entropy, lambda: [ball(atom), arb(1)]) == 0:
            return Constant(Fraction(0))
        step = choose(entropy, lambda: _cumulative(steps))
        return LazyBetween(entropy, steps.edges[step], steps.edges[step + 1], symmetric=True)

    return LazySampler(draw_one, factor=noise.scale / grid)


def _cumulative(steps: Steps) -> list[arb]:
    """Enclose P(|X| < edge_{j+1}) for every step; the last is exactly 1."""
    sums = [arb(0)]
    for index, (weight, level) in enumerate(zip(steps.weights, steps.levels, strict=True)):
        width = steps.edges[index + 1] - steps.edges[index]
        sums.append(sums[-1] + ball(weight * width) * ball(-steps.decay * level).exp())
    return [*(partial / sums[-1] for partial in sums[1:-1]), arb(1)]
