"""Confidence sets of quotients S/n: a test of each possible quotient (Fieller).

Notation: S and n are noisy sums, with the noise X and Y; n is a count or a sum that isn't negative
before noise. c(a) is a bound that |X − a·Y| meets with probability 95 %, or with another that the
caller gives.

A true quotient a is rejected if |S − a·n| > c(|a|), which has a probability of at most 5 %. c rises
with |a|, since the law of X given Y is symmetric and falls away from 0 (Anderson's inequality), and
for the same reason c(|a|)/|a| falls. So c(|a|) is at most c of the next larger ratio in `_RATIOS`;
beyond the last ratio r it is at most c(r)·|a|/r.
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

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate

UP_TO_1 = tuple(k / 16 for k in range(17))
_RATIOS = (*UP_TO_1, *(2 ** (k / 8) for k in range(1, 25)))
"""Ratios |S/n| at which c is computed, in units of the bounds."""


@final
@dataclass(frozen=True)
class QuotientTests:
    """The tests of quotients S/n.

    `widths` has c at each of `_RATIOS`, or only at the ratios up to 1, `UP_TO_1`.
    """

    widths: tuple[float, ...]

    def accept(
        self, numerator: Floats, count: Floats, *, between: tuple[float, float]
    ) -> tuple[Floats, Floats]:
        """The least and the largest quotient that isn't rejected, for each cell.

        Only quotients `between` two limits are tested. Counts must be above 0. If all quotients of
        a cell are rejected, the results are ∞ and −∞.
        """
        least, most = between
        low, high = self._accept(numerator, count, most)
        if least < 0:
            last, first = self._accept(-numerator, count, -least)
            low, high = np.minimum(low, -first), np.maximum(high, -last)
        return low, high

    def _accept(self, numerator: Floats, count: Floats, most: float) -> tuple[Floats, Floats]:
        """The result of `accept` for quotients from 0 to `most`."""
        low, high = np.full(numerator.shape, np.inf), np.full(numerator.shape, -np.inf)

        def add(first: Floats, last: Floats) -> None:
            inside = first <= last
            np.minimum(low, first, out=low, where=inside)
            np.maximum(high, last, out=high, where=inside)

        steps = [(0.0, 0.0), *pairwise(_RATIOS[: len(self.widths)])]
        with np.errstate(over="ignore"):
            for (left, right), width in zip(steps, self.widths, strict=True):
                start, end = (numerator - width) / count, (numerator + width) / count
                add(np.maximum(start, left), np.minimum(end, min(right, most)))
            last = steps[-1][1]
            if most > last:
                slope = self.widths[-1] / last
                apart = np.where(count == slope, 1.0, np.abs(count - slope))
                first = np.maximum(numerator / (count + slope), last)
                first = np.where(count < slope, np.maximum(first, -numerator / apart), first)
                end = np.where(count > slope, numerator / apart, np.inf)
                add(first, np.minimum(end, most))
        return low, high


def find_tests(
    noise: Sequence[NoiseError], *, most: float, probability: float = 0.95
) -> QuotientTests | None:
    """Find the tests of quotients from −`most` to `most`, for the `noise` of both numbers.

    Each test accepts the true quotient with at least this `probability`. None if their half-widths
    aren't known: neither from the joint distribution of both noises, nor from `beside_count`.
    """
    above, below = noise
    # the half-widths of these tests are stored
    if above.beside_count and most <= 1 and probability == 0.95:
        return QuotientTests(above.beside_count)
    widths: list[float] = []
    for ratio in UP_TO_1 if most <= 1 else _RATIOS:
        width = half_width_together((above, below), ratio, probability)
        if width is None or not math.isfinite(width):
            return None
        widths.append(width)
    return QuotientTests(tuple(widths))


def half_width_together(
    noise: tuple[NoiseError, NoiseError], ratio: float, probability: float = 0.95
) -> float | None:
    """A bound that |X ± ratio·Y| meets with this `probability`.

    `noise` describes the errors X and Y. None if their joint distribution isn't known.
    """
    above, below = noise
    if above.drawn is None or below.drawn is None or above.drawn[0] != below.drawn[0]:
        return None
    return _half_width(above.drawn[0], (above.drawn[1], below.drawn[1]), ratio, probability)


@lru_cache(maxsize=4096)
def _half_width(
    certificate: Certificate, positions: tuple[int, int], ratio: float, probability: float
) -> float | None:
    # imported here, since only known laws need it
    from leastnoise.mechanism.accuracy import half_width_of_quotient  # noqa: PLC0415

    return half_width_of_quotient(certificate, probability, positions, ratio)
