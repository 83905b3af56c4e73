"""Selected groups are drawn with their exact law, whatever the scores."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp
from random import Random

import pytest

from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy
from leastnoise.mechanism.selection import select_largest
from tests.selection_laws import law_of_rounds

_DRAWS = 6000


class Counting(Entropy):
    """A source of bits that counts the bytes that are read."""

    def __init__(self) -> None:
        self.asked = 0

    def _read(self, size: int) -> bytes:
        self.asked += size
        return Random(self.asked).randbytes(size)


def claim_of(rate: str, rounds: int, candidates: int) -> SelectionCertificate:
    epsilon = Fraction(rate) * rounds
    return SelectionCertificate.best(
        epsilon=epsilon, rounds=rounds, candidates=candidates, neighbours="add-remove"
    )


@pytest.mark.dense
@pytest.mark.parametrize("scores", [[0, 0, 0], [3, 1, 2, 2], [10**9 + 2, 10**9, 10**9 + 1, 0]])
def test_rounds_have_the_law_of_permute_and_flip(scores: list[int]) -> None:
    claim = claim_of("0.5", 2, len(scores))
    entropy = InsecureSeededEntropy(2)
    drawn = Counter(tuple(select_largest(claim, scores, entropy=entropy)) for _ in range(_DRAWS))
    near = [score - max(scores) if score else -100 for score in scores]
    law = law_of_rounds(near if max(scores) > 10**8 else scores, 2, Fraction(exp(-0.5)))
    assert {*drawn} <= {*law}
    for selected, chance in law.items():
        spread = (float(chance * (1 - chance)) / _DRAWS) ** 0.5
        assert abs(drawn[selected] / _DRAWS - chance) <= 4.8 * spread + 1e-9


def test_distinct_candidates_are_selected_and_far_ones_in_order() -> None:
    claim = claim_of("1", 5, 8)
    scores = [100, 700, 300, 0, 500, 0, 900, 1100]
    assert select_largest(claim, scores) == [7, 6, 1, 4, 2]


def test_ties_do_not_follow_the_order_of_candidates() -> None:
    claim = claim_of("1", 1, 4)
    entropy = InsecureSeededEntropy(3)
    first = {select_largest(claim, [5, 5, 5, 5], entropy=entropy)[0] for _ in range(200)}
    assert first == {0, 1, 2, 3}


def test_every_round_draws_a_word_for_each_remaining_candidate() -> None:
    """The number of words doesn't depend on the scores, unless 64 bits don't decide."""
    for scores in ([0] * 40, list(range(40)), [10**6 * (i % 2) for i in range(40)]):
        entropy = Counting()
        select_largest(claim_of("0.1", 3, 40), scores, entropy=entropy)
        assert entropy.asked == 8 * (40 + 39 + 38)


def test_as_many_scores_as_candidates_are_needed() -> None:
    with pytest.raises(ValueError, match="Expected 4 scores"):
        select_largest(claim_of("1", 1, 4), [1, 2, 3])
