"""How large a violation would have been found: the power of tests by Clopper–Pearson bounds.

These are computed in floats, from the laws of the counts, for the report alone: no verdict rests on
them. What varies from one audit to the next is taken at its worst but for a share of the 1 %: the
thresholds, which are quantiles of outputs, and the counts at them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.audit import binomial
from leastnoise.audit.law import MANY

if TYPE_CHECKING:
    from leastnoise.audit.law import ClaimedLaw

MISS = 0.01  # what is said to be found is found with probability 1 - MISS at least


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
