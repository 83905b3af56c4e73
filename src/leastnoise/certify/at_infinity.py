"""What a release tells for sure: the probability of a loss that is infinite."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball, float_above
from leastnoise.certify.losses import Profile
from leastnoise.noise.base import Noise
from leastnoise.noise.radial_steps import RadialStepNoise
from leastnoise.noise.steps import StepNoise
from leastnoise.noise.truncated_laplace import TruncatedLaplace


def certain(noise: Noise, *, shift: Fraction, profile: Profile) -> arb | None:
    """Enclose P(Z = ∞): δ at an ε that no finite loss exceeds; None where no such ε is known.

    The `profile` alone can't tell it from a finite loss that is larger than all ε looked at. Two
    steps differ by their weights and levels, two points of the Laplace density by the shift.
    """
    if isinstance(noise, TruncatedLaplace):
        return profile(shift / noise.scale)
    if isinstance(noise, StepNoise | RadialStepNoise):
        weights = [weight for weight in noise.steps.weights if weight]
        log_ratio = Fraction(float_above((ball(max(weights)) / ball(min(weights))).log()))
        levels = noise.steps.levels
        return profile(log_ratio + noise.steps.decay * (max(levels) - min(levels)))
    return None
