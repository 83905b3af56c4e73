"""Quantiles read off noisy counts, against isotonic regression and tests from definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from leastnoise.mechanism.permute_and_flip import read_interval, read_quantiles

LEVELS = tuple(Fraction(k, 20) for k in range(1, 20))


def isotonic(values: list[int]) -> list[Fraction]:
    """Isotonic regression by its formula: min over j of max over i of the mean of values i … j."""
    count = len(values)
    return [
        min(
            max(Fraction(sum(values[i : j + 1]), j + 1 - i) for i in range(index + 1))
            for j in range(index, count)
        )
        for index in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_a_quantile_is_the_first_candidate_whose_regression_reaches_it(seed: int) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(-6, 9, 12).tolist()
    total = sum(counts) + int(generator.integers(-9, 9))
    fitted = isotonic(list(accumulate(counts)))
    chosen = read_quantiles(counts, LEVELS, total=total)
    for level, position in zip(LEVELS, chosen, strict=True):
        reached = [at for at, item in enumerate(fitted) if item >= level * max(total, 0)]
        assert position == (reached[0] if reached else 11)
    assert chosen == sorted(chosen)


def test_without_noise_it_is_the_quantile_and_the_interval_holds_all_that_are() -> None:
    counts = [0, 3, 0, 0, 5, 2, 0]
    widths = np.zeros(8)
    (position,) = read_quantiles(counts, [Fraction(3, 10)], total=10)
    assert position == 1
    ends = read_interval(counts, Fraction(3, 10), widths, total=10, index=position)
    assert ends == (1, 4)  # any of these has 3 rows below it and 3 up to it
    assert read_interval(counts, Fraction(1, 2), widths, total=10, index=4) == (4, 4)


def test_no_candidate_is_left_out_that_noise_may_have_moved() -> None:
    counts, level = [2, 2, 2, 2, 2], Fraction(1, 2)  # D = -5, -3, -1, 1, 3, 5
    ends = [
        read_interval(counts, level, np.full(6, half), total=10, index=2) for half in (0, 1, 2.9, 3)
    ]
    assert ends == [(2, 2), (1, 3), (1, 3), (0, 4)]
    one_side = np.array([0.0, 3, 0, 0, 0, 0])
    assert read_interval(counts, level, one_side, total=10, index=2) == (0, 2)


def test_a_quantile_is_in_its_interval_whatever_noise_does() -> None:
    counts = [5, -9, 9, -5]
    ends = read_interval(counts, Fraction(1, 2), np.zeros(5), total=-100, index=3)
    assert ends[0] <= 3 <= ends[1]


def test_a_total_below_none_is_none() -> None:
    assert read_quantiles([-4, 1, 1], LEVELS, total=-9) == [2] * len(LEVELS)
    assert read_quantiles([1, 1, 1], LEVELS, total=-9) == [0] * len(LEVELS)
