"""Proof that a noise law meets a budget, from its parameters alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from leastnoise.accounting.releases import ProvedDelta
from leastnoise.balls.core import precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.geometry import Hidden
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.proof import pure as bodies
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import part_of, registered

# Working precisions in turn; the first whose enclosure is as accurate as is enough for the family
# is used.
PRECISIONS = (128, 256, 512, 1024, 4096)


def method_of(noise: Noise) -> Callable[..., arb]:
    """Return what encloses δ(ε) of `noise`, given `shift` and `epsilon`; raises NotRegistered."""
    return part_of(type(noise), "proof")


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
    method, enough = method_of(noise), registered(type(noise)).enough_bits
    shift = worst_shift(noise, sensitivity)
    enclosure = arb.nan()
    for bits in PRECISIONS:
        with precision(bits):
            enclosure = method(noise, shift=shift, epsilon=epsilon)
        if enclosure.is_zero() or (
            enclosure.is_finite() and enclosure.rel_accuracy_bits() >= enough
        ):
            break
    lower = enclosure if bodies.attained(noise, sensitivity) else arb(0)
    return ProvedDelta(lower=lower, upper=enclosure)
