"""Permute-and-flip by exponentials against its own definition."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import exp

import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.mechanism.permute_and_flip import index_of_largest

_DRAWS = 20_000


def permute_and_flip(penalties: list[float]) -> list[float]:
    """Return the chance of each candidate by Algorithm 1 of McKenna & Sheldon (2020).

    The candidates are taken in a random order, and each is returned with probability e^(−penalty),
    penalties being counted from the best: the best one is returned when it is reached.
    """
    best = min(penalties)
    chances = [0.0] * len(penalties)
    orders = list(itertools.permutations(range(len(penalties))))
    for order in orders:
        still = 1.0
        for index in order:
            taken = exp(best - penalties[index])
            chances[index] += still * taken / len(orders)
            still *= 1 - taken
    return chances


@pytest.mark.dense
@pytest.mark.parametrize(
    "penalties",
    [["0", "0"], ["0", "1/2", "3"], ["7", "6.5", "6", "9"], ["1e9", "1e9", "1000000001"]],
)
def test_the_largest_is_drawn_with_the_chances_of_permute_and_flip(penalties: list[str]) -> None:
    given = [Fraction(penalty) for penalty in penalties]
    entropy = InsecureSeededEntropy(1)
    counts = [0] * len(given)
    for _ in range(_DRAWS):
        counts[index_of_largest(given, entropy)] += 1
    for count, chance in zip(
        counts, permute_and_flip([float(item) for item in given]), strict=True
    ):
        spread = (chance * (1 - chance) / _DRAWS) ** 0.5
        assert abs(count / _DRAWS - chance) <= 4.5 * spread + 1e-12


def test_one_candidate_is_returned_whatever_its_penalty() -> None:
    assert index_of_largest([Fraction(10**30)], InsecureSeededEntropy(1)) == 0
