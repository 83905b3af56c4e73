"""Searches in floats: roots that end on the safe side, and minima without derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import NumericalFailure, Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Root search that ends on the safe side.


LOG_ZERO = -1e4
"""Stands for ln 0 in root searches: finite, and below ln δ for every target δ."""

_MAX_EVALUATIONS = 200


@dataclass(frozen=True, kw_only=True)
class IncreasingRoot:
    """A search for the last point where an increasing function is still at most 0.

    The result x has f(x) <= 0 < f(x') for some x' within `tolerance` of x (or a few ulps of x, if
    these are larger), unless 200 evaluations don't suffice for that. `find` lets the bracket grow
    from a guess by secant steps. Brent's method (Brent 1973, chapter 4) closes it.

    >>> IncreasingRoot(tolerance=1e-12).find(lambda x: x**3 - 2, guess=1.0) ** 3 <= 2
    True
    """

    tolerance: float
    first_step: float = 0.25
    largest_step: float = 40.0

    def find(self, f: Callable[[float], float], *, guess: float) -> float:
        """Return a point with f <= 0, within `tolerance` of the root of the increasing function f.

        Raises Refused if no sign change is met, NumericalFailure if f is NaN.
        """

        def checked_f(x: float) -> float:
            value = f(x)
            if math.isnan(value):
                raise NumericalFailure(what="A root")
            return value

        return self._close(checked_f, *self._bracket(checked_f, guess))

    def between(self, f: Callable[[float], float], *, safe: float, unsafe: float) -> float:
        """Return a point with f <= 0, within `tolerance` of the root between `safe` and `unsafe`.

        The values must satisfy f(safe) <= 0 < f(unsafe); `safe` may be the larger of the two
        points.
        """
        return self._close(f, _SearchPoint(safe, f(safe)), _SearchPoint(unsafe, f(unsafe)))

    def _bracket(
        self, f: Callable[[float], float], guess: float
    ) -> tuple[_SearchPoint, _SearchPoint]:
        last = _SearchPoint(guess, f(guess))
        direction = 1.0 if last.safe else -1.0
        step = self.first_step
        for _ in range(_MAX_EVALUATIONS):
            x = last.x + direction * step
            point = _SearchPoint(x, f(x))
            if point.safe != last.safe:
                return last, point
            slope = (point.f - last.f) / (point.x - last.x)
            # a secant step, 10 % too long so that it crosses; never shorter than the last (secants
            # of a steep end fall short) and never more than 32 times as long
            reach = 1.1 * abs(point.f / slope) if slope > 0 else math.inf
            step = min(max(reach, step), 32 * step, self.largest_step)
            last = point
        raise Refused(
            "No scale of the noise was found that meets this budget. Use another noise or budget."
        )

    def _close(self, f: Callable[[float], float], a: _SearchPoint, b: _SearchPoint) -> float:
        # notation of Brent: b the best end, a the other end of the bracket, c the last b
        if abs(a.f) < abs(b.f):
            a, b = b, a
        c, step, bisected = a, b.x - a.x, True
        for _ in range(_MAX_EVALUATIONS):
            tolerance = max(self.tolerance, 4 * math.ulp(b.x))
            if abs(b.x - a.x) <= tolerance:
                break
            x = _interpolate(a, b, c)
            # a step below half the tolerance is lengthened, so that the bracket closes behind it
            if abs(x - b.x) < tolerance / 2:
                x = b.x + math.copysign(tolerance / 2, a.x - b.x)
            inside = min(b.x, a.x) < x < max(b.x, a.x)
            bisected = not (inside and (bisected or abs(x - b.x) < abs(step) / 2))
            if bisected:
                x = (a.x + b.x) / 2
            step, c = x - b.x, b
            point = _SearchPoint(x, f(x))
            if point.safe != b.safe:
                a = b
            b = point
            if abs(a.f) < abs(b.f):
                a, b = b, a
        return a.x if a.safe else b.x


@dataclass(frozen=True)
class _SearchPoint:
    x: float
    f: float

    @property
    def safe(self) -> bool:
        return self.f <= 0


def _interpolate(a: _SearchPoint, b: _SearchPoint, c: _SearchPoint) -> float:
    """The next x, by inverse quadratic interpolation through three points, or by the secant."""
    if a.f not in {b.f, c.f} and b.f != c.f:
        return (
            a.x * b.f * c.f / ((a.f - b.f) * (a.f - c.f))
            + b.x * a.f * c.f / ((b.f - a.f) * (b.f - c.f))
            + c.x * a.f * b.f / ((c.f - a.f) * (c.f - b.f))
        )
    return b.x - b.f * (b.x - a.x) / (b.f - a.f) if b.f != a.f else (a.x + b.x) / 2


def falling_root(f: Callable[[float], float], low: float, high: float) -> float:
    """The root of a decreasing function on [low, high], to a few ulps.

    Chandrupatla's method (1997), which bisects where f is far from any parabola, as it may be over
    a long range. If f has no sign change, an end is returned. f may be infinite.

    >>> falling_root(lambda x: 2 - x**2, 0.0, 1e9) ** 2
    2.0000000000000004
    """
    a, b = _SearchPoint(high, f(high)), _SearchPoint(low, f(low))
    if b.f <= 0 or a.f > 0:
        return b.x if b.f <= 0 else a.x
    c, share = a, 0.5
    for _ in range(_MAX_EVALUATIONS):
        x = a.x + share * (b.x - a.x)
        point = _SearchPoint(x, f(x))
        if point.safe == a.safe:
            c, a = a, point
        else:
            a, b, c = point, a, b
        best = a if abs(a.f) < abs(b.f) else b
        tolerance = 2 * math.ulp(best.x) / abs(b.x - a.x) if b.x != a.x else 1.0
        if tolerance > 0.5 or best.f == 0:
            return best.x
        share = min(max(_parabola(a, b, c), tolerance), 1 - tolerance)
    return (a.x + b.x) / 2


def _parabola(a: _SearchPoint, b: _SearchPoint, c: _SearchPoint) -> float:
    """The next step of `falling_root` from a towards b, as a share of b − a.

    It follows from inverse quadratic interpolation through a, b and c if that is safe; else it is
    ½.
    """
    if not (math.isfinite(b.f) and math.isfinite(c.f)):
        return 0.5
    xi, phi = (a.x - b.x) / (c.x - b.x), (a.f - b.f) / (c.f - b.f)
    if not (phi * phi < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    third = (c.x - a.x) / (b.x - a.x)
    return a.f / (b.f - a.f) * c.f / (b.f - c.f) + third * a.f / (c.f - a.f) * b.f / (c.f - b.f)


# Minima without derivatives, of functions of one variable (with kinks) and of two.
#
# `raise_shares` maximises Σ pᵢ ln uᵢ over shares uᵢ with lower bounds, in closed form.


_GOLDEN = (math.sqrt(5) - 1) / 2
_NEIGHBOURHOODS = 3  # number of the best grid points around which the search continues
_STEEPER = 2.0  # the slope of f between points may exceed the observed slopes by this factor

_SAME_DIP = 0.2  # a bracket shorter than this share of its first length is taken to have one dip

_Value = tuple[float, float]  # f(x) and x


def minimise(
    f: Callable[[float], float],
    grid: Sequence[float],
    *,
    rounds: int = 60,
    thorough: bool = True,
) -> float:
    """An approximate minimiser of f on [grid[0], grid[-1]]; `grid` increases.

    It runs a golden-section search in the two grid cells around each of the three best grid points.
    That finds the minimum of f if it lies in two such cells, and f has no other dip there; kinks do
    no harm. Each of the `rounds` shortens the bracket by the factor 0.62.

    Without `thorough`, a bracket is dropped when it closes on the first search's dip. It is also
    dropped if f is not expected to fall below the best value, even with twice the observed
    steepness. This saves many evaluations.

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
        local = _golden(f, *ends, rounds=rounds, to_beat=to_beat, dip=dip)
        best = min(best, local, key=lambda value: value[0])
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
        if same or _smallest_expected(low, inner, outer, high) > to_beat:
            break
        if inner[0] <= outer[0]:
            high, outer = outer, inner
            inner = at(high[1] - _GOLDEN * (high[1] - low[1]))
        else:
            low, inner = inner, outer
            outer = at(low[1] + _GOLDEN * (high[1] - low[1]))
    return inner if inner[0] <= outer[0] else outer


def _smallest_expected(*points: _Value) -> float:
    """The smallest f to expect between neighbouring points if f is twice as steep as observed."""
    pairs = [(left, right) for left, right in pairwise(points) if left[1] < right[1]]
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
    """An approximate minimiser of f, from three corners (Nelder & Mead 1965).

    It stops after `steps`, or when the values at the corners differ by at most `flat`.

    >>> x, y = simplex(lambda x, y: (x - 1) ** 2 + (y + 2) ** 2, [(0, 0), (1, 0), (0, 1)])
    >>> round(x, 3), round(y, 3)
    (1.0, -2.0)
    """
    vertices = sorted(((f(*corner), corner) for corner in corners), key=lambda value: value[0])
    for _ in range(steps):
        (best, first), (_, second), (worst, third) = vertices
        if worst - best <= flat:
            break
        middle = ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)

        def along(by: float, middle: Point = middle, third: Point = third) -> tuple[float, Point]:
            point = tuple(m + by * (m - t) for m, t in zip(middle, third, strict=True))
            return f(point[0], point[1]), (point[0], point[1])

        new = along(1.0)
        if new[0] < best:
            new = min(new, along(2.0), key=lambda value: value[0])
        elif new[0] >= vertices[1][0]:
            new = min(along(0.5), along(-0.5), key=lambda value: value[0])
        if new[0] < worst:
            vertices[2] = new
        else:
            vertices[1:] = [_halve_towards(f, first, corner) for _, corner in vertices[1:]]
        vertices.sort(key=lambda value: value[0])
    return vertices[0][1]


def _halve_towards(
    f: Callable[[float, float], float], towards: Point, corner: Point
) -> tuple[float, Point]:
    point = ((towards[0] + corner[0]) / 2, (towards[1] + corner[1]) / 2)
    return f(*point), point


def raise_shares(
    proportions: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Shares that are proportional to `proportions`, but none below `least`; shapes (n,).

    They are max(λ·proportions_i, least_i), with the λ for which they sum to 1 (less 1e-9). They
    maximise the sum of proportions_i·ln(share_i) under these lower bounds. None if the lower bounds
    sum to more than 1 − 1e-9.

    >>> raise_shares(np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.0])).round(3).tolist()
    [0.5, 0.167, 0.333]
    """
    whole = 1 - 1e-9  # the rest is for rounding
    if least.sum() > whole:
        return None
    rate, free = 0.0, np.ones(len(least), dtype=bool)  # the others stay at their lower bounds
    while True:
        rate = (whole - least[~free].sum()) / proportions[free].sum()
        raised = rate * proportions >= least
        if raised[free].all():
            return np.maximum(rate * proportions, least)
        free &= raised
