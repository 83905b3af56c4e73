"""Noise for a histogram with running sums: one draw, on a tree of its bins.

Noise on a tree partly cancels in running sums. Each group has its own tree, whose inner levels are
not published. Bins and running sums are whole numbers, and add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise.tables.answers.sums.answer import FOR_THE_LARGEST
from leastnoise.tables.answers.sums.cumulative_queries import table_layouts
from leastnoise.tables.answers.sums.trees import TreeSums
from leastnoise.tables.answers.sums.whole_rows import row_counts
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.noise.trees import tree_in_words, tree_to_record
from leastnoise.tables.spec.query import LARGEST
from leastnoise.workloads.base import SummedTable, Workload
from leastnoise.workloads.tree import GroupSums, Nodes, Prefixes, TreeStrategy
from leastnoise.workloads.tree_search import Trees, offer_prefixes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.layout.layout import Layout

_DEEPEST = 5
_DRAWN = (
    "Each bin has whole-number {noise}. Each cumulative count is the sum of the published "
    "bins below its edge, exactly. The standard deviations of the cumulative counts have the root "
    "mean square {own:.4g}, and the largest is {largest:.4g}. The stated ± is the largest. Plain "
    "noise means Laplace or Gaussian noise that is added to each bin, for the same share of the "
    "budget, before the bins are summed."
)
_TOTALS = (
    "Tables by fewer columns are sums of these over groups, exactly; the noise of groups is "
    "independent."
)


@final
@dataclass(frozen=True, kw_only=True)
class Cumulative(TreeSums):
    """The plan of a histogram with cumulative counts, with a tree of noise for each group.

    The first cells of a group's tree are the group's bins.
    """

    key: ClassVar[str] = "cumulative"
    called: ClassVar[str] = "cumulative counts"
    summed: ClassVar[str] = "running sums"
    row_name: ClassVar[str] = "edges"

    @staticmethod
    def trees(cells: Layout) -> Trees:
        """The trees to search, each over the bins of one group."""
        bins = cells.axes[-1].cells
        return Trees(
            label=cells.label,
            groups=cells.cells // bins,
            counts=bins,
            moves=row_counts(cells),
            neighbours=cells.neighbours,
            offers=offer_prefixes(Prefixes(count=bins), _DEEPEST),
            largest=cells.largest,
            advice="Give fewer edges or a larger epsilon, or leave cumulative out",
        )

    @property
    def bins(self) -> int:
        """Number of bins in a group."""
        return self.cells.axes[-1].cells

    @property
    def groups(self) -> int:
        """Number of groups, each of which has a tree."""
        return self.cells.cells // self.bins

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of bins and of running sums: by all columns first, then by fewer columns."""
        return table_layouts(self.cells)

    @cached_property
    def workload(self) -> Workload:
        """The published tables as sums of cells: bins and running sums, by all or fewer columns."""
        tables = (
            SummedTable(count=layout.cells, find=partial(self._sum_groups, mask), running=running)
            for mask, running, layout in zip(
                np.repeat(self.cells.margins, 2).tolist(),
                [1, self.bins] * len(self.cells.margins),
                self.layouts,
                strict=True,
            )
        )
        return Workload(cells=self.cells.cells, tables=tuple(tables))

    def _sum_groups(self, mask: int) -> NDArray[np.int64]:
        """For each cell, the index of the row to which it belongs in a table of bins.

        The table has a row for each combination of a bin and of keys in the columns that it keeps.
        `mask` is the bit mask of these group columns.
        """
        sizes = [axis.cells for axis in self.cells.axes]
        kept = [i for i in range(len(sizes)) if mask >> i & 1 or i == len(sizes) - 1]
        places = np.indices(sizes).reshape(len(sizes), -1)
        part_of = np.ravel_multi_index(tuple(places[kept]), [sizes[i] for i in kept])
        return np.asarray(part_of, dtype=np.int64)

    @cached_property
    def strategy(self) -> TreeStrategy:
        """The noise of all groups' trees, with the published tables as sums of its cells.

        A bin is a node of the last level of its group's tree, and a running sum is a sum of the
        tree's first cells. In tables by fewer columns, both are added over groups.
        """
        of_group = (Nodes(level=len(self.noise.branches)), Prefixes(count=self.bins))
        summed = [self.cells.cells // layout.cells for layout in self.layouts[::2]]
        first = np.arange(self.groups)[:, None] * self.noise.dimension
        return TreeStrategy(
            noise=self.noise,
            tables=tuple(
                GroupSums(of=table, groups=groups) if groups > 1 else table
                for groups in summed
                for table in of_group
            ),
            groups=self.groups,
            places=(first + np.arange(self.bins)).reshape(-1),
        )

    @property
    def nodes(self) -> list[tuple[str | None, NDArray[np.int64]]]:
        """For each level of the groups' trees, its table's name and each cell's node.

        The name is None if the level isn't published. The bins are the last level: see
        `TreeSums.nodes`.
        """
        branches = self.noise.branches
        spans = [math.prod(branches[level:]) for level in range(len(branches) + 1)]
        bins, groups = np.arange(self.bins), np.arange(self.groups)[:, None]
        levels = [(groups * (bins[-1] // span + 1) + bins // span).reshape(-1) for span in spans]
        names = [*[None] * len(branches), self.cells.name]
        return list(zip(names, levels, strict=True))

    def plain(self, index: int, share: Budget) -> Baselines:
        """Plain noise in the bins, as it adds up in a table; `share` isn't used.

        It has the query's whole budget.
        """
        releases, growth = self.certificate.compositions, self.find_growth(index)
        return Baselines.of((self.layouts[index],), self.budget, releases, summed=growth)

    def find_growth(self, table: int) -> float:
        """The root-mean-square std of a table's numbers if bins have independent noise of std 1."""
        groups = self.cells.cells // self.layouts[table].cells
        return math.sqrt(groups * ((self.bins + 1) / 2 if table % 2 else 1))

    def mark(self, index: int) -> dict[str, Any]:
        """The field `sums` of plan.json: True for running sums, False for bins."""
        return {"sums": bool(index % 2)}

    def to_record(self) -> dict[str, Any]:
        """The noise as JSON values, which follow from spec and certificate."""
        of_bins, of_sums, *_ = self.errors
        return {
            **tree_to_record(self.noise),
            **({"objective": LARGEST} if self.cells.largest else {}),
            "bin_std": of_bins.std,
            "root_mean_square_std": of_sums.std,
            "largest_std": self.largest_std,
        }

    def in_words(self) -> list[str]:
        """Sentences about the noise and its standard deviations."""
        of_bins, of_sums, *totals = self.errors
        noise = f"noise of its own (geometric, std {of_bins.std:.4g})"
        if any(self.noise.shares[:-1]):
            noise = tree_in_words(self.noise)
        return [
            _DRAWN.format(noise=noise, own=of_sums.std, largest=self.largest_std),
            *([_TOTALS] if totals else []),
            *([FOR_THE_LARGEST] if self.cells.largest else []),
            *([] if self.whole_counts is None else self.whole_counts.in_words()),
        ]
