"""Whole-number noise on a tree along one order of the columns, for a query with margins.

The tree has a level for each column, such as sex, age, region: the total, the numbers by sex, the
numbers by sex and age, the cells. All tables are sums of the same noisy cells. A table that is no
level of the tree has noise with a known law, too.
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
"""The most columns for which all orders are compared: 6 orders, a third of a second each. With more
columns, only an order in which every table is a level is tried."""

_DRAWN = (
    "Whole-number noise is drawn for the cells on a tree by {along}, so that it partly cancels in "
    "sums (agreeing, std {std:.4g} in a cell)."
)


@final
@dataclass(frozen=True, kw_only=True)
class Chain:
    """Noise of a tree in which each level adds the next column of this `order`."""

    order: tuple[int, ...]
    noise: Agreeing

    @cached_property
    def strategy(self) -> TreeStrategy:
        """The noise, with the table of every subset of the columns, indexed by bit mask."""
        sizes = [self.noise.branches[self.order.index(column)] for column in range(len(self.order))]
        cells = np.arange(self.noise.dimension).reshape(sizes).transpose(self.order).reshape(-1)
        return TreeStrategy(
            noise=self.noise,
            tables=tuple(_cross(self.order, table) for table in range(2 ** len(self.order))),
            places=np.argsort(cells),
        )

    def variance(self, table: int) -> float:
        """The variance of a number of a table."""
        return float(self.strategy.variance(table)[0])

    def error(self, table: int) -> NoiseError:
        """The error of a number of a table."""
        return measure_table(self.strategy, table)

    def columns(self, cells: Layout) -> list[str]:
        """The columns in this order."""
        return [cells.axes[column].column for column in self.order]

    def in_words(self, cells: Layout) -> str:
        """The noise, in a sentence."""
        along = _words.join_names(self.columns(cells))
        return _DRAWN.format(std=math.sqrt(self.noise.variance), along=along)


def _cross(order: Sequence[int], table: int) -> Crossed:
    return Crossed(fixed=tuple(bool(table >> column & 1) for column in order))


def draw_name(cells: Layout, columns: Sequence[int]) -> str:
    """The name of the noise in a certificate: for columns 1 and 3 it is `query.1x3`."""
    return f"{cells.label}.{_BY.join(str(column + 1) for column in columns) or _TOTAL}"


def trees_along(cells: Layout, orders: Sequence[Sequence[int]]) -> Trees:
    """The trees whose levels are the columns in these orders."""
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
    """The chain of a query's only claim; None if the claim isn't about noise on a tree.

    Raises CertificateRejected unless the name lists all columns in some order, and the claim is
    about noise on the tree of this order, with all of the share's ε and no δ.
    """
    if len(claims) != 1:
        return None
    ((name, claim),) = claims
    if not isinstance(claim, Certificate) or not isinstance(claim.noise, Agreeing):
        return None
    for order in permutations(range(len(cells.axes))):
        if draw_name(cells, order) == name:
            return Chain(order=order, noise=trees_along(cells, (order,)).read(claim, share))
    raise CertificateRejected(f"Query {name!r}: its name doesn't list all columns in some order.")


def find_chain(
    cells: Layout, budget: Budget, releases: int = 1
) -> tuple[Chain, Certificate] | None:
    """The chain with the smallest sum, or largest value, of ln(variance) over the published tables.

    Each of the `releases` has an equal part of ε; δ is left unspent. Returns None if a unit may be
    in several cells, if ε is 0, if there are more than `MOST_COLUMNS` columns, or if the laws of
    all tables would take too long.
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
    """The column orders to compare.

    For few columns these are all orders. For many, it is one order in which each table is a level.
    """
    if columns <= MOST_COLUMNS:
        return list(permutations(range(columns)))
    order: list[int] = []
    for table in sorted(tables, key=int.bit_count):
        if not all(table >> column & 1 for column in order):
            return []
        order += [at for at in range(columns) if table >> at & 1 and at not in order]
    return [tuple(order)]
