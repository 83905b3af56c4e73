"""Noise for public keys with levels: one draw, on the tree of the keys.

Tables by key and by each level are sums of the same whole cells, and add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise import _words
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers.sums.answer import FOR_THE_LARGEST
from leastnoise.tables.answers.sums.compared import Compared
from leastnoise.tables.answers.sums.level_queries import key_tree, table_layouts
from leastnoise.tables.answers.sums.trees import TreeSums
from leastnoise.tables.answers.sums.whole_rows import row_counts
from leastnoise.tables.spec.query import LARGEST
from leastnoise.workloads.base import SummedTable, Workload
from leastnoise.workloads.tree import Nodes, TreeStrategy
from leastnoise.workloads.tree_search import TreeOffer, Trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.tables.layout.layout import Layout

_DRAWN = (
    "Whole-number noise (the family agreeing) is drawn {only}for the numbers by {column}{on}. All "
    "tables are sums of these numbers, exactly."
)
_ON_A_TREE = (
    ". This noise is correlated along the levels {levels}, so that it partly cancels in sums"
)
_UNLIKE = (
    "The rows of a table have different standard deviations. The plan shows the root mean square "
    "of these standard deviations, and the largest ±."
)


@final
@dataclass(frozen=True, kw_only=True)
class Levels(TreeSums):
    """The tables by key and by each level of the keys, with one tree of noise.

    The cells of the tree are the keys, sorted by their values in the levels.
    """

    key: ClassVar[str] = "levels"
    called: ClassVar[str] = "tables by levels"
    summed: ClassVar[str] = "sum"

    @staticmethod
    def trees(cells: Layout) -> Trees:
        """The only tree to search, which is the tree of the keys.

        The search splits the budget among levels on a similar tree, whose nodes of a level all have
        equally many children.
        """
        tree = key_tree(cells)
        counts = [1] * tree.above + [len(values) for values in tree.values]
        offer = TreeOffer(
            branches=tree.branches,
            even=tuple(max(1, round(below / above)) for above, below in pairwise(counts)),
            tables=tuple(Nodes(level=level) for level in range(tree.above, len(counts))),
            alone=True,
        )
        return Trees(
            label=cells.label,
            counts=cells.cells,
            moves=row_counts(cells),
            neighbours=cells.neighbours,
            offers=(offer,),
            exact=True,
            largest=cells.largest,
            advice="Give fewer keys or a larger epsilon, or leave levels out",
        )

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of all tables: by key, then by each level."""
        return table_layouts(self.cells)

    @property
    def workload(self) -> Workload:
        """The published tables as sums of cells: the keys, and their sums by each level."""
        tree = key_tree(self.cells)
        pairs = zip(tree.places[::-1], tree.values[::-1], strict=True)
        tables = (SummedTable(count=len(values), find=lambda at=at: at) for at, values in pairs)
        return Workload(cells=self.cells.cells, tables=tuple(tables))

    @cached_property
    def strategy(self) -> TreeStrategy:
        """The noise of the tree; the rows of each table are the nodes of one level."""
        tree = key_tree(self.cells)
        levels = reversed(range(len(tree.values)))
        return TreeStrategy(
            noise=self.noise,
            tables=tuple(Nodes(level=at + tree.above, numbers=tree.nodes(at)) for at in levels),
            places=np.argsort(tree.order),
        )

    @property
    def nodes(self) -> list[tuple[str | None, NDArray[np.int64]]]:
        """For each level of the tree, its table's name and each cell's node.

        The name is None for a root above all levels. The keys are the last level: see
        `TreeSums.nodes`.
        """
        tree = key_tree(self.cells)
        root = [(None, np.zeros(self.cells.cells, dtype=np.int64))]
        names = [layout.name for layout in reversed(self.layouts)]
        return [*root * tree.above, *zip(names, tree.places, strict=True)]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the levels' columns, the highest first and the keys' column last."""
        return tuple(layout.axes[0].column for layout in reversed(self.layouts))

    @cached_property
    def geometric_mean(self) -> float:
        """The geometric mean, over tables, of the root-mean-square std of a table's numbers."""
        return _mean(error.std for error in self.errors)

    @cached_property
    def others(self) -> dict[str, float]:
        """Other strategies' standard deviations and a lower bound: fields of `Compared`, by name.

        `cells` is for noise in the keys alone, `apart` for independent noise in each table.
        """
        releases, tree, tables = (
            self.certificate.compositions,
            key_tree(self.cells),
            len(self.errors),
        )
        epsilon = float(self.budget.epsilon / releases)
        keys = self.cells.cells
        replaced = 2 if self.cells.neighbours == "replace-one" else 1
        cell = _geometric_std(epsilon / (replaced if keys > 1 else 1))
        counts = [len(values) for values in reversed(tree.values)]
        each = [keys / count for count in counts]  # keys per number: the mean, or the most below
        if self.cells.largest:
            each = [float(np.bincount(places).max()) for places in tree.places]
        apart = [
            _geometric_std(epsilon / tables / (replaced if count > 1 else 1)) for count in counts
        ]
        add, single = max if self.cells.largest else _mean, self.budget
        if not single.delta:  # pure losses add up over the releases of a series
            single = single.share(Fraction(1, releases))
        return {
            "cells": add([cell * math.sqrt(count) for count in each]),
            "apart": add(apart),
            "bound": self.strategy.bound(single, largest=self.cells.largest),
        }

    def to_record(self) -> dict[str, Any]:
        """The noise as JSON values, which follow from spec and certificate."""
        column, above = self.cells.axes[0], key_tree(self.cells).above
        names = [layout.name for layout in reversed(self.layouts)]
        shares = [decimal_text(share) for share in self.noise.shares[above:]]
        largest = self.cells.largest
        return {
            "by": next(iter(column.columns)),
            "shares": dict(zip(names, shares, strict=True)),
            "geometric_mean_std": self.geometric_mean,
            **({"objective": LARGEST, "largest_std": self.largest_std} if largest else {}),
            "other_ways": self.others,
        }

    def in_words(self) -> list[str]:
        """Sentences about the noise, with a comparison with other noise for these tables."""
        column, *above = (next(iter(layout.axes[0].columns)) for layout in self.layouts)
        levels = _words.join_names([column, *above])
        largest = self.cells.largest
        std = self.largest_std if largest else self.geometric_mean
        on_a_tree = any(self.noise.shares[:-1])
        on = _ON_A_TREE.format(levels=levels) if on_a_tree else ""
        return [
            _DRAWN.format(only="" if on_a_tree else "only ", column=column, on=on),
            *([_UNLIKE] if any(error.rows is not None for error in self.errors) else []),
            *([FOR_THE_LARGEST] if largest else []),
            Compared(own=std, **self.others).in_words("", largest=largest),
            *([] if self.whole_counts is None else self.whole_counts.in_words()),
        ]


def _geometric_std(epsilon: float) -> float:
    return 1 / (math.sqrt(2) * math.sinh(epsilon / 2))


def _mean(stds: Iterable[float]) -> float:
    return math.exp(math.fsum(logs := [math.log(std) for std in stds]) / len(logs))
