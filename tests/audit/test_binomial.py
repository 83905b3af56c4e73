"""Clopper–Pearson bounds err with at most the stated probability, and are no wider than needed."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import binom

from leastnoise.audit.binomial import lower, upper
from leastnoise.audit.power import detectable_above, detectable_below, detectable_rate


def at_least(k: int, n: int, p: Fraction) -> Fraction:
    """P(Bin(n, p) >= k), exactly."""
    return sum((math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), Fraction(0))


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**9), Fraction(1, 10**40)]),
)
def test_the_bounds_are_exact(counted: tuple[int, int], error: Fraction) -> None:
    k, n = counted
    low, high = Fraction(lower(k, n, error)), Fraction(upper(k, n, error))
    assert 0 <= low <= high <= 1 or error > Fraction(1, 3)
    if k:
        assert at_least(k, n, low) <= error
        assert at_least(k, n, low * (1 + Fraction(1, 10**9))) > error  # no wider than needed
    if k < n:
        assert 1 - at_least(k + 1, n, high) <= error
        assert 1 - at_least(k + 1, n, high - (1 - high) / 10**9 - Fraction(1, 2**50)) > error
    assert (low == 0) == (k == 0)
    assert high == 1 if k == n else high < 1 or error < Fraction(1, 10**15)  # the next double is 1


@pytest.mark.parametrize("trials", [10**6, 10**9])
@pytest.mark.parametrize("share", [1e-5, 0.3, 0.999])
def test_many_trials(trials: int, share: float) -> None:
    successes = int(trials * share)
    error = Fraction(1, 10**12)
    low, high = lower(successes, trials, error), upper(successes, trials, error)
    failures = trials - successes
    assert low == pytest.approx(betaincinv(successes, failures + 1, 1e-12), rel=1e-9)
    assert 1 - high == pytest.approx(betaincinv(failures, successes + 1, 1e-12), rel=1e-9)
    assert low < successes / trials < high


@pytest.mark.parametrize("other", [1e-4, 0.01, 0.3])
def test_what_is_said_to_be_found_is_found(other: float) -> None:
    """Exactly: the events of the power statement have a probability of 99 % together."""
    trials, level, epsilon = 20_000, 1e-8, 0.5
    rate = detectable_rate(other, (trials, trials), epsilon=epsilon, delta=1e-3, level=level)
    assert rate is not None
    assert rate > math.exp(epsilon) * other + 1e-3
    most = int(binom.isf(0.005, trials, other))
    assert binom.sf(most, trials, other) <= 0.005
    needed = math.exp(epsilon) * upper(most, trials, Fraction(level)) + 1e-3
    least = bisect_left(
        range(trials), 1, key=lambda k: int(lower(k, trials, Fraction(level)) > needed)
    )
    result = binom.sf(least - 1, trials, rate)
    assert 0.995 - 1e-6 <= result < 0.9965


@pytest.mark.parametrize("claimed", [1e-3, 0.1, 0.6])
def test_rates_that_are_told_from_a_claimed_one(claimed: float) -> None:
    trials, level = 20_000, 1e-8
    below = detectable_below(claimed, trials, level=level, miss=0.01)
    assert below is None or below < claimed
    if below is not None:
        most = -1 + bisect_left(
            range(trials), 1, key=lambda k: int(upper(k, trials, Fraction(level)) >= claimed)
        )
        assert 0.99 - 1e-3 <= binom.cdf(most, trials, below) < 0.9999
    above = detectable_above(claimed, trials, level=level)
    assert above is not None
    assert above > claimed
    assert detectable_above(1.0, trials, level=level) is None
    assert detectable_below(1e-9, trials, level=level, miss=0.01) is None


def test_a_rate_is_detected_that_only_successes_in_all_trials_prove() -> None:
    above = detectable_above(0.86, 20, level=0.05)
    assert above is not None
    assert above**20 == pytest.approx(0.995)
    assert lower(19, 20, Fraction(5, 100)) < Fraction(86, 100) < lower(20, 20, Fraction(5, 100))
