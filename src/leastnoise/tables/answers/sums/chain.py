"""Whole-number noise on a tree along one order of the columns, for a query with margins.

For the order sex, age, region, the tree has four levels: the total, the numbers by sex, the numbers
by sex and age, and the cells. All tables are sums of the same noisy cells. The distribution of the
noise is known for every table, even if the table isn't a level of the tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, InvalidArgument, Refused
from leastnoise.noise import Agreeing
from leastnoise.tables.answers.sums.margin_queries import in_one_cell, table_sensitivity
from leastnoise.tables.noise.trees import measure_table, prove_tree
from leastnoise.workloads.tree import Crossed, TreeStrategy
from leastnoise.workloads.tree_search import TreeOffer, Trees, rank_noise

if TYPE_CHECKING:
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.sums.answer import Named
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import NoiseError

_TOTAL, _BY = "total", "x"
MOST_COLUMNS = 3
"""The most columns for which all orders are compared: 6 orders, a third of a second each.

With more columns, only an order in which every published table is a level is tried.
"""

_DRAWN = "Whole-number noise (the family agreeing, std {std:.4g} in a cell) is drawn for the cells."
_ALONG = " This noise is correlated along the levels {along}, so that it partly cancels in sums."


@final
@dataclass(frozen=True, kw_only=True)
class Chain:
    """Noise on a tree whose levels are tables: each level adds the next column of `order`.

    `order` has the indices of the columns in the layout of the cells. In methods, `table` is the
    bit mask of a table's columns.
    """

    order: tuple[int, ...]
    noise: Agreeing

    @cached_property
    def strategy(self) -> TreeStrategy:
        """The noise, with a table for every subset of the columns.

        The index of a table is its bit mask.
        """
        sizes = [self.noise.branches[self.order.index(column)] for column in range(len(self.order))]
        cells = np.arange(self.noise.dimension).reshape(sizes).transpose(self.order).reshape(-1)
        return TreeStrategy(
            noise=self.noise,
            tables=tuple(_cross(self.order, table) for table in range(2 ** len(self.order))),
            places=np.argsort(cells),
        )

    def variance(self, table: int) -> float:
        """The variance of a number of a table, the same in all rows."""
        return float(self.strategy.variance(table)[0])

    def error(self, table: int) -> NoiseError:
        """The error of a number of a table, the same in all rows."""
        return measure_table(self.strategy, table)

    def columns(self, cells: Layout) -> list[str]:
        """The names of the columns, in the order of the tree's levels."""
        return [cells.axes[column].column for column in self.order]

    def in_words(self, cells: Layout) -> str:
        """Sentences about the noise and its tree."""
        drawn = _DRAWN.format(std=math.sqrt(self.noise.variance))
        if not any(self.noise.shares[:-1]):
            return drawn
        return drawn + _ALONG.format(along=_words.join_names(self.columns(cells)))


def _cross(order: Sequence[int], table: int) -> Crossed:
    return Crossed(fixed=tuple(bool(table >> column & 1) for column in order))


def draw_name(cells: Layout, columns: Sequence[int]) -> str:
    """The name of a certificate of noise in the table by these columns, such as `query.1x3`.

    Columns are numbered from 1 in the name, and stay in the order that is passed.
    """
    return f"{cells.label}.{_BY.join(str(column + 1) for column in columns) or _TOTAL}"


def trees_along(cells: Layout, orders: Sequence[Sequence[int]]) -> Trees:
    """The trees to search: one for each order of the columns."""
    return Trees(
        label=cells.label,
        counts=cells.cells,
        moves=table_sensitivity(cells, 2 ** len(cells.axes) - 1),
        neighbours=cells.neighbours,
        offers=tuple(
            TreeOffer.of(
                tuple(cells.axes[column].cells for column in order),
                *(_cross(order, table) for table in cells.margins),
            )
            for order in orders
        ),
        exact=True,
        largest=cells.largest,
        advice="List other margins",
    )


def read_chain(cells: Layout, claims: Named, share: Budget) -> Chain | None:
    """Read the chain of a query with a single claim, about noise on a tree; None for other claims.

    The claim's name has to list all columns in some order. The claim has to be about noise on the
    tree of this order, with all of the share's ε and no δ. Otherwise raises CertificateRejected.
    """
    if len(claims) != 1:
        return None
    ((name, claim),) = claims
    if not isinstance(claim, Certificate) or not isinstance(claim.noise, Agreeing):
        return None
    for order in permutations(range(len(cells.axes))):
        if draw_name(cells, order) == name:
            return Chain(order=order, noise=trees_along(cells, (order,)).read(claim, share))
    raise CertificateRejected(
        f"The name {name!r} of a draw of noise doesn't list all columns of its query."
    )


def find_chain(
    cells: Layout, budget: Budget, releases: int = 1
) -> tuple[Chain, Certificate] | None:
    """Find and prove the chain with the smallest Σ ln(variance) over the published tables.

    If the layout says `largest`, the largest variance is minimized instead. Only the orders of
    `_list_orders` are compared. Each of the `releases` has an equal part of ε; δ is left unspent.
    None if ε is 0, if there are no orders to compare, or if the noise or its error isn't proved.
    None, too, unless a unit adds 1 to at most one cell (`in_one_cell`).
    """
    if not in_one_cell(cells) or not budget.epsilon:
        return None
    orders = _list_orders(len(cells.axes), cells.margins)
    trees = trees_along(cells, orders)
    rows = trees.moves.rows(dimension=cells.cells)
    if rows is None:
        return None
    scale = releases * rows.most / budget.epsilon
    try:
        (best, noise), *_ = rank_noise(trees.offers, scale, rows, largest=cells.largest)
        claim = prove_tree(
            noise, trees.moves, budget, neighbours=cells.neighbours, releases=releases
        )
        if not isinstance(claim.noise, Agreeing) or claim.geometry is not None:
            return None
        chain = Chain(order=orders[trees.offers.index(best)], noise=claim.noise)
        for table in cells.margins:
            chain.error(table)
    except (Refused, InvalidArgument):  # for deep trees the law may not be known well enough
        return None
    return chain, claim


def _list_orders(columns: int, tables: Sequence[int]) -> list[tuple[int, ...]]:
    """The orders of the columns to compare.

    For few columns these are all orders. For many, it is one order in which each of the `tables`
    is a level. Then the list is empty if no order has all these levels, or if a column is in no
    table. The level of such a column would get almost no share of ε. Its tree takes long to search
    and hardly ever wins.
    """
    if columns <= MOST_COLUMNS:
        return list(permutations(range(columns)))
    order: list[int] = []
    for table in sorted(tables, key=int.bit_count):
        if not all(table >> column & 1 for column in order):
            return []
        order += [at for at in range(columns) if table >> at & 1 and at not in order]
    return [tuple(order)] if len(order) == columns else []
