"""Quantiles that are read off noisy counts of the rows at each candidate.

The counts have noise on a tree. So the noise partly cancels in sums of neighbouring counts. For
listed groups, one draw has a tree for each group. For unlisted groups, each group has a draw, and
is published if its tree's total reaches a threshold (theory/release.md §10).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.unlisted import ThresholdCertificate, find_threshold
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.units import RowCounts
from leastnoise.tables.answers.base import (
    KEYS_CHECKED,
    Listing,
    Sentence,
    Topic,
    expect_claim,
)
from leastnoise.tables.answers.quantiles.plan import Asking, QuantilePlan
from leastnoise.tables.answers.quantiles.publish import (
    publish_by_tree,
    publish_unlisted,
)
from leastnoise.tables.answers.unlisted.groups import (
    GROUPS_NOTE,
    REACHED,
    check_threshold,
    find_below_threshold,
    groups_on_page,
)
from leastnoise.tables.answers.unlisted.search import GroupSizes, split_budget
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.layout import MAX_UNITS
from leastnoise.tables.noise.trees import find_tree, measure_table, tree_in_words, tree_to_record
from leastnoise.tables.spec.query import FLIP, TREE
from leastnoise.workloads.ranks import RankTree
from leastnoise.workloads.tree import Prefixes
from leastnoise.workloads.tree_search import Trees, offer_prefixes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Columns, Totals
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import NoiseError

_COUNTED = (
    "Quantiles by a tree are computed from noisy counts of the rows at each candidate. With "
    "probability 95 %, a true quantile lies between the columns that end in _low and _high. This "
    "holds for each quantile by itself, not for all together. Intervals end halfway between two "
    "candidates. An interval around the first candidate begins at -inf, and an interval around the "
    "last candidate ends at inf."
)
TOTAL_NOTE = (
    "If the query has no count, a noisy number of rows decides which groups are published. This "
    "number of rows is a column of the table. It costs no budget, because the quantiles come from "
    "the same noisy counts."
)
_READ_OFF = (
    "The quantiles of {column} are computed from noisy counts of the rows at each candidate. The "
    "counts have whole-number {noise}."
)
NEAREST = (
    "Each value is rounded to the nearest candidate. A value beyond all candidates is rounded to "
    "the first or the last. An infinite value counts as missing."
)
_ADVICE = "Give fewer candidates or a larger epsilon"
_DEEPEST = 4
"""The largest number of levels in a tree whose leaves are the candidates."""


@dataclass(frozen=True, kw_only=True)
class TreePlan(QuantilePlan):
    """The plan of quantiles that are read off noisy counts, with one `tree` of noise per group.

    `total_error` is the error of a tree's total if totals decide which groups are published, and
    None otherwise.
    """

    tree: RankTree
    total_error: NoiseError | None

    chosen_by: ClassVar[str] = TREE
    how: ClassVar[str] = "read from a tree of counts"

    def rows_off(self, index: int) -> float:
        """A bound, with probability 95 %, on the error in rows of the quantile at `index`.

        The bound comes from the tree's noise and the quantile's level.
        """
        return self.tree.rows_95(self.layout.statistics[index].level)

    @property
    def noisy(self) -> tuple[tuple[Layout, tuple[NoiseError, ...]], ...]:
        """The layout and error of the tree's total if it decides on publication; else empty."""
        layout, error = self.layout.count, self.total_error
        return () if layout is None or error is None else ((layout, (error,)),)

    def describe_draw(self) -> list[str]:
        """Sentences about the candidates, the shape of the tree, and the error of its total."""
        column, noise = self.layout.candidates.column, tree_in_words(self.tree.noise)
        words = [NEAREST, _READ_OFF.format(column=column, noise=noise)]
        if (error := self.count_error) is not None:
            words.append(
                f"{error.statistic} is the total of these counts. With probability 95 %, "
                f"{error.statistic} is off by at most {error.half_width_95:,.4g} (std "
                f"{error.std:.4g})."
            )
        return words

    def describe_values(self) -> Iterator[Sentence]:
        """Sentences about quantiles' intervals, and about totals that decide on publication."""
        yield Sentence(Topic.VALUES, _COUNTED)
        if self.noisy:
            yield Sentence(Topic.VALUES, TOTAL_NOTE)

    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        error = self.count_error
        total = ""
        if error is not None:
            count = names.get(error.statistic, error.statistic)
            total = f" In each group, the {count} is the sum of the noisy counts at all candidates."
        return (
            f"Each value is rounded to the nearest of {self.layout.candidates.cells:,} "
            f"{self._ends_on_page}. The rows at each candidate are counted with noise, and the "
            f"quantiles are computed from these counts. {rows} The ends of an interval lie "
            "halfway between two candidates. An interval around the first candidate "
            f"begins at -inf, and an interval around the last candidate ends at inf.{total}"
        )

    def own_record(self) -> dict[str, Any]:
        """The field of plan.json about the tree."""
        return {"tree": tree_to_record(self.tree.noise)}

    @abstractmethod
    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise; return a table of quantiles, with totals if these decide on groups."""


def _measure_total(tree: RankTree, layout: QuantileLayout) -> NoiseError | None:
    """The error of the total that decides which groups are published; None if no total decides.

    Raises NotApplicable if the noise's standard deviation underflows to 0: a `_std` of 0 would
    claim the exact value.
    """
    if layout.count is None:
        return None
    error = measure_table(tree.total, 0)
    if not error.std:
        why = "the noise of a group's total is 0 as a float. Lower epsilon, or ask for a count"
        raise NotApplicable(family=tree.noise.name, why=why)
    return error


@final
@dataclass(frozen=True, kw_only=True)
class ByTree(TreePlan):
    """The plan of quantiles by a tree in listed groups."""

    certificate: Certificate

    @staticmethod
    def list_trees(layout: QuantileLayout) -> Trees:
        """The trees that the search compares; each is for the counts of all groups, in one draw.

        Raises InvalidArgument if a unit may add a fraction of a row.
        """
        moves = RowCounts(layout.reach, neighbours=layout.neighbours)
        return _list_trees(layout, moves, f'{_ADVICE}, or use quantiles_by = "{FLIP}"')

    @staticmethod
    def find(layout: QuantileLayout, share: Budget, releases: int) -> Certificate:
        """Find and prove the noise on the trees of all groups, which is one draw."""
        trees = ByTree.list_trees(layout)
        return find_tree(trees, share, releases, lambda claim: trees.read(claim, share))

    @classmethod
    def read(cls, asked: Asking, claim: Claim) -> ByTree:
        """Read the plan of the quantiles from the certificate `claim`.

        Raises CertificateRejected unless it is about noise on the trees of these quantiles, at
        their share of the budget.
        """
        layout = asked.layout
        why = f"Query {layout.label!r}: expected a certificate of noise on its quantiles' trees."
        claim = expect_claim(claim, Certificate, why)
        noise = cls.list_trees(layout).read(claim, asked.share)
        tree = RankTree(noise=noise, candidates=layout.candidates.cells)
        error = _measure_total(tree, layout)
        return cls(
            layout=layout, budget=claim.budget, certificate=claim, tree=tree, total_error=error
        )

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise; return a table of quantiles, with totals if these decide on groups."""
        table = publish_by_tree(
            self.layout, self.certificate, self.tree, *totals.cells, total=self.noisy
        )
        return [table]


