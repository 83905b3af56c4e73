"""The least scale of a law whose other parameters are all set."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from leastnoise.numerics.roots import IncreasingRoot

_ROOT = IncreasingRoot(tolerance=4e-13)  # of the log of the shift, as in `classic`
_NOTHING = -1e4  # stands for ln 0; below the log of every δ that can be asked for


def least_scale(log_delta: Callable[[float], float], budget_delta: Fraction) -> Fraction:
    """Return the least scale at which δ meets the budget, at or above it by about 1e-12.

    `log_delta(t)` is ln δ(ε) under a shift of t scales; it must not fall in t, which holds for
    every law with convex level sets (theory/noise.md §1). Raises Refused if there is none.
    """
    log_target = math.log(budget_delta)

    def over(log_shift: float) -> float:
        return max(log_delta(math.exp(log_shift)), _NOTHING) - log_target

    return Fraction(1 / math.exp(_ROOT.find(over, guess=0.0)))
