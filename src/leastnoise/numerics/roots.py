"""Root search that ends on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from leastnoise.errors import Refused

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
        below, f_below, above, f_above = self._bracket(f, guess)
        return self._close(f, below, f_below, above, f_above)

    def _bracket(
        self, f: Callable[[float], float], guess: float
    ) -> tuple[float, float, float, float]:
        x, fx = guess, f(guess)
        direction = 1.0 if fx <= 0 else -1.0
        step = self.first_step
        for _ in range(_MAX_EVALUATIONS):
            y = x + direction * step
            fy = f(y)
            if (fy <= 0) != (fx <= 0):
                return (x, fx, y, fy) if fx <= 0 else (y, fy, x, fx)
            slope = (fy - fx) / (y - x)
            # a secant step, 10 % too long so that it crosses; never more than 8 times the last
            reach = 1.1 * abs(fy / slope) if slope > 0 else math.inf
            step = min(max(reach, self.tolerance), 8 * step, self.largest_step)
            x, fx = y, fy
        raise Refused("No scale was found that meets this budget.")

    def _close(
        self, f: Callable[[float], float], below: float, f_below: float, above: float, f_above: float
    ) -> float:
        # notation of Brent: b the best end, a the other end of the bracket, c the last b
        a, fa, b, fb = below, f_below, above, f_above
        if abs(fa) < abs(fb):
            a, fa, b, fb = b, fb, a, fa
        c, fc, last, bisected = a, fa, b - a, True
        for _ in range(_MAX_EVALUATIONS):
            tolerance = max(self.tolerance, 4 * math.ulp(b))
            if abs(b - a) <= tolerance:
                break
            x = _interpolated(a, fa, b, fb, c, fc)
            # a step below half the tolerance is lengthened, so that the bracket closes behind it
            if abs(x - b) < tolerance / 2:
                x = b + math.copysign(tolerance / 2, a - b)
            usable = min(b, a) < x < max(b, a)
            shrinks = abs(x - b) < abs(last) / 2 or bisected
            bisected = not (usable and shrinks)
            if bisected:
                x = (a + b) / 2
            last, c, fc = x - b, b, fb
            fx = f(x)
            if (fx <= 0) == (fb <= 0):
                b, fb = x, fx
            else:
                a, fa, b, fb = b, fb, x, fx
            if abs(fa) < abs(fb):
                a, fa, b, fb = b, fb, a, fa
        return a if fa <= 0 else b


def _interpolated(a: float, fa: float, b: float, fb: float, c: float, fc: float) -> float:
    """Inverse quadratic interpolation through three points, or the secant through two."""
    if fa not in {fb, fc} and fb != fc:
        return (
            a * fb * fc / ((fa - fb) * (fa - fc))
            + b * fa * fc / ((fb - fa) * (fb - fc))
            + c * fa * fb / ((fc - fa) * (fc - fb))
        )
    return b - fb * (b - a) / (fb - fa) if fb != fa else (a + b) / 2
