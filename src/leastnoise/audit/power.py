"""How large a violation would have been found: the power of tests by Clopper–Pearson bounds.

These are computed in floats, from the laws of the counts, for the report alone: no verdict rests on
them. What varies from one audit to the next is taken at its worst but for a share of the 1 %: the
thresholds, which are quantiles of outputs, and the counts at them.

Of noise on whole numbers a scale can't be taken a little smaller, as it is no longer on whole
numbers then: what is said there is which thinner tail would have been found. notation: F the
claimed P(X <= t), about the centre of the noise; u a point above the centre, s = 1 − F(u), r the
share of the outputs above u that are drawn again from those below it, m = r·s, G the P(Y <= t) of
what comes of that: F·(1 + m/F(u)) up to u, and 1 − (1 − r)(1 − F) above. What is missing above u
lies below it, and moves the median, by which the centre is enclosed: everything is computed of G,
the enclosure and the thresholds, each at its worst but for a share of the 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.audit import binomial
from leastnoise.audit.law import MANY
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from leastnoise.audit.law import ClaimedLaw

MISS = 0.01  # what is said to be found is found with probability 1 - MISS at least
_FINER = 0.9  # one share of thinned outputs after another that is tried, from 1 on


def detectable_rate(
    other: float, trials: tuple[int, int], *, epsilon: float, delta: float, level: float
) -> float | None:
    """Return the least p for which p₋ > e^ε q₊ + δ has a probability of 99 %, if q <= `other`.

    `trials` are those of p and of q. None if there is none below 1.
    """
    from scipy.stats import binom  # noqa: PLC0415 (half a second, where it is needed)

    most = int(binom.isf(MISS / 2, trials[1], other))
    bound = binomial.upper(min(most, trials[1]), trials[1], Fraction(level))
    claimed = float(np.exp(min(epsilon, 700.0))) * bound + delta
    return detectable_above(claimed, trials[0], level=level)


def detectable_above(claimed: float, trials: int, *, level: float) -> float | None:
    """Return the least p > `claimed` whose lower bound is above `claimed` with probability 99.5 %.

    None if there is none below 1.
    """
    from scipy.stats import beta, binom  # noqa: PLC0415 (half a second, where it is needed)

    if claimed >= 1:
        return None
    successes = int(binom.isf(level, trials, claimed)) + 1
    if successes >= trials:
        return None
    found = float(beta.ppf(1 - MISS / 2, successes, trials - successes + 1))
    return found if found < 1 else None


def detectable_below(claimed: float, trials: int, *, level: float, miss: float) -> float | None:
    """Return the largest p < `claimed` whose upper bound is below `claimed`, but for `miss`.

    None if there is none.
    """
    from scipy.stats import beta, binom  # noqa: PLC0415 (half a second, where it is needed)

    most = int(binom.ppf(level, trials, claimed)) - 1
    if most < 0:
        return None
    return float(beta.ppf(miss, most + 1, trials - most))


def centre_reach(
    law: ClaimedLaw, *, sizes: tuple[int, int], error: Fraction, miss: float
) -> tuple[float, float]:
    """Return how far `law.centre_of` reaches below and above c, each but for `miss`; or inf.

    `sizes` are how many outputs the point is chosen on, and how many are counted.
    """
    from scipy.stats import binom  # noqa: PLC0415 (half a second, where it is needed)

    counted, share = sizes[1], miss / 2
    down = up = 0.0
    for middle in (law.quantile(p) for p in order_statistic(0.5, sizes[0], share)):
        first = last = middle + law.beside if law.whole else middle
        below, above = (law.distribution(middle + sign * law.beside) for sign in (-1, 1))
        if above[1] - below[0] > MANY:  # then a threshold is on either side
            first, last = middle - law.beside, middle + law.beside
        most = int(binom.isf(share, counted, law.distribution(first)[1]))
        least = int(binom.ppf(share, counted, law.distribution(last)[0]))
        found = law.inverse_above(binomial.upper(most, counted, error / 2)) - first
        down = max(down, found)
        found = last - law.inverse_below(binomial.lower(least, counted, error / 2))
        up = max(up, found)
    return (float(np.floor(down)), float(np.floor(up))) if law.whole else (down, up)


def least_scale(
    law: ClaimedLaw, probabilities: list[float], *, sizes: tuple[int, int], level: Fraction
) -> float | None:
    """Return the largest s < 1 for which noise sX would be found at the best threshold.

    A threshold is above the outputs' quantile of one of the `probabilities`. With π its P(Y > u),
    p that at most c's own, U their upper bounds and Q the quantiles of X, it is found if
    s·(Q(1 − π) − Q(p)) < Q(1 − U(π)) − Q(U(p)).
    """
    from scipy.stats import binom  # noqa: PLC0415 (half a second, where it is needed)

    def upper(probability: float) -> float:
        most = int(binom.isf(share, sizes[1], probability))
        return binomial.upper(most, sizes[1], level)

    share = MISS / 4
    best = 0.0
    middles = order_statistic(0.5, sizes[0], share)
    for probability in probabilities:
        if probability <= 0.5:
            continue
        ends: list[float] = []
        for high in order_statistic(probability, sizes[0], share):
            for middle in middles:
                whole = law.quantile(high) - law.quantile(middle)
                left = law.inverse_below(1 - upper(1 - high)) - law.inverse_above(upper(middle))
                ends.append(left / whole if whole > 0 and math.isfinite(left) else 0.0)
        best = max(best, min(ends))
    return best if 0 < best < 1 else None


def order_statistic(probability: float, size: int, share: float) -> tuple[float, ...]:
    """Return where the quantile of `size` outputs lies, as probabilities, but for `share`."""
    from scipy.stats import beta  # noqa: PLC0415 (half a second, where it is needed)

    place = min(int(probability * size), size - 1) + 1
    least = float(beta.ppf(share / 2, place, size - place + 1))
    most = float(beta.ppf(1 - share / 2, min(place + 1, size), max(1, size - place)))
    return least, probability, most


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
        while share > 1e-4 and _found(test, Thinned(share=share * _FINER, above=above)):
            share *= _FINER
        best = Thinned(share=share, above=above)
    return best


def _found(test: TailTest, thinned: Thinned) -> bool:
    """Return whether some threshold shows it, wherever it lies but for a share of the 1 %."""
    law, outputs = test.law, _Outputs(law=test.law, thinned=thinned)
    if not outputs.moved:
        return False
    miss = MISS / 4  # shared by the middle, what is counted below it, a threshold, and its count
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
    middles = {outputs.quantile(p) for p in np.linspace(least, most, 9).tolist()}
    found = 0.0
    for first in (middle + side * law.beside for middle in middles for side in (-1, 1)):
        below = int(binom.isf(miss, counted, outputs.distribution(first)[1]))
        found = max(found, _above(law, first, binomial.upper(below, counted, test.level)))
    return found


def _above(law: ClaimedLaw, first: float, probability: float) -> float:
    """Return the least whole k with F(first + k + 1) > `probability`; inf if there is none."""

    def holds(k: int) -> bool:
        return law.distribution(first + k)[0] > probability

    found = Bisection().beyond(holds, 0, 1, most=1 << 40)
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
