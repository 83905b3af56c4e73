"""Select the largest candidates by repeated permute-and-flip, as their certificate states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leastnoise.entropy.source import Entropy, SystemEntropy
from leastnoise.mechanism.permute_and_flip import index_of_largest

if TYPE_CHECKING:
    from leastnoise.certificate.selection import SelectionCertificate


def select_largest(
    claim: SelectionCertificate, scores: Sequence[int], *, entropy: Entropy | None = None
) -> list[int]:
    """Draw the selected candidates, one in each round, and return their indices in this order.

    `scores` has the exact number of units in each candidate. Every round draws a fresh exponential
    for each remaining candidate, which also breaks ties. Raises ValueError for another number of
    scores. `entropy` is for tests.
    """
    if len(scores) != claim.candidates:
        raise ValueError(f"Expected {claim.candidates} scores, got {len(scores)}.")
    source = entropy or SystemEntropy()
    remaining = list(range(claim.candidates))
    largest = max(scores)
    penalties = [claim.rate * (largest - score) for score in scores]
    selected: list[int] = []
    for _ in range(claim.rounds):
        index = index_of_largest(penalties, source)
        selected.append(remaining.pop(index))
        del penalties[index]
    return selected
