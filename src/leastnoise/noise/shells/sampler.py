"""Exact draws from spherical step densities: choose a ball by its share, then a uniform point.

In d dimensions, ball j has the radius edge_j, and its probability is proportional to (height_j −
height_{j+1}) edge_j^d, where height_j is the density between edge_{j−1} and edge_j. A uniform point
of a ball has the distance radius·V^(1/d) from the centre, for V uniform on (0, 1), and a uniform
direction (theory/noise.md §2).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.lazy import LazyReal, LazyUniform
from leastnoise.entropy.scaled import choose
from leastnoise.entropy.source import Entropy
from leastnoise.entropy.spherical import DirectionSampler
from leastnoise.noise.common.law import RadialStepNoise, cumulative

if TYPE_CHECKING:
    from flint import arb


def sampler(noise: RadialStepNoise, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of a spherical step `noise`, in units of `grid`."""
    steps, d = noise.steps, noise.dimension
    index = choose(entropy, lambda: cumulative(steps, d))
    radius = _RadiusInBall(entropy, radius=noise.scale / grid * steps.edges[index], dimension=d)
    return DirectionSampler(radius=radius, dimension=d, entropy=entropy)


@final
class _RadiusInBall(LazyReal):
    """The distance radius·V^(1/dimension) of a uniform point of a ball from its centre.

    V is uniform on (0, 1), and `radius` is the radius of the ball.
    """

    def __init__(self, entropy: Entropy, *, radius: Fraction, dimension: int) -> None:
        self._uniform = LazyUniform(entropy)
        self._radius = radius
        self._dimension = dimension

    def enclose(self, bits: int) -> arb:
        return ball(self._radius) * self._uniform.enclose(bits).root(self._dimension)
