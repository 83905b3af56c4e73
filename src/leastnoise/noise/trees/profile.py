"""Quantiles of a cell's noise on a tree, and the cells that have the same law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import cell_laws

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UP = 1 + 1e-14  # so that scale · (h/scale) isn't rounded below h


def quantile(noise: Agreeing, outside: float, coordinate: int = 0) -> float:
    """The half-width h of the noise of one cell, divided by the scale.

    h is the smallest integer for which this is proved: the noise of cell `coordinate` exceeds h in
    size with probability at most `outside`.
    """
    law = cell_laws(noise)[noise.shape.positions_of[-1][coordinate]]
    return law.half_width(1 - outside) / float(noise.scale) * _UP


def list_alike(noise: Agreeing) -> NDArray[np.int64]:
    """For each cell, the first cell of the same position in the tree, and so of the same law."""
    _, first, which = np.unique(
        noise.shape.positions_of[-1], return_index=True, return_inverse=True
    )
    return np.asarray(first[which], dtype=np.int64)
