"""Minima without derivatives, of functions of one variable (with kinks) and of two.

`raised_shares` maximises Σ pᵢ ln uᵢ over shares uᵢ that have lower bounds, in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """Return an approximate minimiser of f on [grid[0], grid[-1]]; `grid` rises.

    A golden-section search around each of the three best grid points. It finds the least value of
    any f that has a single dip within two grid cells of its minimum; kinks do no harm. A round
    shortens the bracket of two cells to 0.62 of it. If not `thorough`, a bracket is given up when
    it closes on a dip that was found before, or when f couldn't get below the best value even if
    it were twice as steep as was seen there: half as many values of f will do.

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


Point = tuple[float, float]


def simplex(
    f: Callable[[float, float], float],
    corners: Sequence[Point],
    *,
    steps: int = 60,
    flat: float = 1e-9,
) -> Point:
    """Return an approximate minimiser of f, from three corners (Nelder & Mead 1965).

    It stops after `steps`, or when the values at the corners differ by at most `flat`.

    >>> x, y = simplex(lambda x, y: (x - 1) ** 2 + (y + 2) ** 2, [(0, 0), (1, 0), (0, 1)])
    >>> round(x, 3), round(y, 3)
    (1.0, -2.0)
    """
    held = sorted(((f(*corner), corner) for corner in corners), key=lambda one: one[0])
    for _ in range(steps):
        (best, first), (_, second), (worst, third) = held
        if worst - best <= flat:
            break
        middle = ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)

        def along(by: float, middle: Point = middle, third: Point = third) -> tuple[float, Point]:
            point = tuple(m + by * (m - t) for m, t in zip(middle, third, strict=True))
            return f(point[0], point[1]), (point[0], point[1])

        new = along(1.0)
        if new[0] < best:
            new = min(new, along(2.0), key=lambda one: one[0])
        elif new[0] >= held[1][0]:
            new = min(along(0.5), along(-0.5), key=lambda one: one[0])
        if new[0] < worst:
            held[2] = new
        else:
            held[1:] = [_halved(f, first, corner) for _, corner in held[1:]]
        held.sort(key=lambda one: one[0])
    return held[0][1]


def _halved(
    f: Callable[[float, float], float], towards: Point, corner: Point
) -> tuple[float, Point]:
    point = ((towards[0] + corner[0]) / 2, (towards[1] + corner[1]) / 2)
    return f(*point), point


def raised_shares(
    proportions: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return u_i = max(λ·proportions_i, least_i) with Σ u_i = 1 (less 1e-9); shapes (n,).

    They have the largest Σ proportions_i·ln u_i of all with u_i >= least_i. None where the least
    shares add up to more than 1.

    >>> raised_shares(np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.0])).round(3).tolist()
    [0.5, 0.167, 0.333]
    """
    whole = 1 - 1e-9  # the rest is for roundings
    if least.sum() > whole:
        return None
    rate, free = 0.0, np.ones(len(least), dtype=bool)  # the others are held at their least
    while True:
        rate = (whole - least[~free].sum()) / proportions[free].sum()
        raised = rate * proportions >= least
        if raised[free].all():
            return np.maximum(rate * proportions, least)
        free &= raised
