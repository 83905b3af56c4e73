"""The longest shift that noise must hide, in its own norm."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise


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
