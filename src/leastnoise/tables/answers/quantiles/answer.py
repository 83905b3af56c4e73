"""Queries for quantiles: their share of the budget, and their errors in ranks.

A quantile is one of the column's candidates. It is chosen by chance, or read off noisy counts.

notation: λ the rate of a draw, B the candidates' parts that it chooses among. The one that is
chosen is off by s rows; P(s > ln(B/β)/λ) <= β, since some candidate is off by none and each other
one has to beat it (theory/release.md §10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.units import RowCounts
from leastnoise.tables.answers.base import Offer, Sentence, Topic, expect_claim
from leastnoise.tables.answers.quantiles.plan import Asking, QuantilePlan
from leastnoise.tables.answers.quantiles.publish import (
    publish_by_chance,
    publish_by_tree,
)
from leastnoise.tables.layout.layout import share_parts
from leastnoise.tables.noise.trees import (
    find_tree,
    measure_table,
    tree_in_words,
    tree_to_record,
)
from leastnoise.tables.spec.query import FLIP, TREE
from leastnoise.tables.statistics.quantiles import ROWS_95
from leastnoise.workloads.ranks import MISSED, RankTree
from leastnoise.workloads.tree import Prefixes
from leastnoise.workloads.tree_search import Trees, offer_prefixes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Reading, Totals
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.statistics.base import NoiseError

_CHOSEN = (
    "A quantile{which} has no added noise and no interval of values. Its error is bounded in rows "
    "only, because the distance between the values of two rows depends on the data."
)
_COUNTED = (
    "Quantiles by a tree are computed from noisy counts of the rows at each candidate. Each "
    "quantile by itself lies between its _low and its _high with probability 95 %. An interval "
    "ends halfway to the next candidate, and is open (-inf, inf) beyond the first and the last."
)
TOTAL_NOTE = (
    "If the query has no count, the total of a tree's counts decides which groups are published. "
    "It counts the rows behind the quantiles, and is a column of the table. It costs no budget, "
    "because it is part of the same draw."
)
_MOST_PARTS = 4096
"""Candidates of fewer are cut into parts for nested draws: more parts than ties need do harm."""


_READ_OFF = (
    "The quantiles of {column} are read off counts of rows at each candidate, with whole noise of "
    "a tree {tree}."
)
_DEEPEST = 4
"""The most levels of a tree of candidates."""
_NEAREST = "A value counts at the nearest candidate, one outside at the first or the last."


@final
@dataclass(frozen=True, kw_only=True)
class ByChance(QuantilePlan):
    """Quantiles that are chosen by permute-and-flip; the certificate is about one release.

    With `beside_trees` the same release has quantiles by a tree.
    """

    certificate: QuantileCertificate
    beside_trees: bool = False

    chosen_by: ClassVar[str] = FLIP
    how: ClassVar[str] = "permute-and-flip"

    @staticmethod
    def find(layout: QuantileLayout, share: Budget, releases: int) -> QuantileCertificate:
        """The draws for all levels, of which the spec decides all but the rates."""
        return _claim(layout, share.epsilon / releases)

    @classmethod
    def read(cls, asked: Asking, claim: Claim) -> ByChance:
        """The quantiles; only the certificate that `find` finds is about them."""
        layout, releases = asked.layout, asked.releases
        why = f"Query {layout.label!r}: chance chooses its quantiles."
        claim = expect_claim(claim, QuantileCertificate, why)
        if claim != cls.find(layout, asked.share, releases):
            raise CertificateRejected("The quantiles are not chosen as the spec implies.")
        whole = replace(claim.budget, epsilon=releases * claim.budget.epsilon)
        return cls(layout=layout, budget=whole, certificate=claim, beside_trees=asked.beside_trees)

    def rows_off(self, index: int) -> float:
        """The largest error of a quantile in rows, with probability 95 %."""
        claim = self.certificate
        path = list(_path(claim, index))
        missed = MISSED / len(path)
        parts = claim.candidates * claim.parts
        return sum(math.log(parts / missed) / float(claim.rates[draw]) for draw in path)

    def describe_draw(self) -> list[str]:
        """In how many rounds they are chosen."""
        claim, count = self.certificate, len(self.layout.statistics)
        if not claim.nested:
            return [_NEAREST]
        depths = 1 + max(choice.depth for choice in claim.choices)
        column = self.layout.candidates.column
        rounds = f"The {count} quantiles of {column} are chosen in {depths} rounds"
        return [_NEAREST, f"{rounds}, each between quantiles of the rounds before."]

    def describe_values(self) -> Iterator[Sentence]:
        """No interval of values exists."""
        which = " that is chosen by chance" if self.beside_trees else ""
        yield Sentence(Topic.VALUES, _CHOSEN.format(which=which))

    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        return (
            f"No noise is added to a quantile: it is chosen by chance among "
            f"{self.layout.candidates.cells:,} {self._ends_on_page}, most likely a candidate near "
            f"the true rank. With 95 % its error in rows of its group is at most: {rows}. No "
            "interval of values exists."
        )

    def own_record(self) -> dict[str, Any]:
        """The parts of a candidate, and whether quantiles are chosen in rounds."""
        return {"parts": self.certificate.parts, "nested": self.certificate.nested}

    @property
    def may_state(self) -> Mapping[str, float]:
        """The error in ranks of each quantile."""
        return {f"{error.statistic}{ROWS_95}": error.rows_95 for error in self.errors}

    def draw(self, totals: Totals) -> list[Table]:
        """The quantiles of each group, each chosen anew."""
        return [
            publish_by_chance(self.layout, self.certificate, *totals.cells, stated=self.may_state)
        ]


@final
@dataclass(frozen=True, kw_only=True)
class ByTree(QuantilePlan):
    """Quantiles that are read off counts with the noise of a tree.

    Where the tree's total decides which groups are published, `total_error` is its error.
    """

    certificate: Certificate
    tree: RankTree
    total_error: NoiseError | None

    chosen_by: ClassVar[str] = TREE
    how: ClassVar[str] = "a tree of counts"

    @staticmethod
    def find(layout: QuantileLayout, share: Budget, releases: int) -> Certificate:
        """The noise of the trees of all groups."""
        trees = list_rank_trees(layout)
        return find_tree(trees, share, releases, lambda claim: trees.read(claim, share))

    @classmethod
    def read(cls, asked: Asking, claim: Claim) -> ByTree:
        """The quantiles, if the certificate is about the noise of their trees."""
        layout = asked.layout
        why = f"Query {layout.label!r}: its quantiles are by a tree's noise."
        claim = expect_claim(claim, Certificate, why)
        noise = list_rank_trees(layout).read(claim, asked.share)
        tree, error = RankTree(noise=noise, candidates=layout.candidates.cells), None
        if layout.count is not None:
            error = measure_table(tree.total, 0)
            if not error.std:  # a _std of 0 would say that there is no noise
                why = "the noise of a group's total is 0 as a float. Lower epsilon, or ask for"
                raise NotApplicable(family=claim.noise.name, why=f"{why} a count")
        return cls(
            layout=layout, budget=claim.budget, certificate=claim, tree=tree, total_error=error
        )

    def rows_off(self, index: int) -> float:
        """The largest error of a quantile in rows, with probability 95 %."""
        return self.tree.rows_95(self.layout.statistics[index].level)

    @property
    def noisy(self) -> tuple[tuple[Layout, tuple[NoiseError, ...]], ...]:
        """The total of the tree and its error, where it decides which groups are published."""
        layout, error = self.layout.count, self.total_error
        return () if layout is None or error is None else ((layout, (error,)),)

    def describe_draw(self) -> list[str]:
        """The shape of the tree, and the error of its total."""
        column, tree = self.layout.candidates.column, tree_in_words(self.tree.noise)
        words = [_NEAREST, _READ_OFF.format(column=column, tree=tree)]
        if (error := self.count_error) is not None:
            words.append(
                f"{error.statistic} is the total of these counts: with 95 % it is off by at most "
                f"{error.half_width_95:,.4g} (std {error.std:.4g})."
            )
        return words

    def describe_values(self) -> Iterator[Sentence]:
        """The meaning of the intervals of quantiles."""
        yield Sentence(Topic.VALUES, _COUNTED)
        if self.noisy:
            yield Sentence(Topic.VALUES, TOTAL_NOTE)

    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        error = self.count_error
        total = ""
        if error is not None:
            count = names.get(error.statistic, error.statistic)
            total = f" Each {count} is the total of a group's counts."
        return (
            f"Quantiles are read off noisy counts of the rows at each of "
            f"{self.layout.candidates.cells:,} {self._ends_on_page}. With 95 % the error of a "
            f"quantile in rows of its group is at most: {rows}. An interval ends halfway to the "
            f"next candidate, and is open beyond the first and the last.{total}"
        )

    def own_record(self) -> dict[str, Any]:
        """The tree."""
        return {"tree": tree_to_record(self.tree.noise)}

    def draw(self, totals: Totals) -> list[Table]:
        """The quantiles of each group, and its total where that decides."""
        table = publish_by_tree(
            self.layout, self.certificate, self.tree, *totals.cells, total=self.noisy
        )
        return [table]


@final
@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """The quantiles of one column in a query, found in one way: `kind`.

    `index` is its place among the draws of the release. With `beside_trees` the same release has
    quantiles by a tree.
    """

    index: int
    layout: QuantileLayout
    share: Budget
    releases: int
    kind: type[QuantilePlan]
    beside_trees: bool

    shares_draws: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str]:
        """Its label in the certificate."""
        return (self.layout.label,)

    def owns(self, name: str) -> bool:
        """Its certificate has the label."""
        return False

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the noise, or the chances.

        Raises Refused for more levels than can be chosen together, or if there is no ε for them.
        """
        try:
            claim = self.kind.find(self.layout, self.share, self.releases)
        except (InvalidArgument, NotApplicable) as error:
            raise Refused(f"The query {self.layout.label!r}: {error}") from None
        yield Offer(index=self.index, claims=((self.layout.label, claim),))

    def read(
        self,
        labels: Sequence[str],
        claims: Sequence[tuple[str, Claim]],
        reading: Reading,
    ) -> QuantilePlan:
        """The quantiles, released as `claims` say; rejects any other statement."""
        ((_, claim),) = claims
        try:
            return self.kind.read(self, claim)
        except (InvalidArgument, NotApplicable) as error:
            raise Refused(f"The query {self.layout.label!r}: {error}") from None


