"""Quantiles of staircases, on the line and on the whole numbers."""

from __future__ import annotations

import math

from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.steps.law.geometric import Geometric
from leastnoise.noise.steps.law.staircase import Staircase


def staircase(noise: Noise, outside: float) -> float:
    """Invert the mass beyond γ + i + u, b^i (m/(γ + m)) (1 − u(1 − b)); linear below γ."""
    if not isinstance(noise, Staircase):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not a staircase")
    gamma, decay, m = float(noise.gamma), float(noise.decay), noise.mean_step
    if outside >= m / (gamma + m):
        return (1 - outside) * (gamma + m)
    steps = (math.log(m / (gamma + m)) - math.log(outside)) / decay
    whole = math.floor(steps)
    return gamma + whole + math.expm1(-decay * (steps - whole)) / math.expm1(-decay)


def geometric(noise: Noise, outside: float) -> float:
    """Return the least point k/c beyond which P(|X| > (k + ½)/c) of its staircase is `outside`."""
    if not isinstance(noise, Geometric):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not geometric")
    edge = staircase(noise.staircase, outside) * noise.cells
    return max(0, math.ceil(edge - 0.5)) / noise.cells
