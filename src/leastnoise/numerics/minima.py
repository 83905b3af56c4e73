"""Minima of functions of one variable that have kinks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

_GOLDEN = (math.sqrt(5) - 1) / 2
_NEIGHBOURHOODS = 3  # how many of the best grid points are looked at closely


def minimise(f: Callable[[float], float], grid: Sequence[float], *, rounds: int = 60) -> float:
    """Return about where f is least on [grid[0], grid[-1]]; `grid` rises.

    A golden-section search around each of the three best grid points. It finds the least value of
    any f that has a single dip within two grid cells of its minimum; kinks do no harm. A round
    shortens the bracket of two cells to 0.62 of it.

    >>> round(minimise(lambda x: abs(x - 0.3), [0.0, 0.25, 0.5, 0.75, 1.0]), 9)
    0.3
    """
    values = [f(x) for x in grid]
    best = sorted(range(len(grid)), key=values.__getitem__)[:_NEIGHBOURHOODS]
    last = len(grid) - 1
    dips = [
        _golden(f, grid[max(index - 1, 0)], grid[min(index + 1, last)], rounds=rounds)
        for index in best
    ]
    return min([grid[best[0]], *dips], key=f)


def _golden(f: Callable[[float], float], low: float, high: float, *, rounds: int) -> float:
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    f_inner, f_outer = f(inner), f(outer)
    for _ in range(rounds):
        if f_inner <= f_outer:
            high, outer, f_outer = outer, inner, f_inner
            inner = high - _GOLDEN * (high - low)
            f_inner = f(inner)
        else:
            low, inner, f_inner = inner, outer, f_outer
            outer = low + _GOLDEN * (high - low)
            f_outer = f(outer)
    return inner if f_inner <= f_outer else outer
