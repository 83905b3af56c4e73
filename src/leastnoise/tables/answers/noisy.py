"""The base classes of answers that add noise to numbers.

A `NoisyPart` is the plan of one table's columns, and a `NoisyAnswer` the draw of their noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from leastnoise import _words
from leastnoise.certificate.records import write_record
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.exact import decimal_text
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.tables.answers.base import Listing, Sentence, TablePart, Topic
from leastnoise.tables.answers.error_words import (
    bounds_of_error,
    half_width,
    plain_in_words,
    std_in_words,
)
from leastnoise.tables.layout.layout import ASSUMED
from leastnoise.tables.noise.errors import (
    check_range,
    expected_errors,
    rounded_rows,
    wished_statistic,
    wishes,
)
from leastnoise.tables.results.table import describe_kept_groups, publish_all, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity
    from leastnoise.noise.base import Noise
    from leastnoise.tables.answers.base import Reads, Totals
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.noise.baselines import Baselines
    from leastnoise.tables.noise.errors import ExpectedError, Wish
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import NoiseError

PARTS_NOTE = (
    "If a query counts both persons and rows, its noise is compared with plain Laplace and "
    "Gaussian noise that has one scale for persons and another for rows."
)
SELECTED_NOTE = (
    "If min_count or top chooses groups, their published counts alone decide, which costs no "
    "budget. Counts of published groups are biased upwards. Each group's interval contains "
    "the number without noise with probability 95 %, whether the group is published or not. Among "
    "published groups alone, intervals may contain this number less often."
)
SELECTED_CHECKED = (
    "Groups that min_count or top leaves out are not in the table, so that nobody can check that "
    "their counts were lower."
)
SUPPRESSED_NOTE = (
    "Suppression is a rule for readers. It costs no budget, and the noise alone protects. Further "
    "rows are suppressed so that sums of shown numbers give no suppressed number. Suppressed "
    "numbers can still be bounded, now and then exactly: shown numbers give sums of them, and a "
    "primary count is below the limit. Shown counts are biased upwards a little. Each interval "
    "holds with probability 95 %, whether its row is shown or not."
)
SUPPRESSED_CHECKED = (
    "Suppressed numbers are not in the tables, so that nobody can check that they were small. "
    "Shown counts reach the limit, shown numbers add up, and no suppressed number follows from "
    "their sums."
)
BIASED = ": noise decides which of its groups are published, and their differences are biased."
_TYPICAL = ASSUMED[1]

FINEST_GRID = Fraction(1, 2**22)
"""The finest grid to which numbers are rounded.

