"""A second, slower route to δ(ε), in mpmath, from the definition alone; for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp


def integrate(f: Callable[[mp.mpf], Any], points: Sequence[Any]) -> mp.mpf:
    """The integral of `f` over the pieces between `points`, by mpmath's tanh-sinh rule."""
    result: Any = mp.quad(f, points)
    return result


def delta_by_radial_integral(family: str, dimension: int, scale: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    """P(L > ε) − e^ε Q(L > ε) for a shift of length 1, by integrals over the radius r.

    Under P the noise is x, under Q it is x + e₁, |x + e₁|² = r² + 2rw + 1 with w the cosine of the
    angle, whose law is symmetric beta. L > ε is w > w*(r, ε) (theory/noise.md §7).
    """
    with mp.workdps(30):
        d, b = mp.mpf(dimension), scale
        if dimension == 1:
            kink = (epsilon * b - 1) / 2  # where |x + 1| − |x| = εb
            points = [-60 * b - 2, -1, kink, 0, 60 * b + 2]
            return integrate(lambda x: _laplace_gap(x, b, epsilon), points)
        shape, power = (d, 1) if family == "l2" else (d / 2, 2)
        rate = 1 / b if family == "l2" else 1 / (2 * b * b)
        norm = power * rate**shape / mp.gamma(shape)

        def radius_density(r: mp.mpf) -> mp.mpf:
            return norm * r ** (d - 1) * mp.exp(-rate * r**power)

        def above(threshold: mp.mpf) -> mp.mpf:
            """P(w > threshold)."""
            if threshold >= 1 or threshold <= -1:
                return mp.mpf(threshold <= -1)
            return mp.betainc((d - 1) / 2, (d - 1) / 2, (1 + threshold) / 2, 1, regularized=True)

        def threshold(r: mp.mpf, y: mp.mpf) -> mp.mpf:
            """The w for which the log density falls by y from x to x + e₁."""
            image = r**power + y / rate
            if image <= 0:
                return mp.mpf(-1)
            return (image ** (mp.mpf(2) / power) - r * r - 1) / (2 * r)

        mean = mp.sqrt(d * (d + 1)) * b if family == "l2" else mp.sqrt(d) * b
        kinks = sorted(
            {mp.mpf(0), *(mean * k / 8 for k in range(1, 33)), mean * 8, mean * 30}
            | {abs((1 - epsilon * b) / 2), (1 + epsilon * b) / 2}
            | {abs(1 - 2 * epsilon * b * b) / 2, (1 + 2 * epsilon * b * b) / 2}
        )
        first = integrate(lambda r: radius_density(r) * above(threshold(r, epsilon)), kinks)
        second = integrate(lambda r: radius_density(r) * above(-threshold(r, -epsilon)), kinks)
        return first - mp.exp(epsilon) * second


def _laplace_gap(x: mp.mpf, b: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    gap = mp.exp(-abs(x) / b) - mp.exp(epsilon - abs(x + 1) / b)
    return max(gap, mp.mpf(0)) / (2 * b)
