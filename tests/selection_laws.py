"""Exact laws of selected groups, by the definition of permute-and-flip, in fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from math import factorial

Law = dict[tuple[int, ...], Fraction]


def one_round(scores: Mapping[int, int], factor: Fraction) -> dict[int, Fraction]:
    """The probability of each candidate by Algorithm 1 of McKenna & Sheldon (2020).

    Candidates come in a random order. Each is returned with probability `factor`^(best − score), so
    the best candidate is returned if it is reached. `factor` is e^(−λ).
    """
    best = max(scores.values())
    law = dict.fromkeys(scores, Fraction(0))
    for order in permutations(scores):
        left = Fraction(1, factorial(len(scores)))
        for candidate in order:
            chance = factor ** (best - scores[candidate])
            law[candidate] += left * chance
            left *= 1 - chance
    return law


def law_of_rounds(scores: Sequence[int], rounds: int, factor: Fraction) -> Law:
    """The law of the selected candidates, in the order of the rounds."""
    law: Law = {(): Fraction(1)}
    for _ in range(rounds):
        longer: Law = {}
        for selected, chance in law.items():
            remaining = {i: score for i, score in enumerate(scores) if i not in selected}
            for candidate, probability in one_round(remaining, factor).items():
                longer[*selected, candidate] = chance * probability
        law = longer
    return law


def largest_ratio(law: Law, other: Law) -> Fraction:
    """The largest ratio of the probabilities of one outcome, in either direction."""
    ratios = [law[outcome] / other[outcome] for outcome in law]
    return max(*ratios, *(1 / ratio for ratio in ratios))
