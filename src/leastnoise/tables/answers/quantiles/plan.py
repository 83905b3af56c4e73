"""The plan of quantiles, by chance or by a tree: one part of a table, with its errors in rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, final

import numpy as np

from leastnoise import _words
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers.base import AloneInDraw, Listing, Reads, Sentence, Topic
from leastnoise.tables.answers.error_words import half_width
from leastnoise.tables.answers.noisy import describe_selected
from leastnoise.tables.answers.quantiles.publish import (
    make_table,
    read_chosen_values,
    wrong_quantile,
)
from leastnoise.tables.noise.errors import ExpectedError
from leastnoise.tables.results.table import describe_kept_groups, join_parts, publish_all, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Columns
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.model import Spec


class Asking(Protocol):
    """The quantiles of one column that a query asks for, with their share of the budget."""

    @property
    def layout(self) -> QuantileLayout:
        """The layout of the quantiles, with their candidates, groups and levels."""
        ...

    @property
    def share(self) -> Budget:
        """The share of the budget for all these `releases` together."""
        ...

    @property
    def releases(self) -> int:
        """The number of releases that one unit can change."""
        ...

    @property
    def beside_trees(self) -> bool:
        """True if the same release has quantiles by a tree."""
        ...


@final
@dataclass(frozen=True, kw_only=True)
class RankError:
    """A bound on the error of a quantile in rows of its group; it holds with probability 95 %.

    The error is the number of rows between the published candidate and the true rank, without the
    rows at that candidate. If a quantile is chosen between two others, which were chosen before,
    `rows_95` includes their errors. `sizes` are group sizes with which the error is illustrated.
    """

    statistic: str
    rows_95: float
    sizes: tuple[int, ...]

    def in_words(self) -> str:
        """A sentence about the error in rows, and one that states it in per cent of `sizes`."""
        shares = [
            f"{100 * self.rows_95 / size:.2g} % of a group of {size:,} rows"
            for size in self.sizes
            if size > self.rows_95
        ]
        compared = f" This is {_words.join_names(shares, 'or')}." if shares else ""
        return (
            f"With probability 95 %, {self.statistic} is at most {self.rows_95:,.3g} rows of its "
            f"group away from the true rank.{compared}"
        )


@dataclass(frozen=True, kw_only=True)
class QuantilePlan(AloneInDraw):
    """The plan of the quantiles of one column in a query, which have a draw of their own.

    Only a threshold on totals of trees, in unlisted groups, spends δ. In a series, `budget` is for
    all releases together.
    """

    layout: QuantileLayout

    section: ClassVar[str] = "quantiles"
    how: ClassVar[str]
    """The name of the method, for people."""
    why_no_difference: ClassVar[str] = ": the error of a difference of two quantiles isn't known."

    @staticmethod
    @abstractmethod
    def find(layout: QuantileLayout, share: Budget, releases: int) -> Claim:
        """Find and prove a certificate; `share` is the budget of all releases together."""

    @classmethod
    @abstractmethod
    def read(cls, asked: Asking, claim: Claim) -> QuantilePlan:
        """Read the plan from the certificate `claim`.

        Raises CertificateRejected if the certificate states something the spec does not imply.
        """

    @abstractmethod
    def rows_off(self, index: int) -> float:
        """A bound, with probability 95 %, on the error in rows of the quantile at `index`."""

    @abstractmethod
    def describe_draw(self) -> list[str]:
        """Sentences about the method by which quantiles are chosen or computed."""

    def in_words(self) -> list[str]:
        """Sentences about the method, the quantiles' share of ε, and the errors."""
        errors = (error.in_words() for error in self.errors)
        return [*self.describe_draw(), *_describe_share(self.layout), *errors]

    @property
    def layouts(self) -> tuple[TableShape, ...]:
        """The layouts of the part's columns."""
        return (*(layout for layout, _ in self.noisy), self.layout)

    @property
    def errors(self) -> tuple[RankError, ...]:
        """The error of each quantile, in rows."""
        return tuple(
            RankError(statistic=asked.label, rows_95=self.rows_off(index), sizes=self.layout.sizes)
            for index, asked in enumerate(self.layout.statistics)
        )

    @property
    def count_error(self) -> ExpectedError | None:
        """The expected error of the total that decides on publication; None if no total decides."""
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
        """The errors of the quantiles, and of a total that decides which groups are published."""
        return self.errors if self.count_error is None else (*self.errors, self.count_error)

    @property
    def where(self) -> str:
        """The words for the groups of the table: "12 cells" or "each published group"."""
        if self.layout.unlisted:
            return "each published group"
        return _words.count_noun(self.layout.cells, "cell")

    @property
    def reads(self) -> Reads:
        """The layout of the counts of rows at each candidate, in listed or unlisted groups."""
        histogram = (self.layout.histogram,)
        return Reads(groups=histogram) if self.layout.unlisted else Reads(cells=histogram)

    def read_chosen(self, columns: Columns, kind: str = "parquet") -> list[Fraction]:
        """Read the quantiles of a table with one row, as exact numbers in the order of levels.

        `kind` is the kind of file from which `columns` were read.
        """
        return read_chosen_values(self.layout, columns, kind)

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """Sentences about the published groups, the method and the errors."""
        for layout, _ in self.noisy:
            for text in describe_kept_groups(layout):
                yield Sentence(Topic.KEPT, text)
            if layout.decides is not None:
                yield from describe_selected()
        for text in self.in_words():
            yield Sentence(Topic.DETAIL, text)
        yield from self.describe_values()
        called = [names.get(error.statistic, error.statistic) for error in self.errors]
        rows = [
            f"{error.rows_95:,.3g} for {name}"
            for name, error in zip(called, self.errors, strict=True)
        ]
        text = (
            "With probability 95 %, a quantile is at most this many rows of its group away from "
            f"the true rank: {_words.join_names(rows)}."
        )
        yield Sentence(Topic.PAGE, self._on_page(text, names))

    @abstractmethod
    def describe_values(self) -> Iterator[Sentence]:
        """Sentences that hold for all quantiles by this method."""

    @abstractmethod
    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        """The text about these quantiles on a report's page, in one paragraph.

        `rows` is a finished sentence that states each quantile's error in rows; it is part of the
        text. `names` maps the labels of statistics to names for readers.
        """

    def list_rows(self, spec: Spec) -> list[tuple[str, str, str]]:
        """Rows of the plan's table: errors of quantiles, and of a total that decides on groups."""
        labels = spec.labels
        called = [asked.in_words(labels) for asked in self.layout.statistics]
        off = [f"{error.rows_95:,.4g} rows" for error in self.errors]
        rows = [(name, rows, "–") for name, rows in zip(called, off, strict=True)]
        for layout, _ in self.noisy:
            if (error := self.count_error) is not None:
                rows.append((layout.statistics[0].in_words(labels), half_width(error), "–"))
        return rows

    def listings(self, spec: Spec) -> Iterator[Listing]:
        """A table of the error of each quantile, in rows."""
        layout = self.layout
        what = _words.join_names([asked.label for asked in layout.statistics])
        ends = f"from {layout.published[0]:,} to {layout.published[-1]:,}"
        epsilon = _words.round_up(self.budget.epsilon)
        yield Listing(
            title=f"{self.name}: {what}; in {self.where}, for ε = {epsilon}. Each quantile is one "
            f"of {layout.candidates.cells:,} candidates {ends}, {self.how}.",
            heads=("in each cell", "rows from the true rank, 95 %"),
            rows=[(error.statistic, f"{error.rows_95:.4g}") for error in self.errors],
        )

    def find_wrong(
        self, columns: Columns, numbers: Mapping[str, list[float]], kind: str
    ) -> str | None:
        """The first fault of the part's columns, as the end of a sentence; None without a fault."""
        if why := super().find_wrong(columns, numbers, kind):
            return why
        label = wrong_quantile(self.layout, columns, kind)
        if label is None:
            return None
        return (
            f"a {label} that is no candidate, is below the quantile of a lower level, or isn't "
            "between its ends"
        )

    def with_all_groups(self) -> Self:
        """This part without the rules `min_count` and `top`, by which groups are left out."""
        counts = [publish_all(layout) for layout, _ in self.noisy]
        return replace(self, layout=replace(self.layout, count=counts[0])) if counts else self

    def make_zeros(self) -> list[Table]:
        """The columns for an empty source without noise: every quantile is the first candidate.

        There are no rows for unlisted groups, since their number isn't known.
        """
        layout = self.layout
        if layout.unlisted:
            keys = [list[Any]() for axis in layout.axes for _ in axis.columns]
            tables = [table_of(count, np.zeros(0), noise, keys=keys) for count, noise in self.noisy]
            quantiles = make_table(layout, [], self.may_state, keys=keys)
            return [join_parts(self.layouts, [*tables, quantiles])]
        least = [
            [[0] * len(asked.candidate_suffixes) for asked in layout.statistics]
        ] * layout.cells
        counts = [table_of(count, np.zeros(count.dimension), noise) for count, noise in self.noisy]
        return [*counts, make_table(layout, least, self.may_state)]

    def to_record(self) -> dict[str, Any]:
        """The part as JSON values, which follow from spec and certificate."""
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
            "bounding": None if layout.by_row else layout.histogram.bounding.to_record(),
            "bits": layout.histogram.bits,
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
        """The fields of plan.json about a total that decides on publication; {} if none decides.

        They have the error of the total, and the rules for published groups if there are any.
        """
        if (error := self.count_error) is None:
            return {}
        kept = [text for layout, _ in self.noisy for text in describe_kept_groups(layout)]
        count = {"statistic": error.statistic, "std": error.std}
        published = {"published": kept} if kept else {}
        return {"count": {**count, "half_width_95": error.half_width_95}, **published}

    @property
    def _ends_on_page(self) -> str:
        low, high = map(
            _words.format_for_page, (self.layout.published[0], self.layout.published[-1])
        )
        return f"public candidates from {low} to {high}"


def _describe_share(layout: QuantileLayout) -> Iterator[str]:
    """Yield a sentence about the share of a query's ε for its quantiles, if the spec gives it."""
    if layout.share is not None:
        yield (
            f"The query {layout.name} spends {float(100 * layout.share):.3g} % of its ε on "
            "quantiles, and the rest on keys or other numbers."
        )