def list_quantiles(layouts: SpecLayout, *, first: int) -> Iterator[Quantiles]:
    """The answers for all quantiles of a spec, in its order; the index of the first is given."""
    ways = {True: ByTree, False: ByChance}
    used = {ways[ranks.by_tree] for several in layouts.quantiles for ranks in several}
    for query, parts, several in zip(
        layouts.spec.query, layouts.queries, layouts.quantiles, strict=True
    ):
        shares = share_parts(parts, several)[len(parts) :]
        for layout, part in zip(several, shares, strict=True):
            yield Quantiles(
                index=first,
                layout=layout,
                share=layouts.spec.budget.share(layouts.spec.share(query) * part),
                releases=layouts.spec.compositions,
                kind=ways[layout.by_tree],
                beside_trees=ByTree in used,
            )
            first += 1


def list_rank_trees(layout: QuantileLayout) -> Trees:
    """The trees of counts that quantiles may be read off.

    A unit moves counts by whole rows: for other moves there are no trees.
    """
    if layout.reach.denominator != 1:
        raise ValueError("a tree counts whole rows")
    candidates = layout.candidates.cells
    levels = tuple(asked.level for asked in layout.statistics)
    return Trees(
        label=layout.label,
        groups=layout.cells,
        counts=candidates,
        moves=RowCounts(layout.reach.numerator, neighbours=layout.neighbours),
        neighbours=layout.neighbours,
        offers=offer_prefixes(Prefixes(count=candidates, levels=levels), _DEEPEST),
        advice=f'Give fewer candidates or a larger epsilon, or use quantiles_by = "{FLIP}"',
    )


def _claim(layout: QuantileLayout, epsilon: Fraction) -> QuantileCertificate:
    cells = layout.candidates.cells
    return QuantileCertificate.best(
        epsilon=epsilon,
        levels=tuple(asked.level for asked in layout.statistics),
        candidates=cells,
        parts=max(2, 1 << (_MOST_PARTS // cells).bit_length() - 1) if cells <= _MOST_PARTS else 2,
        groups=layout.cells,
        reach=layout.reach,
        neighbours=layout.neighbours,
    )


def _path(claim: QuantileCertificate, index: int) -> Iterator[int]:
    """Yield a draw, and the draws before it that it rests on, one of each depth."""
    choices = claim.choices
    at: int | None = index
    while at is not None:
        yield at
        ends = [end for end in (choices[at].below, choices[at].above) if end is not None]
        at = max(ends, key=lambda end: choices[end].depth, default=None)
