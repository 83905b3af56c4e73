"""Tables that add up, from noise in some of them: the least squares estimate and its variances.

notation: attributes of sizes n_1 … n_d; a table is the set of attributes that it is by, as a bit
mask (0 is the total, 2^d − 1 the cells); N = Πn_i, n_B = Π_{i∈B} n_i, r_A = Π_{i∈A} (n_i − 1), P_A
the projection on what tables by A show beside those by less, τ_M = 1/variance of a number of the
measured table M, θ_A = Σ_{M⊇A} τ_M N/n_M, v_B the variance of a number of table B. Proofs:
theory/marginals.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, kw_only=True)
class Marginals:
    """Attributes of `sizes`, and the `tables` that are published, as bit masks, distinct."""

    sizes: tuple[int, ...]
    tables: tuple[int, ...]

    @property
    def every(self) -> range:
        """All tables that there are."""
        return range(2 ** len(self.sizes))

    def axes(self, table: int) -> tuple[int, ...]:
        """Return the attributes that a table is by, in order."""
        return tuple(i for i in range(len(self.sizes)) if table >> i & 1)

    def cells(self, table: int) -> int:
        """Return n_B."""
        return math.prod(self.sizes[i] for i in self.axes(table))

    def contrasts(self, table: int) -> int:
        """Return r_A."""
        return math.prod(self.sizes[i] - 1 for i in self.axes(table))

    @cached_property
    def within(self) -> NDArray[np.bool_]:
        """Whether A ⊆ B, shape (A, B)."""
        masks = np.array(self.every)
        return (masks[:, None] & masks[None, :]) == masks[:, None]

    @cached_property
    def carried(self) -> Floats:
        """N/n_M where A ⊆ M, shape (A, M): θ = carried·τ."""
        counts = np.array([self.cells(one) for one in self.every], dtype=float)
        return self.within * (counts[-1] / counts)

    @cached_property
    def spread(self) -> Floats:
        """N r_A/n_B² where A ⊆ B, shape (published tables, A): v_B = Σ_A this/θ_A."""
        counts = np.array([self.cells(one) for one in self.tables], dtype=float)
        contrasts = np.array([self.contrasts(one) for one in self.every], dtype=float)
        inside = self.within[:, list(self.tables)].T
        return inside * contrasts * (self.cells(len(self.every) - 1) / counts**2)[:, None]

    def variances(self, theta: Floats) -> Floats:
        """Return v_B of each published table; infinite where θ doesn't determine one."""
        needed = (self.spread > 0).any(axis=0)
        if (theta[needed] <= 0).any():
            return np.full(len(self.tables), math.inf)
        return self.spread @ (1 / np.where(needed, theta, 1.0))

    def coefficients(self, information: Floats, published: int) -> dict[int, list[_Equal]]:
        """Return what a number of a table is made of, by the measured tables (those of τ > 0).

        Of each pairs of a coefficient and how many of its numbers have it: those that agree with
        the number on the same attributes. Where θ_A = 0 the estimate has nothing of P_A.
        """
        tau: list[float] = information.tolist()
        theta: list[float] = (self.carried @ information).tolist()
        found: dict[int, list[_Equal]] = {}
        for measured in (one for one in self.every if tau[one] > 0):
            both = published & measured
            parts = [one for one in self.every if one & both == one]
            found[measured] = [
                (float(tau[measured]) * self._entry(theta, published, measured, equal), times)
                for equal in parts
                if (times := self.cells(measured & ~published) * self.contrasts(both & ~equal))
            ]
        return found

    def _entry(self, theta: Sequence[float], published: int, measured: int, equal: int) -> float:
        """Σ_A (S_B P_A S_Mᵀ)/θ_A at two numbers that agree on the attributes `equal` alone."""
        both = published & measured
        outside = math.prod(self.sizes[i] for i in self.axes(~(published | measured)))
        total = 0.0
        for part in (one for one in self.every if one & both == one):
            entry = float(outside)
            for i in self.axes(both):
                known = (equal >> i & 1) - 1 / self.sizes[i]
                entry *= known if part >> i & 1 else 1 / self.sizes[i]
            total += entry / theta[part]
        return total

    def estimate(self, information: Floats, measured: Mapping[int, Floats]) -> Floats:
        """Return the least squares estimate of all cells, shape `sizes`.

        `measured` holds the numbers of each table of τ > 0, its axes in order.
        """
        theta = self.carried @ information
        found = np.zeros(self.sizes)
        for part in (one for one in self.every if theta[one] > 0):
            total = np.zeros(self._shape(part))
            for table, values in measured.items():
                if table & part == part:
                    placed = values.reshape(self._shape(table))
                    factor = information[table] * self.cells(part) / self.cells(table)
                    total += factor * placed.sum(axis=self.axes(table & ~part), keepdims=True)
            for i in self.axes(part):
                total -= total.mean(axis=i, keepdims=True)
            found += total / theta[part]
        return found

    def _shape(self, table: int) -> list[int]:
        return [n if table >> i & 1 else 1 for i, n in enumerate(self.sizes)]


_Equal = tuple[float, int]