Numbers are clipped at 2^61 steps of the grid: on this grid at 2^39 rows, more than any table has.
"""


@dataclass(frozen=True, kw_only=True)
class NoisyPart(TablePart):
    """One part of a query: its layout, share of the budget, noise and expected error.

    Most queries have one part. A query of listed groups has two if it counts both persons and rows
    (see `Layout`). A query with tables of sums has a part for each table. `baselines` are plain
    noise for comparison. `index` is the part's index in its `answered` draw.
    """

    layout: Layout
    baselines: Baselines
    answered: NoisyAnswer
    index: int = 0

    section: ClassVar[str] = "noisy_parts"
    has_coordinates: ClassVar[bool] = True
    """True if each number of a row is one coordinate of the draw, with a known distribution."""
    hides_groups: ClassVar[bool] = False
    """True if noise decides which groups are published."""

    @property
    def group(self) -> tuple[str, ...]:
        """The labels of all parts of this part's draw."""
        return tuple(part.label for part in self.answered.parts)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the draw: `NoisyAnswer.certificate`."""
        return self.answered.certificate

    @property
    def chosen_by(self) -> str:
        """The name of the noise."""
        return self.certificate.noise.name

    @property
    def first(self) -> int:
        """The index of the part's first coordinate in the draw."""
        return 0

    @property
    def split(self) -> Noise | None:
        """The noise of the draw before joint accounting reduced it; None if it wasn't reduced.

        See `Answered.split`.
        """
        return self.answered.split

    @property
    def too_high(self) -> float | None:
        """An upper bound on the bias of the part's whole counts: mean minus count without noise.

        None unless the spec asks for whole counts that are never below 0.
        """
        return None

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the draw; its certificate is proved here if it wasn't proved before."""
        return Mechanism(self.certificate)

    @cached_property
    def noise_errors(self) -> tuple[NoiseError, ...]:
        """The error of each number of a cell, in the unit in which the number is summed."""
        return self._find_errors()

    @abstractmethod
    def _find_errors(self) -> tuple[NoiseError, ...]:
        """Compute the value of `noise_errors`, which caches it, since this method is slow."""

    @property
    def dimension(self) -> int:
        """The number of the part's coordinates to which noise is added."""
        return self.layout.dimension

    @property
    def moves(self) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities of the coordinates to which noise is added.

        Each of them bounds how far one unit can shift these coordinates.
        """
        return self.layout.sensitivities

    @property
    def has_unlike_rows(self) -> bool:
        """True if the table's rows have different errors; a plan shows their root mean square."""
        return False

    @property
    def which_numbers(self) -> str:
        """The words that say which numbers the list of errors is about, such as "in each cell"."""
        return "in each cell"

    @property
    def own_record(self) -> dict[str, Any]:
        """The fields of plan.json that only this kind of part has."""
        return {}

    def own_sentences(self) -> Iterator[Sentence]:
        """The sentences that only this kind of part has."""
        yield from ()

    @property
    def noisy(self) -> tuple[tuple[Layout, tuple[NoiseError, ...]]]:
        """The layout of this part, with the error of each number."""
        return ((self.layout, self.noise_errors),)

    @property
    def errors(self) -> tuple[ExpectedError, ...]:
        """The expected errors of all statistics; a mean has one for each assumed group size.

        Cells may have different errors, as for running sums. Then the standard deviation is the
        root mean square over the cells, and the half-width is the largest.
        """
        return expected_errors(self.layout, self.noise_errors, self.baselines)

    @property
    def all_errors(self) -> tuple[ExpectedError, ...]:
        """The same as `errors`: a noisy part has no other errors."""
        return self.errors

    def check_range(self) -> None:
        """Raise Refused if a published number may be out of the range of float64."""
        check_range(self.layout, self.certificate, self.baselines, lambda: self.noise_errors)

    @property
    def exact_rows(self) -> int | None:
        """The number of rows in a cell from which on rounding may reach 1 % of a half-width.

        This is the rounding of values before they are summed: see `rounded_rows`. None if no values
        are summed.
        """
        return rounded_rows(self.layout, self.noise_errors)

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """The accuracies that the spec asks for, each beside the plan's accuracy; empty if none."""
        if self.layout.accuracy is None:
            return ()
        only = wished_statistic(self.layout)
        errors = expected_errors(self.layout, self.noise_errors, self.baselines, label=only)
        return wishes(self.layout, errors)

    @property
    def saved(self) -> float | None:
        """The fraction of spherical noise's variance that this noise saves; None if not known."""
        return None

    @property
    def relative_to_split(self) -> float | None:
        """The scale of the noise divided by the scale of `split`; None if there is no `split`."""
        return (
            None if self.split is None else float(self.certificate.noise.scale / self.split.scale)
        )

    @property
    def why_no_difference(self) -> str | None:
        """The reason why differences of two releases would be biased; None if they aren't.

        They are biased if noisy counts decide which groups or cells are published.
        """
        chosen = self.layout.decides or self.layout.suppressed_below is not None
        return BIASED if self.hides_groups or chosen else None

    def list_rows(self, spec: Spec) -> list[tuple[str, str, str]]:
        """Rows of the plan's table: statistic, 95 % half-width, and comparison with plain noise."""
        return [
            (self._statistic(error, spec), half_width(error), plain_in_words(error))
            for error in self.errors
            if error.rows in {None, _TYPICAL} or self.layout.assumed != ASSUMED
        ]

    def _statistic(self, error: ExpectedError, spec: Spec) -> str:
        by_label = {asked.label: asked for asked in self.layout.statistics}
        asked = by_label[error.statistic]
        words = asked.in_words(spec.labels) + (f" ({error.rows:,} values)" if error.rows else "")
        return words + bounds_of_error(spec, asked)

    def listings(self, spec: Spec) -> Iterator[Listing]:
        """A table of all errors of this part; subclasses add further tables."""
        widest = {asked.label: bounds_of_error(spec, asked) for asked in self.layout.statistics}
        rows = [
            (
                error.statistic
                + (f" of {error.rows:,} values" if error.rows else "")
                + widest[error.statistic],
                f"{error.std:.4g}",
                f"±{error.half_width_95:.4g}" if math.isfinite(error.half_width_95) else "no bound",
                *map(std_in_words, (error.plain_laplace_std, error.plain_gaussian_std)),
            )
            for error in self.errors
        ]
        heads = (self.which_numbers, "std", "95 % of the noise", "plain Laplace", "plain Gaussian")
        yield Listing(title=self._title(spec.privacy.person), heads=heads, rows=rows)

    def _title(self, person: str) -> str:
        """The title of the listing: the part's numbers, its share of the budget, and its noise."""
        layout, budget = self.layout, self.budget
        labels = [asked.label for asked in layout.statistics]
        what = _words.join_names(labels) if layout.part else ""
        return (
            f"{self.name}: {what}{what and '; '}{self._numbers_in_words()}, "
            f"for ε = {_words.round_up(budget.epsilon)}, δ = {_words.round_up(budget.delta)}"
            f"{self._noise_in_words(person)}."
        )

    def _numbers_in_words(self) -> str:
        numbers = _words.count_noun(self.layout.dimension, "number")
        return f"{numbers} in {self._cells_in_words()}"

    def _cells_in_words(self) -> str:
        return _words.count_noun(self.layout.cells, "cell")

    def _noise_in_words(self, person: str) -> str:
        """The end of the title, with the name of the noise.

        If they apply, it also has the parts that share the draw, the shape of the noise, and the
        error that planning the queries together saves.
        """
        geometry = self.certificate.geometry
        others = [label for label in self.group if label != self.label]
        words = (
            (
                f". The noise of {self.label} is planned together with the noise of "
                f"{_words.list_names(others, last='and')}"
            )
            if others
            else ""
        )
        words += f". Noise: {self.mechanism.noise.name}"
        if self.saved is not None:
            shaped = f"shaped by all the ways in which one {person} can move the numbers"
            words += f", fitted by {geometry.kind}" if geometry else f", {shaped}"
        if self.relative_to_split is not None:
            less = f"{100 * (1 - self.relative_to_split):.0f} %"
            words += f". Planning the queries together cut its error by {less}"
        return words

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """All sentences about this part, such as its rounding, its groups, and its wishes."""
        for text in describe_kept_groups(self.layout):
            yield Sentence(Topic.KEPT, text)
        if self.layout.part:
            yield Sentence(Topic.PARTS, PARTS_NOTE)
        if self.layout.decides:
            yield from describe_selected()
        if self.layout.suppressed_below is not None:
            yield Sentence(Topic.SELECTED, SUPPRESSED_NOTE)
            yield Sentence(Topic.CHECKED, SUPPRESSED_CHECKED)
        yield from self.own_sentences()
        for wish in self.wishes:
            yield Sentence(Topic.WISH, wish.in_words())

    def to_record(self) -> dict[str, Any]:
        """The part as JSON values, which follow from spec and certificate."""
        layout, certificate, grid = self.layout, self.certificate, self.certificate.grid
        errors, kept = self.errors, [*describe_kept_groups(layout)]
        return {
            "name": layout.name,
            "statistics": [asked.label for asked in layout.statistics],
            "cells": layout.cells,
            "dimension": self.dimension,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "sensitivities": [write_record(shift) for shift in self.moves],
            "bounding": None if layout.by_row else layout.bounding.to_record(),
            "bits": layout.bits,
            "exact_rows": self.exact_rows,
            "drawn_with": [label for label in self.group if label != layout.label],
            "noise": certificate.noise.name,
            "geometry": None if certificate.geometry is None else certificate.geometry.kind,
            "spherical_noise": self.baselines.spherical.name,
            "saved_by_geometry": self.saved,
            "error_relative_to_split": self.relative_to_split,
            "scale": decimal_text(certificate.noise.scale),
            "grid": None if grid is None else decimal_text(grid),
            "missing": list(layout.missing),
            "errors": [error.to_record() for error in errors],
            "wishes": [wish.to_record() for wish in wishes(layout, errors)],
            **({"joined": list(layout.joined)} if layout.joined else {}),
            **({"filters": list(layout.filters)} if layout.filters else {}),
            **({"published": kept} if kept else {}),
            **({"clipped": layout.clipped_record} if layout.clipped else {}),
            **self.own_record,
            **({} if self.too_high is None else {"too_high": self.too_high}),
        }

    def with_all_groups(self) -> NoisyPart:
        """This part without the rules `min_count` and `top`, by which groups are left out."""
        return replace(self, layout=publish_all(self.layout))

    def make_zeros(self) -> list[Table]:
        """The columns that an empty source would give without noise: all sums and counts are 0."""
        return [table_of(self.layout, np.zeros(self.layout.dimension), self.noise_errors)]


