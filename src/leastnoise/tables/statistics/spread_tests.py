"""Confidence sets of variances: a test of each possible variance together with each mean.

Notation: u is a value scaled to [−1, 1]. n, S and Q are the noisy sums of 1, u and 2u² − 1, with
the noise Z, X and Y. â = |S|/n and V̂ = (1 + Q/n)/2 − â² are the estimates of the mean and the
variance.

If the mean of u is a and its variance V, then Σ(u − a)² = V·n without noise, so that

    (Q + n)/2 − 2aS + a²n − Vn = n·(V̂ − V + (a − â)²)

is the noise Y/2 − 2aX + (½ + a² − V)Z. With probability 95.5 % this noise is at most c(a, V) in
size. So the pair (a, V) is rejected if n·|V̂ − V + (a − â)²| exceeds c(a, V). A variance V is
accepted if, for some mean a, neither this test of (a, V) nor the test of the mean a (`fieller`, at
99.5 %) rejects. So the true variance is rejected with probability at most 5 %. The test of means
matters most for the upper end, by (a − â)². That is small compared to c/n if there are many values.

c rises with the size of each of its three weights, by Anderson's inequality: the density of each
noise, given the others, is symmetric and falls away from 0. So within a box of |a| and V, c is at
most its value for the largest weights there. The sign of S doesn't matter, since â uses its size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.tables.statistics.base import Floats, NoiseError
from leastnoise.tables.statistics.fieller import QuotientTests, find_tests

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate

_OF_MEANS, _OF_PAIRS = 0.995, 0.955  # probabilities of each test; both hold together with 95 %
_CELLS = 16  # number of cells of |a|, and of V
_Positions = tuple[int, int, int]


@final
@dataclass(frozen=True, kw_only=True)
class SpreadTests:
    """The tests of all variances.

    S, Q and n are the coordinates at `positions` of the draw with this `certificate`. `means` are
    the tests of means.
    """

    certificate: Certificate
    positions: _Positions
    means: QuotientTests

    @property
    def largest(self) -> float:
        """The largest half-width c, reached if all values are at one bound."""
        return self._width(2.0, 1.5)

    def accept(self, total: Floats, square: Floats, count: Floats) -> tuple[Floats, Floats]:
        """The smallest and the largest variance V in [0, 1] that isn't rejected, for each cell.

        The results are 0 and 1 if n is below the smallest c, because c/n then exceeds 1. If the
        tests reject all V, they are repeated with the possible mean and variance nearest to â and
        V̂.
        """
        low, high = np.zeros(count.shape), np.ones(count.shape)
        sure = count > self._width(0.0, 0.0)
        n, mean = count[sure], np.abs(total[sure]) / count[sure]
        variance = (1 + square[sure] / n) / 2 - mean**2
        ends = self._accept(mean, variance, n)
        none = ends[0] > ends[1]
        if none.any():
            near = np.clip(mean[none], 0.0, 1.0)
            within = np.clip(variance[none], 0.0, 1 - near**2)
            for end, other in zip(ends, self._accept(near, within, n[none]), strict=True):
                end[none] = other
        low[sure], high[sure] = ends
        return low, high

    def largest_beside(self, total: Floats, count: Floats) -> Floats:
        """The largest possible variance if Q is unknown: 1 − a², for the smallest accepted a²."""
        n = np.where(count > 0, count, 1.0)
        start, _ = self.means.accept(np.abs(total), n, between=(-1.0, 1.0))
        return np.where(count > 0, 1 - np.clip(start, 0.0, 1.0) ** 2, 1.0)

    def _accept(self, mean: Floats, variance: Floats, n: Floats) -> tuple[Floats, Floats]:
        """The smallest and the largest accepted V, for estimates â and V̂ and for n > 0.

        The results are ∞ and −∞ if all variances are rejected.
        """
        low, high = np.full(n.shape, np.inf), np.full(n.shape, -np.inf)
        start, end = self.means.accept(mean * n, n, between=(-1.0, 1.0))
        for least, most in pairwise(np.linspace(0.0, 1.0, _CELLS + 1).tolist()):
            widest = self._width(2 * most, 0.5 + most**2)
            for first, last in ((least, most), (-most, -least)):
                a, b = np.maximum(start, first), np.minimum(end, last)
                near = np.maximum(np.maximum(a - mean, mean - b), 0.0)
                far = np.maximum(np.abs(a - mean), np.abs(b - mean))
                below, above = variance + near**2, variance + far**2
                roof = 1 - np.minimum(np.abs(a), np.abs(b)) ** 2
                kept = np.flatnonzero(
                    (a <= b) & (below - widest / n <= roof) & (above + widest / n >= 0)
                )
                if len(kept):
                    rows = np.stack([below, above, roof, n])[:, kept]
                    ends = self._in_cell(least, most, rows)
                    low[kept] = np.minimum(low[kept], ends[0])
                    high[kept] = np.maximum(high[kept], ends[1])
        return low, high

    def _in_cell(self, least: float, most: float, rows: Floats) -> tuple[Floats, Floats]:
        """The smallest and largest accepted V for means with an absolute value in [least, most].

        `rows` has four arrays: V̂ + (a − â)² for the nearest and for the farthest of these means,
        the largest V with one of these means, and n.
        """
        below, above, roof, n = rows
        low, high = np.full(n.shape, np.inf), np.full(n.shape, -np.inf)
        widest = self._width(2 * most, 0.5 + most**2)
        for first, last in pairwise(np.linspace(0.0, 1.0, _CELLS + 1).tolist()):
            top = np.minimum(last, roof)
            kept = (first <= top) & (below - widest / n <= top) & (above + widest / n >= first)
            if kept.any():
                weight = max(abs(0.5 + most**2 - first), abs(0.5 + least**2 - last))
                width = self._width(2 * most, weight) / n[kept]
                start = np.maximum(below[kept] - width, first)
                end = np.minimum(above[kept] + width, top[kept])
                inside = start <= end
                low[kept] = np.where(inside, np.minimum(low[kept], start), low[kept])
                high[kept] = np.where(inside, np.maximum(high[kept], end), high[kept])
        return low, high

    def _width(self, of_sum: float, of_count: float) -> float:
        """The half-width c, for these weights of the noise of S and of n; the weight for Q is ½."""
        of_count = math.ceil(of_count * _CELLS) / _CELLS  # rounded up, so that fewer are computed
        width = _half_width(self.certificate, self.positions, (of_sum, 0.5, of_count))
        return math.inf if width is None else width


def find_spread_tests(noise: Sequence[NoiseError]) -> SpreadTests | None:
    """Find the tests of variances for the `noise` of S, Q and n.

    None if the joint distribution of all three isn't known.
    """
    of_sum, of_square, of_count = noise
    if of_sum.drawn is None or of_square.drawn is None or of_count.drawn is None:
        return None
    certificate = of_sum.drawn[0]
    if not certificate == of_square.drawn[0] == of_count.drawn[0]:
        return None
    positions = of_sum.drawn[1], of_square.drawn[1], of_count.drawn[1]
    if _half_width(certificate, positions, (2.0, 0.5, 1.5)) is None:
        return None
    means = find_tests((of_sum, of_count), most=1.0, probability=_OF_MEANS)
    return (
        None
        if means is None
        else SpreadTests(certificate=certificate, positions=positions, means=means)
    )


@lru_cache(maxsize=4096)
def _half_width(
    certificate: Certificate, positions: _Positions, weights: tuple[float, float, float]
) -> float | None:
    # imported here, since only known laws need it
    from leastnoise.mechanism.accuracy import half_width_of_three  # noqa: PLC0415

    return half_width_of_three(certificate, _OF_PAIRS, positions, weights)
