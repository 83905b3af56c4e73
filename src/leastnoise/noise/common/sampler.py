"""Exact draws: common."""

from __future__ import annotations

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.common.law import RadialSteps

# Which ball of a spherical step density a draw is in: the chances of all of them.


def cumulative(steps: RadialSteps, dimension: int) -> list[arb]:
    """Enclose P(J <= j) for every ball; the last is exactly 1."""
    heights = [
        ball(weight) * ball(-steps.decay * level).exp()
        for weight, level in zip(steps.weights, steps.levels, strict=True)
    ]
    sums = [ball(0)]
    for height, lower, edge in zip(heights, [*heights[1:], ball(0)], steps.edges, strict=True):
        sums.append(sums[-1] + (height - lower) * ball(edge) ** dimension)
    return [*(partial / sums[-1] for partial in sums[1:-1]), ball(1)]
