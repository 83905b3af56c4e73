"""Errors in ranks of quantiles that are read off counts with the noise of a tree.

notation: candidates 1, …, B, of n cells of the tree in each group; F(g) rows at or below candidate
g, F̂(g) the same with noise S_g, n̂ the rows of all with noise T. A level a asks for F̂(g) − a·n̂
at g, whose error is W = S_g − aT. W is linear in a, so that by Minkowski's inequality ‖W‖_p is at
most the value on the lines through the norms at a = 0, ½ and 1. At 1 it is the norm of −W at 0 for
the last n − g cells, which have the law of the first n − g.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.noise.trees.prefixes import ORDERS, prefix_moments
from leastnoise.workloads.tree import Nodes, TreeStrategy

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]

MISSED = 0.05  # what intervals of 95 % may miss
_ORDERS: Floats = np.array(ORDERS, dtype=np.float64)


@final
@dataclass(frozen=True, kw_only=True)
class RankTree:
    """The noise of one group's tree, whose first `candidates` cells are the candidates."""

    noise: Agreeing
    candidates: int

    @property
    def total(self) -> TreeStrategy:
        """The noise, with the total of all cells as its only table."""
        return TreeStrategy(noise=self.noise, tables=(Nodes(level=0),))

    def half_widths(self, level: Fraction) -> Floats:
        """An h with P(|W| > h) <= 5 % for the first g candidates, g = 0, …, B; shape (B + 1,)."""
        norms = self._norms(level)[: self.candidates + 1]
        return (norms / MISSED ** (1 / _ORDERS)).min(axis=1)

    def rows_95(self, level: Fraction) -> float:
        """With 95 %, neither |T| nor |W| of any candidate is more than this number of rows.

        Then the candidate that is read off is off by no more: isotonic regression moves no number
        further from a rising sequence than the furthest number is.
        """
        last = self._norms_at(0)[-1]
        sums = (self._norms(level)[1 : self.candidates + 1] ** _ORDERS).sum(axis=0)
        return float((((sums + last**_ORDERS) / MISSED) ** (1 / _ORDERS)).min())

    def _norms_at(self, level: float) -> Floats:
        return prefix_moments(self.noise, float(level)) ** (1 / _ORDERS)

    def _norms(self, level: Fraction) -> Floats:
        """A bound on ‖W‖_p for g = 0, …, n; shape (n + 1, orders)."""
        a = float(level)
        end, middle = self._norms_at(0), self._norms_at(0.5)
        if a > 0.5:
            a, end = 1 - a, end[::-1]
        return (1 - 2 * a) * end + 2 * a * middle
