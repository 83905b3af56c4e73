"""The recipe of every body, and noise of its gauge alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.scaled import Constant, choose
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.at_most import AtMost
from leastnoise.guarantees.bodies.ball import Ball
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.box import Box
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counted import Counted
from leastnoise.guarantees.bodies.counted_sums import CountedSums
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.differences import Differences
from leastnoise.guarantees.bodies.interval import Interval
from leastnoise.guarantees.bodies.jointly import Jointly
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.polygon import Polygon
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.bodies.together import Together
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.bodies.sampler import combined, plain, scalars, signed, sums
from leastnoise.noise.bodies.sampler.arrange import Moves, Source, alone, scaled
from leastnoise.noise.bodies.sampler.reals import Gammas, Listed, Reals, RealsSampler
from leastnoise.noise.bodies.sampler.scalars import log_concave
from leastnoise.noise.common.sampler import cumulative

if TYPE_CHECKING:
    from flint import arb


# The recipe of every body. A new body is a function or two, and one line here.


_MOST_SUMMED = 4  # exponentials in a sum; for one number a gamma of larger shape is drawn as such

Recipe = Callable[[Source, Body, Reals], Reals]
Sides = Callable[[Source, OneSided, Moves], Reals]


@final
@dataclass(frozen=True, kw_only=True)
class Recipes:
    """How points of a body are drawn; `falling` by one of the others if there is none."""

    surface: Recipe
    uniform: Recipe | None = None
    falling: Callable[[Source, Body, int], Reals] | None = None


BODIES: dict[type[Body], Recipes] = {
    AtMost: Recipes(surface=combined.at_most_surface, uniform=combined.at_most_uniform),
    Ball: Recipes(surface=plain.ball_surface),
    Box: Recipes(surface=plain.box_surface, uniform=plain.box_uniform),
    Cells: Recipes(
        surface=combined.cells_surface,
        uniform=combined.cells_uniform,
        falling=combined.cells_falling,
    ),
    Differences: Recipes(surface=signed.differences_surface, uniform=signed.differences_uniform),
    Interval: Recipes(
        surface=plain.interval_surface,
        uniform=plain.interval_uniform,
        falling=plain.interval_falling,
    ),
    Polygon: Recipes(surface=plain.polygon_surface),
    Signed: Recipes(
        surface=signed.signed_surface, uniform=signed.signed_uniform, falling=signed.signed_falling
    ),
    Together: Recipes(
        surface=combined.together_surface,
        uniform=combined.together_uniform,
        falling=combined.together_falling,
    ),
}

SURFACES: dict[type[OneSided], Sides] = {
    Counted: sums.counted_surface,
    CountedSums: sums.counted_sums_surface,
    Jointly: sums.jointly_surface,
}
"""For `Counts` there is `counts_sides`, which draws inside as well."""


@final
class Draw(Source):
    """Points of any body, from one string of bits."""

    def __init__(self, entropy: Entropy) -> None:
        self.entropy = entropy

    def surface(self, body: Body, gauges: Reals) -> Reals:
        return _recipes(body).surface(self, body, gauges)

    def uniform(self, body: Body, radii: Reals) -> Reals:
        recipes = _recipes(body)
        if recipes.uniform is not None:
            return recipes.uniform(self, body, radii)
        return recipes.surface(self, body, plain.rooted(self, body, radii))

    def falling(self, body: Body, count: int) -> Reals:
        """N ~ Gamma(D), or a radius of Gamma(D + 1)."""
        recipes = _recipes(body)
        if recipes.falling is not None:
            return recipes.falling(self, body, count)
        if recipes.uniform is not None:
            return recipes.uniform(self, body, self._gammas(count, body.dimension + 1))
        return recipes.surface(self, body, self._gammas(count, body.dimension))

    def sides(self, of: OneSided, moves: Moves, *, inside: bool) -> Reals:
        if isinstance(of, Counts):
            return signed.counts_sides(self, of, moves, inside=inside)
        surface = SURFACES.get(type(of))
        if surface is None:
            raise NotApplicable(family=of.kind, why="no exact sampler is known for it")
        if inside:
            s = moves.shape
            moves = Moves(
                shape=s,
                added=scalars.scalars_below(self.entropy, moves.added, s),
                removed=scalars.scalars_below(self.entropy, moves.removed, of.dimension - s),
            )
        return surface(self, of, moves)

    def _gammas(self, count: int, shape: int) -> Reals:
        if count == 1 and shape > _MOST_SUMMED:
            return Listed([scalars.gamma(self.entropy, shape)])
        return Gammas(count, self.entropy, shape=shape)


def _recipes(body: Body) -> Recipes:
    recipes = BODIES.get(type(body))
    if recipes is None:
        raise NotApplicable(family=body.kind, why="no exact sampler is known for it")
    return recipes


# Exact draws of noise that depends on the gauge of a body alone.


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
