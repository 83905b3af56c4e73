"""Enclosures of δ(ε) for noise in steps, and of its largest privacy loss.

Notation: X is a draw of the noise, and f its density. γ = gamma is the end of the first step in
scales, b = e^(−decay) the ratio of the heights of neighbouring steps, and m = b/(1 − b). k(r) is
the number of the step at the distance r from 0 in scales, as in law.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.common.law import StepNoise, Steps
from leastnoise.noise.common.proof import most_steps, over
from leastnoise.noise.question import Releases
from leastnoise.noise.steps.law import Geometric, Staircase, TruncatedStaircase, Tulap

# Enclosure of δ(ε) for staircase noise.


def staircase_delta_ball(noise: Staircase, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε), exactly 0 if decay·⌈shift/scale⌉ <= ε, which rationals decide.

    Let s = shift/scale, n = ⌊s⌋ and φ = s − n, and let j be the smallest whole number with decay·j
    > ε. The density is symmetric and unimodal, so the longest shift is the worst (theory/noise.md
    §1). The loss exceeds ε at x, in scales, if the density at x − s is at least j steps lower than
    at x. For x > 0 this holds up to some y, since the difference only decreases there. For x < 0
    the difference is n or n + 1 steps. If j <= n, all x < 0 count. If j = n + 1, the x with n + 1
    steps count. If j > n + 1, no x < 0 counts.
    """
    s = shift / noise.scale
    n = math.floor(s)
    j = math.floor(epsilon / noise.decay) + 1
    if j > math.ceil(s):
        return arb(0)
    law = _StepMasses(noise)
    factor = ball(epsilon).exp()
    end = _end(s, noise.gamma, j)
    if j <= n:
        total = law.half + law.below(end) - factor * law.above(s - end)
    else:
        phi = s - n
        mass = ball(min(noise.gamma, phi)) + ball(phi) * law.mean_step
        total = mass * (1 - (ball(epsilon - noise.decay * (n + 1))).exp())
        total += law.below(end) - factor * (law.above(s - end) - law.above(s))
    return total / (2 * law.half)


def _end(s: Fraction, gamma: Fraction, j: int) -> Fraction:
    """The end y of the set {x > 0: k(s − x) − k(x) >= j}, or 0 if it is empty.

    On step i, from γ + i − 1 (0 for i = 0) to γ + i, the condition is x <= s − γ − (j + i − 1). So
    y is on the last step i that begins before that point.
    """
    first = s - gamma - j + 1
    last = max(0, math.ceil((s - 2 * gamma - j + 2) / 2) - 1)
    return max(Fraction(0), min(first - last, gamma + last))


class _StepMasses:
    """Masses of X/scale for the staircase density whose peak is 1; `half` is the mass above 0."""

    def __init__(self, law: Staircase) -> None:
        self._gamma, self._decay = law.gamma, law.decay
        self._gap = -ball(-law.decay).expm1()
        self.mean_step = ball(-law.decay).exp() / self._gap
        self.half = ball(law.gamma) + self.mean_step

    def above(self, r: Fraction) -> arb:
        """Enclose the mass of {X/scale > r}, r >= 0.

        It is b^i m (1 − u(1 − b)) at r = γ + i + u, where i >= 0 is an integer and 0 <= u < 1.
        """
        if r < self._gamma:
            return self.half - ball(r)
        i = math.floor(r - self._gamma)
        u = r - self._gamma - i
        return ball(-self._decay * i).exp() * self.mean_step * (1 - ball(u) * self._gap)

    def below(self, r: Fraction) -> arb:
        """Enclose the mass of {0 < X/scale <= r}."""
        return ball(r) if r < self._gamma else self.half - self.above(r)


def staircase_largest_loss(noise: Staircase, shift: Fraction) -> Fraction:
    """The largest privacy loss, decay·⌈shift/scale⌉.

    At most ⌈shift/scale⌉ steps lie between an output and the shifted output.
    """
    return noise.decay * math.ceil(shift / noise.scale)


# Enclosure of δ(ε) for step noise on the integers, by a staircase.
#
# The density of the staircase is constant on every cell of the lattice. Under a shift by whole
# cells the loss depends only on the cell, so rounding to the lattice loses nothing: the privacy
# losses of the two laws are the same (theory/noise.md §10).


