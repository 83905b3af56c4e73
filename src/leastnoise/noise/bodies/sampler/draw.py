"""The recipe of every body, and exact samplers of the laws that are built on bodies.

Notation: X is the noise, K is the body, D is its dimension, and N is its gauge. A staircase in N
has its first edge at γ. For two-sided laws, T is the set of all that a unit can add. P is the gauge
of the added part of X, and Q the gauge of the removed part. The shape s = 0 … D is as in
`law.two_sided`, and t = D − s. Given A and B, X/scale is uniform in {P <= A, Q <= B}. The core is a
for the staircase, and b for the smooth law. E is the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from flint import arb, ctx

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.scaled import LazyRational, choose
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.counts import Counted, CountedSums, Counts
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.plain import Ball, Box, Polygon, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.bodies.together import Jointly, Together
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.bodies.sampler import combined, plain, scalars, signed
from leastnoise.noise.bodies.sampler.arrange import Affine, Moves, PointSource, as_vector, scale_by
from leastnoise.noise.bodies.sampler.reals import Gammas, Listed, Reals, RealsSampler, Uniforms
from leastnoise.noise.bodies.sampler.scalars import (
    choose_below,
    choose_log_concave,
    choose_weighted,
)
from leastnoise.noise.bodies.sampler.signed import weights
from leastnoise.noise.common.law import cumulative

if TYPE_CHECKING:
    from leastnoise.entropy.lazy import LazyReal


# The recipe of every body. A new body needs one or two functions, and one line here.


Recipe = Callable[[PointSource, Any, Reals], Reals]
Sides = Callable[[PointSource, Any, Moves], Reals]


@final
@dataclass(frozen=True, kw_only=True)
class Recipes:
    """The functions that draw points of a body; a missing one is derived by `BodyPoints`."""

    surface: Recipe
    uniform: Recipe | None = None
    exponential_points: Callable[[PointSource, Any, int], Reals] | None = None


BODIES: dict[type[Body], Recipes] = {
    AtMost: Recipes(surface=combined.at_most_surface, uniform=combined.at_most_uniform),
    Ball: Recipes(surface=plain.ball_surface),
    Box: Recipes(surface=plain.box_surface, uniform=plain.box_uniform),
    Cells: Recipes(
        surface=combined.cells_surface,
        uniform=combined.cells_uniform,
        exponential_points=combined.cells_falling,
    ),
    Differences: Recipes(surface=signed.differences_surface, uniform=signed.differences_uniform),
    Segment: Recipes(
        surface=plain.interval_surface,
        uniform=plain.interval_uniform,
        exponential_points=plain.interval_falling,
    ),
    Polygon: Recipes(surface=plain.polygon_surface),
    Signed: Recipes(
        surface=signed.signed_surface,
        uniform=signed.signed_uniform,
        exponential_points=signed.signed_falling,
    ),
    Together: Recipes(
        surface=combined.together_surface,
        uniform=combined.together_uniform,
        exponential_points=combined.together_falling,
    ),
}

SURFACES: dict[type[OneSided], Sides] = {
    Counted: signed.counted_surface,
    CountedSums: signed.counted_sums_surface,
    Jointly: signed.jointly_surface,
}
"""For each one-sided set, the function that draws a point with given P and Q.

`Counts` is missing: its function `counts_sides` also draws points with smaller P and Q."""


@final
class BodyPoints(PointSource):
    """A source of points of all known bodies; each point comes from fresh bits of `entropy`."""

    def __init__(self, entropy: Entropy) -> None:
        self.entropy = entropy

    def surface(self, body: Body, gauges: Reals) -> Reals:
        return _recipes(body).surface(self, body, gauges)

    def uniform(self, body: Body, radii: Reals) -> Reals:
        recipes = _recipes(body)
        if recipes.uniform is not None:
            return recipes.uniform(self, body, radii)
        return recipes.surface(self, body, plain.root_radii(self, body, radii))

    def exponential_points(self, body: Body, count: int) -> Reals:
        """Draw `count` points of density ∝ e^(−N).

        If the body has no recipe for these, they are uniform points, scaled by radii ~ Gamma(D +
        1), or boundary points, scaled to gauges ~ Gamma(D).
        """
        recipes = _recipes(body)
        if recipes.exponential_points is not None:
            return recipes.exponential_points(self, body, count)
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
                added=scalars.draw_below(self.entropy, moves.added, s),
                removed=scalars.draw_below(self.entropy, moves.removed, of.dimension - s),
            )
        return surface(self, of, moves)

    def _gammas(self, count: int, shape: int) -> Reals:
        # a sum of exponentials; a single gamma of larger shape is drawn directly
        most_summed = 4
        if count == 1 and shape > most_summed:
            return Listed([scalars.draw_gamma(self.entropy, shape)])
        return Gammas(count, self.entropy, shape=shape)


def _recipes(body: Body) -> Recipes:
    recipes = BODIES.get(type(body))
    if recipes is None:
        raise NotApplicable(family=body.kind, why="no exact sampler is known for it")
    return recipes


# Exact draws of noise whose density depends only on the gauge of a body.


def k_norm_sampler(noise: KNorm, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of `k-norm` noise, in units of `grid`."""
    unit = noise.scale / grid
    return RealsSampler(scale_by(unit, BodyPoints(entropy).exponential_points(noise.body, 1)))


