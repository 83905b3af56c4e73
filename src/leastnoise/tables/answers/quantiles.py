"""Queries for quantiles: their part of the budget, and how far off they are, in ranks.

A quantile is one of the column's candidates. It is chosen by chance, or read off noisy counts.

notation: λ the rate of a draw, B the candidates' parts that it chooses among. The one that is
chosen is off by s rows; P(s > ln(B/β)/λ) <= β, since some candidate is off by none and each other
one has to beat it (theory/release.md §10).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers.base import AloneInDraw, Listing, Offer, Reads, Sentence, Topic
from leastnoise.tables.answers.noisy import describe_selected, half_width
from leastnoise.tables.plan.count_trees import (
    MISSED,
    RankTree,
    find_noise,
    read_tree,
    tree_to_record,
)
from leastnoise.tables.publish.quantiles import (
    chosen_in,
    publish_by_chance,
    publish_by_tree,
    table_at,
    wrong_quantile,
)
from leastnoise.tables.query.noise_error import ExpectedError
from leastnoise.tables.query.ranks import share_parts
from leastnoise.tables.query.results import describe_kept_groups, publish_all, table_of
from leastnoise.tables.spec.query import FLIP, TREE
from leastnoise.tables.statistics.quantiles import ROWS_95

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Block as Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Columns, Reading, Totals
    from leastnoise.tables.query.layout import LaidOut, Layout
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.query.results import Table
    from leastnoise.tables.query.table_shape import TableShape
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import NoiseError

_CHOSEN = (
    "No noise is added to a quantile{which}, and no interval of values exists for it: it is off by "
    "at most so many rows, and how far apart their values lie is data."
)
_COUNTED = (
    "Quantiles by a tree are read off noisy counts of the rows at each candidate. Each is between "
    "its _low and its _high with 95 %, one at a time. These are the ends of what counts at a "
    "candidate: halfway to the next one, and open (-inf, inf) at the first and the last."
)
TOTAL_NOTE = (
    "Where no count is asked for, the total of a tree's counts decides which groups are there. It "
    "counts the rows that the quantiles are of, and stands in the table. It costs nothing, being "
    "in the same draw."
)
_MOST_PARTS = 4096
"""Candidates of fewer are cut into parts for nested draws: more parts than ties need do harm."""


@final
@dataclass(frozen=True, kw_only=True)
class RankError:
    """By how many rows of its group a quantile is off, at most, with probability 95 %.

    Where it is chosen between two others it counts how far off these are. Rows that share a part of
    a candidate with a chosen one come on top. `sizes` are numbers of rows that may be in a group.
    """

    statistic: str
    rows_95: float
    sizes: tuple[int, ...]

    def in_words(self) -> str:
        """Return it as a sentence."""
        shares = [
            f"{100 * self.rows_95 / size:.2g} % of {size:,}"
            for size in self.sizes
            if size > self.rows_95
        ]
        compared = f" ({_words.in_turn(shares, 'or')})" if shares else ""
        return (
            f"{self.statistic}: with 95 %, at most {self.rows_95:,.3g} rows of its group from the "
            f"true rank{compared}."
        )


@dataclass(frozen=True, kw_only=True)
class QuantilePlan(AloneInDraw):
    """The plan of the quantiles of one column in a query: one part, and its answer.

    All of the budget that they spend is ε. Of a series `budget` is that of all releases.
    """

    layout: Ranks

    section: ClassVar[str] = "quantiles"
    how: ClassVar[str]
    """The name of the method, for people."""
    why_no_difference: ClassVar[str] = (
        ": of quantiles no error is known by which two can be subtracted."
    )

    @staticmethod
    @abstractmethod
    def find(layout: Ranks, share: Budget, releases: int) -> Claim:
        """The certificate, found and proved."""

    @classmethod
    @abstractmethod
    def read(cls, asked: Quantiles, claim: Claim) -> QuantilePlan:
        """The quantiles that are released as `claim` says; rejects any other statement."""

    @abstractmethod
    def rows_off(self, place: int) -> float:
        """By how many rows a quantile is off, at most, with 95 %."""

    @abstractmethod
    def describe_draw(self) -> list[str]:
        """How they are found, in sentences."""

    def in_words(self) -> list[str]:
        """How they are found and how far off they are, in sentences."""
        return [*self.describe_draw(), *(error.in_words() for error in self.errors)]

    @property
    def layouts(self) -> tuple[TableShape, ...]:
        """The layouts of its columns."""
        return (*(layout for layout, _ in self.noisy), self.layout)

    @property
    def errors(self) -> tuple[RankError, ...]:
        """How far off each quantile is, in ranks."""
        return tuple(
            RankError(statistic=asked.label, rows_95=self.rows_off(place), sizes=self.layout.sizes)
            for place, asked in enumerate(self.layout.statistics)
        )

    @property
    def count_error(self) -> ExpectedError | None:
        """The error of the count that decides which groups are published; None if none does."""
        errors = [
            ExpectedError(
                statistic=layout.statistics[0].label,
                rows=None,
                std=error.std,
                half_width_95=error.half95,
                plain_laplace_std=None,
                plain_gaussian_std=None,
            )
            for layout, (error,) in self.noisy
        ]
        return errors[0] if errors else None

    @property
    def all_errors(self) -> tuple[RankError | ExpectedError, ...]:
        """How far off each quantile is, and the tree's total where that decides."""
        return self.errors if self.count_error is None else (*self.errors, self.count_error)

    @property
    def reads(self) -> Reads:
        """The rows at each candidate of each group."""
        return Reads(cells=(self.layout.counted,))

    def read_chosen(self, columns: Columns, kind: str = "parquet") -> list[Fraction]:
        """The candidates in the one row of a table, exactly, by rising level."""
        return chosen_in(self.layout, columns, kind)

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """How they are found, how far off they are, and which groups are there."""
        for layout, _ in self.noisy:
            for text in describe_kept_groups(layout):
                yield Sentence(Topic.KEPT, text)
            yield from describe_selected()
        for text in self.in_words():
            yield Sentence(Topic.DETAIL, text)
        yield from self.describe_values()
        called = [names.get(error.statistic, error.statistic) for error in self.errors]
        rows = [f"{x} {error.rows_95:,.3g}" for x, error in zip(called, self.errors, strict=True)]
        yield Sentence(Topic.PAGE, self._on_page(", ".join(rows), names))

    @abstractmethod
    def describe_values(self) -> Iterator[Sentence]:
        """The notes on all quantiles of this method."""

    @abstractmethod
    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        """The note on a page, given the error of each quantile in rows."""

    def list_rows(self, spec: Spec) -> list[tuple[str, str, str]]:
        """Each quantile and by how many rows it is off; the half-width of a count that decides."""
        labels = spec.labels
        called = [asked.in_words(labels) for asked in self.layout.statistics]
        off = [f"{error.rows_95:,.4g} rows" for error in self.errors]
        rows = [(name, rows, "–") for name, rows in zip(called, off, strict=True)]
        for layout, _ in self.noisy:
            if (error := self.count_error) is not None:
                rows.append((layout.statistics[0].in_words(labels), half_width(error), "–"))
        return rows

    def listings(self, spec: Spec) -> Iterator[Listing]:
        """By how many rows each quantile is off."""
        layout = self.layout
        what = ", ".join(asked.label for asked in layout.statistics)
        cells = _words.counted(layout.cells, "cell")
        ends = f"from {layout.published[0]:,} to {layout.published[-1]:,}"
        epsilon = _words.at_least(self.budget.epsilon)
        yield Listing(
            title=f"{self.name}: {what}; in {cells}, for ε = {epsilon}. Each is one of "
            f"{layout.candidates.cells:,} candidates {ends}, by {self.how}.",
            heads=("in each cell", "rows from the true rank, 95 %"),
            rows=[(error.statistic, f"{error.rows_95:.4g}") for error in self.errors],
        )

    def find_wrong(
        self, columns: Columns, numbers: Mapping[str, list[float]], kind: str
    ) -> str | None:
        """The first fault of its columns, to end a sentence; None if there is none."""
        if why := super().find_wrong(columns, numbers, kind):
            return why
        label = wrong_quantile(self.layout, columns, kind)
        if label is None:
            return None
        return (
            f"a {label} that is none of the candidates, is below that of a lower level, or isn't "
            "between its ends"
        )

    def with_all_groups(self) -> Self:
        """The same columns where no count leaves a group out."""
        counts = [publish_all(layout) for layout, _ in self.noisy]
        return replace(self, layout=replace(self.layout, count=counts[0])) if counts else self

    def make_zeros(self) -> list[Table]:
        """Its columns without rows and noise: the first candidate everywhere."""
        layout = self.layout
        least = [[[0] * len(asked.chosen) for asked in layout.statistics]] * layout.cells
        counts = [table_of(count, np.zeros(count.dimension), noise) for count, noise in self.noisy]
        return [*counts, table_at(layout, least, self.may_state)]

    def to_record(self) -> dict[str, Any]:
        """The part as JSON values, all of which a certificate can confirm."""
        layout = self.layout
        return {
            "name": layout.name,
            "part": layout.part,
            "statistics": [asked.label for asked in layout.statistics],
            "cells": layout.cells,
            "epsilon": decimal_text(self.budget.epsilon),
            "candidates": layout.candidates.cells,
            "least_candidate": layout.published[0],
            "largest_candidate": layout.published[-1],
            **self.own_record(),
            "reach": decimal_text(layout.reach),
            "bounding": None if layout.by_row else layout.counted.bounding.to_record(),
            "bits": layout.counted.bits,
            "chosen_by": self.chosen_by,
            "missing": list(layout.missing),
            "errors": [{"statistic": x.statistic, "rows_95": x.rows_95} for x in self.errors],
            **self._count_record(),
            **({"filters": list(layout.filters)} if layout.filters else {}),
        }

    @abstractmethod
    def own_record(self) -> dict[str, Any]:
        """The fields of plan.json that only this method has."""

    def _count_record(self) -> dict[str, Any]:
        """The total that decides which groups are published, as JSON values; empty without one."""
        if (error := self.count_error) is None:
            return {}
        kept = [text for layout, _ in self.noisy for text in describe_kept_groups(layout)]
        count = {"statistic": error.statistic, "std": error.std}
        return {"count": {**count, "half_width_95": error.half_width_95}, "published": kept}

    @property
    def _ends_on_page(self) -> str:
        low, high = map(_words.shown, (self.layout.published[0], self.layout.published[-1]))
        return f"public candidates from {low} to {high}"


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
    def find(layout: Ranks, share: Budget, releases: int) -> QuantileCertificate:
        """The draws for all levels, of which the spec decides all but the rates."""
        return _claim(layout, share.epsilon / releases)

    @classmethod
    def read(cls, asked: Quantiles, claim: Claim) -> ByChance:
        """The quantiles; only the certificate that `find` finds is about them."""
        layout, releases = asked.layout, asked.releases
        if not isinstance(claim, QuantileCertificate):
            raise CertificateRejected(f"Query {layout.label!r}: chance chooses its quantiles.")
        if claim != cls.find(layout, asked.share, releases):
            raise CertificateRejected("The quantiles are not chosen as the spec implies.")
        whole = replace(claim.budget, epsilon=releases * claim.budget.epsilon)
        return cls(layout=layout, budget=whole, certificate=claim, beside_trees=asked.beside_trees)

    def rows_off(self, place: int) -> float:
        """By how many rows a quantile is off, at most, with 95 %."""
        claim = self.certificate
        path = list(_path(claim, place))
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
        return [_NEAREST, f"{rounds}, each between those of the rounds before."]

    def describe_values(self) -> Iterator[Sentence]:
        """No interval of values exists."""
        which = " that is chosen by chance" if self.beside_trees else ""
        yield Sentence(Topic.VALUES, _CHOSEN.format(which=which))

    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        return (
            f"No noise is added to a quantile: it is chosen by chance among "
            f"{self.layout.candidates.cells:,} {self._ends_on_page}, those near the true rank most "
            f"likely. With 95 % it is off by at most so many rows of its group: {rows}. No "
            "interval of values exists."
        )

    def own_record(self) -> dict[str, Any]:
        """How it is chosen: among parts of candidates, and in rounds."""
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
    def find(layout: Ranks, share: Budget, releases: int) -> Certificate:
        """The noise of the trees of all groups."""
        return find_noise(layout, share, releases)

    @classmethod
    def read(cls, asked: Quantiles, claim: Claim) -> ByTree:
        """The quantiles, if the noise is that of trees for them."""
        layout = asked.layout
        if not isinstance(claim, Certificate):
            raise CertificateRejected(
                f"Query {layout.label!r}: its quantiles are by a tree's noise."
            )
        tree = read_tree(layout, claim, asked.share)
        error = None if layout.count is None else tree.total_error()
        return cls(
            layout=layout, budget=claim.budget, certificate=claim, tree=tree, total_error=error
        )

    def rows_off(self, place: int) -> float:
        """By how many rows a quantile is off, at most, with 95 %."""
        return self.tree.rows_95(self.layout.statistics[place].level)

    @property
    def noisy(self) -> tuple[tuple[Layout, tuple[NoiseError, ...]], ...]:
        """The total of the tree and its error, where it decides which groups are published."""
        layout, error = self.layout.count, self.total_error
        return () if layout is None or error is None else ((layout, (error,)),)

    def describe_draw(self) -> list[str]:
        """The shape of the tree, and the error of its total."""
        words = [_NEAREST, self.tree.in_words(self.layout.candidates.column)]
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
            f"{self.layout.candidates.cells:,} {self._ends_on_page}. With 95 % one is off by at "
            f"most so many rows of its group: {rows}. An interval ends halfway to the next "
            f"candidate, and is open beyond the first and the last.{total}"
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
    layout: Ranks
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


def list_quantiles(laid: LaidOut, *, first: int) -> Iterator[Quantiles]:
    """The answers for all quantiles of a spec, in its order; the index of the first is given."""
    ways = {True: ByTree, False: ByChance}
    beside_trees = any(ranks.by_tree for several in laid.ranks for ranks in several)
    for query, parts, several in zip(laid.spec.query, laid.queries, laid.ranks, strict=True):
        shares = share_parts(parts, several)[len(parts) :]
        for layout, part in zip(several, shares, strict=True):
            yield Quantiles(
                index=first,
                layout=layout,
                share=laid.spec.budget.share(laid.spec.share(query) * part),
                releases=laid.spec.releases,
                kind=ways[layout.by_tree],
                beside_trees=beside_trees,
            )
            first += 1


def _claim(layout: Ranks, epsilon: Fraction) -> QuantileCertificate:
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


def _path(claim: QuantileCertificate, place: int) -> Iterator[int]:
    """Yield a draw, and the draws before it that it rests on, one of each depth."""
    choices = claim.choices
    at: int | None = place
    while at is not None:
        yield at
        ends = [end for end in (choices[at].below, choices[at].above) if end is not None]
        at = max(ends, key=lambda end: choices[end].depth, default=None)
