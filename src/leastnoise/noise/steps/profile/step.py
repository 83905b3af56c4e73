"""δ(ε) of a step density, a finite sum (theory/noise.md §2 and §4)."""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.noise.common.law.steps import Steps


def delta(steps: Steps, *, shift: Fraction, epsilon: Fraction) -> float:
    """Return max over |v| <= shift of ∫ (f(x) − e^ε f(x − v))₊ dx, in units of the steps.

    Pieces are exact and each term is f·(1 − e^(ε − loss)) with the loss formed exactly where the
    weights agree, so nothing cancels.
    """
    return max(_at(steps, shift=one, epsilon=epsilon) for one in steps.worst_shifts(shift))


def _at(steps: Steps, *, shift: Fraction, epsilon: Fraction) -> float:
    heights = steps.masses / (steps.float_edges[1:] - steps.float_edges[:-1]) / 2
    terms: list[float] = []
    for width, here, there in steps.overlay(shift):
        mass = float(width) * float(heights[here])
        if there is None or steps.weights[there] == 0:
            terms.append(mass)
            continue
        levels = epsilon - steps.decay * (steps.levels[there] - steps.levels[here])
        gap = float(levels)
        if mass > 0 and steps.weights[there] != steps.weights[here]:
            gap += math.log(steps.weights[there] / steps.weights[here])
        if gap < 0:
            terms.append(-mass * math.expm1(gap))
    return math.fsum(terms)
