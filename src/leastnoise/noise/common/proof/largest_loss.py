"""The largest finite loss of laws that share how they fall."""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.balls.core import ball, float_above
from leastnoise.noise.base import Noise
from leastnoise.noise.common.law.radial_steps import RadialStepNoise
from leastnoise.noise.common.law.steps import StepNoise


def shift_in_scales(noise: Noise, shift: Fraction) -> Fraction:
    """Return the largest loss of laws that fall like e^(−‖x‖/scale)."""
    return shift / noise.scale


def steps_up_to_the_edge(noise: StepNoise | RadialStepNoise, shift: Fraction) -> Fraction:
    """Return it for steps of one width, each lower by one factor, of which there are so many."""
    return noise.steps.decay * min(math.ceil(shift / noise.scale), max(noise.steps.levels))


def between_weights(noise: StepNoise | RadialStepNoise, shift: Fraction) -> Fraction:
    """Return the log of the ratio of the highest step and the lowest: no finite loss is larger."""
    del shift
    weights = [weight for weight in noise.steps.weights if weight]
    log_ratio = Fraction(float_above((ball(max(weights)) / ball(min(weights))).log()))
    levels = noise.steps.levels
    return log_ratio + noise.steps.decay * (max(levels) - min(levels))
