"""Guess in SQL the position of a value among increasing edges that are nearly equidistant.

For the hundreds of candidates of a quantile, this saves most steps of a binary search.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

_COST = 3  # the steps of a search that take as long as the guess
_BELOW = 2.0**-10  # part of an edge by which the guess is lowered, so that it is never too large


def guess_of(edges: Sequence[float], value: str) -> tuple[str, int] | None:
    """SQL that guesses the number of `edges` <= `value`, and the most by which it may be too low.

    None if the guess could be too large, or saves no time. The guess is 0 if the value is NULL.
    Every operation is monotone in the value, even with rounding. So the largest error of the guess
    occurs at an edge, or at the last float before an edge, and is computed here.
    """
    points, steps = np.array(edges), len(edges).bit_length()
    if steps <= _COST:
        return None
    first, last = float(edges[0]), float(edges[-1])
    factor = (len(edges) - 1) / (last - first)
    if not 0 < factor < math.inf:  # an end is infinite, or the difference is too large or small
        return None
    turns = np.concatenate([points, np.nextafter(points, -np.inf)])
    guessed = np.floor((np.clip(turns, first, last) - first) * factor + (1 - _BELOW))
    short = np.searchsorted(points, turns, side="right") - guessed
    most = int(short.max())
    if short.min() < 0 or steps - most.bit_length() < _COST:
        return None
    low, high, scale, shift = (
        f"'{number!r}'::DOUBLE" for number in (first, last, factor, 1 - _BELOW)
    )
    # least and greatest ignore NULL, so that NULL counts as the first edge
    within = f"least(greatest({value}, {low}), {high})"
    return f"floor(({within} - {low}) * {scale} + {shift})::BIGINT", most
