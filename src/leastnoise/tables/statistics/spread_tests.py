"""Which variances the noise leaves possible: a test of each, beside each mean.

notation: as in `spreads`; X, Y and Z = the noise of S, Q and n; â = |S|/n, V̂ = (1 + Q/n)/2 − â².

If the mean is a and the variance V, then Σ(u − a)² = V·n without noise, so that

    (Q + n)/2 − 2aS + a²n − Vn = n·(V̂ − V + (a − â)²)

is the noise Y/2 − 2aX + (½ + a² − V)Z. The pair (a, V) is rejected where that is larger than the
half-width c(a, V) that this noise keeps with 95.5 %. A variance is left where some mean is beside
it that neither this nor the test of means (`fieller`, at 99.5 %) rejects: the true pair is
rejected with 5 % at most. Only the upper end rests on the test of means, by (a − â)², which is
small beside c/n where there are many values.

c rises with the size of each of its three weights (Anderson's inequality, as the law of each noise
given the others is symmetric and falls away from 0). So within a box of |a| and V it is at most
that of the largest weights there. Signs of S change nothing: â is its size.
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

_OF_MEANS, _OF_PAIRS = 0.995, 0.955  # together they hold 95 %
_CELLS = 16  # of |a|, and of V
_Places = tuple[int, int, int]


@final
@dataclass(frozen=True, kw_only=True)
class SpreadTests:
    """The tests of all variances: the draw that S, Q and n are of, and the tests of its means."""

    certificate: Certificate
    places: _Places
    means: QuotientTests

    @property
    def largest(self) -> float:
        """The largest c: where all values are at one bound."""
        return self._width(2.0, 1.5)

    def accept(self, total: Floats, square: Floats, count: Floats) -> tuple[Floats, Floats]:
        """Find the least and the largest V that isn't rejected, within [0, 1].

        All of [0, 1] where n is below the least c: c/n is wider than that. Where everything is
        rejected, what the tests accept around the nearest mean and variance that there can be.
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
        """The largest V that any Q leaves: 1 − a², with the least a² that isn't rejected."""
        n = np.where(count > 0, count, 1.0)
        start, _ = self.means.accept(np.abs(total), n, between=(-1.0, 1.0))
        return np.where(count > 0, 1 - np.clip(start, 0.0, 1.0) ** 2, 1.0)

    def _accept(self, mean: Floats, variance: Floats, n: Floats) -> tuple[Floats, Floats]:
        """Find the ends from â, V̂ and n > 0; ∞ and −∞ where all are rejected."""
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
                    each = np.stack([below, above, roof, n])[:, kept]
                    found = self._in_cell(least, most, each)
                    low[kept] = np.minimum(low[kept], found[0])
                    high[kept] = np.maximum(high[kept], found[1])
        return low, high

    def _in_cell(self, least: float, most: float, each: Floats) -> tuple[Floats, Floats]:
        """Find the ends of V beside means whose size is in [least, most].

        `each` has V̂ + (a − â)² of the nearest and of the farthest of these means, the largest V
        beside one of them, and n.
        """
        below, above, roof, n = each
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
        """The half-width c of these weights of S and n, and ½ of Q."""
        of_count = math.ceil(of_count * _CELLS) / _CELLS  # so that fewer are computed
        found = _half_width(self.certificate, self.places, (of_sum, 0.5, of_count))
        return math.inf if found is None else found


def find_spread_tests(noise: Sequence[NoiseError]) -> SpreadTests | None:
    """Find the tests of variances for the `noise` of S, Q and n.

    None where the law of all three together isn't known.
    """
    of_sum, of_square, of_count = noise
    if of_sum.drawn is None or of_square.drawn is None or of_count.drawn is None:
        return None
    certificate = of_sum.drawn[0]
    if not certificate == of_square.drawn[0] == of_count.drawn[0]:
        return None
    places = of_sum.drawn[1], of_square.drawn[1], of_count.drawn[1]
    if _half_width(certificate, places, (2.0, 0.5, 1.5)) is None:
        return None
    means = find_tests((of_sum, of_count), most=1.0, probability=_OF_MEANS)
    return (
        None if means is None else SpreadTests(certificate=certificate, places=places, means=means)
    )


@lru_cache(maxsize=4096)
def _half_width(
    certificate: Certificate, places: _Places, weights: tuple[float, float, float]
) -> float | None:
    # here a law is known, and all that works on one is imported
    from leastnoise.mechanism.accuracy import half_width_of_three  # noqa: PLC0415

    return half_width_of_three(certificate, _OF_PAIRS, places, weights)
