"""Whole counts ≥ 0 that add up, computed from noisy counts along a tree of sums.

A tree is given by an array for each level, from the highest down. The array has, for each cell, the
number of the node to which the cell belongs; the nodes of a level are numbered from 0. Nodes of the
first level have no parent; nodes of the last level are the cells. All numbers are whole and exact,
and nothing is drawn.

Notation: y_v is the noisy number of a node v, a multiple of 1/`parts`. r_v is y_v rounded up or
down, so that all r add up. x_v is the published count.

In the first level x_v = max(0, r_v). In lower levels, x_v = max(0, r_v − θ), with the same whole θ
≥ 0 for all children of a node. Some children get 1 more, so that they add up to their parent's
count. Among whole numbers ≥ 0 with this sum, these have the smallest sum of squared distances to
the r_v. Since θ ≥ 0, x_v ≤ max(0, r_v) everywhere (theory/marginals.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.tables.results.table_files import read_table
from leastnoise.tables.statistics.totals import bound_noisy_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.answers.sums.whole_counts import WholeCounts
    from leastnoise.tables.results.table import Table

    Wholes = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Sums = Callable[[NDArray[Any]], Sequence[NDArray[Any]]]
    """A function from the cells to all published tables, in the order of their parts."""


@final
@dataclass(frozen=True, kw_only=True)
class Families:
    """The nodes of a level, grouped by their parents in the level above.

    `parents` has the number of each node's parent, shape (nodes,).
    """

    parents: Wholes
    count: int
    """The number of parents; each has at least one child."""

    def sums(self, numbers: Wholes) -> Wholes:
        """The sum of the children's numbers, for each parent."""
        return sums_by(self.parents, numbers, self.count)

    def choose_first(self, wanted: Wholes, order: Wholes) -> NDArray[np.bool_]:
        """Choose the first `wanted` children of each parent in `order`; True for chosen nodes.

        `wanted` has a number for each parent. `order` lists all nodes by parent, and the nodes of a
        parent in the order of choice.
        """
        chosen = np.empty(len(order), dtype=np.bool_)
        chosen[order] = self._ranks(order) < wanted[self.parents[order]]
        return chosen

    def spread(self, wanted: Wholes, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Choose `wanted` children of each parent; True for chosen nodes.

        `wanted` has a number for each parent. Chosen nodes are spread evenly over the children for
        which `among` is True.
        """
        order = np.argsort(self.parents, kind="stable")
        order = order[among[order]]
        parents = self.parents[order]
        places, most = self._ranks(order), wanted[parents]
        count = self.sums(among.astype(np.int64))[parents]
        chosen = np.zeros(len(among), dtype=np.bool_)
        chosen[order] = (places + 1) * most // count > places * most // count
        return chosen

    def _ranks(self, order: Wholes) -> Wholes:
        """For each node of `order`, the number of its siblings that stand before it in `order`.

        `order` is sorted by parent.
        """
        parents = self.parents[order]
        return np.arange(len(parents)) - np.searchsorted(parents, parents)

    def find_lowering(self, numbers: Wholes, totals: Wholes) -> Wholes:
        """For each parent, the least whole θ ≥ 0 with Σ max(0, number − θ) ≤ total.

        The sum is over the parent's children. For every θ, it is the maximum over k of (the sum of
        the k largest numbers) − kθ. So θ is at least (the sum of the k largest numbers − total)/k
        for every k. Each of the `totals` is at least 0.
        """
        order = np.lexsort((-numbers, self.parents))
        parents, places = self.parents[order], self._ranks(order)
        summed = np.concatenate([[0], numbers[order].cumsum()])
        largest = summed[1:] - summed[np.arange(len(parents)) - places]
        least = np.zeros(self.count, dtype=np.int64)
        np.maximum.at(least, parents, -((totals[parents] - largest) // (places + 1)))  # rounded up
        return least

    def lower(self, numbers: Wholes, totals: Wholes) -> Wholes:
        """Whole numbers ≥ 0 that add up to each parent's total, nearest to `numbers`.

        They have the smallest sum of squared distances. Each of the `totals` is at least 0, and at
        most the sum of the positive numbers among the parent's children.
        """
        least = self.find_lowering(numbers, totals)
        lowered = np.maximum(numbers - least[self.parents], 0)
        tied = (numbers >= least[self.parents]) & (least[self.parents] > 0)
        return lowered + self.spread(totals - self.sums(lowered), tied)

    def round(self, numbers: Wholes, totals: Wholes, parts: int) -> Wholes:
        """Round numbers/parts up or down, so that each parent's children add up to its total.

        `totals` has, for each parent, the sum of its children's numbers/parts, rounded up or down.
        The numbers with the largest remainders are rounded up.
        """
        down, rest = np.divmod(numbers, parts)
        wanted = totals - self.sums(down)
        return down + self.choose_first(wanted, np.lexsort((-rest, self.parents)))


def sums_by(places: Wholes, numbers: NDArray[Any], count: int) -> NDArray[Any]:
    """Sum the `numbers` by node; `places` has the node of each number, from 0 to `count` − 1."""
    sums = np.zeros(count, dtype=numbers.dtype)
    np.add.at(sums, places, numbers)
    return sums


def levels_of(tree: Sequence[Wholes]) -> tuple[list[int], list[Families]]:
    """The number of nodes of each level, and the `Families` of each level except the first."""
    counts = [int(places.max()) + 1 for places in tree]
    families: list[Families] = []
    for (above, count), (below, nodes) in pairwise(zip(tree, counts, strict=True)):
        parents = np.empty(nodes, dtype=np.int64)
        parents[below] = above
        families.append(Families(parents=parents, count=count))
    return counts, families


def put_whole_counts(
    whole: WholeCounts | None,
    parts: Sequence[NoisyPart],
    tables: Sequence[Table],
    steps: Wholes,
    *,
    grid: Fraction,
    sums: Sums,
) -> list[Table]:
    """The tables to publish; noisy counts are replaced by whole counts if the spec asks for them.

    The intervals still belong to the noisy numbers of `tables`. `sums` computes all tables from
    cells. The noisy cells are `steps` of the `grid`, which is 1 or a unit fraction.
    """
    if whole is None:
        return [*tables]
    cells = find_whole_counts(steps.reshape(-1), grid.denominator, whole.tree)
    label = parts[0].layout.statistics[0].label
    return [
        replace(table, columns=table.columns | {label: counts.reshape(-1).tolist()})
        for table, counts in zip(tables, sums(cells), strict=True)
    ]


def find_whole_counts(cells: Wholes, parts: int, tree: Sequence[Wholes]) -> Wholes:
    """The published whole counts of cells, computed along the `tree`; shape (cells,).

    `cells` has the noisy counts in units of 1/`parts`.
    """
    counts, families = levels_of(tree)
    sums = [sums_by(places, cells, count) for places, count in zip(tree, counts, strict=True)]
    rounded = np.rint(sums[0] / parts).astype(np.int64)
    counts_of_level = np.maximum(rounded, 0)
    for family, numbers in zip(families, sums[1:], strict=True):
        rounded = family.round(numbers, rounded, parts)
        counts_of_level = family.lower(rounded, counts_of_level)
    return counts_of_level[tree[-1]]


def check_whole_counts(
    whole: WholeCounts | None,
    folder: Path,
    parts: Sequence[NoisyPart],
    kind: str,
    *,
    sums: Sums,
    exact: bool,
) -> None:
    """Raise CertificateRejected if whole counts can't follow from noisy numbers in their intervals.

    An interval that ends at 0 only bounds its noisy number from above. Every other interval
    determines the number: exactly if noisy numbers (`exact`) and their half-width are whole, or
    else to within 1. Counts have to follow from numbers within these bounds. Nothing is checked if
    an interval of a cell may have been clipped. `check_table` checked each table before, and
    `check_sums` or `check_on_tree` checked that tables agree.
    """
    if whole is None:
        return
    bounds = {part.name: _CountBounds.read(folder, part, kind, exact=exact) for part in parts}
    cells = bounds[parts[0].name]
    if not np.isfinite(cells.most).all():
        return  # ends of intervals are clipped there, and don't bound the noisy numbers
    summed = zip(bounds.items(), sums(cells.least), sums(cells.most), strict=True)
    for (name, table), least, most in summed:
        if not table.meets(least.reshape(-1), most.reshape(-1)):
            why = f"a count_low or count_high that doesn't fit the ends in {parts[0].name}.{kind}"
            raise CertificateRejected(f"The table {name}.{kind} has {why}.")
    counts, families = levels_of(whole.tree)
    nodes = [cells.add_up(places, count) for places, count in zip(whole.tree, counts, strict=True)]
    nodes = [
        node if name is None else node.narrow(bounds[name])
        for node, name in zip(nodes, whole.names, strict=True)
    ]
    first = nodes[0]
    fits = bool(((first.lowest <= first.value) & (first.value <= first.highest)).all())
    pairs = zip(families, pairwise(nodes), strict=True)
    if not (fits and all(_follow(family, above.value, below) for family, (above, below) in pairs)):
        raise CertificateRejected(
            f"In the tables of {parts[0].query!r}, the whole counts don't follow from the stated "
            "intervals."
        )


@final
@dataclass(frozen=True, kw_only=True)
class _CountBounds:
    """Published counts (`value`), and bounds `least` and `most` on their noisy numbers."""

    value: Wholes
    least: Floats
    most: Floats

    @classmethod
    def read(cls, folder: Path, part: NoisyPart, kind: str, *, exact: bool) -> _CountBounds:
        """Read counts from a table's file, and bound noisy numbers by their published intervals.

        With `exact`, noisy numbers are whole.
        """
        columns = read_table(folder / f"{part.name}.{kind}", [part.layout])
        label = part.layout.statistics[0].label
        value, low, high = (
            np.array([*map(int, columns[label + end])], dtype=np.int64)
            for end in ("", "_low", "_high")
        )
        half = np.asarray(part.noise_errors[0].halves95)
        least, most = bound_noisy_numbers(low.astype(float), high.astype(float), half)
        least, most = np.floor(least), np.ceil(most)
        if exact:  # sums of two whole numbers are not rounded
            number = high - half
            fits = low == np.where(high > 0, np.maximum(number - half, 0), 0)
            sure = (half == np.floor(half)) & np.isfinite(most)
            least = np.where(sure, np.where(high > 0, number, -np.inf), least)
            most = np.where(sure, np.where(fits, number, -np.inf), most)
        return cls(value=value, least=least, most=most)

    @property
    def lowest(self) -> Wholes:
        """The smallest max(0, r_v) that the bounds allow, with r_v as in the module's notation."""
        return np.maximum(self.least, 0).astype(np.int64)

    @property
    def highest(self) -> Wholes:
        """The largest max(0, r_v) that the bounds allow, with r_v as in the module's notation."""
        return np.maximum(self.most, 0).astype(np.int64)

    def meets(self, least: Floats, most: Floats) -> bool:
        """True if the bounds of each number overlap the interval from `least` to `most`."""
        return bool((np.maximum(self.least, least) <= np.minimum(self.most, most)).all())

    def add_up(self, places: Wholes, count: int) -> _CountBounds:
        """Sum the counts and their bounds by node; `places` has the node of each count.

        Nodes are numbered from 0 to `count` − 1.
        """
        return _CountBounds(
            value=sums_by(places, self.value, count),
            least=sums_by(places, self.least, count),
            most=sums_by(places, self.most, count),
        )

    def narrow(self, other: _CountBounds) -> _CountBounds:
        """Intersect these bounds with the `other` bounds of the same numbers."""
        least, most = np.maximum(self.least, other.least), np.minimum(self.most, other.most)
        return replace(self, least=least, most=most)


def _follow(families: Families, totals: Wholes, counts: _CountBounds) -> bool:
    """False only if `lower` can't give the children these `counts`, given their parents' totals.

    The rounded numbers of the children, which `lower` needs, are known only within bounds.
    """
    lowest, highest, value = counts.lowest, counts.highest, counts.value
    if (families.sums(highest) < totals).any():
        return False
    least, most = (
        families.find_lowering(numbers, totals)[families.parents] for numbers in (lowest, highest)
    )
    least_left = np.maximum(lowest - most, 0)
    most_left = np.minimum(np.maximum(highest - least, 0) + 1, highest)
    known = (families.sums(highest - lowest) == 0)[families.parents]
    same = (value == families.lower(highest, totals)) | ~known
    return bool((same & (least_left <= value) & (value <= most_left)).all())
