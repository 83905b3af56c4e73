"""Noise for a histogram whose running sums are published: one draw, on a tree of its bins.

The levels of the tree are nobody's: they are there so that noise partly cancels in sums of the
first bins. Each group has a tree of its own. Bins and running sums are whole, and add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.prefixes import prefix_half_widths, prefix_variances
from leastnoise.tables.answers.sums.cumulative_tables import table_layouts
from leastnoise.tables.answers.sums.measured import FOR_THE_LARGEST, WIDTH_UNKNOWN
from leastnoise.tables.answers.sums.whole_counts import WholeCounts
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.plan.count_trees import Trees, tree_in_words, tree_to_record
from leastnoise.tables.spec.query import LARGEST
from leastnoise.tables.statistics.base import NoiseError, RowErrors

if TYPE_CHECKING:
    from leastnoise.certificate.plan import Block, Blocks
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.layout.layout import Layout

_ADVICE = "Give fewer edges or a larger epsilon, or leave cumulative out"
_SAID = (
    "Whole-number noise is drawn for {bins}. Each cumulative count is the sum of the published "
    "bins below its edge, exactly. The root mean square of their standard deviations is {own:.4g}, "
    "the largest is {largest:.4g}; the ± is the largest. They are compared with plain noise in the "
    "bins, summed, for the share of both tables."
)


@final
@dataclass(frozen=True, kw_only=True)
class Cumulative:
    """What a histogram with cumulative counts publishes, and from which noise.

    `cells` is the layout of its bins in all groups, `noise` that of one group's tree, whose first
    cells are the bins. The noise of all groups is what `claim` is about.
    """

    cells: Layout
    budget: Budget
    claim: Certificate
    noise: Agreeing

    @classmethod
    def of(cls, cells: Layout, budget: Budget, claims: Sequence[tuple[str, Block]]) -> Cumulative:
        """Return it for a block that is released as `claims` say, which are proved or not.

        Raises CertificateRejected unless it is one, about its bins and with its budget.
        """
        claim = claims[0][1]
        if len(claims) != 1 or not isinstance(claim, Certificate):
            raise CertificateRejected(f"Query {cells.label!r}: its bins have one draw of noise.")
        noise = _trees(cells).read(claim, budget)
        if not level_laws(noise)[-1].variance:  # a _std of 0 would say that there is none
            raise CertificateRejected(f"Query {cells.label!r}: its noise is 0 as a float.")
        return cls(cells=cells, budget=budget, claim=claim, noise=noise)

    @property
    def bins(self) -> int:
        """Number of bins in a group."""
        return self.cells.axes[-1].cells

    @property
    def groups(self) -> int:
        """Number of groups, each of which has a tree."""
        return self.cells.cells // self.bins

    @cached_property
    def layouts(self) -> tuple[Layout, Layout]:
        """The layouts of both tables: of bins, and of running sums."""
        return table_layouts(self.cells)

    @property
    def summed(self) -> tuple[float, float]:
        """How much the error of independent noise in the bins grows, in root mean square."""
        return 1.0, math.sqrt((self.bins + 1) / 2)

    @cached_property
    def errors(self) -> tuple[NoiseError, NoiseError]:
        """The errors of both tables; a running sum's is that of how many bins it is of."""
        nodes = [one.variance for one in level_laws(self.noise)]
        variances = prefix_variances(self.noise.branches, nodes)[1 : self.bins + 1]
        widths = [prefix_half_widths(self.noise, one)[1 : self.bins + 1] for one in PROBABILITIES]
        stds = np.sqrt(variances)
        rows = RowErrors(
            std=tuple(stds.tolist()) * self.groups, half95=tuple(widths[0].tolist()) * self.groups
        )
        of_bins = [float(one[0]) for one in widths]  # the first sum is one bin, as any other
        of_sums = [float(one.max()) for one in widths]
        found = [
            NoiseError(std=std, half95=halves[0], half975=halves[1], half983=halves[2])
            for std, halves in ((float(stds[0]), of_bins), (math.sqrt(variances.mean()), of_sums))
        ]
        return found[0], replace(found[1], rows=rows)

    @cached_property
    def whole_counts(self) -> WholeCounts | None:
        """How whole counts, none below 0, are found of the noisy ones, if they are."""
        if not self.cells.projected:
            return None
        branches, (of_bins, of_sums) = self.noise.branches, self.layouts
        spans = [math.prod(branches[level:]) for level in range(len(branches) + 1)]
        bins, groups = np.arange(self.bins), np.arange(self.groups)[:, None]
        tree = [(groups * (bins[-1] // span + 1) + bins // span).reshape(-1) for span in spans]
        bias = [one.mean_abs / 2 for one in level_laws(self.noise)]
        # a sum of fewer than all bins is one of nodes without cells that are no bin
        nodes = [bins % above // span for above, span in pairwise(spans)]
        sums = sum(count * one for count, one in zip(nodes, bias[1:], strict=True))
        rows = self.errors[1].rows
        last = bias[0] if rows is None or self.bins == spans[0] else rows.std[-1] / 2
        return WholeCounts(
            tree=tuple(tree),
            names=(*[None] * len(branches), of_bins.name),
            too_high={of_bins.name: bias[-1], of_sums.name: float(max(last, np.max(sums)))},
        )

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a running sum."""
        rows = self.errors[1].rows
        return 0.0 if rows is None else max(rows.std)

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, all of which a certificate can confirm."""
        of_bins, of_sums = self.errors
        return {
            **tree_to_record(self.noise),
            **({"objective": LARGEST} if self.cells.largest else {}),
            "bin_std": of_bins.std,
            "root_mean_square_std": of_sums.std,
            "largest_std": self.largest_std,
        }

    def in_words(self) -> list[str]:
        """Return what noise there is, and what it is worth, in sentences."""
        of_bins, of_sums = self.errors
        bins = f"each bin by itself (geometric, std {of_bins.std:.4g})"
        if any(self.noise.shares[:-1]):
            bins = f"the bins on a tree {tree_in_words(self.noise)}"
        said = [_SAID.format(bins=bins, own=of_sums.std, largest=self.largest_std)]
        said += [FOR_THE_LARGEST] if self.cells.largest else []
        return said if self.whole_counts is None else said + self.whole_counts.in_words()


def find_running(cells: Layout, budget: Budget, *, releases: int) -> Blocks:
    """Return the noise of the bins, proved, by the name that certificates have.

    Its tree has the least mean variance of the running sums, or the least largest one. Each release
    has an equal part of ε, and δ is left unspent. Raises Refused if there is none.
    """
    if not budget.epsilon:
        raise Refused(f"The query {cells.label!r}: cumulative counts need epsilon > 0.")
    try:
        found = _trees(cells).find(budget, releases)
        _ = Cumulative.of(cells, budget, [(cells.label, found)]).errors
    except (InvalidArgument, NotApplicable) as error:
        why = str(error)
        if isinstance(error, InvalidArgument) and error.name == "coverage":
            why = f"{WIDTH_UNKNOWN}. {_ADVICE}"
        raise Refused(f"The query {cells.label!r}: {why}") from None
    except CertificateRejected as error:
        raise Refused(f"{error} Give a smaller epsilon, or leave cumulative out.") from None
    return ((cells.label, found),)


def _trees(cells: Layout) -> Trees:
    bins = cells.axes[-1].cells
    return Trees(
        label=cells.label,
        groups=cells.cells // bins,
        counts=bins,
        moves=RowCounts(1, neighbours=cells.neighbours),
        levels=(Fraction(0),),
        deepest=5,
        largest=cells.largest,
        advice=_ADVICE,
    )
