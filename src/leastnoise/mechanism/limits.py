"""Choose a limit by permute-and-flip; its certificate states the law of the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.entropy.source import Entropy, SystemEntropy
from leastnoise.mechanism.permute_and_flip import index_of_largest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.certificate.limits import LimitCertificate


def choose_limit(
    claim: LimitCertificate, cut_off: Sequence[int], *, entropy: Entropy | None = None
) -> int:
    """Draw a limit by permute-and-flip, and return the index of the drawn candidate.

    `cut_off` has, for each candidate limit, the number of rows or groups that it cuts off, over all
    units. Raises ValueError unless it has one number for each. `entropy` is for tests.
    """
    if len(cut_off) != len(claim.candidates):
        raise ValueError(f"Expected {len(claim.candidates)} numbers, got {len(cut_off)}.")
    penalties = [claim.rate * score for score in claim.scores(cut_off)]
    return index_of_largest(penalties, entropy or SystemEntropy())
