"""Tables with whole-number noise on a tree: variances and half-widths of their numbers.

All tables are sums of the tree's cells. A table has the nodes of a level (`Nodes`), sums of the
first cells (`Prefixes`), a single sum (`FirstLeaves`, `CellRange`), or sums over columns
(`Crossed`). In the last form the tree has a level for each column. `GroupSums` adds up tables of
the first two forms over groups. Each form computes the variances and the laws of its numbers.

Notation: level 0 of a tree is its root, and the cells are its last level. In an even tree all nodes
of a level have equally many children, and `branches` lists these numbers. S_g is the sum of the
noise in the first g cells, T the sum in all cells, and Var the variance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.design.bounds.variance_bound import least_log_variance
from leastnoise.noise.trees.copies import Laws
from leastnoise.noise.trees.levels import (
    check_numbers,
    find_window,
    level_laws,
    node_laws,
    rates_of,
)
from leastnoise.noise.trees.next_leaf import (
    check_next_leaf,
    draw_next_leaf,
    start_sums,
    sums_after,
)
from leastnoise.noise.trees.prefixes import (
    check_least_moments,
    check_moments,
    prefix_half_widths,
    prefix_variances,
)
from leastnoise.noise.trees.ranges import range_half_width, range_variance
from leastnoise.noise.trees.shape import shape_of
from leastnoise.noise.trees.sums import check_numbers as check_sums
from leastnoise.noise.trees.sums import half_width_of_sum, variance_of_sum
from leastnoise.workloads.marginal import Marginals
from leastnoise.workloads.marginal_bounds import bound, bound_of_largest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.trees.law import Agreeing
    from leastnoise.noise.trees.next_leaf import OpenSums
    from leastnoise.noise.trees.shape import TreeShape

    Floats = NDArray[np.float64]
    Wholes = NDArray[np.int64]

ByPosition = Sequence[Sequence[float]]
"""A number for each position of each level, the root's level first.

