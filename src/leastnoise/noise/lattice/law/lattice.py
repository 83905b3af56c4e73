"""Symmetric laws on an evenly spaced lattice, with whole-number weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise import _validate
from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MAX_POINTS = 50_000
_MAX_BITS = 20_000


@final
@dataclass(frozen=True, kw_only=True)
class Lattice:
    """P(K = k) = masses[|k|]/total for whole |k| < len(masses); lengths are K/cells.

    Raises InvalidArgument unless cells is a whole number >= 1 and masses are whole, non-negative,
    and positive at 0.

    >>> Lattice(cells=2, masses=(2, 1)).total
    4
    """

    cells: int
    masses: tuple[int, ...]

    def __init__(self, *, cells: int, masses: Iterable[int]) -> None:
        weights = _validate.wholes(masses, name="masses", least=0, most=(1 << _MAX_BITS) - 1)
        object.__setattr__(self, "cells", _validate.whole(cells, name="cells", most=MAX_POINTS))
        object.__setattr__(self, "masses", weights)
        if not 1 <= len(weights) <= MAX_POINTS or weights[0] == 0:
            raise InvalidArgument(
                name="masses",
                value=f"{len(weights)} of them",
                expected=f"1 to {MAX_POINTS:,} masses, the first of them positive",
            )

    @cached_property
    def total(self) -> int:
        """The sum of the weights over all whole k."""
        return 2 * sum(self.masses) - self.masses[0]

    @property
    def falls(self) -> bool:
        """Whether the weights never rise away from 0."""
        return all(a >= b for a, b in pairwise(self.masses))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """P(K = k) for k = 0, 1, …, as floats."""
        return np.array([mass / self.total for mass in self.masses])  # Python rounds int/int right

    def moment(self, power: int) -> float:
        """E|K/cells|^power."""
        places = np.arange(len(self.masses), dtype=float) / self.cells
        return 2 * float(self.probabilities @ places**power)

    def log_probabilities(self) -> NDArray[np.float64]:
        """Log P(K = k) for k = 0, 1, …; −inf where it is 0."""
        log_total = math.log(self.total)
        return np.array([math.log(mass) - log_total if mass else -math.inf for mass in self.masses])
