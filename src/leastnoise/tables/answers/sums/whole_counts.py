"""Whole counts ≥ 0 that add up: the tree along which they are computed, and their bias.

Notation: v is a node of the tree, n_v its number without noise, Z_v the noise, and y_v = n_v + Z_v
the noisy number. x_v is the published count of `sums.publish_whole`: it is at most max(0, y_v
rounded up). E is the mean; the bias is E x_v − n_v.

If y_v is whole, x_v <= max(0, n_v + Z_v) <= n_v + max(0, Z_v), since n_v ≥ 0. So the bias is at
most E max(0, Z_v) = E|Z_v|/2 ≤ std/2. Otherwise it is up to ½ more, or 1 more if n_v need not be
whole. It is also up to half a grid step more for each cell in the node. A number that isn't a node
is the sum of several nodes, whose biases add up. Proof: theory/marginals.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise import _words
from leastnoise.tables.answers.sums.margin_queries import in_one_cell, table_layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.tables.answers.sums.margins import Margins

    Wholes = NDArray[np.int64]

WHOLE_NOTE = (
    "Counts are changed so that they are whole, at least 0 and add up. This change raises small "
    "counts and lowers larger counts in the same total, by an amount that depends on the counts. "
    "Standard deviations and intervals describe the noisy counts before this change. So a count "
    "may lie outside its interval."
)
_METHOD = "Counts are whole, at least 0 and add up. The total is computed first, and then split{}."
_BIAS = (
    "Whole counts are at least 0. So where true counts are near 0, whole counts are on average too "
    "high, by at most {}. A sum of m counts is on average too high by at most m times as much."
)


@final
@dataclass(frozen=True, kw_only=True)
class WholeCounts:
    """The tree along which whole counts are computed, and their bias in each table.

    `tree` has, for each level from the highest down, the node of each cell. `names[i]` is the table
    whose rows are the nodes of level i, in order; None if no such table is published. `too_high`
    bounds the bias of a table's numbers, by table name: the mean count minus the number without
    noise. `columns` are the columns of the levels below the total, if levels have columns.
    """

    tree: tuple[Wholes, ...]
    names: tuple[str | None, ...]
    too_high: Mapping[str, float]
    columns: tuple[str, ...] = ()

    def in_words(self) -> list[str]:
        """Sentences about the method and its bias."""
        tables = {f"the table {name}": bound for name, bound in self.too_high.items()}
        order = ", in this order" if len(self.columns) > 1 else ""
        down = (
            f" by {_words.join_names(self.columns)}{order}"
            if self.columns
            else " along a tree of the bins"
        )
        return [_METHOD.format(down), bias_in_words(tables), WHOLE_NOTE]


def bias_in_words(too_high: Mapping[str, float]) -> str:
    """A sentence about the bias of whole counts, given a bound for each table.

    The keys of `too_high` are phrases that name tables.
    """
    bias = [f"{_words.round_up(bound)} in {table}" for table, bound in too_high.items()]
    return _BIAS.format(_words.join_names(bias))


def along_columns(margins: Margins) -> WholeCounts:
    """The tree for whole counts of a query with margins, along one order of its columns.

    Its levels are the total, the numbers by the first column, by the first two columns, and so on.
    If the noise is on a tree, its order is used. Otherwise the order has the smallest Σ ln(bound on
    the bias) over the published tables.
    """
    sizes = margins.marginals.sizes
    names = {table: table_layout(margins.cells, table).name for table in margins.cells.margins}
    if margins.chain is not None:
        best, strategy = margins.chain.order, margins.chain.strategy
        too_high = [strategy.too_high(table) for table in names]
    else:
        bias = _node_bias(margins)
        orders = {
            order: _too_high(margins, order, bias) for order in permutations(range(len(sizes)))
        }
        best, too_high = min(orders.items(), key=lambda pair: math.fsum(map(math.log, pair[1])))
    masks = _prefixes(best)
    cells = np.indices(sizes)
    axes = [margins.marginals.axes(mask) for mask in masks]
    tree = [
        np.ravel_multi_index([cells[i] for i in columns], [sizes[i] for i in columns]).reshape(-1)
        if columns
        else np.zeros(math.prod(sizes), dtype=np.int64)
        for columns in axes
    ]
    return WholeCounts(
        tree=tuple(tree),
        names=tuple(map(names.get, masks)),
        too_high=dict(zip(names.values(), too_high, strict=True)),
        columns=tuple(margins.cells.axes[column].column for column in best),
    )


def _prefixes(order: Sequence[int]) -> list[int]:
    """The tables (bit masks) that are the levels of the tree along this order of columns."""
    return [sum(1 << column for column in order[:end]) for end in range(len(order) + 1)]


def _node_bias(margins: Margins) -> Mapping[int, float]:
    """For each table that may be a level, a bound on the bias of its numbers.

    The noise of `margins` must not be on a tree (`chain`).
    """
    every, last = margins.marginals.every, margins.marginals.every[-1]
    stds = np.sqrt(margins.variances_of(every)[0]).tolist()
    if margins.is_whole:
        halves = {mask: stds[mask] / 2 for mask in every}
        return halves | {last: margins.measured[last].noise.mean_abs / 2}
    steps = {
        mask: margins.marginals.cells(last & ~mask) * float(margins.grids[0]) for mask in every
    }
    # units over a limit count by a fraction, so that true counts needn't be whole
    up = 0.5 if in_one_cell(margins.measured_cells) else 1.0
    return {mask: (stds[mask] + steps[mask]) / 2 + up for mask in every}


def _too_high(margins: Margins, order: Sequence[int], bias: Mapping[int, float]) -> list[float]:
    """For each published table, a bound on the bias of one of its numbers.

    This is the sum of the bounds for the nodes that add up to the number. Each level of the tree
    adds the next column of `order`. `bias` has the bound for one node, by the bit mask of the
    table that is its level.
    """
    biases: list[float] = []
    masks = _prefixes(order)
    for table in margins.cells.margins:
        level = next(mask for mask in masks if table & ~mask == 0)
        biases.append(margins.marginals.cells(level & ~table) * bias[level])
    return biases
