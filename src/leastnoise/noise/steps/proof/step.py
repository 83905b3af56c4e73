"""Enclosure of δ(ε) for step densities (theory/noise.md §2)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.common.law.steps import StepNoise, Steps
from leastnoise.noise.common.proof.work import most_steps, over
from leastnoise.noise.longest_shift import worst_shift
from leastnoise.noise.releases import Releases
from leastnoise.noise.steps.law.truncated_staircase import TruncatedStaircase
from leastnoise.noise.steps.law.tulap import Tulap


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the supremum of δ(ε) over all shifts up to `shift`.

    An atom w at 0 is moved by every shift to where the other copy has none, so that
    δ(ε) = w + (1 − w)·(that of the steps), whatever ε is.
    """
    if not isinstance(noise, StepNoise):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no steps")
    if isinstance(noise, TruncatedStaircase | Tulap) and shift == noise.scale:
        leaked = closed_form(noise, epsilon)
    else:
        leaked = sum_over_pieces(noise, shift=shift, epsilon=epsilon)
    atom = ball(noise.atom)
    return atom + (1 - atom) * leaked


def closed_form(noise: TruncatedStaircase | Tulap, epsilon: Fraction) -> arb:
    """Enclose δ(ε) of truncated steps under a shift by `scale`, in few operations.

    notation: q = e^−decay, F(t) the integral of the steps from 0 to t, M = F(R). By theory/noise.md
    §2 the loss is ∞ with probability δ∞ = P(X > R − 1), else decay, 0 or −decay; total variation
    TV = P(|X| < ½) gives the probability p₊ = (TV − δ∞)/(1 − q) of the second.
    """
    half, radius, decay = Fraction(1, 2), noise.radius, noise.decay
    gamma = noise.gamma if isinstance(noise, TruncatedStaircase) else half
    if radius <= half:
        return arb(1)
    mass = _below(radius, gamma, decay)
    if radius >= 1:  # one sensitivity from R − 1 on: the rest of one step, and a part of the next
        whole = math.floor(radius - 1 - gamma)
        part = ball(radius - 1 - gamma - whole)
        last = ball(-decay * (whole + 1)).exp() * (1 - part + part * ball(-decay).exp())
        outside = last / (2 * mass)
    else:
        outside = (mass + _below(1 - radius, gamma, decay)) / (2 * mass)
    if epsilon >= decay:
        return outside
    variation = _below(half, gamma, decay) / mass
    seen = (variation - outside) / -ball(-decay).expm1()
    return outside - seen * ball(epsilon - decay).expm1()


def _below(t: Fraction, gamma: Fraction, decay: Fraction) -> arb:
    """Enclose F(t) = γ + q + … + qⁿ + (t − γ − n) qⁿ⁺¹, n = ⌊t − γ⌋; t if that is below γ."""
    if t <= gamma:
        return ball(t)
    n = math.floor(t - gamma)
    inner = arb(n)
    if decay:
        inner = ball(-decay).exp() * ball(-decay * n).expm1() / ball(-decay).expm1()
    return ball(gamma) + inner + ball(t - gamma - n) * ball(-decay * (n + 1)).exp()


def sum_over_pieces(noise: StepNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the supremum over all shifts up to `shift`: the largest of finitely many.

    A finite sum over pieces of exact width. Where the weights of a piece agree, its sign is decided
    between rationals.
    """
    steps = noise.steps
    heights = [
        ball(weight) * ball(-steps.decay * level).exp()
        for weight, level in zip(steps.weights, steps.levels, strict=True)
    ]
    largest = arb(0)
    for one in steps.worst_shifts(shift / noise.scale):
        largest = largest.max(_hockey_stick(steps, heights, one, epsilon))
    return largest / _total(steps, heights)


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


def too_long(part: Releases, shift: Fraction, _: Fraction) -> str | None:
    """Return why steps for one number aren't proved, or None."""
    noise = cast("TruncatedStaircase | Tulap", part.noise)
    inner = worst_shift(noise, part.shifts.inner)
    if shift == inner == noise.scale:  # a closed form
        return None
    return over(noise.radius, most_steps(part, even=True), "its radius, in scales,")
