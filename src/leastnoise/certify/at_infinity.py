"""The largest losses that there are: the finite ones, and how much has an infinite one."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball, float_above
from leastnoise.certify.losses import Profile
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.geometric import Geometric
from leastnoise.noise.laplace import Laplace
from leastnoise.noise.radial_steps import RadialStepNoise
from leastnoise.noise.spherical_laplace import SphericalLaplace
from leastnoise.noise.spherical_staircase import SphericalStaircase
from leastnoise.noise.staircase import Staircase
from leastnoise.noise.steps import StepNoise
from leastnoise.noise.truncated_laplace import TruncatedLaplace
from leastnoise.noise.truncated_staircase import TruncatedStaircase
from leastnoise.noise.tulap import Tulap


def largest_loss(noise: Noise, shift: Fraction) -> Fraction | None:
    """Return a loss that no finite one exceeds, and that is met if noise is as large as the shift.

    Norms of x and x − v differ by |v| at most, and so many whole steps lie between two of them.
    None where it isn't as simple as that.
    """
    if isinstance(noise, Laplace | SphericalLaplace | TruncatedLaplace):
        return shift / noise.scale
    if isinstance(noise, Geometric):
        return noise.decay * math.ceil(math.floor(shift) / noise.scale)
    if isinstance(noise, Staircase):
        return noise.decay * math.ceil(shift / noise.scale)
    if isinstance(noise, TruncatedStaircase | Tulap | SphericalStaircase):
        return noise.decay * min(math.ceil(shift / noise.scale), max(noise.steps.levels))
    return noise.largest_loss if isinstance(noise, VectorNoise) else None


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
