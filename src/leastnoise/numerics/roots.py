"""Root search that ends on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from leastnoise.errors import Refused

LOG_ZERO = -1e4
"""Stands for ln 0 where a root is looked for: finite, and below the ln of every δ asked for."""

_MAX_EVALUATIONS = 200


@dataclass(frozen=True, kw_only=True)
class IncreasingRoot:
    """Finds the last point where an increasing function is still at most 0.

    The result x has f(x) <= 0 < f(x') for some x' within `tolerance` above x (or a few ulps of x,
    if these are larger). The bracket grows from the guess by secant steps, then Brent's method
    (Brent 1973, chapter 4) closes it.

    >>> IncreasingRoot(tolerance=1e-12).find(lambda x: x**3 - 2, guess=1.0) ** 3 <= 2
    True
    """

    tolerance: float
    first_step: float = 0.25
    largest_step: float = 40.0

    def find(self, f: Callable[[float], float], *, guess: float) -> float:
        """Return the root's safe side; raises Refused if no sign change is met."""
        return self._close(f, *self._bracket(f, guess))

    def between(self, f: Callable[[float], float], *, safe: float, unsafe: float) -> float:
        """Return the root's safe side, given f(safe) <= 0 < f(unsafe), on either side of it."""
        return self._close(f, _Point(safe, f(safe)), _Point(unsafe, f(unsafe)))

    def _bracket(self, f: Callable[[float], float], guess: float) -> tuple[_Point, _Point]:
        last = _Point(guess, f(guess))
        direction = 1.0 if last.safe else -1.0
        step = self.first_step
        for _ in range(_MAX_EVALUATIONS):
            x = last.x + direction * step
            point = _Point(x, f(x))
            if point.safe != last.safe:
                return last, point
            slope = (point.f - last.f) / (point.x - last.x)
            # a secant step, 10 % too long so that it crosses; never shorter than the last (secants
            # of a steep end fall short) and never more than 32 times as long
            reach = 1.1 * abs(point.f / slope) if slope > 0 else math.inf
            step = min(max(reach, step), 32 * step, self.largest_step)
            last = point
        raise Refused("No scale was found that meets this budget.")

    def _close(self, f: Callable[[float], float], a: _Point, b: _Point) -> float:
        # notation of Brent: b the best end, a the other end of the bracket, c the last b
        if abs(a.f) < abs(b.f):
            a, b = b, a
        c, step, bisected = a, b.x - a.x, True
        for _ in range(_MAX_EVALUATIONS):
            tolerance = max(self.tolerance, 4 * math.ulp(b.x))
            if abs(b.x - a.x) <= tolerance:
                break
            x = _interpolated(a, b, c)
            # a step below half the tolerance is lengthened, so that the bracket closes behind it
            if abs(x - b.x) < tolerance / 2:
                x = b.x + math.copysign(tolerance / 2, a.x - b.x)
            inside = min(b.x, a.x) < x < max(b.x, a.x)
            bisected = not (inside and (bisected or abs(x - b.x) < abs(step) / 2))
            if bisected:
                x = (a.x + b.x) / 2
            step, c = x - b.x, b
            point = _Point(x, f(x))
            if point.safe != b.safe:
                a = b
            b = point
            if abs(a.f) < abs(b.f):
                a, b = b, a
        return a.x if a.safe else b.x


@dataclass(frozen=True)
class _Point:
    x: float
    f: float

    @property
    def safe(self) -> bool:
        return self.f <= 0


def _interpolated(a: _Point, b: _Point, c: _Point) -> float:
    """Inverse quadratic interpolation through three points, or the secant through two."""
    if a.f not in {b.f, c.f} and b.f != c.f:
        return (
            a.x * b.f * c.f / ((a.f - b.f) * (a.f - c.f))
            + b.x * a.f * c.f / ((b.f - a.f) * (b.f - c.f))
            + c.x * a.f * b.f / ((c.f - a.f) * (c.f - b.f))
        )
    return b.x - b.f * (b.x - a.x) / (b.f - a.f) if b.f != a.f else (a.x + b.x) / 2


def falling_root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a falling function on [low, high], to a few ulps.

    By Chandrupatla's method (1997), which bisects where f, as over a long range it may, is far from
    any parabola. An end that f doesn't go through is returned. f may be infinite.

    >>> falling_root(lambda x: 2 - x**2, 0.0, 1e9) ** 2
    2.0000000000000004
    """
    a, b = _Point(high, f(high)), _Point(low, f(low))
    if b.f <= 0 or a.f > 0:
        return b.x if b.f <= 0 else a.x
    c, share = a, 0.5
    for _ in range(_MAX_EVALUATIONS):
        x = a.x + share * (b.x - a.x)
        point = _Point(x, f(x))
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


def _parabola(a: _Point, b: _Point, c: _Point) -> float:
    """Return the next step as a share of b − a: inverse quadratic where that is safe, or half."""
    if not (math.isfinite(b.f) and math.isfinite(c.f)):
        return 0.5
    xi, phi = (a.x - b.x) / (c.x - b.x), (a.f - b.f) / (c.f - b.f)
    if not (phi * phi < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    third = (c.x - a.x) / (b.x - a.x)
    return a.f / (b.f - a.f) * c.f / (b.f - c.f) + third * a.f / (c.f - a.f) * b.f / (c.f - b.f)
