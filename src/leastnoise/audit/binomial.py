"""Clopper–Pearson bounds on a probability p, proved in balls.

Notation: n trials have k successes, α is the error level, and I_p(a, b) the regularised incomplete
beta function. The number of successes exceeds k − 1 with probability P(Bin(n, p) >= k) = I_p(k, n −
k + 1).

The lower bound is a p with I_p(k, n − k + 1) <= α (Clopper & Pearson 1934). If the true probability
were below it, k or more successes would have a probability of at most α. scipy proposes p, and
balls decide: a proposal that can't be proved is moved outward.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from leastnoise.balls.core import PLAIN_BITS, ball, precision


def lower(successes: int, trials: int, error: Fraction) -> float:
    """A lower bound on the probability of success; it is wrong with probability at most `error`.

    >>> round(lower(50, 100, Fraction(1, 1000)), 4)
    0.3448
    """
    return _lower(successes, trials, error) if successes else 0.0


def upper(successes: int, trials: int, error: Fraction) -> float:
    """An upper bound on the probability of success; it is wrong with probability at most `error`.

    >>> round(upper(0, 100, Fraction(1, 1000)), 4)
    0.0667
    """
    if successes == trials:
        return 1.0
    # 1 - x rounds to nearest; adding 2^-52 covers that
    return min(1.0, 1.0 - _lower(trials - successes, trials, error) + 2.0**-52)


@lru_cache(maxsize=4096)
def _lower(successes: int, trials: int, error: Fraction) -> float:
    from scipy.special import betaincinv  # noqa: PLC0415 (so that `leastnoise --help` stays fast)

    a, b = successes, trials - successes + 1
    first_step = 2.0**-40  # relative; scipy's inverse is accurate to about 1e-14
    proposed, step = float(betaincinv(a, b, float(error))), first_step
    while proposed > 0:
        proposed *= 1 - step
        if _is_below(proposed, a, b, error):
            return proposed
        step = min(2 * step, 0.5)
    return 0.0


def _is_below(p: float, a: int, b: int, error: Fraction) -> bool:
    """True only if I_p(a, b) <= error is proved."""
    with precision(PLAIN_BITS):
        return bool(arb(p).beta_lower(arb(a), arb(b), regularized=True) <= ball(error))
