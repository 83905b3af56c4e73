"""Tables by levels of a tree and by other columns: the least squares estimate and its variances.

For example, the levels may be regions and their municipalities, the columns age and sex. A table is
grouped by one level of the tree and by some of the other columns. Regions may have different
numbers of municipalities.

Notation: the tree has the levels 0 … L, with c_l nodes in level l and one node in level 0. The d
other columns have n_1 … n_d keys, and K is the product of all n_i. A table (l, B) is grouped by the
nodes of level l and by the columns in B, a bit mask; it is the integer l·2^d + B. n_B is the
product of n_i over the columns in B. P_A is a projection in the other columns alone: on the part of
tables by the columns A that tables by fewer columns lack; see `marginal`. τ_(l,M) is 1/variance of
a number of the measured table (l, M), and 0 if it isn't measured. w_l(A) is the sum of τ_(l,M)
K/n_M over all M ⊇ A. For each A, P_A is estimated like counts on the tree, if the nodes of level l
were measured with the information w_l(A). Proofs: theory/marginals.md §15.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.workloads.lattice import TableLattice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Wholes = NDArray[np.int64]


@final
@dataclass(frozen=True, kw_only=True)
class Nested(TableLattice):
    """The published `tables` by a tree and by other columns, as distinct integers.

    `parents` has, for each level from 1 on, the index of the parent of each node. Every node above
    the last level has a child. `sizes` are the numbers of keys of the other columns.
    """

    parents: tuple[tuple[int, ...], ...]

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The number of nodes of every level, from level 0 on."""
        return (1, *map(len, self.parents))

    @cached_property
    def branches(self) -> tuple[int, ...] | None:
        """The number of children of a node on each level; None if nodes of a level differ."""
        branches: list[int] = []
        for above in self._above:
            children = np.bincount(above)
            if (children != children[0]).any():
                return None
            branches.append(int(children[0]))
        return tuple(branches)

    @cached_property
    def _above(self) -> tuple[Wholes, ...]:
        return tuple(np.array(level, dtype=np.int64) for level in self.parents)

    @property
    def masks(self) -> int:
        """The number of sets of other columns: 2 to the power of their number."""
        return 1 << len(self.sizes)

    @property
    def every(self) -> Sequence[int]:
        """All tables that may be measured, the cells last: here all tables."""
        return range(len(self.counts) * self.masks)

    @property
    def places(self) -> Sequence[int]:
        """The index of each table in `every`."""
        return self.every

    def split(self, table: int) -> tuple[int, int]:
        """The level of a table, and the mask of its other columns."""
        return divmod(table, self.masks)

    def rank(self, table: int) -> int:
        """The level of a table plus the number of its other columns."""
        level, mask = self.split(table)
        return level + mask.bit_count()

    def shape(self, table: int) -> tuple[int, ...]:
        """The sizes of a table, the nodes of its level first."""
        level, mask = self.split(table)
        return (self.counts[level], *self._sizes(mask))

    def cells(self, table: int) -> int:
        """The number of cells of a table."""
        return math.prod(self.shape(table))

    def sums(self, numbers: NDArray[Any], table: int, *, of: int) -> NDArray[Any]:
        """Sum the numbers of the table `of` to the numbers of `table`, in the shape of `table`."""
        (level, mask), (lowest, wider) = self.split(table), self.split(of)
        array = numbers.reshape(self.shape(of))
        columns = [i for i in range(len(self.sizes)) if wider >> i & 1]
        others = tuple(at + 1 for at, i in enumerate(columns) if not mask >> i & 1)
        array = array.sum(axis=others)
        for at in range(lowest - 1, level - 1, -1):
            added = np.zeros((self.counts[at], *array.shape[1:]), dtype=array.dtype)
            np.add.at(added, self._above[at], array)
            array = added
        return array

    def meet(self, table: int, other: int) -> int:
        """The finest table that is a sum of `table` and is also a sum of `other`."""
        (level, mask), (at, columns) = self.split(table), self.split(other)
        return min(level, at) * self.masks + (mask & columns)

    def join(self, table: int, other: int) -> int:
        """The coarsest table of which both tables are sums."""
        (level, mask), (at, columns) = self.split(table), self.split(other)
        return max(level, at) * self.masks + (mask | columns)

    def nodes_below(self, level: int, lowest: int) -> Wholes:
        """The number of descendants in level `lowest` of each node of `level` <= `lowest`."""
        ones = np.ones(self.counts[lowest], dtype=np.int64)
        return self.sums(ones, level * self.masks, of=lowest * self.masks)

    def _sizes(self, mask: int) -> tuple[int, ...]:
        return tuple(size for i, size in enumerate(self.sizes) if mask >> i & 1)

    # The search for shares uses an even tree, in which a node of level l has N/c_l cells. Its
    # variances are as in `marginal`, with the contrasts of a level in place of a column's.

    @cached_property
    def within(self) -> NDArray[np.bool_]:
        """True where table A is a sum of table B; shape (every table A, every table B)."""
        levels, masks = np.divmod(np.array(self.every), self.masks)
        columns = (masks[:, None] & masks[None, :]) == masks[:, None]
        return columns & (levels[:, None] <= levels[None, :])

    def contrasts(self, table: int) -> int:
        """The number of contrasts of a table: degrees of freedom that coarser tables lack.

        It is the number of nodes that its level has more than the level above, times the product of
        n_i − 1 over its columns.
        """
        level, mask = self.split(table)
        new = self.counts[level] - (self.counts[level - 1] if level else 0)
        return new * math.prod(size - 1 for size in self._sizes(mask))

    # The variances and the estimate use the tree itself.

    def _weights(self, information: Floats) -> Floats:
        """The information w_l(A) about each P_A at each level l; shape (levels, masks).

        `information` has 1/variance of every table, 0 for tables that aren't measured.
        """
        sizes = np.array([math.prod(self._sizes(mask)) for mask in range(self.masks)], dtype=float)
        masks = np.arange(self.masks)
        inside = (masks[:, None] & masks[None, :]) == masks[:, None]
        return information.reshape(-1, self.masks) @ (inside * (sizes[-1] / sizes)).T

    def _climb(self, weights: Floats) -> _Climb:
        """Compute a_v and q_v of `_Climb`, from the last level up."""
        infinite = np.full((self.counts[-1], self.masks), math.inf)
        alone, summed = [_combine(weights[-1], infinite)], list["Floats"]()
        for level in range(len(self.parents) - 1, -1, -1):
            below = _sums_of_children(self._above[level], alone[0], self.counts[level])
            summed.insert(0, below)
            alone.insert(0, _combine(weights[level], below))
        return _Climb(weights=weights, alone=alone, summed=summed)

    def _shares(self, level: int, climb: _Climb) -> Floats:
        """The fraction of a parent's correction that each child gets, for all parents in `level`.

        The correction is the parent's estimate minus the sum of its children's estimates. A child c
        of v gets the fraction a_c/q_v of it (`_Climb`); shape (children, masks). If nothing is
        measured below, all children get equal fractions.
        """
        alone, summed, above = climb.alone[level + 1], climb.summed[level], self._above[level]
        children = np.bincount(above)[above].astype(float)[:, None]
        known = np.isfinite(alone)
        return np.where(known, alone, 1.0) / np.where(known, summed[above], children)

    def node_variances(self, information: Floats) -> list[Floats]:
        """The variance of the estimate of each P_A at each node, an array (nodes, masks) per level.

        They are computed from the root down: a child c of v has V_c = a_c − a_c²/q_v + (a_c/q_v)²
        V_v. Here V is the variance, and `_Climb` defines a and q. A variance is infinite where
        nothing is measured.
        """
        climb = self._climb(self._weights(information))
        variances = [climb.alone[0]]
        for level, alone in enumerate(climb.alone[1:]):
            known, shares = np.isfinite(alone), self._shares(level, climb)
            above = np.where(known, variances[level][self._above[level]], 0.0)
            inner = np.where(known, alone, 0.0) * (1 - shares) + shares**2 * above
            variances.append(np.where(known, inner, math.inf))
        return variances

    def row_variances(
        self, information: Floats, tables: Sequence[int] | None = None
    ) -> list[Floats]:
        """The variance of a table's number at each node of its level, an array (nodes,) per table.

        The default `tables` are the published ones. `information` has 1/variance of every table.
        """
        nodes = self.node_variances(information)
        whole = math.prod(self.sizes)
        rows: list[Floats] = []
        for table in self.tables if tables is None else tables:
            level, mask = self.split(table)
            numbers = np.zeros(self.counts[level])
            for part in range(self.masks):
                contrasts = math.prod(size - 1 for size in self._sizes(part))
                if part & mask == part and contrasts:
                    factor = whole * contrasts / math.prod(self._sizes(mask)) ** 2
                    numbers += factor * nodes[level][:, part]
            rows.append(numbers)
        return rows

    def largest_part(self, information: Floats, table: int) -> float:
        """A bound on the part of a variance in `table` that one measured number's noise causes."""
        parts: list[float] = []
        _, mask = self.split(table)
        for measured in np.flatnonzero(information).tolist():
            level, columns = self.split(measured)
            shared = level * self.masks + (columns & mask)
            (variances,) = self.row_variances(information, (shared,))
            alike = self.cells(measured) / self.cells(shared)
            parts.append(float(information[measured] * variances.max()) / alike**2)
        return max(parts)

    def estimate(self, information: Floats, measured: Mapping[int, Floats]) -> Floats:
        """The least squares estimate of all cells, shape (nodes of the last level, *sizes).

        `measured` holds the noisy numbers of each table with an information above 0. A total is
        spread evenly over cells that the measurements don't distinguish.
        """
        climb = self._climb(self._weights(information))
        cells = np.zeros(self.shape(self.every[-1]))
        for part in range(self.masks):
            means = self._measured_means(information, measured, part)
            numbers = self._smooth(climb, means, part)
            shape = [size if part >> i & 1 else 1 for i, size in enumerate(self.sizes)]
            factor = math.prod(self._sizes(part)) / math.prod(self.sizes)
            cells += numbers.reshape(-1, *shape) * factor
        return cells

    def _measured_means(
        self, information: Floats, measured: Mapping[int, Floats], part: int
    ) -> list[Floats]:
        """The measured P_A for A = `part` at each level: a mean over the level's measured tables.

        A table (l, M) has the weight τ_(l,M) K/n_M. The result has an array (nodes, product of the
        sizes of A) for each level, with sums of 0 along each column.
        """
        means: list[Floats] = []
        for level, count in enumerate(self.counts):
            total, added = np.zeros((count, *self._sizes(part))), 0.0
            for table, values in measured.items():
                of, mask = self.split(table)
                if of == level and part & mask == part:
                    columns = [i for i in range(len(self.sizes)) if mask >> i & 1]
                    others = [at + 1 for at, i in enumerate(columns) if not part >> i & 1]
                    weight = float(information[table]) * self.counts[level] / self.cells(table)
                    total += weight * values.reshape(self.shape(table)).sum(axis=tuple(others))
                    added += weight
            for axis in range(1, total.ndim):
                total -= total.mean(axis=axis, keepdims=True)
            means.append((total / added if added else total).reshape(count, -1))
        return means

    def _smooth(self, climb: _Climb, means: Sequence[Floats], part: int) -> Floats:
        """The estimate of P_A for A = `part` at the nodes of the last level, shape (nodes, n_A).

        From the leaves up, a node's estimate is the mean of its measured number and the sum of its
        children, weighted by information. From the root down, each child gets a fraction
        (`_shares`) of the difference between its parent's estimate and the sum of all children.
        """
        climbed, below = [means[-1]], list["Floats"]()
        for level in range(len(self.parents) - 1, -1, -1):
            sums = _sums_of_children(self._above[level], climbed[0], self.counts[level])
            below.insert(0, sums)
            weight = float(climb.weights[level, part])
            if weight:  # if nothing is measured below, w_l a_v is 1
                share = weight * climb.alone[level][:, part, None]
                climbed.insert(0, share * means[level] + (1 - share) * sums)
            else:
                climbed.insert(0, sums)
        numbers = climbed[0]
        for level, sums in enumerate(below):
            shares = self._shares(level, climb)[:, part, None]
            numbers = climbed[level + 1] + shares * (numbers - sums)[self._above[level]]
        return numbers


@final
@dataclass(frozen=True, kw_only=True)
class _Climb:
    """The variances of estimates at each node from measurements in and below it, for each P_A.

    `weights` are w_l(A), shape (levels, masks). `alone` has a_v, the variance of the estimate of
    node v from measurements in and below v. `summed` has q_v, the variance of the sum of such
    estimates of v's children. Both have an array of shape (nodes, masks) for each level. A value is
    infinite where no measurement determines such an estimate.
    """

    weights: Floats
    alone: Sequence[Floats]
    summed: Sequence[Floats]


def _combine(weights: Floats, below: Floats) -> Floats:
    """The variance of each node's estimate from its own measurement and its children's sum.

    It is 1/(w + 1/q). `weights` are w, the information of the measurement, shape (masks,). `below`
    is q, the variance of the sum, shape (nodes, masks). It is infinite if w = 0 and q = ∞.
    """
    with np.errstate(divide="ignore"):
        return 1 / (weights[None, :] + 1 / below)


def _sums_of_children(parents: Wholes, numbers: Floats, count: int) -> Floats:
    """Sum the children's numbers for each of `count` parents, shape (count, columns)."""
    sums = np.zeros((count, numbers.shape[1]))
    np.add.at(sums, parents, numbers)
    return sums
