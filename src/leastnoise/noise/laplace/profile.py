"""Profiles δ(ε) in floats, and quantiles of a coordinate: laplace."""

from __future__ import annotations

import math

from leastnoise.noise.common.profile import solve
from leastnoise.noise.laplace.law import Laplace, TruncatedLaplace


def laplace_quantile(noise: Laplace, outside: float) -> float:
    """Invert P(|X| > t) = e^(−t)."""
    del noise
    return -math.log(outside)


def laplace_difference(
    noise: Laplace, outside: float, places: tuple[int, int], ratio: float
) -> float:
    """Return t with P(|X − r·Y| > t·scale) = outside, X and Y independent.

    It is (e^(−t) − r²·e^(−t/r))/(1 − r²), and (1 + t/2)·e^(−t) where r = 1. Near 1, where digits
    cancel, t is that of r = 1 if r < 1, else r times that, which are no less.
    """
    del noise, places
    square, alike = ratio * ratio, abs(ratio - 1) < 1e-6

    def tail(t: float) -> float:
        if alike:
            return (1 + t / 2) * math.exp(-t)
        scaled = math.exp(-t / ratio) if ratio else 0.0
        return (math.exp(-t) - square * scaled) / (1 - square)

    return solve(tail, outside, guess=1 + ratio) * (max(ratio, 1.0) if alike else 1.0)


# δ(ε) of truncated Laplace noise, in closed form; every term is positive.
#
# The density is symmetric and unimodal, so the longest shift is the worst (theory/noise.md §1).
# notation: t = Δ/b, excess = t − ε, a = radius. In units of the peak of f, ∫ (f − e^ε f_t)₊ is
#   e^(−a)(e^t − 1), or 2 − e^(−a) − e^(a−t) if t > a: what the shift moves out of the range;
#   (1 − e^(t−a))(1 − e^(−excess)) for t < a: where the loss is t;
#   e^(−x₀)(1 − e^(−d))², d = excess/2 − x₀, x₀ = max(0, t − a): where the loss falls from t to ε.
# The last two are there only if excess > 0 and d > 0. The total mass is 2(1 − e^(−a)).


def truncated_laplace_log_delta(*, shift_ratio: float, excess: float, radius: float) -> float:
    """Return ln δ(ε), to about 2e-15; 0 if the range is left altogether (t >= 2a).

    It takes `excess` = t − ε beside t = shift_ratio: either may hold the digits of δ.
    """
    t, a = shift_ratio, radius
    if t >= 2 * a:
        return 0.0
    total = math.exp(t - a) * -math.expm1(-t) if t <= a else -math.expm1(-a) - math.expm1(a - t)
    if excess > 0:
        total += max(0.0, -math.expm1(t - a)) * -math.expm1(-excess)
        start = max(0.0, t - a)
        total += math.exp(-start) * math.expm1(min(0.0, start - excess / 2)) ** 2
    log_mass = math.log(2) + math.log(-math.expm1(-a))
    return min(0.0, math.log(total) - log_mass) if total > 0 else -math.inf


def truncated_laplace_quantile(noise: TruncatedLaplace, outside: float) -> float:
    """Invert P(|X| <= t) = (1 − e^(−t))/(1 − e^(−radius))."""
    return -math.log1p((1 - outside) * math.expm1(-float(noise.radius)))