@dataclass(frozen=True, kw_only=True)
class NoisyAnswer(ABC):
    """The queries whose numbers get noise from one draw.

    `certificate` is about the noise of this draw. If several certificates are about parts of this
    noise, it is the one with the largest ε. `split` is as in `Answered`.
    """

    certificate: Certificate
    split: Noise | None = None
    is_composed: ClassVar[bool] = True

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The labels by which certificates name the draw's queries."""

    @property
    @abstractmethod
    def parts(self) -> tuple[NoisyPart, ...]:
        """The columns that the draw gives to published tables."""

    @property
    @abstractmethod
    def reads(self) -> Reads:
        """The layouts of the exact integers that the draw reads."""

    @abstractmethod
    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise, and return a table for each part. No other method sees data."""

    def check(self, folder: Path, kind: str) -> None:  # noqa: B027 (the default)
        """Accept any tables, since no table has to agree with another.

        Some subclasses override this.
        """

    @property
    def stage(self) -> str:
        """The message about progress that a release shows during this draw."""
        return f"Drawing the noise of {', '.join(self.labels)}"

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """All sentences about the draw and its parts."""
        yield from self.describe_draw()
        for part in self.parts:
            yield from part.sentences(names)

    def describe_draw(self) -> Iterator[Sentence]:
        """The sentences about all parts together; none by default."""
        yield from ()


def check_draw(
    drawn: Certificate,
    layouts: Sequence[Layout],
    share: Budget,
    neighbours: Neighbours,
    *,
    where: str,
) -> None:
    """Raise CertificateRejected unless `drawn` is about one draw of noise for these layouts.

    Checks that its dimension, its budget (`share`) and its `neighbours` are as expected, that no
    rows are sampled, and that it has a grid. Callers have to check the sensitivity. `where` begins
    the message.
    """
    needed = sum(layout.dimension for layout in layouts)
    if drawn.dimension != needed:
        raise CertificateRejected(
            f"{where}: the spec needs noise for {_words.count_noun(needed, 'number')}, but the "
            f"certificate is for {drawn.dimension:,}."
        )
    if drawn.budget != share:
        raise CertificateRejected(
            f"{where}: the certificate's budget is not the share that follows from the query's "
            "importance."
        )
    if (
        drawn.sampling_rate != 1
    ):  # less noise would suffice for a sample of rows, but a release is of all rows
        raise CertificateRejected(
            f"{where}: the certificate is for random samples of rows, but the release uses all "
            "rows."
        )
    if drawn.grid is None:
        raise CertificateRejected(
            f"{where}: the certificate must state the grid to which the published numbers are "
            "rounded."
        )
    if drawn.neighbours != neighbours:
        raise CertificateRejected(f"{where}: expected a certificate for {neighbours} neighbours.")


def describe_selected() -> Iterator[Sentence]:
    """Sentences about groups that are chosen by their published counts, which are then biased."""
    yield Sentence(Topic.SELECTED, SELECTED_NOTE)
    yield Sentence(Topic.CHECKED, SELECTED_CHECKED)
