"""Intervals of correlations: the range of r over a box that contains the moments without noise.

Notation: x and y are two columns in [−1, 1]. a and b are their means, s and t their mean squares,
and p is the mean of xy. c = p − ab is the covariance, v = s − a² and w = t − b² are the variances,
and r = c/√(vw) is the correlation.

A pair has k noisy sums: 6 if rows are counted, otherwise 5. Each is off by at most its half-width
with probability 1 − 0.05/k, so all are with 95 % (Bonferroni). Then the moments without noise lie
in a box.

The largest r has the largest p. If c > 0 somewhere, the largest r has the smallest s and t,
otherwise the largest. With p, s and t fixed, and up to positive factors while v, w > 0,

    ∂r/∂a = ap − bs,   ∂r/∂b = bp − at.

Both are 0 only at a = b = 0, or if p² = st on a line through it, where r is constant. So r is
largest at a = b = 0, at a corner of the rectangle of means, or where the derivative along an edge
is 0. The smallest r is minus the largest r of x and −y.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.learn.moments import Floats, Moments, NoisyMoments
from leastnoise.mechanism.accuracy import half_widths

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate

_OUTSIDE = 0.05
_ROUNDING = 1e-15  # exceeds the rounding errors of c, v and w, whose terms are at most 1
Interval = tuple[float, float]


@final
class MomentBox(NamedTuple):
    """Intervals of the means a and b, of the mean squares s and t, and of the mean product p."""

    a: Interval
    b: Interval
    s: Interval
    t: Interval
    p: Interval

    def with_negative_y(self) -> MomentBox:
        """The box for the columns x and −y."""
        (b, b_end), (p, p_end) = self.b, self.p
        return self._replace(b=(-b_end, -b), p=(-p_end, -p))


def find_intervals(
    published: NoisyMoments, certificate: Certificate, *, counted: bool
) -> tuple[Floats, Floats]:
    """The lower and the upper ends of the correlations' intervals, each of shape (d, d).

    Each interval contains the correlation without noise with probability 95 % or more, unless a
    variance without noise is 0.
    """
    variables = len(published.sums) - 1
    moments = Moments(variables=variables, constant=True, counted=counted)
    try:
        widths = half_widths(certificate, 1 - _OUTSIDE / (5 + counted))
    except NotApplicable:  # the law of one number of the family isn't known
        widths = np.full(moments.dimension, np.inf)
    # `read` expects variances; standard deviations are proportional to half-widths
    around = moments.read(
        np.zeros(moments.dimension), widths**2, rows=None if counted else int(published.rows)
    )
    rows = published.rows, math.sqrt(around.count_variance)
    sums, halves = published.sums[1:, 1:], np.sqrt(around.noise)
    means = _divide(published.sums[0, 1:], halves[0, 1:], rows)
    products = _divide(sums, halves[1:, 1:], rows)
    centred = np.diag(sums) - published.rows / 2  # half of the sum of 2x² − 1
    squares = _divide(2 * centred, 2 * np.diag(halves)[1:], rows)
    low, high = np.eye(variables), np.eye(variables)
    for i, k in product(range(variables), repeat=2):
        if i != k:
            box = MomentBox(
                a=_at(means, i),
                b=_at(means, k),
                s=_at((1 + squares) / 2, i),
                t=_at((1 + squares) / 2, k),
                p=_at(products, (i, k)),
            )
            low[i, k], high[i, k] = -find_largest(box.with_negative_y()), find_largest(box)
    return low, high


def find_largest(box: MomentBox) -> float:
    """The largest correlation in the `box`, rounded up; at most 1.

    If a variance in the box may be 0, the result is only a bound: 1, or 0 if no covariance in the
    box is above 0.
    """
    p = box.p[1]
    largest_c = max(p - a * b for a, b in product(box.a, box.b)) + _ROUNDING
    s, t = (box.s[0], box.t[0]) if largest_c > 0 else (box.s[1], box.t[1])
    far_a, far_b = (max(map(abs, ends)) for ends in (box.a, box.b))
    if min(s - far_a**2, t - far_b**2) <= _ROUNDING:  # a variance of the box may be 0
        return 1.0 if largest_c > 0 else 0.0
    means = [(0.0, 0.0), *product(box.a, box.b)]
    if p:
        means += [(b * s / p, b) for b in box.b] + [(a, a * t / p) for a in box.a]
    inside = [(a, b) for a, b in means if _is_in(a, box.a) and _is_in(b, box.b)]
    return min(max(_round_up(p - a * b, s - a * a, t - b * b) for a, b in inside), 1.0)


def _round_up(c: float, v: float, w: float) -> float:
    """An upper bound on c/√(vw), if c, v and w are rounded numbers."""
    above = c + _ROUNDING
    sign = -1 if above > 0 else 1
    quotient = above / math.sqrt((v + sign * _ROUNDING) * (w + sign * _ROUNDING))
    return quotient + 4 * math.ulp(quotient)


def _is_in(number: float, interval: Interval) -> bool:
    return interval[0] <= number <= interval[1]


def _divide(sums: Floats, halves: Floats, rows: tuple[float, float]) -> Floats:
    """The lower and upper ends of the means sums/n, within [−1, 1]; shape (2, …).

    n is the number of rows. `halves` are the half-widths of the sums, and `rows` are n and its
    half-width.
    """
    n, half = rows
    if n - half <= 0:
        return np.stack([np.full(sums.shape, -1.0), np.full(sums.shape, 1.0)])
    least, most = sums - halves, sums + halves
    low = np.minimum(least / (n - half), least / (n + half))
    high = np.maximum(most / (n - half), most / (n + half))
    return np.clip(np.stack([low, high]), -1.0, 1.0)


def _at(ends: Floats, index: int | tuple[int, int]) -> Interval:
    low, high = ends
    return float(low[index]), float(high[index])