All nodes at one position have the same law.
"""


class TreeTable(ABC):
    """A table whose numbers are sums of the cells of a tree.

    Results for its numbers have shape (numbers,). They may have shape (1,) if all have the same
    law.
    """

    @abstractmethod
    def variances(self, branches: tuple[int, ...], nodes: ByPosition) -> Floats:
        """The variance of each number, given the variances of all `nodes` of the tree."""

    @abstractmethod
    def half_widths(self, noise: Agreeing, probability: float) -> Floats:
        """For each number, a half-width h with P(|noise| <= h) >= `probability`.

        Raises InvalidArgument if the law isn't known accurately enough.
        """

    @abstractmethod
    def is_alike(self, noise: Agreeing) -> bool:
        """True if the noise of all numbers has the same law."""

    @abstractmethod
    def too_high(self, noise: Agreeing) -> float:
        """A bound on the bias of each number if counts are made whole numbers >= 0.

        The bias of a node with the noise Z is at most the mean of max(0, Z), half the mean of |Z|.
        The biases of a sum of nodes add up.
        """

    @abstractmethod
    def check(self, noise: Agreeing) -> None:
        """Raise NotApplicable if computing the laws of the numbers would take too long."""

    def check_any(self, alone: Agreeing, scale: Fraction) -> None:
        """Raise NotApplicable if `check` would raise it for all shares; called before a search.

        `alone` is noise in the cells only, whose sums have the narrowest laws. `scale` is the scale
        that meets the budget if each row of a unit costs 1: see `Agreeing.cost`.
        """
        del scale
        self.check(alone)


@final
@dataclass(frozen=True, kw_only=True)
class Nodes(TreeTable):
    """The nodes of a level of a tree, which may be uneven.

    `numbers` has each node's index in the table; None if nodes and table have the same order.
    """

    level: int
    numbers: Wholes | None = field(default=None, compare=False)

    def variances(self, branches: tuple[int, ...], nodes: ByPosition) -> Floats:
        """The variance of each number, given the variances of `nodes`."""
        by_position = nodes[self.level]
        if len(by_position) == 1 and self.numbers is None:
            return np.array(by_position)
        return self._of_numbers(by_position, shape_of(branches, len(nodes) - 1))

    def half_widths(self, noise: Agreeing, probability: float) -> Floats:
        """The half-width h of each number: P(|noise| <= h) >= `probability`."""
        by_position = [float(law.half_width(probability)) for law in node_laws(noise)[self.level]]
        if len(by_position) == 1 and self.numbers is None:
            return np.array(by_position)
        return self._of_numbers(by_position, noise.shape)

    def is_alike(self, noise: Agreeing) -> bool:
        """True if the noise of all nodes of the level has the same law."""
        return len(node_laws(noise)[self.level]) == 1

    def too_high(self, noise: Agreeing) -> float:
        """A bound on the bias of each number if counts are made whole numbers >= 0."""
        return max(law.mean_abs for law in node_laws(noise)[self.level]) / 2

    def check(self, noise: Agreeing) -> None:
        """Raise NotApplicable if the laws of all nodes would take too long."""
        check_numbers(noise.shape, find_window(noise.branches, rates_of(noise)))

    def _of_numbers(self, by_position: Sequence[float], shape: TreeShape) -> Floats:
        positions = shape.positions_of[self.level]
        expanded = np.empty(len(positions))
        order = slice(None) if self.numbers is None else self.numbers
        expanded[order] = np.array(by_position)[positions]
        return expanded


@final
@dataclass(frozen=True, kw_only=True)
class Prefixes(TreeTable):
    """The sums of the first g cells of an even tree, for g = 1, …, `count`.

    A search compares the mean of Var(S_g − aT) over all a in `levels`. For a = 0 that is the
    variance of the sum itself. Other a are levels of quantiles, which are read from such
    differences.
    """

    count: int
    levels: tuple[Fraction, ...] = (Fraction(0),)

    def variances(self, branches: tuple[int, ...], nodes: ByPosition) -> Floats:
        """The mean of Var(S_g − aT) over the `levels` a, for each g; shape (count,).

        In a tree of n cells Var(S_g − aT) = Var S_g + (a² − 2a·g/n)·Var T.
        """
        of_levels = [variance for (variance,) in nodes]
        sums = prefix_variances(branches, of_levels)[1 : self.count + 1]
        if not any(self.levels):
            return sums
        first, second = (
            float(sum(level**power for level in self.levels) / len(self.levels)) for power in (1, 2)
        )
        parts = np.arange(1, self.count + 1) / math.prod(branches)
        return sums + (second - 2 * first * parts) * of_levels[0]

    def half_widths(self, noise: Agreeing, probability: float) -> Floats:
        """The half-width h of each sum: P(|S_g| <= h) >= `probability`; shape (count,)."""
        return prefix_half_widths(noise, probability)[1 : self.count + 1].astype(float)

    def is_alike(self, noise: Agreeing) -> bool:
        """False, since sums of more cells have noise with another law."""
        del noise
        return False

    def too_high(self, noise: Agreeing) -> float:
        """A bound on the bias of each sum if counts are made whole numbers >= 0.

        A sum of fewer than `count` cells is a sum of disjoint nodes, whose biases add up. If the
        tree has exactly `count` cells, their sum is the root. Else the bias of the sum of `count`
        cells is at most half of its std.
        """
        laws, branches = level_laws(noise), noise.branches
        spans = [math.prod(branches[level:]) for level in range(len(branches) + 1)]
        cells, bias = np.arange(self.count), [law.mean_abs / 2 for law in laws]
        counts = [cells % above // span for above, span in pairwise(spans)]
        sums = sum(count * high for count, high in zip(counts, bias[1:], strict=True))
        last = bias[0]
        if self.count < noise.dimension:
            last = math.sqrt(prefix_variances(branches, [x.variance for x in laws])[self.count]) / 2
        return float(max(last, np.max(sums)))

    def check(self, noise: Agreeing) -> None:
        """Raise NotApplicable if the moments of the sums would take too long."""
        check_moments(noise)

    def check_any(self, alone: Agreeing, scale: Fraction) -> None:
        """Raise NotApplicable if `check` would raise it for all shares; called before a search."""
        check_least_moments(alone.branches, scale)


class SingleSum(TreeTable):
    """A table of one number: a sum of cells of an even tree."""

    def is_alike(self, noise: Agreeing) -> bool:
        """True, since the table has only one number."""
        del noise
        return True

    def too_high(self, noise: Agreeing) -> float:
        """A bound on the bias if the number is made a whole number >= 0: half of its std."""
        laws = [[law.variance for law in level] for level in node_laws(noise)]
        return math.sqrt(float(self.variances(noise.branches, laws)[0])) / 2

    def check(self, noise: Agreeing) -> None:
        """Raise NotApplicable if the moments of the sum would take too long."""
        check_moments(noise)


@final
@dataclass(frozen=True, kw_only=True)
class FirstLeaves(SingleSum):
    """The sum of the first `cells` cells of an even tree: one number."""

    cells: int

    def variances(self, branches: tuple[int, ...], nodes: ByPosition) -> Floats:
        """The variance of the sum, given the variances of `nodes`; shape (1,)."""
        return self._pick(prefix_variances(branches, [variance for (variance,) in nodes]))

    def half_widths(self, noise: Agreeing, probability: float) -> Floats:
        """The half-width h of the sum: P(|noise| <= h) >= `probability`; shape (1,)."""
        return self._pick(prefix_half_widths(noise, probability).astype(float))

    def _pick(self, of_all: Floats) -> Floats:
        return of_all[self.cells : self.cells + 1]


@final
@dataclass(frozen=True, kw_only=True)
class CellRange(SingleSum):
    """The sum of the cells `first` … `last` − 1 of an even tree: one number."""

    first: int
    last: int

    def variances(self, branches: tuple[int, ...], nodes: ByPosition) -> Floats:
        """The variance of the sum, given the variances of `nodes`; shape (1,)."""
        of_levels = [variance for (variance,) in nodes]
        return np.array([range_variance(branches, of_levels, self.first, self.last)])

    def half_widths(self, noise: Agreeing, probability: float) -> Floats:
        """The half-width h of the sum: P(|noise| <= h) >= `probability`; shape (1,)."""
        return np.array([range_half_width(noise, self.first, self.last, probability)], dtype=float)


@final
@dataclass(frozen=True, kw_only=True)
class Crossed(TreeTable):
    """Sums over columns, in an even tree with a level for each column.

    A column is `fixed` if the table is grouped by it; the table sums over all other columns. If the
    fixed columns are the first columns, the numbers are nodes of the tree.
    """

    fixed: tuple[bool, ...]

    @property
    def last(self) -> int:
        """The level of the tree whose nodes are summed to the table's numbers."""
        return max((level for level, fixed in enumerate(self.fixed, start=1) if fixed), default=0)

    def variances(self, branches: tuple[int, ...], nodes: ByPosition) -> Floats:
        """The variance of each number, given the variances of `nodes`; shape (1,)."""
        of_levels = [variance for (variance,) in nodes]
        return np.array([variance_of_sum(branches, of_levels, self.fixed)])

    def half_widths(self, noise: Agreeing, probability: float) -> Floats:
        """The half-width h of each number: P(|noise| <= h) >= `probability`; shape (1,)."""
        return np.array([half_width_of_sum(noise, self.fixed, probability)], dtype=float)

    def is_alike(self, noise: Agreeing) -> bool:
        """True, since all nodes of a level have the same law."""
        del noise
        return True

    def too_high(self, noise: Agreeing) -> float:
        """A bound on the bias of each number if counts are made whole numbers >= 0."""
        pairs = zip(noise.branches[: self.last], self.fixed, strict=False)
        nodes = math.prod(size for size, fixed in pairs if not fixed)
        return nodes * (level_laws(noise)[self.last].mean_abs / 2)

    def check(self, noise: Agreeing) -> None:
        """Raise NotApplicable if the law of a sum of several nodes would take too long."""
        if not all(self.fixed[: self.last]):
            check_sums(noise)


