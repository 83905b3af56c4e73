"""Counts that add up, whole and none below 0: found from the noisy ones alone, down a tree of sums.

A tree is the cells' parents: for each level, the highest first, of which node each cell is a part.
Nodes are numbered from 0 on in each level; those of the first have no parent, those of the last are
the cells themselves. All is exact, in whole numbers, and draws nothing.

notation: y_v the noisy number of a node, a multiple of 1/`parts`; r_v it, rounded; x_v what is
published. r_v is y_v rounded up or down, so that all r add up. In the first level x_v is
max(0, r_v). Below, it is max(0, r_v − θ) with one whole θ for the children of a node, some of them
1 more, so that they add up to what their parent has: no whole numbers from 0 on that do are nearer
to the r_v in squares. θ ≥ 0, so that x_v ≤ max(0, r_v) everywhere (theory/marginals.md).
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

    from leastnoise.tables.answers.noisy import BlockPlan
    from leastnoise.tables.answers.sums.whole_counts import WholeCounts
    from leastnoise.tables.results.table import Table

    Wholes = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Sums = Callable[[NDArray[Any]], Sequence[NDArray[Any]]]
    """From the cells to all published tables, in the order of their blocks."""


@final
@dataclass(frozen=True, kw_only=True)
class Families:
    """The nodes of a level by their `parents`, in the level above; shape (nodes,)."""

    parents: Wholes
    count: int
    """How many parents there are, each with a child."""

    def sums(self, numbers: Wholes) -> Wholes:
        """Return what the children of each parent add up to."""
        return sums_by(self.parents, numbers, self.count)

    def first(self, wanted: Wholes, order: Wholes) -> NDArray[np.bool_]:
        """Return the first so many children of each parent, as many as `wanted` of it, in `order`.

        `order` has the nodes parent by parent.
        """
        found = np.empty(len(order), dtype=np.bool_)
        found[order] = self._ranks(order) < wanted[self.parents[order]]
        return found

    def spread(self, wanted: Wholes, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return so many children of each parent as `wanted`, at even distances `among` some."""
        order = np.argsort(self.parents, kind="stable")
        order = order[among[order]]
        own = self.parents[order]
        places, most = self._ranks(order), wanted[own]
        count = self.sums(among.astype(np.int64))[own]
        found = np.zeros(len(among), dtype=np.bool_)
        found[order] = (places + 1) * most // count > places * most // count
        return found

    def _ranks(self, order: Wholes) -> Wholes:
        """Return which child of its parent each node of `order` is, from 0 on, in it."""
        own = self.parents[order]
        return np.arange(len(own)) - np.searchsorted(own, own)

    def lowering(self, numbers: Wholes, totals: Wholes) -> Wholes:
        """Return for each parent the least θ ≥ 0 with Σ max(0, number − θ) ≤ its total ≥ 0.

        That sum is the largest over k of what the k largest numbers add up to, less kθ.
        """
        order = np.lexsort((-numbers, self.parents))
        own, places = self.parents[order], self._ranks(order)
        summed = np.concatenate([[0], numbers[order].cumsum()])
        largest = summed[1:] - summed[np.arange(len(own)) - places]
        found = np.zeros(self.count, dtype=np.int64)
        np.maximum.at(found, own, -((totals[own] - largest) // (places + 1)))  # rounded up
        return found

    def lowered(self, numbers: Wholes, totals: Wholes) -> Wholes:
        """Return the whole numbers from 0 on nearest to `numbers` that add up to the `totals`.

        Each total is at least 0, and at most what numbers above 0 add up to.
        """
        least = self.lowering(numbers, totals)
        found = np.maximum(numbers - least[self.parents], 0)
        tied = (numbers >= least[self.parents]) & (least[self.parents] > 0)
        return found + self.spread(totals - self.sums(found), tied)

    def rounded(self, numbers: Wholes, totals: Wholes, parts: int) -> Wholes:
        """Return numbers/parts rounded up or down, so that they add up to the `totals`.

        Each total is the sum of numbers/parts, rounded up or down. The largest remainders are
        rounded up.
        """
        down, rest = np.divmod(numbers, parts)
        wanted = totals - self.sums(down)
        return down + self.first(wanted, np.lexsort((-rest, self.parents)))


def sums_by(places: Wholes, numbers: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the sums of the numbers of each of `count` places."""
    found = np.zeros(count, dtype=numbers.dtype)
    np.add.at(found, places, numbers)
    return found


def levels_of(tree: Sequence[Wholes]) -> tuple[list[int], list[Families]]:
    """Return how many nodes each level has, and the families of each but the first."""
    counts = [int(places.max()) + 1 for places in tree]
    families: list[Families] = []
    for (above, count), (below, nodes) in pairwise(zip(tree, counts, strict=True)):
        parents = np.empty(nodes, dtype=np.int64)
        parents[below] = above
        families.append(Families(parents=parents, count=count))
    return counts, families


def put_whole_counts(
    whole: WholeCounts | None,
    blocks: Sequence[BlockPlan],
    tables: Sequence[Table],
    steps: Wholes,
    *,
    grid: Fraction,
    sums: Sums,
) -> list[Table]:
    """Return the published tables with whole counts, if the spec asks for them.

    `tables` are of the noisy numbers, whose intervals stay: those of cells are `steps` of the
    `grid`, which is 1 or a part of it.
    """
    if whole is None:
        return [*tables]
    cells = find_whole_counts(steps.reshape(-1), grid.denominator, whole.tree)
    label = blocks[0].layout.statistics[0].label
    return [
        replace(table, columns=table.columns | {label: counts.reshape(-1).tolist()})
        for table, counts in zip(tables, sums(cells), strict=True)
    ]


def find_whole_counts(cells: Wholes, parts: int, tree: Sequence[Wholes]) -> Wholes:
    """Return the published cells, given the noisy ones in 1/`parts`; shape (cells,)."""
    counts, families = levels_of(tree)
    sums = [sums_by(places, cells, count) for places, count in zip(tree, counts, strict=True)]
    rounded = np.rint(sums[0] / parts).astype(np.int64)
    found = np.maximum(rounded, 0)
    for own, numbers in zip(families, sums[1:], strict=True):
        rounded = own.rounded(numbers, rounded, parts)
        found = own.lowered(rounded, found)
    return found[tree[-1]]


def check_whole_counts(
    whole: WholeCounts | None,
    folder: Path,
    blocks: Sequence[BlockPlan],
    kind: str,
    *,
    sums: Sums,
    exact: bool,
) -> None:
    """Raise CertificateRejected unless whole counts are what their intervals say.

    An interval tells its noisy number if that is whole (`exact`), unless both ends are 0; else to
    within 1. From these numbers the counts follow. Nothing is said of what can't be told. The
    tables are as `check_table` found them, and add up.
    """
    if whole is None:
        return
    told = {block.name: _Told.read(folder, block, kind, exact=exact) for block in blocks}
    cells = told[blocks[0].name]
    if not np.isfinite(cells.most).all():
        return  # ends are cut off there, and tell nothing
    summed = zip(told.items(), sums(cells.least), sums(cells.most), strict=True)
    for (name, one), least, most in summed:
        if not one.meets(least.reshape(-1), most.reshape(-1)):
            why = f"a count_low or count_high that doesn't fit those of {blocks[0].name}.{kind}"
            raise CertificateRejected(f"The table {name}.{kind} has {why}.")
    counts, families = levels_of(whole.tree)
    nodes = [cells.summed(places, count) for places, count in zip(whole.tree, counts, strict=True)]
    nodes = [
        node if name is None else node.narrowed(told[name])
        for node, name in zip(nodes, whole.names, strict=True)
    ]
    first = nodes[0]
    fits = bool(((first.lowest <= first.value) & (first.value <= first.highest)).all())
    pairs = zip(families, pairwise(nodes), strict=True)
    if not (fits and all(_follows(own, above.value, below) for own, (above, below) in pairs)):
        raise CertificateRejected(
            f"The tables of {blocks[0].query!r} have counts that don't follow from their intervals."
        )


@final
@dataclass(frozen=True, kw_only=True)
class _Told:
    """Published counts, and between which whole numbers their noisy ones are, once rounded."""

    value: Wholes
    least: Floats
    most: Floats

    @classmethod
    def read(cls, folder: Path, block: BlockPlan, kind: str, *, exact: bool) -> _Told:
        """Return what the file of a table says."""
        columns = read_table(folder / f"{block.name}.{kind}", [block.layout])
        label = block.layout.statistics[0].label
        value, low, high = (
            np.array([*map(int, columns[label + end])], dtype=np.int64)
            for end in ("", "_low", "_high")
        )
        half = np.asarray(block.noise_errors[0].halves95)
        least, most = bound_noisy_numbers(low.astype(float), high.astype(float), half)
        least, most = np.floor(least), np.ceil(most)
        if exact:  # a whole number ± a whole number was rounded nowhere
            number = high - half
            fits = low == np.where(high > 0, np.maximum(number - half, 0), 0)
            sure = (half == np.floor(half)) & np.isfinite(most)
            least = np.where(sure, np.where(high > 0, number, -np.inf), least)
            most = np.where(sure, np.where(fits, number, -np.inf), most)
        return cls(value=value, least=least, most=most)

    @property
    def lowest(self) -> Wholes:
        """The least that is left of the noisy number where 0 stands for less."""
        return np.maximum(self.least, 0).astype(np.int64)

    @property
    def highest(self) -> Wholes:
        """The most that is left of it."""
        return np.maximum(self.most, 0).astype(np.int64)

    def meets(self, least: Floats, most: Floats) -> bool:
        """Whether every number may be between these ends, too."""
        return bool((np.maximum(self.least, least) <= np.minimum(self.most, most)).all())

    def summed(self, places: Wholes, count: int) -> _Told:
        """Return what the sums by so many places are, and may be."""
        return _Told(
            value=sums_by(places, self.value, count),
            least=sums_by(places, self.least, count),
            most=sums_by(places, self.most, count),
        )

    def narrowed(self, other: _Told) -> _Told:
        """Return the same numbers, between the ends that both tell."""
        least, most = np.maximum(self.least, other.least), np.minimum(self.most, other.most)
        return replace(self, least=least, most=most)


def _follows(own: Families, totals: Wholes, told: _Told) -> bool:
    """Whether the children of each parent may have been lowered to these counts."""
    lowest, highest, value = told.lowest, told.highest, told.value
    if (own.sums(highest) < totals).any():
        return False
    least, most = (own.lowering(one, totals)[own.parents] for one in (lowest, highest))
    least_left = np.maximum(lowest - most, 0)
    most_left = np.minimum(np.maximum(highest - least, 0) + 1, highest)
    known = (own.sums(highest - lowest) == 0)[own.parents]
    same = (value == own.lowered(highest, totals)) | ~known
    return bool((same & (least_left <= value) & (value <= most_left)).all())
