"""Enclosures of δ(ε) that several kinds of noise share, and the limits on the work of a proof.

Notation: Φ is the standard normal distribution function. Balls are intervals of python-flint that
certainly contain the exact value.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball, float_above
from leastnoise.noise.base import Noise
from leastnoise.noise.common.law import MAX_STEPS, RadialStepNoise, StepNoise
from leastnoise.noise.question import Releases

# Gaussian noise in balls: δ(ε) from the ratio of the shift to the standard deviation.


def delta_of_ratio(mu: arb, *, epsilon: Fraction) -> arb:
    """Enclose δ(ε) of Gaussian noise under a shift of `mu` > 0 standard deviations.

    δ(ε) = Φ(−t) − e^ε Φ(−t−μ), with μ = `mu` and t = ε/μ − μ/2, by Theorem 8 of Balle & Wang
    (2018). Digits cancel in the difference, so a narrow ball takes a higher precision.
    """
    e = ball(epsilon)
    t = e / mu - mu / 2
    root_half = arb(0.5).sqrt()
    return ((t * root_half).erfc() - e.exp() * ((t + mu) * root_half).erfc()) / 2


# Laplace noise for one number in balls: δ(ε).


def delta_of_excess(excess: Fraction) -> arb:
    """Enclose δ(ε) of Laplace noise, 1 − e^(−excess/2); exactly 0 for excess <= 0.

    `excess` is the largest loss, which is the shift in scales, minus ε.
    """
    return -ball(-excess / 2).expm1() if excess > 0 else arb(0)


# The largest finite loss, for three forms of density.


def shift_in_scales(noise: Noise, shift: Fraction) -> Fraction:
    """The quotient shift/scale: the largest loss of noise with a density ∝ e^(−‖x‖/scale).

    If the density is truncated, it is a bound on the finite losses.
    """
    return shift / noise.scale


def steps_up_to_the_edge(noise: StepNoise | RadialStepNoise, shift: Fraction) -> Fraction:
    """The largest finite loss of step noise under a shift.

    The steps must be as wide as the scale of the noise, and all neighbouring steps must have the
    same ratio of heights. For shifts beyond the radius, the result is only an upper bound.
    """
    return noise.fall_within(math.ceil(shift / noise.scale))


def between_weights(noise: StepNoise | RadialStepNoise, shift: Fraction) -> Fraction:
    """A bound on the finite losses at any shift, at least ln(largest height/smallest height).

    Steps of height 0 do not count.
    """
    del shift
    weights = [weight for weight in noise.steps.weights if weight]
    log_ratio = Fraction(float_above((ball(max(weights)) / ball(min(weights))).log()))
    levels = noise.steps.levels
    return log_ratio + noise.steps.decay * (max(levels) - min(levels))


# Limits on the work of a proof (accounting/proof/composed.py), and the limits for steps.


# Each step takes 0.1 ms. A composition evaluates all steps about 25 times if all losses are
# multiples of one number, and far more often otherwise.
MOST_UNEVEN_STEPS = 300


def most_steps(part: Releases, *, even: bool) -> int:
    """The largest number of steps for which a proof of `part` is tried.

    `even` is True if all losses are multiples of one loss, which makes compositions fast.
    """
    quick = part.compositions == 1 or (even and part.sampling_rate == 1)
    return MAX_STEPS if quick else MOST_UNEVEN_STEPS


def over(work: Fraction, most: int, what: str) -> str | None:
    """The reason, as text, not to try a proof if `work` exceeds `most`; otherwise None.

    `work` is a measure of the time that the proof takes, and `what` is its name in the text, such
    as "the number of edges".
    """
    if work <= most:
        return None
    return f"its proof takes too long: {what} is above {most:,}, the most that is proved"
