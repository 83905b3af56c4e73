"""Where a value is among increasing edges that are about as far from each other: a guess in SQL.

It saves most steps of a binary search among the candidates of a quantile, which are hundreds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

_COST = 3  # steps of a search that take as long as the guess
_BELOW = 2.0**-10  # by how many edges the guess is moved down, so that it is never too large


def guess_of(edges: Sequence[float], value: str) -> tuple[str, int] | None:
    """Return SQL of a guess how many `edges` are <= `value`, and by how many it may be too small.

    None where the guess may be too large, or saves no time. It is 0 where the value is NULL.

    No step of it decreases while the value increases, rounded or not. So what it may be off by
    shows at the edges and at the last float before each of them, where it is computed here.
    """
    found, steps = np.array(edges), len(edges).bit_length()
    if steps <= _COST:
        return None
    first, last = float(edges[0]), float(edges[-1])
    factor = (len(edges) - 1) / (last - first)
    if not 0 < factor < math.inf:  # an end is infinite, or the difference is too large or small
        return None
    turns = np.concatenate([found, np.nextafter(found, -np.inf)])
    guessed = np.floor((np.clip(turns, first, last) - first) * factor + (1 - _BELOW))
    short = np.searchsorted(found, turns, side="right") - guessed
    most = int(short.max())
    if short.min() < 0 or steps - most.bit_length() < _COST:
        return None
    low, high, scale, shift = (f"'{one!r}'::DOUBLE" for one in (first, last, factor, 1 - _BELOW))
    # least and greatest leave NULL out: it is taken for the first edge
    within = f"least(greatest({value}, {low}), {high})"
    return f"floor(({within} - {low}) * {scale} + {shift})::BIGINT", most
