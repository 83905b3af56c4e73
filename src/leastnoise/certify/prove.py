"""Proof that a noise law meets a budget, from its parameters alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from flint import arb

from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.certify import (
    bodies,
    flipped_huber,
    gaussian,
    generalized_gamma,
    geometric,
    kernels,
    laplace,
    lattice,
    radial_step,
    spherical_laplace,
    staircase,
    step,
    truncated_bodies,
    truncated_laplace,
)
from leastnoise.errors import NotApplicable, NotRegistered
from leastnoise.guarantees.geometry import Hidden
from leastnoise.guarantees.interval import Interval
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise, Shape
from leastnoise.noise.body_noise import VectorNoise

# Working precisions in turn; the first whose enclosure is this accurate (relatively, in bits; more
# than a double holds, so that the interval is as tight as two floats can be) is used.
PRECISIONS = (128, 256, 512, 1024, 4096)
_ACCURACY = 60
# The scales of SGG are promised to 1e-5 only, and more bits would take them seconds; kernels are
# summed in floats, and more bits of the balls don't help them.
_ENOUGH: dict[Shape, int] = {Shape.GENERALIZED_GAMMA: 27, Shape.GAUSSIAN_KERNELS: -1000}

_METHODS: dict[Shape, Callable[..., arb]] = {
    Shape.GAUSSIAN: gaussian.delta_ball,
    Shape.GAUSSIAN_KERNELS: kernels.delta_ball,
    Shape.GENERALIZED_GAMMA: generalized_gamma.delta_ball,
    Shape.GEOMETRIC: geometric.delta_ball,
    Shape.K_NORM: bodies.delta_ball,
    Shape.K_STAIRCASE: bodies.delta_ball,
    Shape.LAPLACE_PRODUCT: laplace.delta_ball,
    Shape.LATTICE: lattice.delta_ball,
    Shape.LATTICE_STEP: lattice.step_delta_ball,
    Shape.STEP: step.delta_ball,
    Shape.RADIAL_STEP: radial_step.delta_ball,
    Shape.SPHERICAL_LAPLACE: spherical_laplace.delta_ball,
    Shape.FLIPPED_HUBER: flipped_huber.delta_ball,
    Shape.STAIRCASE: staircase.delta_ball,
    Shape.TRUNCATED_K_STAIRCASE: truncated_bodies.delta_ball,
    Shape.TRUNCATED_LAPLACE: truncated_laplace.delta_ball,
    Shape.TWO_SIDED: bodies.delta_ball,
}


def method_of(noise: Noise) -> Callable[..., arb]:
    """Return what encloses δ(ε) of `noise`, given `shift` and `epsilon`; raises NotRegistered."""
    method = _METHODS.get(noise.shape)
    if method is None:
        raise NotRegistered(family=noise.name, table=__name__)
    return method


def worst_shift(noise: Noise, sensitivity: Sensitivity) -> Fraction:
    """Return the length, in the noise's own norm, of the longest shift it must hide.

    For laws with convex level sets it is the worst one (theory/noise.md §1); the proofs of the
    others look at all shorter shifts too. For laws in the shape of a body it is 1, if they hide all
    shifts. Raises NotApplicable if they don't, or if the sensitivity says nothing in that norm.
    """
    if isinstance(noise, VectorNoise):
        if not noise.hides(sensitivity):
            why = "not all shifts of this sensitivity are proved to lie in what the noise hides"
            raise NotApplicable(family=noise.name, why=why)
        return Fraction(1)
    return radius_in_norm_of(type(noise), sensitivity, dimension=noise.dimension)


def radius_in_norm_of(family: type[Noise], sensitivity: Sensitivity, *, dimension: int) -> Fraction:
    """Return the radius of `sensitivity` in the norm of `family`; raises like `worst_shift`.

    For a family in the shape of a body it is 1: its laws are made for the sensitivity.
    """
    if issubclass(family, VectorNoise):
        if family.form_of(sensitivity, dimension=dimension) is None:
            raise NotApplicable(family=family.name, why=family.no_form(sensitivity))
        return Fraction(1)
    radius = sensitivity.radius(family.norm, dimension=dimension)
    if radius is None:
        raise NotApplicable(family=family.name, why=needs_norm(family.norm))
    return radius


def needs_norm(norm: str) -> str:
    """Return the reason given when the sensitivity is declared in another norm only."""
    if norm == "integer":
        return "it needs a query of whole numbers, declared as such"
    return f"it needs a sensitivity in the {norm} norm"


@final
@dataclass(frozen=True, kw_only=True)
class ProvedDelta:
    """What is proved of one δ(ε): that no point of `lower` is above it, and none of `upper` below.

    Two balls, as the radius of one that holds both has 30 bits only. Questions are answered in
    balls.
    """

    lower: arb
    upper: arb

    @classmethod
    def within(cls, enclosure: arb) -> Self:
        """Return that δ(ε) lies in a ball."""
        return cls(lower=enclosure, upper=enclosure)

    @property
    def enclosure(self) -> arb:
        """A ball that δ(ε) lies in."""
        return self.lower.union(self.upper)

    @property
    def interval(self) -> Interval:
        """What is proved, rounded outward to floats; [0, 1] if nothing is known."""
        with precision(PRECISIONS[0]):
            if not (self.lower.is_finite() and self.upper.is_finite()):
                return Interval(0.0, 1.0)
            lower, upper = float_below(self.lower), float_above(self.upper)
            return Interval(max(0.0, lower), min(1.0, upper))

    def certainly_at_most(self, delta: Fraction) -> bool:
        """Return True only if δ(ε) <= `delta` is proved."""
        with precision(PRECISIONS[0]):
            return bool(self.upper <= ball(delta))

    def certainly_above(self, delta: Fraction) -> bool:
        """Return True only if δ(ε) > `delta` is proved."""
        with precision(PRECISIONS[0]):
            return bool(self.lower > ball(delta))

    def certainly_outside(self, interval: Interval) -> bool:
        """Return True only if it is proved that δ(ε) isn't in `interval`."""
        return bool(self.upper < arb(interval.lower) or self.lower > arb(interval.upper))


def prove_hidden(noise: Noise, hidden: Hidden, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ(ε) of `noise` under shifts that lie in hidden.outer and reach out of hidden.inner.

    δ grows with the length of the longest shift, so that it lies between those of the two balls.
    """
    proved = prove_delta(noise, hidden.outer, epsilon)
    if hidden.inner == hidden.outer:
        return proved
    least = prove_delta(noise, hidden.inner, epsilon)
    return ProvedDelta(lower=least.lower, upper=proved.upper)


def prove_delta(noise: Noise, sensitivity: Sensitivity, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ(ε) of `noise` under `sensitivity`, as tightly as doubles can tell.

    Raises NotApplicable if the sensitivity isn't known in the noise's norm.
    """
    method = method_of(noise)
    shift = worst_shift(noise, sensitivity)
    enclosure = arb.nan()
    for bits in PRECISIONS:
        with precision(bits):
            enclosure = method(noise, shift=shift, epsilon=epsilon)
        if enclosure.is_zero() or (
            enclosure.is_finite()
            and enclosure.rel_accuracy_bits() >= _ENOUGH.get(noise.shape, _ACCURACY)
        ):
            break
    lower = enclosure if bodies.attained(noise, sensitivity) else arb(0)
    return ProvedDelta(lower=lower, upper=enclosure)
