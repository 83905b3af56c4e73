"""The largest losses that there are: the finite ones, and how much has an infinite one."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball, float_above
from leastnoise.balls.losses import Profile
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.law.radial_steps import RadialStepNoise
from leastnoise.noise.common.law.steps import StepNoise
from leastnoise.noise.registry import registered
from leastnoise.noise.shells.law.spherical_staircase import SphericalStaircase
from leastnoise.noise.steps.law.geometric import Geometric
from leastnoise.noise.steps.law.staircase import Staircase
from leastnoise.noise.steps.law.truncated_staircase import TruncatedStaircase
from leastnoise.noise.steps.law.tulap import Tulap


def largest_loss(noise: Noise, shift: Fraction) -> Fraction | None:
    """Return a loss that no finite one exceeds, and that is met if noise is as large as the shift.

    Norms of x and x − v differ by |v| at most, and so many whole steps lie between two of them.
    None where it isn't as simple as that.
    """
    known = registered(type(noise)).part("largest_loss")
    return known(noise, shift) if known else None


def shift_in_scales(noise: Noise, shift: Fraction) -> Fraction:
    """Return the largest loss of laws that fall like e^(−‖x‖/scale)."""
    return shift / noise.scale


def steps(noise: Staircase, shift: Fraction) -> Fraction:
    """Return it for steps of one width, each of which is lower by one factor."""
    return noise.decay * math.ceil(shift / noise.scale)


def steps_on_a_lattice(noise: Geometric, shift: Fraction) -> Fraction:
    """Return it where whole shifts alone count."""
    return noise.decay * math.ceil(math.floor(shift) / noise.scale)


def steps_up_to_the_edge(
    noise: TruncatedStaircase | Tulap | SphericalStaircase, shift: Fraction
) -> Fraction:
    """Return it where there are no more than so many steps."""
    return noise.decay * min(math.ceil(shift / noise.scale), max(noise.steps.levels))


def of_the_law(noise: VectorNoise, shift: Fraction) -> Fraction:
    """Return it of a law that is made for the shifts."""
    del shift
    return noise.largest_loss


def certain(noise: Noise, *, shift: Fraction, profile: Profile) -> arb | None:
    """Enclose P(Z = ∞): δ at an ε that no finite loss exceeds; None where no such ε is known.

    The `profile` alone can't tell it from a finite loss that is larger than all ε looked at.
    """
    if (largest := largest_loss(noise, shift)) is not None:
        return profile(largest)
    if isinstance(noise, StepNoise | RadialStepNoise):
        weights = [weight for weight in noise.steps.weights if weight]
        log_ratio = Fraction(float_above((ball(max(weights)) / ball(min(weights))).log()))
        levels = noise.steps.levels
        return profile(log_ratio + noise.steps.decay * (max(levels) - min(levels)))
    return None
