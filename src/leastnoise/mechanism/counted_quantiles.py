"""Quantiles read off noisy counts of public candidates: post-processing, and the same anywhere.

notation: F̂_g the noisy number of rows at the first g candidates, n̂ that of all; D_g = F̂_g − a·n̂
for a level a. Without noise a quantile is a candidate g with D_{g−1} <= 0 <= D_g.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray


def read_quantiles(counts: Sequence[int], levels: Sequence[Fraction], *, total: int) -> list[int]:
    """Return the place of each level's candidate: the first where isotonic regression has D >= 0.

    That is where the sum of all D before it is least, first of all: no pool of candidates on either
    side has a mean on the wrong one. `counts` are noisy, one a candidate. The last candidate stands
    for no such place, and a `total` below 0 counts as 0, so that places don't fall as levels rise.
    """
    before = [0, *accumulate(accumulate(counts))]  # before[g] = F̂_1 + … + F̂_g
    wanted = max(total, 0)
    found: list[int] = []
    for level in levels:
        p, q = level.numerator * wanted, level.denominator
        least = min(range(len(before)), key=lambda g, p=p, q=q: q * before[g] - p * g)
        found.append(min(least, len(counts) - 1))
    return found


def read_interval(
    counts: Sequence[int],
    level: Fraction,
    half_widths: NDArray[np.float64],
    *,
    total: int,
    place: int,
) -> tuple[int, int]:
    """Return the places of the first and the last candidate that noise doesn't rule out.

    `half_widths` are h_g, g = 0, …, B: by symmetry D_g is off by more than h_g to one side with 2.5
    % at most. Candidate g stays where D_g >= −h_g and D_{g−1} <= h_{g−1}: of a true quantile both
    hold with 95 %, whatever the rows. `place`, that of the quantile, stays as well.
    """
    sums = np.array([0, *accumulate(counts)], dtype=np.float64) - float(level) * total
    kept = np.flatnonzero((sums[1:] >= -half_widths[1:]) & (sums[:-1] <= half_widths[:-1]))
    every = [place, *kept.tolist()]
    return min(every), max(every)
