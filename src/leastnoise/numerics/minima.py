"""Minima of functions of one variable that have kinks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

_GOLDEN = (math.sqrt(5) - 1) / 2
_NEIGHBOURHOODS = 3  # how many of the best grid points are looked at closely
_STEEPER = 2.0  # than what was seen: so steep f may be between points, as far as is believed

_SAME_DIP = 0.2  # of two cells: a bracket that short has one dip

_Value = tuple[float, float]  # f and its place


def minimise(
    f: Callable[[float], float],
    grid: Sequence[float],
    *,
    rounds: int = 60,
    thorough: bool = True,
) -> float:
    """Return about where f is least on [grid[0], grid[-1]]; `grid` rises.

    A golden-section search around each of the three best grid points. It finds the least value of
    any f that has a single dip within two grid cells of its minimum; kinks do no harm. A round
    shortens the bracket of two cells to 0.62 of it. Unless it is to be `thorough`, a bracket is
    left as soon as f, were it twice as steep as it was seen to be there, couldn't get below what
    another found, or when it closes on the same dip: half the values of f will do.

    >>> round(minimise(lambda x: abs(x - 0.3), [0.0, 0.25, 0.5, 0.75, 1.0]), 9)
    0.3
    """
    values = [(f(x), x) for x in grid]
    ranked = sorted(range(len(grid)), key=lambda index: values[index][0])
    best, last = values[ranked[0]], len(grid) - 1
    for index in ranked[:_NEIGHBOURHOODS]:
        ends = values[max(index - 1, 0)], values[min(index + 1, last)]
        to_beat, dip = (math.inf, math.nan) if thorough else (best[0], best[1])
        if index == ranked[0]:
            dip = math.nan
        found = _golden(f, *ends, rounds=rounds, to_beat=to_beat, dip=dip)
        best = min(best, found, key=lambda one: one[0])
    return best[1]


def _golden(
    f: Callable[[float], float],
    low: _Value,
    high: _Value,
    *,
    rounds: int,
    to_beat: float,
    dip: float,
) -> _Value:
    def at(x: float) -> _Value:
        return f(x), x

    near = _SAME_DIP * (high[1] - low[1])
    inner = at(high[1] - _GOLDEN * (high[1] - low[1]))
    outer = at(low[1] + _GOLDEN * (high[1] - low[1]))
    for _ in range(rounds):
        same = low[1] < dip < high[1] and high[1] - low[1] < near
        if same or _least_to_expect(low, inner, outer, high) > to_beat:
            break
        if inner[0] <= outer[0]:
            high, outer = outer, inner
            inner = at(high[1] - _GOLDEN * (high[1] - low[1]))
        else:
            low, inner = inner, outer
            outer = at(low[1] + _GOLDEN * (high[1] - low[1]))
    return inner if inner[0] <= outer[0] else outer


def _least_to_expect(*points: _Value) -> float:
    """Return how low f may be between neighbouring points, if it is at most so much steeper."""
    pairs = [(one, other) for one, other in pairwise(points) if one[1] < other[1]]
    slopes = [abs(v - u) / (y - x) for (u, x), (v, y) in pairs]
    steepest = _STEEPER * max(slopes, default=math.inf)
    return min(((u + v - steepest * (y - x)) / 2 for (u, x), (v, y) in pairs), default=-math.inf)