def k_staircase_sampler(noise: KStaircase, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of `k-staircase` noise, in units of `grid`.

    X/scale is uniform in (k + γ)K, for an integer k >= 0 with probability ∝ e^(−decay·k)(k + γ)^D.
    """
    k = _choose_step(entropy, first=noise.gamma, decay=noise.decay, power=noise.dimension)
    radius = as_vector(LazyRational(noise.scale / grid * (k + noise.gamma)))
    return RealsSampler(BodyPoints(entropy).uniform(noise.body, radius))


def truncated_k_staircase_sampler(
    noise: TruncatedKStaircase, grid: Fraction, entropy: Entropy
) -> Sampler:
    """A sampler of one draw of `truncated-k-staircase` noise, in units of `grid`.

    X/scale is uniform in e_j·K with probability π_j, where e_j are the edges of `noise.steps`, and
    π_j their `ball_masses`.
    """
    j = choose(entropy, lambda: cumulative(noise.steps, noise.dimension))
    radius = as_vector(LazyRational(noise.scale / grid * noise.steps.edges[j]))
    return RealsSampler(BodyPoints(entropy).uniform(noise.body, radius))


def _choose_step(entropy: Entropy, *, first: Fraction, decay: Fraction, power: int) -> int:
    """Draw an integer k >= 0 with probability ∝ e^(−decay·k)(k + first)^power."""

    def weights_of_steps() -> Callable[[int], arb]:
        a, slope = ball(first), ball(-decay)
        return lambda k: (a + k) ** power * (slope * k).exp()

    return choose_log_concave(entropy, weights_of_steps, start=max(0, int(power / decay - first)))


# Exact draws of the two-sided laws: choose s and the ends A and B, then draw uniformly inside.
# The shape s has a probability ∝ w[s]·e_s·e_t, where e_j = E A^j/j! and w are the weights of T.


def two_sided_staircase_sampler(
    noise: TwoSidedStaircase, grid: Fraction, entropy: Entropy
) -> Sampler:
    """A sampler of one draw of `two-sided-staircase` noise, in units of `grid`.

    {P <= A, Q <= B} has a part for each shape s = 0 … D. First s is drawn, then A and B, and then
    X/scale, uniformly in the part of s. A is a + k for an integer k >= 0 with probability ∝
    e^(−decay·k)(a + k)^s. B has the same law with t = D − s in place of s.
    """
    of = noise.of.times(noise.scale / grid)
    if isinstance(of, Counts) and of.most == of.queries:
        return _cube_sampler(noise, of, entropy)
    core, decay = noise.core, noise.decay
    s = choose(entropy, lambda: _staircase_shares(noise.of, core, decay, ctx.prec))
    ends = [
        LazyRational(core + _choose_step(entropy, first=core, decay=decay, power=power))
        for power in (s, of.dimension - s)
    ]
    moves = Moves(shape=s, added=ends[0], removed=ends[1])
    return RealsSampler(BodyPoints(entropy).sides(of, moves, inside=True))


def _cube_sampler(noise: TwoSidedStaircase, of: Counts, entropy: Entropy) -> Sampler:
    """A sampler of one draw if T is a cube: given A and B, X is uniform in a cube of side A + B.

    A = a + k₁ and B = a + k₂, and the side is in units of the bound of `of`. The volumes of all
    shapes s sum to (A + B)^d, where d is the dimension. So n = k₁ + k₂ has a probability ∝
    e^(−decay·n)(n + 1)(2a + n)^d, and k₁ is uniform on 0 … n.
    """
    core, decay, d = noise.core, noise.decay, of.dimension

    def weights_of_sums() -> Callable[[int], arb]:
        ends, slope = ball(2 * core), ball(-decay)
        return lambda n: (n + 1) * (ends + n) ** d * (slope * n).exp()

    n = choose_log_concave(entropy, weights_of_sums, start=max(0, int(d / decay - 2 * core)))
    above = core + choose_below(entropy, n + 1)
    beneath = 2 * core + n - above
    parts = Uniforms(d, entropy, signed=True)
    unit = of.bound / 2
    return RealsSampler(
        Affine(parts=parts, centre=unit * (above - beneath), half=unit * (above + beneath))
    )


@lru_cache(maxsize=64)
def _staircase_shares(of: OneSided, core: Fraction, decay: Fraction, bits: int) -> tuple[arb, ...]:
    """The cumulative probabilities of the shape s = 0 … D, for a staircase with core a.

    Let q = e^(−decay) and e_j = E A^j/j! for A = a + k, where k is geometric. The generating
    function Σ_j e_j z^j is (1 − q) e^(az)/(1 − q e^z), so e_j = a^j/j! + q/(1 − q)·Σ_{i >= 1} e_(j
    − i)/i!. All terms are positive, so nothing cancels. `bits` is the current precision, as a key
    of the cache.
    """
    del bits
    d, odds = of.dimension, 1 / ball(decay).expm1()
    inverse, powers = _exponential_terms(Fraction(1), d), _exponential_terms(core, d)
    ends: list[arb] = []
    for j in range(d + 1):
        past = sum((a * b for a, b in zip(reversed(ends), inverse[1:], strict=False)), arb(0))
        ends.append(powers[j] + odds * past)
    return _shares_of_shapes(of, ends)


def two_sided_laplace_sampler(noise: TwoSidedLaplace, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of `two-sided-laplace` noise, in units of `grid`.

    {P <= A, Q <= B} has a part for each shape s = 0 … D. First s is drawn, then A and B, and then
    X/scale, uniformly in the part of s. A = b + y has the density ∝ (b + y)^s e^(−y) for y > 0. So
    y ~ Gamma(s − i + 1), where i = 0 … s has a probability ∝ b^i/i!. B has the same law with t = D
    − s in place of s.
    """
    of, core = noise.of.times(noise.scale / grid), noise.core
    s = choose(entropy, lambda: _laplace_shares(noise.of, core, ctx.prec))
    ends = [_end(entropy, core, power) for power in (s, of.dimension - s)]
    moves = Moves(shape=s, added=ends[0], removed=ends[1])
    return RealsSampler(BodyPoints(entropy).sides(of, moves, inside=True))


def _end(entropy: Entropy, core: Fraction, power: int) -> LazyReal:
    """Draw A = b + y, where y > 0 has the density ∝ (b + y)^power e^(−y), and b = `core`."""
    if core == 0:
        return scalars.draw_gamma(entropy, power + 1)
    i = choose_weighted(entropy, lambda: _exponential_terms(core, power))
    return scalars.add([LazyRational(core), scalars.draw_gamma(entropy, power - i + 1)])


def _exponential_terms(core: Fraction, degree: int) -> list[arb]:
    """The terms b^i/i! for i = 0 … degree, where b = `core`."""
    terms, b = [arb(1)], ball(core)
    for i in range(1, degree + 1):
        terms.append(terms[-1] * b / i)
    return terms


@lru_cache(maxsize=64)
def _laplace_shares(of: OneSided, core: Fraction, bits: int) -> tuple[arb, ...]:
    """The cumulative probabilities of the shape s = 0 … D, for the smooth law with core b.

    They follow from e_j = E A^j/j! = Σ_{i <= j} b^i/i!, where A − b is a standard exponential.
    `bits` is the current precision, as a key of the cache.
    """
    del bits
    sums, partial = [], arb(0)
    for term in _exponential_terms(core, of.dimension):
        partial += term
        sums.append(partial)
    return _shares_of_shapes(of, sums)


def _shares_of_shapes(of: OneSided, ends: list[arb]) -> tuple[arb, ...]:
    """The cumulative probabilities of the shape s = 0 … D, each ∝ w[s]·e_s·e_(D−s).

    `ends` has e_j = E A^j/j! for j = 0 … D, and w are the `weights` of `of`.
    """
    products = zip(weights(of), ends, reversed(ends), strict=True)
    return scalars.cumulate([w * a * b for w, a, b in products])