def geometric_delta_ball(noise: Geometric, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the largest δ(ε) over integer shifts up to `shift`.

    It is 1 if a shift by 1 leaves the lattice. Otherwise the longest shift is the worst.
    """
    most = Fraction(math.floor(shift))
    if most and (noise.cells / noise.scale).denominator != 1:
        return arb(1)  # a shift by 1 leaves the lattice, and reveals everything
    return staircase_delta_ball(noise.staircase, shift=most, epsilon=epsilon)


def geometric_beyond(noise: Geometric, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose the probability that X > t, from the masses of `Geometric.staircase`."""
    del coordinate
    law = _StepMasses(noise.staircase)

    def from_point(point: int) -> arb:
        """Enclose the probability that X·cells/scale >= point, for an integer point >= 1."""
        return law.above(Fraction(2 * point - 1, 2 * noise.cells)) / (2 * law.half)

    first = math.floor(t * noise.cells / noise.scale) + 1  # X > t where K is at least this
    return from_point(first) if first > 0 else 1 - from_point(1 - first)


def geometric_largest_loss(noise: Geometric, shift: Fraction) -> Fraction:
    """The largest loss under integer shifts up to `shift`, as for a staircase."""
    return noise.decay * math.ceil(math.floor(shift) / noise.scale)


# Enclosure of δ(ε) for step densities (theory/noise.md §2).


def step_delta_ball(noise: StepNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the supremum of δ(ε) over all shifts up to `shift`.

    Let w be the probability of the atom at 0. Every shift moves the atom to a point where the
    unshifted law has no atom. So δ(ε) = w + (1 − w)·(δ(ε) of the steps), for every ε.
    """
    s = shift / noise.scale
    if isinstance(noise, TruncatedStaircase | Tulap) and 0 < s <= 1 and epsilon >= 0:
        leaked = closed_form(noise, s, epsilon)
    else:
        leaked = sum_over_pieces(noise, shift=shift, epsilon=epsilon)
    atom = ball(noise.atom)
    return atom + (1 - atom) * leaked


def closed_form(noise: TruncatedStaircase | Tulap, s: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) of truncated steps under a shift by s·scale, 0 < s <= 1, in few operations.

    R is the radius. By theory/noise.md §2 the loss is ∞ with the probability δ∞ = P(X/scale > R −
    s), otherwise decay, 0 or −decay. The total variation TV = P(|X|/scale < s/2) gives the
    probability (TV − δ∞)/(1 − b) of the loss `decay`.
    """
    radius, decay = noise.radius, noise.decay
    gamma = noise.gamma if isinstance(noise, TruncatedStaircase) else Fraction(1, 2)
    if radius <= s / 2:
        return arb(1)
    mass = _below(radius, gamma, decay)
    if radius >= s:  # beyond R − s: the rest of one step, and a part of the next
        whole = math.floor(radius - s - gamma)
        rest = min(s, gamma + whole + 1 - (radius - s))
        last = ball(rest) + ball(s - rest) * ball(-decay).exp()
        outside = last * ball(-decay * (whole + 1)).exp() / (2 * mass)
    else:
        outside = (mass + _below(s - radius, gamma, decay)) / (2 * mass)
    if epsilon >= decay:
        return outside
    variation = _below(s / 2, gamma, decay) / mass
    seen = (variation - outside) / -ball(-decay).expm1()
    return outside - seen * ball(epsilon - decay).expm1()


def _below(t: Fraction, gamma: Fraction, decay: Fraction) -> arb:
    """Enclose the mass F(t) of the steps from 0 to t >= 0, in scales, if the peak is 1.

    It is t for t <= γ, else γ + b + … + bⁿ + (t − γ − n)bⁿ⁺¹ with n = ⌊t − γ⌋.
    """
    if t <= gamma:
        return ball(t)
    n = math.floor(t - gamma)
    inner = arb(n)
    if decay:
        inner = ball(-decay).exp() * ball(-decay * n).expm1() / ball(-decay).expm1()
    return ball(gamma) + inner + ball(t - gamma - n) * ball(-decay * (n + 1)).exp()


def sum_over_pieces(noise: StepNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the supremum of δ(ε) over shifts up to `shift`, as the maximum over `worst_shifts`.

    At each of these shifts δ(ε) is a finite sum over pieces of exact width, on which the density
    and its shifted copy are constant. If the weights of both on a piece agree, rationals decide if
    the piece counts.
    """
    steps = noise.steps
    heights = [
        ball(weight) * ball(-steps.decay * level).exp()
        for weight, level in zip(steps.weights, steps.levels, strict=True)
    ]
    largest = arb(0)
    for worst_shift in steps.worst_shifts(shift / noise.scale):
        largest = largest.max(_hockey_stick(steps, heights, worst_shift, epsilon))
    return largest / _total(steps, heights)


def _total(steps: Steps, heights: list[arb]) -> arb:
    """Enclose the integral of the unnormalised density."""
    total = arb(0)
    for height, left, right in zip(heights, steps.edges[:-1], steps.edges[1:], strict=True):
        total += height * ball(right - left)
    return 2 * total


def _hockey_stick(steps: Steps, heights: list[arb], shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose ∫ (f(x) − e^ε f(x − shift))₊ dx, the numerator of δ(ε), for an unnormalised f."""
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
    """The reason why a proof for these steps would take too long; None if it wouldn't."""
    noise = cast("TruncatedStaircase | Tulap", part.noise)
    inner = noise.worst_shift(part.shifts.inner)
    if 0 < inner <= shift <= noise.scale:  # a closed form
        return None
    return over(noise.radius, most_steps(part, even=True), "its radius, in scales,")
