"""The variances in tables of which some are sums of others, if some tables have noise.

Notation: an integer stands for a table; the table of all cells is the last in `every`. N is the
number of all cells and n_B the number of cells of table B. r_A is the number of contrasts of table
A: the degrees of freedom that coarser tables lack. τ_M, the information of table M, is 1/variance
of its measured numbers, and 0 if M isn't measured. θ_A is the sum of τ_M N/n_M over all M of which
A is a sum: the information about the contrasts of A. v_B is the variance of a number of the
published table B. Proofs: theory/marginals.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class TableLattice(ABC):
    """The published `tables` (distinct), and all tables that may be measured for them.

    A table is measured if noise is added to its numbers. The tables are by columns, and `sizes` are
    the numbers of keys of the columns. If `total_is_known`, the sum of all cells is public, and has
    no noise.
    """

    sizes: tuple[int, ...]
    tables: tuple[int, ...]
    total_is_known: bool = False

    @property
    def has_cells(self) -> bool:
        """True if the cells are few enough to be read, and to have noise."""
        return True

    @property
    def is_small(self) -> bool:
        """True if there are few enough cells to estimate all; then every table may be measured."""
        return True

    @property
    @abstractmethod
    def every(self) -> Sequence[int]:
        """All tables that may be measured, the cells last."""

    @property
    @abstractmethod
    def places(self) -> Mapping[int, int] | Sequence[int]:
        """The index of each table in `every`."""

    @property
    @abstractmethod
    def within(self) -> NDArray[np.bool_]:
        """True where table A is a sum of table B; shape (every A, every B)."""

    @abstractmethod
    def rank(self, table: int) -> int:
        """The number of columns and levels by which a table is grouped."""

    @abstractmethod
    def cells(self, table: int) -> int:
        """The number n_B of cells of a table."""

    @abstractmethod
    def contrasts(self, table: int) -> int:
        """The number r_A of contrasts of a table."""

    @cached_property
    def carried(self) -> Floats:
        """The matrix that maps τ to θ; shape (every table A, every table M).

        The entry is N/n_M where A is a sum of M, else 0.
        """
        counts = np.array([self.cells(table) for table in self.every], dtype=float)
        return self.within * (counts[-1] / counts)

    @cached_property
    def spread(self) -> Floats:
        """The matrix S that computes variances, v_B = Σ S_BA/θ_A over all tables A.

        S_BA is N r_A/n_B² where A is a sum of B, else 0; it is 0 for a total A that is known. Its
        shape is (published tables B, every table A).
        """
        counts = np.array([self.cells(table) for table in self.tables], dtype=float)
        contrasts = np.array([self.contrasts(table) for table in self.every], dtype=float)
        inside = self.within[:, [self.places[table] for table in self.tables]].T
        spread = inside * contrasts * (self.cells(self.every[-1]) / counts**2)[:, None]
        if self.total_is_known:
            spread[:, 0] = 0
        return spread

    def variances(self, theta: Floats) -> Floats:
        """The variance v_B of a number of each published table, given θ for every table.

        All are infinite if θ doesn't determine all published tables.
        """
        needed = (self.spread > 0).any(axis=0)
        if (theta[needed] <= 0).any():
            return np.full(len(self.tables), math.inf)
        return self.spread @ (1 / np.where(needed, theta, 1.0))
