"""The recipe of every body. A new body is a function or two, and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

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
from leastnoise.noise.bodies.sampler import combined, counts, plain, scalars, signed, sums
from leastnoise.noise.bodies.sampler.leaves import Gammas
from leastnoise.noise.bodies.sampler.reals import Listed, Reals
from leastnoise.noise.bodies.sampler.source import Moves, Source

if TYPE_CHECKING:
    from leastnoise.entropy.source import Entropy

_FEW = 4  # exponentials in a sum; for one number a gamma of larger shape is drawn as such

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
            return counts.counts_sides(self, of, moves, inside=inside)
        surface = SURFACES.get(type(of))
        if surface is None:
            raise NotApplicable(family=of.kind, why="no exact sampler is known for it")
        if inside:
            s = moves.shape
            moves = Moves(
                shape=s,
                added=scalars.below(self.entropy, moves.added, s),
                removed=scalars.below(self.entropy, moves.removed, of.dimension - s),
            )
        return surface(self, of, moves)

    def _gammas(self, count: int, shape: int) -> Reals:
        if count == 1 and shape > _FEW:
            return Listed([scalars.gamma(self.entropy, shape)])
        return Gammas(count, self.entropy, shape=shape)


def _recipes(body: Body) -> Recipes:
    recipes = BODIES.get(type(body))
    if recipes is None:
        raise NotApplicable(family=body.kind, why="no exact sampler is known for it")
    return recipes