@final
@dataclass(frozen=True, kw_only=True)
class GroupSums(TreeTable):
    """Sums of a table over groups: each number adds up one number of `of` from each group's tree.

    The `groups` trees have the same shape and independent noise.
    """

    of: Nodes | Prefixes
    groups: int

    def variances(self, branches: tuple[int, ...], nodes: ByPosition) -> Floats:
        """The variance of each number, given the variances of `nodes`: variances add up."""
        return self.groups * self.of.variances(branches, nodes)

    def half_widths(self, noise: Agreeing, probability: float) -> Floats:
        """The half-width h of each number: P(|noise| <= h) >= `probability`."""
        if isinstance(self.of, Prefixes):
            laws = Laws.of_prefixes(noise, self.of.count)
        else:
            laws = Laws.of_node(level_laws(noise)[self.of.level])
        return laws.half_widths(self.groups, probability)

    def is_alike(self, noise: Agreeing) -> bool:
        """True if the noise of all numbers has the same law."""
        return self.of.is_alike(noise)

    def too_high(self, noise: Agreeing) -> float:
        """A bound on the bias if counts are made whole numbers >= 0: biases of groups add up."""
        return self.groups * self.of.too_high(noise)

    def check(self, noise: Agreeing) -> None:
        """Raise NotApplicable if computing the laws of the numbers would take too long."""
        self.of.check(noise)


