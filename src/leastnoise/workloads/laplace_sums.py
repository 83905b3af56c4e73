"""Half-widths of sums of independent Laplace variables, given their largest share of the variance.

Notation: S = Σ c_i X_i is a sum of independent Laplace variables X_i with standard deviations s_i
and coefficients c_i. Its variance is 1, and w_i = c_i² s_i² are its shares. X_i has the law of s_i
√E_i·G, where E_i is exponential with mean 1 and G is standard normal. So S has the law of √V·G with
V = Σ w_i E_i. P(|S| > t) is the mean of f(V) with f(v) = 2(1 − Φ(t/√v)), where Φ is the normal
distribution function. f is convex up to t²/3 and concave from there on.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from leastnoise.numerics.bisection import Bisection

_KNOTS = 400
_WIDTH = Bisection(halvings=40)
_MOST_STDS = 8.0  # largest t, enough for probabilities up to 1 − 1e-4
_MOST = 1 << 12  # a sum of 4,096 parts is normal to three digits


def half_width_of_laplace_sum(probability: float, largest: float) -> float:
    """A half-width t with P(|S| <= t) >= `probability`, for sums S of variance 1.

    It holds for every S whose shares w_i of the variance are all at most `largest`, and for
    probabilities up to 1 − 1e-4. For 95 %, t lies between 1.960 and 2.162.

    Let h be the polygon through f at points up to t²/3, continued with the slope of f at t²/3. It
    is convex, and h ≥ f. The mean of h(V) is symmetric and convex in the w_i. So it is largest if k
    = ⌊1/largest⌋ of the w_i are 1/k (Marshall, Olkin & Arnold 2011, §3.C). Then kV is a gamma
    variable of shape k, and the mean of h(V) has a closed form.
    """
    return _half_width(probability, min(math.floor(1 / min(largest, 1.0)), _MOST))


@lru_cache(maxsize=256)
def _half_width(probability: float, parts: int) -> float:
    enough = partial(_is_enough, 1 - probability, parts)
    return _WIDTH.close(enough, 0.0, _MOST_STDS)[1]


def _is_enough(outside: float, parts: int, t: float) -> bool:
    return _outside(t, parts) <= outside


def _outside(t: float, parts: int) -> float:
    """A bound on P(|S| > t): the mean of h(V), where V is the mean of `parts` exponentials.

    h is the polygon of `half_width_of_laplace_sum`.
    """
    from scipy.special import gammaincc, ndtr  # noqa: PLC0415 (paid for where it is used)

    if t <= 0:
        return 1.0
    knots = np.linspace(0, t * t / 3, _KNOTS + 1)
    values = np.append(0.0, 2 * ndtr(-t / np.sqrt(knots[1:])))
    density = math.exp(-t * t / 2 / knots[-1]) / math.sqrt(2 * math.pi)
    last = density * t * float(knots[-1]) ** -1.5
    slopes = np.append(np.diff(values) / np.diff(knots), last)
    beyond = gammaincc(parts + 1, parts * knots) - knots * gammaincc(parts, parts * knots)
    return float(np.diff(slopes, prepend=0.0) @ beyond)  # E (V − knot)₊