@final
@dataclass(frozen=True, kw_only=True)
class ByTreeAndThreshold(TreePlan):
    """The plan of quantiles in unlisted groups.

    A group is published if the total of its tree reaches a threshold. The certificate `claim` is
    about the tree of one group; the noise is drawn anew for each group. `sizes` has the sizes from
    which groups are published with probability ½ and with probability 95 %.
    """

    claim: ThresholdCertificate
    sizes: GroupSizes

    @staticmethod
    def list_trees(layout: QuantileLayout) -> Trees:
        """The trees that the search compares, each for the counts of one group.

        The noise has to hide a unit that is added or removed, whatever the spec's neighbours are.
        """
        moves = RowCounts(_limits_of(layout).per_group, neighbours="add-remove")
        return _list_trees(layout, moves, _ADVICE)

    @staticmethod
    def find(layout: QuantileLayout, share: Budget, releases: int) -> ThresholdCertificate:
        """Find and prove the noise on a group's tree, and the smallest threshold that is proved."""
        budget, limits = share.share(Fraction(1, releases)), _limits_of(layout)
        trees = ByTreeAndThreshold.list_trees(layout)
        _, pure = split_budget(budget, layout.neighbours)
        noise = find_tree(trees, pure, limits.groups, lambda claim: trees.read(claim, pure))
        return find_threshold(
            budget=budget,
            noise=noise,
            reach=Fraction(limits.per_group),
            coordinate=None,
            neighbours=layout.neighbours,
            most=MAX_UNITS,
        )

    @classmethod
    def read(cls, asked: Asking, claim: Claim) -> ByTreeAndThreshold:
        """Read the plan of the quantiles from the certificate `claim`.

        Raises CertificateRejected unless it is about the threshold, groups, trees and budget that
        the spec implies.
        """
        layout, where = asked.layout, f"Query {asked.layout.label!r}"
        why = f"{where}: expected a certificate of noise on a tree with a threshold."
        claim = expect_claim(claim, ThresholdCertificate, why)
        share, limits = asked.share.share(Fraction(1, asked.releases)), _limits_of(layout)
        check_threshold(
            claim, limits, share, reach=limits.per_group, neighbours=layout.neighbours, where=where
        )
        if claim.coordinate is not None:
            raise CertificateRejected(
                f"{where}: the certificate lets one count decide which groups are published, but "
                "the total of all counts must decide."
            )
        _, pure = split_budget(share, layout.neighbours)
        noise = cls.list_trees(layout).read(claim.noise, pure)
        tree = RankTree(noise=noise, candidates=layout.candidates.cells)
        error = _measure_total(tree, layout)
        sizes = GroupSizes.of(claim, std_of_total=None if error is None else error.std)
        return cls(
            layout=layout,
            budget=asked.share,
            claim=claim,
            tree=tree,
            total_error=error,
            sizes=sizes,
        )

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise; return the quantiles and totals of groups that reach the threshold."""
        (groups,), (count,) = totals.groups, self.noisy
        return [publish_unlisted(self.layout, self.claim, self.tree, groups, count=count)]

    def in_words(self) -> list[str]:
        """Sentences about the threshold, the method and the errors."""
        return [self.sizes.in_words(self.claim), *super().in_words()]

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """Sentences about the threshold, the published groups, the method and the errors."""
        yield Sentence(Topic.NOISE, self.sizes.in_words(self.claim))
        yield from super().sentences(names)
        yield Sentence(Topic.GROUPS, GROUPS_NOTE)
        yield Sentence(Topic.CHECKED, f"{KEYS_CHECKED}{REACHED}")
        yield Sentence(Topic.PAGE, groups_on_page(self.sizes))

    def listings(self, spec: Spec) -> Iterator[Listing]:
        """Tables of the quantiles' errors in rows, and of the sizes of published groups."""
        yield from super().listings(spec)
        sizes = self.sizes
        yield Listing(
            title="Number of rows from which a group is published, with probability ½ and 95 %",
            heads=("½", "95 %", "std of the count"),
            rows=[(str(sizes.half), str(sizes.nearly), f"{sizes.std:.4g}")],
        )

    def own_record(self) -> dict[str, Any]:
        """The fields of plan.json about the tree, the part's δ, and the threshold."""
        claim = self.claim
        return {
            **super().own_record(),
            "delta": decimal_text(self.budget.delta),
            "unlisted": {
                "threshold": decimal_text(claim.threshold),
                "chance_below": decimal_text(claim.chance_below),
                "groups": claim.groups,
                "chosen": vars(self.sizes),
            },
        }

    def find_wrong(
        self, columns: Columns, numbers: Mapping[str, list[float]], kind: str
    ) -> str | None:
        """The first fault of the columns, as the end of a sentence; None without a fault.

        A total below the threshold is a fault.
        """
        if why := super().find_wrong(columns, numbers, kind):
            return why
        labels = [asked.label for layout, _ in self.noisy for asked in layout.statistics]
        wrong = (find_below_threshold(self.claim, label, numbers[label]) for label in labels)
        return next(filter(None, wrong), None)


def _limits_of(layout: QuantileLayout) -> InUnlistedGroups:
    """The bounds on a unit's groups and rows. Raises TypeError if groups are listed."""
    if not isinstance(layout.histogram.bounding, InUnlistedGroups):
        raise TypeError("a unit is in few of the groups that nobody listed")
    return layout.histogram.bounding


def _list_trees(layout: QuantileLayout, moves: RowCounts, advice: str) -> Trees:
    """The trees of counts that a search compares; `moves` is the effect of a unit on the counts.

    `advice` ends the message if no tree can be used: it names the next step for the user.
    """
    candidates = layout.candidates.cells
    levels = tuple(asked.level for asked in layout.statistics)
    return Trees(
        label=layout.label,
        groups=layout.cells,
        counts=candidates,
        moves=moves,
        neighbours=moves.neighbours,
        offers=offer_prefixes(Prefixes(count=candidates, levels=levels), _DEEPEST),
        advice=advice,
    )
