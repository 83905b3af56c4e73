"""Enclosure of δ(ε) for step densities."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.base import Noise
from leastnoise.noise.steps import StepNoise, Steps


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the supremum of δ(ε) over all shifts up to `shift`: the largest of finitely many.

    A finite sum over pieces of exact width. Where the weights of a piece agree, its sign is decided
    between rationals. An atom w at 0 is moved by every shift to where the other copy has none, so
    that δ(ε) = w + (1 − w)·(that of the steps), whatever ε is.
    """
    if not isinstance(noise, StepNoise):
        raise TypeError(f"{noise.name} has no steps")
    steps = noise.steps
    heights = [
        ball(weight) * ball(-steps.decay * level).exp()
        for weight, level in zip(steps.weights, steps.levels, strict=True)
    ]
    largest = arb(0)
    for one in steps.worst_shifts(shift / noise.scale):
        largest = largest.max(_hockey_stick(steps, heights, one, epsilon))
    atom = ball(noise.atom)
    return atom + (1 - atom) * largest / _total(steps, heights)


def _total(steps: Steps, heights: list[arb]) -> arb:
    """Enclose the integral of the unnormalised density."""
    total = arb(0)
    for height, left, right in zip(heights, steps.edges[:-1], steps.edges[1:], strict=True):
        total += height * ball(right - left)
    return 2 * total


def _hockey_stick(steps: Steps, heights: list[arb], shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose ∫ (f(x) − e^ε f(x − shift))₊ dx of the unnormalised density f."""
    factor = ball(epsilon).exp()
    total = arb(0)
    for width, here, there in steps.overlay(shift):
        if there is None:
            total += ball(width) * heights[here]
        elif steps.weights[there] == steps.weights[here]:
            gap = epsilon - steps.decay * (steps.levels[there] - steps.levels[here])
            if gap < 0:
                total -= ball(width) * heights[here] * ball(gap).expm1()
        else:
            excess = heights[here] - factor * heights[there]
            total += ball(width) * excess.max(arb(0))
    return total
