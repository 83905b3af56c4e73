"""Noise for the counts of a series and their running totals: one draw for a whole series.

Each cell has a tree of noise whose leaves are the releases. The noise of a release is the next leaf
of each tree. It is drawn conditionally on the partial sums of the tree's noise, which the previous
release stored. A running total is the exact sum of the published counts. All releases together are
charged once (theory/series.md, Theorem 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.tables.answers.over_time import OverTime
from leastnoise.tables.answers.sums.series_queries import total_name
from leastnoise.tables.answers.sums.trees import OnATree
from leastnoise.tables.answers.sums.whole_rows import row_counts
from leastnoise.tables.layout.periods import OpenTotals, RunningSums
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.noise.trees import measure_table, tree_to_record
from leastnoise.tables.results.table import table_of
from leastnoise.tables.results.table_files import read_table
from leastnoise.workloads.tree import CellRange, FirstLeaves, Nodes, TreeStrategy
from leastnoise.workloads.tree_search import Trees, offer_releases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Totals
    from leastnoise.tables.answers.sums.answer import Named
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.periods import Periods
    from leastnoise.tables.results.table import Table

_LARGEST_COUNT = 1 << 39  # counts are clipped to it, so that sums are exact as floats
_DRAWN = (
    "Whole-number noise is drawn once for all {count:,} releases, on a tree with {tree} branches "
    "for each cell, and revealed release by release. Totals are exact sums of published counts."
)
_FIGURES = (
    "The standard deviation of a count is {one:.4g}. Of the total after each release it is "
    "{mean:.4g} (root mean square) and at most {largest:.4g}; of the total of all releases it is "
    "{last:.4g}. Fresh noise in each release, which needs no secret file, would have {fresh:.4g} "
    "for a count, and {fresh_mean:.4g}, {fresh_last:.4g} and {fresh_last:.4g} for the totals."
)
_RESTARTED = (
    "The series was restarted: its totals begin with release {first:,}, and have the noise of the "
    "releases since then."
)
_STATE = (
    "The file of partial sums that the series keeps is as secret as the rows. Keep it until the "
    "series ends, and never publish from an older copy."
)


@final
@dataclass(frozen=True, kw_only=True)
class SeriesTotals(OnATree, OverTime):
    """The tables of one release: its counts, and the running totals since its tree began."""

    key: ClassVar[str] = "series"
    called: ClassVar[str] = "running totals of a series"
    summed: ClassVar[str] = "running total"
    advice: ClassVar[str] = "Give another epsilon, or leave totals out."

    @staticmethod
    def trees(cells: Layout) -> Trees:
        """The trees to search, each over the releases, for one cell."""
        periods = periods_of(cells)
        return Trees(
            label=cells.label,
            groups=cells.cells,
            counts=periods.count,
            moves=row_counts(cells),
            neighbours=cells.neighbours,
            offers=offer_releases(periods.count, periods.branches),
            advice="Give fewer cells or releases, or a larger epsilon, or leave totals out",
        )

    @classmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool = False) -> Self:
        """Read the tables with the noise that `claims` state, on a tree that the spec allows.

        Raises CertificateRejected if a claim states something the spec does not imply, or if the
        noise can't be drawn release by release.
        """
        tables = super().read(cells, share, claims, composed=composed)
        branches = periods_of(cells).branches
        if branches is not None and tables.noise.branches != branches:
            raise CertificateRejected(
                f"The certificate's noise for the query {cells.label!r} has other branches than "
                "the spec gives."
            )
        try:
            tables.strategy.check_turns()
        except NotApplicable as error:
            raise CertificateRejected(f"Query {cells.label!r}: {error.why}.") from None
        return tables

    @property
    def periods(self) -> Periods:
        """The releases that share a tree, and the number of this release."""
        return periods_of(self.cells)

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of the counts of this release, and of the running totals."""
        (report, *others), first = self.cells.filters, self.periods.first
        so_far = f"{report} or of an earlier one since release {first:,}"
        totals = replace(
            self.cells,
            name=total_name(self.cells.name),
            filters=(so_far, *others),
            since=first,
        )
        return self.cells, totals

    @cached_property
    def strategy(self) -> TreeStrategy:
        """The noise of this release's leaf and of the sum of leaves up to it, in each cell."""
        tables = (Nodes(level=len(self.noise.branches)), FirstLeaves(cells=self.periods.leaf + 1))
        return TreeStrategy(noise=self.noise, tables=tables, groups=self.cells.cells)

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a running total, over all releases."""
        return float(self.total_stds.max())

    @cached_property
    def total_stds(self) -> NDArray[np.float64]:
        """The standard deviation of the running total after each release of a complete tree."""
        every = (FirstLeaves(cells=cells) for cells in range(1, self.periods.count + 1))
        variances = [replace(self.strategy, tables=(table,)).variance(0)[0] for table in every]
        return np.sqrt(np.array(variances))

    def plain(self, index: int, share: Budget) -> Baselines:
        """Fresh plain noise in each release, for comparison; in running totals, it adds up.

        It has the query's whole budget in each release; `share` isn't used.
        """
        growth = math.sqrt(self.periods.leaf + 1) if index else 1.0
        return Baselines.of((self.layouts[index],), self.budget, 1, summed=growth)

    def mark(self, index: int) -> dict[str, Any]:
        """The field `totals` of plan.json: True for running totals, False for counts."""
        return {"totals": bool(index)}

    def to_record(self) -> dict[str, Any]:
        """The noise as JSON values, which follow from spec and certificate."""
        stds = self.total_stds
        return {
            **tree_to_record(self.noise),
            "release": self.periods.release,
            "first_release": self.periods.first,
            "count_std": self.errors[0].std,
            "root_mean_square_total_std": math.sqrt(float((stds**2).mean())),
            "largest_total_std": float(stds.max()),
            "last_total_std": float(stds[-1]),
        }

    def in_words(self) -> list[str]:
        """Sentences about the noise, fresh noise for comparison, and the secret file."""
        record, periods = self.to_record(), self.periods
        ratio = math.exp(-float(self.budget.epsilon / self.cells.l1))
        fresh = math.sqrt(2 * ratio) / (1 - ratio)  # geometric noise
        tree = " × ".join(f"{b:,}" for b in self.noise.branches)
        figures = _FIGURES.format(
            one=record["count_std"],
            mean=record["root_mean_square_total_std"],
            largest=record["largest_total_std"],
            last=record["last_total_std"],
            fresh=fresh,
            fresh_mean=fresh * math.sqrt((periods.count + 1) / 2),
            fresh_last=fresh * math.sqrt(periods.count),
        )
        restarted = [_RESTARTED.format(first=periods.first)] if periods.first > 1 else []
        return [_DRAWN.format(count=periods.count, tree=tree), figures, *restarted, _STATE]

    def start(self) -> RunningSums:
        """The running sums before the first release of a tree."""
        zeros = (0,) * self.cells.cells
        return RunningSums(
            noise=(self.strategy.start_sums(),) * self.cells.cells, totals=zeros, counts=zeros
        )

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise of each cell's next leaf; keep the running sums for the next release."""
        memory = totals.memory
        if not isinstance(memory, OpenTotals):
            raise TypeError("the sums of the release before are needed")
        (cells,) = totals.cells
        exact = np.clip(cells >> self.cells.bits, 0, _LARGEST_COUNT).tolist()
        before, leaf = memory.before[self.cells.label], self.periods.leaf
        drawn = self.strategy.draw_next(leaf, before.noise, SystemEntropy())
        counts = [count + noise for count, noise in zip(exact, drawn, strict=True)]
        sums = zip(before.noise, drawn, strict=True)
        after = RunningSums(
            noise=tuple(self.strategy.sums_after(leaf, kept, noise) for kept, noise in sums),
            totals=tuple(a + b for a, b in zip(before.totals, counts, strict=True)),
            counts=tuple(counts),
        )
        memory.after[self.cells.label] = after
        return self.publish(after)

    def publish(self, sums: RunningSums) -> list[Table]:
        """The tables of counts and of running totals of a release."""
        return [
            table_of(part.layout, np.array(numbers, dtype=np.float64), part.noise_errors)
            for part, numbers in zip(self.parts, (sums.counts, sums.totals), strict=True)
        ]

    def publish_range(self, first: int, last: int, counts: Sequence[int]) -> Table:
        """The table of sums over the releases from `first` to `last` of one tree.

        `counts` has, for each cell, the sum of the counts that these releases published. Raises
        NotApplicable or InvalidArgument if no 95 % interval is known.
        """
        since = self.periods.first
        cells = CellRange(first=first - since, last=last - since + 1)
        error = measure_table(replace(self.strategy, tables=(cells,)), 0)
        layout = replace(self.cells, name=f"{self.cells.name}_{first}_to_{last}")
        return table_of(layout, np.array(counts, dtype=np.float64), [error])

    def read_numbers(self, folder: Path, kind: str) -> tuple[list[int], list[int]]:
        """Read the counts and the running totals from the tables of a folder, files of this `kind`.

        Raises CertificateRejected unless all are whole numbers.
        """
        counts, totals = (
            _wholes(read_table(folder / f"{part.name}.{kind}", [part.layout]), part.layout)
            for part in self.parts
        )
        return counts, totals

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless all numbers are whole.

        In the first release of a tree, the totals have to equal the counts.
        """
        counts, totals = self.read_numbers(folder, kind)
        if not self.periods.leaf and counts != totals:
            why = "must equal the counts, because this is the first release"
            raise CertificateRejected(f"The totals of {self.layouts[1].name}.{kind} {why}.")


def periods_of(layout: Layout) -> Periods:
    """The `periods` of a layout for a series with running totals."""
    if layout.periods is None:
        raise TypeError("a layout of a series has periods")
    return layout.periods


def _wholes(columns: dict[str, list[Any]], layout: Layout) -> list[int]:
    numbers = [float(value) for value in columns[layout.statistics[0].label]]
    if any(number % 1 for number in numbers):
        raise CertificateRejected(f"The table {layout.name} has a count that isn't a whole number.")
    return list(map(int, numbers))
