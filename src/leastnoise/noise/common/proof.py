"""Enclosures of δ(ε) that several kinds of noise share, and the limits on the work of a proof."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball, float_above
from leastnoise.noise.base import Noise
from leastnoise.noise.common.law import MAX_STEPS, RadialStepNoise, StepNoise
from leastnoise.noise.question import Releases

# Gaussian noise in balls: δ(ε) by how many standard deviations the shift has.


def delta_of_ratio(mu: arb, *, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = Φ(−t) − e^ε Φ(−t−μ), t = ε/μ − μ/2, for a shift by μ > 0 standard deviations.

    Balle & Wang (2018), Theorem 8, as it stands: what cancels is paid for in precision.
    """
    e = ball(epsilon)
    t = e / mu - mu / 2
    root_half = arb(0.5).sqrt()
    return ((t * root_half).erfc() - e.exp() * ((t + mu) * root_half).erfc()) / 2


# Laplace noise for one number in balls: δ(ε).


def delta_of_excess(excess: Fraction) -> arb:
    """Enclose δ(ε) = 1 − e^(−excess/2), excess = shift/b − ε, or exactly 0 where that is <= 0."""
    return -ball(-excess / 2).expm1() if excess > 0 else arb(0)


# The largest finite loss of laws that share how they fall.


def shift_in_scales(noise: Noise, shift: Fraction) -> Fraction:
    """The largest loss of a law that falls like e^(−‖x‖/scale): the shift in scales."""
    return shift / noise.scale


def steps_up_to_the_edge(noise: StepNoise | RadialStepNoise, shift: Fraction) -> Fraction:
    """The largest loss of steps of one width, each lower by one factor."""
    return noise.fall_within(math.ceil(shift / noise.scale))


def between_weights(noise: StepNoise | RadialStepNoise, shift: Fraction) -> Fraction:
    """The log of the ratio of the highest step and the lowest: no finite loss is larger."""
    del shift
    weights = [weight for weight in noise.steps.weights if weight]
    log_ratio = Fraction(float_above((ball(max(weights)) / ball(min(weights))).log()))
    levels = noise.steps.levels
    return log_ratio + noise.steps.decay * (max(levels) - min(levels))


# Limits on the work of a proof (accounting/proof/composed.py), and the limits for steps.


# pieces, 0.1 ms each; a composition evaluates about 25 times if all losses are multiples of one
MOST_UNEVEN_STEPS = 300


def most_steps(part: Releases, *, even: bool) -> int:
    """The largest number of steps that is proved; `even` if all losses are multiples of one."""
    quick = part.compositions == 1 or (even and part.sampling_rate == 1)
    return MAX_STEPS if quick else MOST_UNEVEN_STEPS


def over(work: Fraction, most: int, what: str) -> str | None:
    """The reason why a proof with more than `most` steps isn't tried, or None."""
    if work <= most:
        return None
    return f"its proof takes too long: {what} is above {most:,}, the most that is proved"