@final
@dataclass(frozen=True, kw_only=True)
class TreeStrategy:
    """Noise on a tree, and the tables that are sums of its cells: a `Strategy`.

    Each of the groups has a tree of the same shape, with the `noise` of one group. `places` are the
    indices of the workload's cells among the cells of all trees, shape (cells,); None if both are
    the same cells.
    """

    noise: Agreeing
    tables: tuple[TreeTable, ...]
    groups: int = 1
    places: Wholes | None = field(default=None, compare=False)

    def variance(self, table: int) -> Floats:
        """The variance of each number of a table."""
        laws = [[law.variance for law in level] for level in node_laws(self.noise)]
        return self.tables[table].variances(self.noise.branches, laws)

    def half_widths(self, table: int, probabilities: Sequence[float]) -> list[Floats]:
        """For each probability, an array of half-widths of the numbers of a table.

        A half-width h has P(|error| <= h) >= probability.
        """
        return [self.tables[table].half_widths(self.noise, p) for p in probabilities]

    def is_alike(self, table: int) -> bool:
        """True if the errors of all numbers of a table have the same law."""
        return self.tables[table].is_alike(self.noise)

    def too_high(self, table: int) -> float:
        """A bound on the bias of a number of a table if counts are made whole numbers >= 0."""
        return self.tables[table].too_high(self.noise)

    def count_groups(self, table: int) -> int:
        """The number of groups, or of sums of groups, for which a table is published."""
        summed = self.tables[table]
        return self.groups // (summed.groups if isinstance(summed, GroupSums) else 1)

    def place(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """The exact cells of all trees: the workload's cells, and 0 for all other cells."""
        if self.places is None:
            return [cells]
        placed = np.zeros(self.groups * self.noise.dimension, dtype=cells.dtype)
        placed[self.places] = cells
        return [placed]

    def estimate(self, noisy: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Select the noisy cells of the workload from the noisy cells of all trees."""
        (counts,) = noisy
        return counts if self.places is None else counts[self.places]

    # Cells that are drawn one after another: see `noise.trees.next_leaf`.

    def check_turns(self) -> None:
        """Raise NotApplicable if the cells can't be drawn one after another."""
        check_next_leaf(self.noise, trees=self.groups)

    def start_sums(self) -> OpenSums:
        """The partial sums of a tree's noise before its first cell is drawn."""
        return start_sums(self.noise)

    def draw_next(self, leaf: int, sums: Sequence[OpenSums], entropy: Entropy) -> list[int]:
        """Draw the noise of cell number `leaf`, for each of the trees with these partial sums."""
        return draw_next_leaf(self.noise, leaf, sums, entropy)

    def sums_after(self, leaf: int, sums: OpenSums, drawn: int) -> OpenSums:
        """The partial sums of a tree's noise after cell number `leaf`, whose noise is `drawn`."""
        return sums_after(self.noise, leaf, sums, drawn)

    def bound(self, budget: Budget, *, largest: bool = False) -> float:
        """A lower bound on the geometric mean of the tables' stds, for any additive noise.

        With `largest` it is a lower bound on the largest std. The tables must be `Nodes` of all
        levels from some level down to the cells.
        """
        levels = sorted(table.level for table in self.tables if isinstance(table, Nodes))
        if not self.noise.even:
            children, root = self.noise.shape.children, not levels[0]
            least = least_log_variance(children, budget=budget, root=root)
            return math.exp(least / (2 * len(levels)))
        tables = tuple(2**level - 1 for level in reversed(levels))
        marginals = Marginals(sizes=self.noise.branches, tables=tables)
        if largest:
            return math.exp(bound_of_largest(marginals, budget=budget) / 2)
        least = bound(marginals, [Fraction(1)] * len(levels), budget=budget)
        return math.exp(least / (2 * len(levels)))
