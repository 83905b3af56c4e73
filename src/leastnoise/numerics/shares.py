"""Shares of a whole in given proportions, none below a least one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROOM = 1e-9  # left of the whole, for roundings


def raised_shares(
    proportions: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return u_i = max(λ·proportions_i, least_i) with Σ u_i = 1 (less 1e-9); shapes (n,).

    They have the largest Σ proportions_i·ln u_i of all with u_i >= least_i. None where the least
    shares add up to more than 1.

    >>> raised_shares(np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.0])).round(3).tolist()
    [0.5, 0.167, 0.333]
    """
    whole = 1 - _ROOM
    if least.sum() > whole:
        return None
    rate, free = 0.0, np.ones(len(least), dtype=bool)  # the others are held at their least
    while True:
        rate = (whole - least[~free].sum()) / proportions[free].sum()
        raised = rate * proportions >= least
        if raised[free].all():
            return np.maximum(rate * proportions, least)
        free &= raised
