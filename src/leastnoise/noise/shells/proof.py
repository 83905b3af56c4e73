"""Enclosure of δ(ε) for spherical step densities, from the volumes of two balls.

Notation: f is the density, v the shift, t the length of v in scales, and c = e^ε. The step j of f
has the height h_j and ends at the radius edge_j; c·f(·−v) is the shifted density times c, with the
heights c·h_j. a and b are the radii of two balls, with centres t apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from flint import arb, ctx

from leastnoise.balls.core import ball
from leastnoise.noise.common.law import RadialStepNoise, RadialSteps
from leastnoise.noise.common.proof import most_steps, over
from leastnoise.noise.question import Releases
from leastnoise.noise.shells.law import OptimalRadial


def delta_ball(noise: RadialStepNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the largest δ(ε) over shifts up to the length `shift`, for ε >= 0.

    NaN if the precision can't decide the order of two heights. The density is spherical and never
    increases, so the longest shift is the worst (theory/noise.md §1). By the layer-cake formula, δ
    is an integral over u > 0. Its integrand is the volume of the set {f ≥ u} outside the set
    {c·f(·−v) ≥ u}. Both sets are balls with centres t apart. Their radii edge_i and edge_k are
    constant between two neighbours in the sorted list of all h_j and c·h_j. Since c >= 1, i <= k.
    Volumes are in units of the last ball. Heights are without the factor that normalises f.
    """
    steps, d, t = noise.steps, noise.dimension, shift / noise.scale
    heights_of_f = _heights(steps, Fraction(0), shifted=False)
    heights = _merge_heights(heights_of_f, _heights(steps, epsilon, shifted=True))
    if heights is None:
        return arb.nan()
    volumes = [(ball(edge) / ball(steps.edges[-1])) ** d for edge in steps.edges]
    total = arb(0)
    for here, below, volume in zip(
        heights_of_f, [*heights_of_f[1:], _Height(weight=0)], volumes, strict=True
    ):
        total += (here.value - below.value) * volume
    negligible = total * arb(2) ** -ctx.prec
    moved, i, k = arb(0), -1, -1
    for here, below in zip(heights, [*heights[1:], _Height(weight=0)], strict=True):
        i, k = (i, k + 1) if here.shifted else (i + 1, k)
        if i < 0 or here.equals(below) or steps.edges[i] + t <= steps.edges[k]:
            continue
        mass = (here.value - below.value) * volumes[i]
        balls = _Balls(inner=steps.edges[i], outer=steps.edges[k], shift=t, dimension=d)
        most = mass * balls.most_outside()
        if most < negligible:
            moved += most * arb(0.5, 0.5)  # the interval [0, most], refined at the next precision
        else:
            moved += mass * balls.outside()
    return moved / total


@final
@dataclass(frozen=True, kw_only=True)
class _Height:
    """The height weight·e^exponent of a step of f, or of a step of c·f(·−v) if `shifted`."""

    weight: int
    exponent: Fraction = Fraction(0)
    shifted: bool = False

    @cached_property
    def value(self) -> arb:
        """Enclose the height. The ball is cached, with the precision of the first call."""
        return ball(self.weight) * ball(self.exponent).exp()

    def equals(self, other: _Height) -> bool:
        """True if both heights are the same number.

        Weights and exponents decide it, because e to a rational power other than 0 is irrational.
        """
        return (self.weight, self.exponent) == (other.weight, other.exponent)

    def at_least(self, other: _Height) -> bool | None:
        """True if this height is at least the other, None if the precision can't decide."""
        if self.weight == other.weight:
            return self.exponent >= other.exponent
        if self.exponent == other.exponent:
            return self.weight >= other.weight
        if self.value > other.value:
            return True
        return False if self.value < other.value else None


def _heights(steps: RadialSteps, log_factor: Fraction, *, shifted: bool) -> list[_Height]:
    """The heights of all steps of f, each times e^log_factor, in descending order."""
    return [
        _Height(weight=w, exponent=log_factor - steps.decay * k, shifted=shifted)
        for w, k in zip(steps.weights, steps.levels, strict=True)
    ]


def _merge_heights(heights_of_f: list[_Height], shifted: list[_Height]) -> list[_Height] | None:
    """The heights of both lists in descending order; None if the precision can't decide it.

    Of two equal heights the height of c·f(·−v) comes first. The last height is the last of f, since
    c·h_j >= h_j.
    """
    heights, remaining = [], list(reversed(shifted))
    for height in heights_of_f:
        while remaining and (ahead := remaining[-1].at_least(height)) is not False:
            if ahead is None:
                return None
            heights.append(remaining.pop())
        heights.append(height)
    return heights


@final
@dataclass(frozen=True, kw_only=True)
class _Balls:
    """Two balls of radii a = `inner` <= b = `outer`, whose centres are t = `shift` apart.

    The inner ball must not lie inside the outer ball. Unless the balls are disjoint, their spheres
    meet in a plane at the position `before` = (a² − b² + t²)/(2t). It is at most t/2, so the outer
    ball's centre lies behind the plane.
    """

    inner: Fraction
    outer: Fraction
    shift: Fraction
    dimension: int

    @cached_property
    def before(self) -> Fraction:
        """The plane's position on the line from the inner (0) to the outer centre (t)."""
        a, b, t = self.inner, self.outer, self.shift
        return (a * a - b * b + t * t) / (2 * t)

    @property
    def square(self) -> Fraction:
        """The squared radius of the intersection of the two spheres."""
        return self.inner**2 - self.before**2

    def most_outside(self) -> arb:
        """Enclose a simple upper bound on the share of the inner ball outside the outer ball.

        It is 1 if `before` >= 0. Otherwise the part outside is in a cap of at most half the ball.
        Such a cap fits into a ball with the radius of the cap's base.
        """
        if self.before >= 0:
            return arb(1)
        return (ball(self.square).sqrt() / ball(self.inner)) ** self.dimension

    def outside(self) -> arb:
        """Enclose the share of the inner ball outside the outer ball.

        It is the part of the inner ball before the plane, minus the part of the outer ball before
        the plane, in units of the inner ball's volume.
        """
        a, b = self.inner, self.outer
        if a + b <= self.shift:
            return arb(1)
        mine = _cap(self.square / (a * a), self.dimension)
        other = _cap(self.square / (b * b), self.dimension)
        if self.before > 0:
            mine = 1 - mine
        return mine - (ball(b) / ball(a)) ** self.dimension * other


def _cap(square: Fraction, dimension: int) -> arb:
    """Enclose the share of a unit ball beyond a plane, at most half of the ball.

    The plane cuts the unit sphere in a sphere of radius √square. The share is half of the
    regularised incomplete beta function I_square((d + 1)/2, ½), d = `dimension`.
    """
    parameter = ball(Fraction(dimension + 1, 2))
    return ball(square).beta_lower(parameter, arb(0.5), regularized=True) / 2


def too_long(part: Releases, _: Fraction, __: Fraction) -> str | None:
    """The reason why a proof for these steps would take too long; None if it wouldn't."""
    noise = part.noise
    if isinstance(noise, OptimalRadial):
        return over(Fraction(len(noise.edges)), most_steps(part, even=False), "the number of edges")
    radius = getattr(noise, "radius", Fraction(0))
    return over(radius, most_steps(part, even=True), "its radius, in scales,")
