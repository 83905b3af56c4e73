"""Errors, in ranks, of quantiles that are read off counts with the noise of a tree.

Notation: the candidates 1, …, B are the first of the n cells of the tree in each group. F(g) is the
number of rows at or below candidate g, and F̂(g) = F(g) + S_g has the noise S_g. n̂ is the number
of all rows plus the noise T. The quantile of level a is read from F̂(g) − a·n̂, whose error is W =
S_g − aT. The norm of order p is ‖W‖_p = (E|W|^p)^(1/p). W is linear in a, so by Minkowski's
inequality ‖W‖_p is convex in a: it is at most the piecewise linear function through its values at a
= 0, ½ and 1. At a = 1, −W is the noise of the last n − g cells, which has the law of S_(n−g).
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

MISSED = 0.05  # probability that an interval of 95 % misses the true value
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
        """For each g = 0, …, B, a bound on |W| that holds with probability 95 %; a is `level`."""
        norms = self._norms(level)[: self.candidates + 1]
        return (norms / MISSED ** (1 / _ORDERS)).min(axis=1)

    def rows_95(self, level: Fraction) -> float:
        """A number of rows that |T| and |W| at all candidates don't exceed, with 95 % probability.

        Then the rank of the candidate that is read off is wrong by at most this number of rows,
        since isotonic regression never increases the largest distance to an increasing sequence.
        """
        last = self._norms_at(0)[-1]
        sums = (self._norms(level)[1 : self.candidates + 1] ** _ORDERS).sum(axis=0)
        return float((((sums + last**_ORDERS) / MISSED) ** (1 / _ORDERS)).min())

    def _norms_at(self, level: float) -> Floats:
        return prefix_moments(self.noise, float(level)) ** (1 / _ORDERS)

    def _norms(self, level: Fraction) -> Floats:
        """Bounds on ‖W‖_p for each g = 0, …, n and each order p of `ORDERS`.

        The result has the shape (n + 1, orders).
        """
        a = float(level)
        end, middle = self._norms_at(0), self._norms_at(0.5)
        if a > 0.5:
            a, end = 1 - a, end[::-1]
        return (1 - 2 * a) * end + 2 * a * middle
