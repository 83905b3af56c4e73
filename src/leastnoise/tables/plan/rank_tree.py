"""Noise for quantiles by a tree of counts, and how far off they are because of it, in ranks.

notation: candidates 1, …, B, of n cells of the tree in each group; F(g) rows at or below candidate
g, F̂(g) the same with noise S_g, n̂ that of all with noise T. What is asked about g for a level a is
F̂(g) − a·n̂, off by W = S_g − aT. It is linear in a, so that by Minkowski's inequality ‖W‖_p is at
most what lies on the lines through those of a = 0, ½ and 1; at 1 it is that of −W at 0 for the last
n − g cells, which have the law of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.guarantees.row_counts import RowCounts
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.prefixes import ORDERS, prefix_moments
from leastnoise.tables.plan.count_trees import Trees, tree_in_words
from leastnoise.tables.spec.query import FLIP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.query.ranks import Ranks

    Floats = NDArray[np.float64]

_DEEPEST = 4
_MISSED, _HALF = 0.05, 0.5
_ORDERS: Floats = np.array(ORDERS, dtype=np.float64)


@final
@dataclass(frozen=True, kw_only=True)
class RankTree:
    """The noise of one group's tree, whose first cells are the candidates: `candidates` of them."""

    noise: Agreeing
    candidates: int

    def half_widths(self, level: Fraction) -> Floats:
        """Return h with P(|W| > h) <= 5 %, for the first g candidates, g = 0, …, B."""
        norms = self._norms(level)[: self.candidates + 1]
        return (norms / _MISSED ** (1 / _ORDERS)).min(axis=1)

    def rows_95(self, level: Fraction) -> float:
        """Return what no |W| of any candidate passes, nor |T|, with 95 %.

        What is read off is off by no more then: isotonic regression moves no number further from
        what rises than the furthest is.
        """
        last = self._norms(Fraction(0))[-1]
        sums = (self._norms(level)[1 : self.candidates + 1] ** _ORDERS).sum(axis=0)
        return float((((sums + last**_ORDERS) / _MISSED) ** (1 / _ORDERS)).min())

    def in_words(self, column: str) -> str:
        """Return what is drawn, in a sentence."""
        return (
            f"The quantiles of {column} are read off counts of rows at each candidate, with whole "
            f"noise of a tree {tree_in_words(self.noise)}."
        )

    def _norms(self, level: Fraction) -> Floats:
        """Return what ‖W‖_p is at most, for g = 0, …, n, shape (n + 1, orders)."""
        a = float(level)
        end, middle = (prefix_moments(self.noise, one) ** (1 / _ORDERS) for one in (0.0, 0.5))
        if a > _HALF:
            a, end = 1 - a, end[::-1]
        return (1 - 2 * a) * end + 2 * a * middle


def find_noise(layout: Ranks, budget: Budget, releases: int) -> Certificate:
    """Return the noise of all groups' trees, proved; raises Refused if there is none."""
    return _trees(layout).find(budget, releases)


def read_tree(layout: Ranks, claim: Certificate, budget: Budget) -> RankTree:
    """Return the tree of one group that `claim` is about, proved or not.

    Raises CertificateRejected unless that is noise for this layout, within `budget`.
    """
    noise = _trees(layout).read(claim, budget)
    return RankTree(noise=noise, candidates=layout.candidates.cells)


def _trees(layout: Ranks) -> Trees:
    """Return what trees there are: a unit moves counts by whole rows, for which alone there are."""
    if layout.reach.denominator != 1:
        raise ValueError("a tree counts whole rows")
    return Trees(
        label=layout.label,
        groups=layout.cells,
        counts=layout.candidates.cells,
        moves=RowCounts(layout.reach.numerator, neighbours=layout.neighbours),
        levels=tuple(one.level for one in layout.statistics),
        deepest=_DEEPEST,
        advice=f'Give fewer candidates or a larger epsilon, or use quantiles_by = "{FLIP}"',
    )
