"""How large a violation would have been found: the power of tests by Clopper–Pearson bounds.

These are computed in floats, from the laws of the counts, for the report alone: no verdict rests on
them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leastnoise.audit import binomial

_MISS = 0.01  # what is said to be found is found with probability 1 - _MISS at least


def detectable_rate(
    other: float, trials: int, *, epsilon: float, delta: float, level: float
) -> float | None:
    """Return the least p for which p₋ > e^ε q₊ + δ has a probability of 99 %, if q = `other`.

    None if there is none below 1.
    """
    from scipy.stats import binom  # noqa: PLC0415 (half a second, where it is needed)

    most = int(binom.isf(_MISS / 2, trials, other))
    bound = binomial.upper(min(most, trials), trials, Fraction(level))
    return detectable_above(float(np.exp(min(epsilon, 700.0))) * bound + delta, trials, level=level)


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
    found = float(beta.ppf(1 - _MISS / 2, successes, trials - successes + 1))
    return found if found < 1 else None


def detectable_below(claimed: float, trials: int, *, level: float) -> float | None:
    """Return the largest p < `claimed` whose upper bound is below `claimed` with probability 99 %.

    None if there is none.
    """
    from scipy.stats import beta, binom  # noqa: PLC0415 (half a second, where it is needed)

    most = int(binom.ppf(level, trials, claimed)) - 1
    if most < 0:
        return None
    return float(beta.ppf(_MISS, most + 1, trials - most))
