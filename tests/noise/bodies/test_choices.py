"""Discrete choices: their laws by counting, and what is never left to floats."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from flint import arb
from scipy import stats

from leastnoise.balls.core import ball, precision
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy
from leastnoise.noise.bodies.sampler.scalars import (
    choose_below,
    choose_log_concave,
    choose_many_below,
    choose_weighted,
    permutation,
)


class _Scripted(Entropy):
    """A source of given 64-bit words, then of seeded bits."""

    def __init__(self, words: list[int]) -> None:
        self._words = words
        self._rest = InsecureSeededEntropy(1)

    def _read(self, size: int) -> bytes:
        count = min(size // 8, len(self._words))
        now, self._words = self._words[:count], self._words[count:]
        return np.array(now, dtype="<u8").tobytes() + self._rest._read(size - 8 * count)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_whole_numbers_below_a_limit_are_uniform(limit: int) -> None:
    entropy = InsecureSeededEntropy(4)
    counts = np.bincount([choose_below(entropy, limit) for _ in range(3000)], minlength=limit)
    many = np.bincount(choose_many_below(entropy, limit, size=3000), minlength=limit)
    assert counts.size == many.size == limit
    if limit > 1:
        assert min(stats.chisquare(counts).pvalue, stats.chisquare(many).pvalue) > 1e-3


def test_words_beyond_the_last_multiple_are_drawn_anew() -> None:
    """2^64 = 1 mod 3: of the last word alone there is one too many."""
    chosen = choose_many_below(_Scripted([(1 << 64) - 1, 4, 5]), 3, size=2)
    assert chosen.tolist() == [2, 1]


def test_permutations_are_uniform() -> None:
    entropy = InsecureSeededEntropy(5)
    seen = dict.fromkeys(permutations(range(3)), 0)
    for _ in range(3000):
        seen[tuple(permutation(entropy, 3).tolist())] += 1
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_equal_words_are_no_order() -> None:
    assert permutation(_Scripted([7, 7, 9, 3, 2, 1]), 3).tolist() == [2, 1, 0]


def test_weighted_choices() -> None:
    entropy = InsecureSeededEntropy(6)
    choices = [
        choose_weighted(entropy, lambda: [arb(0), arb(1), arb(2).sqrt()]) for _ in range(2000)
    ]
    counts = np.bincount(choices, minlength=3)
    expected = 2000 * np.array([1, math.sqrt(2)]) / (1 + math.sqrt(2))
    assert counts[0] == 0
    assert stats.chisquare(counts[1:], expected).pvalue > 1e-3
    assert stats.chisquare(counts[:0:-1], expected).pvalue < 1e-3


@pytest.mark.parametrize("start", [0, 3, 40])
def test_log_concave_choices_wherever_the_search_starts(start: int) -> None:
    """Weights (k + 1)³e^(−k/2)."""

    def weights():
        half = ball(1) / 2
        return lambda k: arb(k + 1) ** 3 * (-half * k).exp()

    entropy = InsecureSeededEntropy(7)
    counts = np.bincount([choose_log_concave(entropy, weights, start=start) for _ in range(250)])[
        :16
    ]
    expected = np.array([(k + 1) ** 3 * math.exp(-k / 2) for k in range(counts.size)])
    expected *= counts.sum() / expected.sum()
    enough = expected > 3
    rest = counts[enough] * expected[enough].sum() / counts[enough].sum()
    assert stats.chisquare(rest, expected[enough]).pvalue > 1e-3


def test_a_tail_is_looked_into_when_the_uniform_falls_there() -> None:
    """U = 1 − 2^-128 of geometric weights 2^-k: k = 127 or so, far beyond what 60 bits sum."""
    ones = [(1 << 64) - 1] * 2
    choice = choose_log_concave(_Scripted(ones), lambda: lambda k: arb(2) ** -k, start=0)
    with precision(200):
        assert choice >= 100
