"""Quantiles of one coordinate from its tail P(|X| > t), and those of step densities."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.common.law.steps import StepNoise
from leastnoise.numerics.roots import IncreasingRoot

_ROOT = IncreasingRoot(tolerance=1e-12)


def solve(tail: Callable[[float], float], outside: float, *, guess: float) -> float:
    """Return t with tail(t) = outside, for a tail that falls; searched in ln t."""

    def f(log_t: float) -> float:
        value = tail(math.exp(log_t))
        return math.log(outside) - math.log(value) if value > 0 else 1e3

    return math.exp(_ROOT.find(f, guess=math.log(guess)))


def step(noise: Noise, outside: float) -> float:
    """Linear between the edges, where the distribution function is known."""
    if not isinstance(noise, StepNoise):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no steps")
    atom = float(noise.atom)
    below = atom + (1 - atom) * np.concatenate([[0.0], np.cumsum(noise.steps.masses)])
    return float(np.interp(1 - outside, below, noise.steps.float_edges))
