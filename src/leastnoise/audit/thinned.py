"""Which thinner tail of noise on whole numbers the test of goodness of fit would have found.

notation: F the claimed P(X <= t), about the centre of the noise; u a point above the centre, s =
1 − F(u), r the share of the outputs above u that are drawn again from those below it, m = r·s, G
the P(Y <= t) of what comes of that: F·(1 + m/F(u)) up to u, and 1 − (1 − r)(1 − F) above.

A scale can't be taken a little smaller there, as the noise is no longer on whole numbers then. What
is missing above u lies below it, and moves the median, by which the centre is enclosed: everything
is computed of G, the enclosure and the thresholds, each at its worst but for a share of the 1 %.
In floats, for the report alone: no verdict rests on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.audit import binomial
from leastnoise.audit.power import MISS, detectable_below, order_statistic
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from leastnoise.audit.law import ClaimedLaw

_EVENTS = 4  # that share the 1 %: the middle, what is counted below it, a threshold, and its count
_FINER = 0.9  # one share after another that is tried, from 1 on
_LEAST = 1e-4
_FARTHEST = 1 << 40
_MIDDLES = 9


@final
@dataclass(frozen=True, kw_only=True)
class TailTest:
    """The claimed noise, the upper tails of its thresholds, and the test's sizes and level.

    `sizes` are how many outputs thresholds are chosen on, and how many are counted.
    """

    law: ClaimedLaw
    tails: Sequence[float]
    sizes: tuple[int, int]
    level: Fraction


@final
@dataclass(frozen=True, kw_only=True)
class Thinned:
    """What would be found: `share` of the outputs that are more than `above` over the centre."""

    share: float
    above: float


def least_thinning(test: TailTest) -> Thinned | None:
    """Return the least share that is found with a probability of 99 %; None if there is none.

    Larger shares of the same outputs are found as well, as far as those that are tried show.
    """
    best: Thinned | None = None
    law = test.law
    for above in sorted({law.quantile(1 - tail) + law.beside for tail in test.tails}):
        share = 1.0 if best is None else best.share * _FINER
        if not _found(test, Thinned(share=share, above=above)):
            continue
        while share > _LEAST and _found(test, Thinned(share=share * _FINER, above=above)):
            share *= _FINER
        best = Thinned(share=share, above=above)
    return best


def _found(test: TailTest, thinned: Thinned) -> bool:
    """Return whether some threshold shows it, wherever it lies but for a share of the 1 %."""
    law, outputs = test.law, _Outputs(law=test.law, thinned=thinned)
    if not outputs.moved:
        return False
    miss = MISS / _EVENTS
    reach = _reach(test, outputs, miss)
    for tail in test.tails:
        points = [
            outputs.quantile(p) + law.beside for p in order_statistic(1 - tail, test.sizes[0], miss)
        ]
        if all(_shows(test, outputs, point, reach=reach, miss=miss) for point in points):
            return True
    return False


def _shows(test: TailTest, outputs: _Outputs, point: float, *, reach: float, miss: float) -> bool:
    claimed = 1 - test.law.distribution(point + reach)[1]
    if not 0 < claimed < 1:
        return False
    rate = detectable_below(claimed, test.sizes[1], level=float(test.level), miss=miss)
    return rate is not None and 1 - outputs.distribution(point)[0] <= rate


def _reach(test: TailTest, outputs: _Outputs, miss: float) -> float:
    """Return how far below the centre its enclosure reaches, a whole number, or inf."""
    from scipy.stats import binom  # noqa: PLC0415 (half a second, where it is needed)

    law, counted = test.law, test.sizes[1]
    least, _, most = order_statistic(0.5, test.sizes[0], miss)
    middles = {outputs.quantile(p) for p in np.linspace(least, most, _MIDDLES).tolist()}
    found = 0.0
    for first in (middle + side * law.beside for middle in middles for side in (-1, 1)):
        below = int(binom.isf(miss, counted, outputs.distribution(first)[1]))
        found = max(found, _above(law, first, binomial.upper(below, counted, test.level)))
    return found


def _above(law: ClaimedLaw, first: float, probability: float) -> float:
    """Return the least whole k with F(first + k + 1) > `probability`; inf if there is none."""

    def holds(k: int) -> bool:
        return law.distribution(first + k)[0] > probability

    found = Bisection().beyond(holds, 0, 1, most=_FARTHEST)
    return float(found[1] - 1) if found else math.inf


@final
@dataclass(frozen=True, kw_only=True)
class _Outputs:
    """G."""

    law: ClaimedLaw
    thinned: Thinned

    @property
    def kept(self) -> float:
        """F(u)."""
        return self.law.distribution(self.thinned.above)[0]

    @property
    def moved(self) -> float:
        """What lies below u, where it would lie above; m."""
        return self.thinned.share * (1 - self.law.distribution(self.thinned.above)[1])

    def distribution(self, t: float) -> tuple[float, float]:
        """Return bounds of G(t)."""
        low, high = self.law.distribution(t)
        if t <= self.thinned.above:
            more = 1 + self.moved / self.kept
            return min(1.0, low * more), min(1.0, high * more)
        left = 1 - self.thinned.share
        return 1 - left * (1 - low), 1 - left * (1 - high)

    def quantile(self, probability: float) -> float:
        """Return about the t with G(t) = `probability`."""
        if probability <= self.kept + self.moved:
            return self.law.quantile(probability / (1 + self.moved / self.kept))
        return self.law.quantile(1 - (1 - probability) / (1 - self.thinned.share))
