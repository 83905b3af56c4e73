"""What a release will do and how well, decided from the spec alone: no row is read."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown, text_table
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.records import write_record
from leastnoise.certificate.unlisted import ThresholdCertificate
from leastnoise.guarantees.exact import decimal_text, printed_at_least
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.tables.plan import summary
from leastnoise.tables.plan.keys import KeysPlan
from leastnoise.tables.plan.quantiles import QuantilePlan
from leastnoise.tables.plan.summed.cumulative import Step
from leastnoise.tables.plan.summed.levels import Level
from leastnoise.tables.plan.summed.margins import Margin
from leastnoise.tables.plan.unlisted import Groups
from leastnoise.tables.query import finding, results
from leastnoise.tables.query.baselines import Baselines
from leastnoise.tables.query.layout import MAX_ROWS, MAX_UNITS, Layout
from leastnoise.tables.query.noise_error import (
    ExpectedError,
    Wish,
    check_range,
    expected_errors,
    noise_errors,
    rounded_rows,
    wished_statistic,
    wishes,
)
from leastnoise.tables.query.results import file_names
from leastnoise.tables.statistics.base import NoiseError

if TYPE_CHECKING:
    from leastnoise._notebooks import Columns
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.noise.base import Noise
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.spec.model import Spec

_ERRORS = ("std", "half_width_95", "plain_laplace_std", "plain_gaussian_std")


@final
@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """One query, or one part of it: its layout, share of the budget, noise and expected error.

    Persons and rows that a query counts side by side are two parts (see `Layout`). `split` is there
    if all blocks meet the budget together: the same noise as large as it would be if this one met
    its part alone. `group` names the blocks that share one draw of the noise, of
    whose coordinates this one's begin at `first`.
    """

    layout: Layout
    group: tuple[str, ...]
    first: int
    budget: Budget
    certificate: Certificate
    baselines: Baselines
    split: Noise | None = None
    groups: Groups | None = None
    """From where on a group is published, where nobody listed them: then `certificate` is about the
    noise of one group's row, which is drawn anew for each."""
    margin: Margin | None = None
    """Which table it is of those that add up: then `certificate` is about the noise that takes most
    of the budget, and `budget` is an equal part of what all these tables have together."""
    running: Step | None = None
    """Which table it is, of bins or of their running sums: `certificate` is about the noise of both
    then, and `budget` is half of what they have together."""
    level: Level | None = None
    """Which table it is, by key or by a level of the keys: `certificate` is about the noise of all
    of them then, and `budget` is an equal part of what they have together."""

    @property
    def name(self) -> str:
        """The name of its table: that of the query, but for tables of sums."""
        return self.layout.name

    @property
    def query(self) -> str:
        """The name of the query."""
        return self.name if self.summed is None else self.summed.whole.cells.name

    @property
    def summed(self) -> Margin | Step | Level | None:
        """Which table it is where several are sums of the same cells, and so have one draw."""
        return self.margin or self.running or self.level

    @property
    def too_high(self) -> float | None:
        """What its counts are on average at most above those without noise; of whole ones alone.

        None where they aren't made whole, and none below 0: see `summed.whole_counts`.
        """
        whole = None if self.summed is None else self.summed.whole.whole_counts
        return None if whole is None else whole.too_high[self.name]

    @property
    def mechanism(self) -> Mechanism:
        """The noise, which is proved if it wasn't yet."""
        return Mechanism(self.certificate)

    @cached_property
    def noise_errors(self) -> tuple[NoiseError, ...]:
        """The error of each number of a cell, in units of what it is scaled by."""
        if self.margin is not None:
            return self.margin.errors
        if (of_tree := self.running or self.level) is not None:
            return (of_tree.error,)
        return noise_errors(self.certificate, self.layout, self.first)

    @property
    def errors(self) -> tuple[ExpectedError, ...]:
        """The expected errors, the same in every cell: of a mean one for each assumed size.

        Of running sums the standard deviation is the root mean square, the half-width the largest.
        """
        return expected_errors(self.layout, self.noise_errors, self.baselines)

    def check_range(self) -> None:
        """Raise Refused if a number may be out of the range of float64."""
        check_range(self.layout, self.certificate, self.baselines, lambda: self.noise_errors)

    @property
    def exact_rows(self) -> int | None:
        """So many rows of a cell may be rounded alike before it shows; see `rounded_rows`."""
        return rounded_rows(self.layout, self.noise_errors)

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """What the block wishes of its errors, and whether it is met."""
        if self.layout.accuracy is None:
            return ()
        only = wished_statistic(self.layout)
        errors = expected_errors(self.layout, self.noise_errors, self.baselines, statistic=only)
        return wishes(self.layout, errors)

    @property
    def saved(self) -> float | None:
        """The part of the variance of spherical noise that the geometry saves, None without one."""
        if self.groups is not None or self.summed is not None:
            return None
        alone = self.certificate
        alone = alone if self.split is None else replace(alone, noise=self.split)
        return self.baselines.saved(alone, self.layout, self.first)

    @property
    def relative_to_split(self) -> float | None:
        """The error over that of `split`, None without it."""
        return (
            None if self.split is None else float(self.certificate.noise.scale / self.split.scale)
        )

    def to_record(self) -> dict[str, Any]:
        """Return the block as JSON values, all of which a certificate can confirm."""
        layout, certificate, grid = self.layout, self.certificate, self.certificate.grid
        errors = self.errors
        on_a_tree = self.running is not None or self.level is not None
        moved = (certificate.sensitivity,) if on_a_tree else layout.sensitivities
        moved = moved if self.margin is None else self.margin.moved
        return {
            "name": layout.name,
            "statistics": [one.label for one in layout.statistics],
            "cells": layout.cells,
            "dimension": (layout if self.margin is None else self.margin.drawn).dimension,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "sensitivities": [write_record(one) for one in moved],
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
            **({"published": said} if (said := [*results.describe_kept_groups(layout)]) else {}),
            **({} if self.groups is None else {"unlisted": self.groups.to_record()}),
            **({"clipped": layout.clipped_record} if layout.clipped else {}),
            **({} if self.margin is None else {"margins": self.margin.whole.to_record()}),
            **({} if self.running is None else {"cumulative": self.running.to_record()}),
            **({} if self.level is None else {"levels": self.level.to_record()}),
            **({} if self.too_high is None else {"too_high": self.too_high}),
        }


@final
@dataclass(frozen=True, kw_only=True)
class QueryPlan:
    """One table of a query: the parts that noise is added to, and its quantiles; or its keys."""

    name: str
    blocks: tuple[BlockPlan, ...]
    quantiles: tuple[QuantilePlan, ...]
    keys: tuple[KeysPlan, ...] = ()

    @property
    def layouts(self) -> tuple[Layout | Ranks, ...]:
        """The layouts of all parts."""
        noisy = [layout for layout, _ in self.noisy_parts]
        return (*noisy, *(part.layout for part in (*self.quantiles, *self.keys)))

    @property
    def noisy_parts(self) -> list[tuple[Layout, tuple[NoiseError, ...]]]:
        """The layouts of all numbers with noise, and the error of each component."""
        blocks = [(part.layout, part.noise_errors) for part in self.blocks]
        return [*blocks, *(part.count for part in self.quantiles if part.count is not None)]

    @property
    def claim(self) -> ThresholdCertificate | None:
        """What decides which groups are published, where nobody listed them."""
        groups = self.blocks[0].groups if self.blocks else None
        return None if groups is None else groups.claim


@final
@dataclass(frozen=True, kw_only=True)
class Plan(Framed, Shown):
    """A whole release before it happens; everything in it is public.

    As a frame it has a row an expected error, the same in every cell of a query (of running sums
    the root mean square, and the largest half-width), with the columns
    `query`, `statistic`, `rows` (assumed of a group, for a mean), `cells`, `noise`, `epsilon` and
    `delta` (the query's share of the budget), and in the statistic's own units `std`,
    `half_width_95`, `plain_laplace_std` and `plain_gaussian_std` (missing where there is none).
    Quantiles have none of these, and `rows_95` beside: by how many rows they are off. Where bounds
    are still to be found, `bounds` is "widest" where an error is shown for the widest.

    Printed it is one table: the shares of the budget, what holds 95 % of the noise, and how many
    times as much plain noise would err.
    """

    spec: Spec
    blocks: tuple[BlockPlan, ...]
    quantiles: tuple[QuantilePlan, ...]
    keys: tuple[KeysPlan, ...]
    certificate: PlanCertificate
    """The proof of the whole release: each block's, and of all together."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries, in the order of the spec."""
        return tuple(query.name for query in self.spec.query)

    @property
    def unit(self) -> str:
        """What ledgers call those who are protected, a column or rows."""
        return self.spec.privacy.unit_label

    @property
    def person(self) -> str:
        """What people who read of it call the unit."""
        return self.spec.privacy.person

    @property
    def budget(self) -> Budget:
        """The budget of the whole release."""
        return self.certificate.budget

    @property
    def releases(self) -> int:
        """How many releases the budget is of: 1, but for a series."""
        return self.certificate.releases

    @cached_property
    def epsilon_of_one(self) -> float | None:
        """An ε that one release of a series has alone, at the δ of all; None without a series."""
        return None if self.releases == 1 else summary.find_epsilon_of_one(self.certificate)

    def __repr__(self) -> str:
        queries = _words.counted(len(self.names), "query", "queries")
        if self.releases > 1:
            queries += f", {self.releases:,} releases together"
        said = _words.private(self.budget.epsilon, self.budget.delta)
        return _words.line(
            "Plan", f"{queries}, {said} for each {self.person}: {_words.listed(self.names)}"
        )

    def __str__(self) -> str:
        """Return the plan as a table, and what it rests on."""
        table = text_table(summary.HEADS, summary.list_rows(self))
        return "\n".join([repr(self), "", table, "", *summary.list_sentences(self)])

    @property
    def neighbours(self) -> Neighbours:
        """What one unit does between two tables that nobody can tell apart."""
        return self.spec.privacy.neighbours

    @property
    def finds_bounds(self) -> bool:
        """Whether bounds of columns are found, with a part of the budget, before all else."""
        return bool(finding.columns_by_query(self.spec))

    def _columns(self) -> Columns:
        rows = [(block, error) for block in self.blocks for error in block.errors]
        ranks = [(part, error) for part in self.quantiles for error in part.all_errors]
        both = [*rows, *ranks]
        budgets = [part.budget for part, _ in both]
        found: Columns = {
            "query": [part.name for part, _ in both],
            "statistic": [error.statistic for _, error in both],
            "rows": [*(error.rows for _, error in rows), *([None] * len(ranks))],
            "cells": [part.layout.cells for part, _ in both],
            "noise": [block.certificate.noise.name for block, _ in rows]
            + [part.chosen_by for part, _ in ranks],
            "epsilon": [printed_at_least(budget.epsilon) for budget in budgets],
            "delta": [printed_at_least(budget.delta) for budget in budgets],
            **{name: [getattr(error, name, None) for _, error in both] for name in _ERRORS},
        }
        if ranks:
            found["rows_95"] = [getattr(error, "rows_95", None) for _, error in both]
        if any(column.is_open for column in self.spec.columns.values()):
            of = [(part.layout, error.statistic) for part, error in rows]
            found["bounds"] = [self._bounds(*one) for one in of] + [None] * len(ranks)
        return found

    def _marked(self, block: BlockPlan) -> dict[str, Any]:
        """Return the record of a block, in which errors of the widest bounds say so."""
        record = block.to_record()
        for error in record["errors"]:
            if self._bounds(block.layout, error["statistic"]) is not None:
                error["bounds"] = "widest"
        return record

    def _bounds(self, layout: Layout, label: str) -> str | None:
        """Return "widest" if an error is that of the widest bounds that may be found."""
        (asked,) = (one for one in layout.statistics if one.label == label)
        return "widest" if finding.rests_on_open(self.spec, asked) else None

    def _tables(self) -> dict[str, Columns]:
        rows = zip(*summary.list_rows(self), strict=True)
        return {"": dict(zip(summary.HEADS, map(list, rows), strict=True))}

    @property
    def draws(self) -> tuple[tuple[BlockPlan, ...], ...]:
        """The blocks, those of one draw of noise together."""
        groups = dict.fromkeys(block.group for block in self.blocks)
        return tuple(
            tuple(block for block in self.blocks if block.group == group) for group in groups
        )

    @property
    def by_query(self) -> tuple[QueryPlan, ...]:
        """The parts of each query together; of one whose tables add up those of each."""
        return tuple(
            QueryPlan(
                name=name,
                blocks=tuple(one for one in self.blocks if one.name == name),
                quantiles=tuple(one for one in self.quantiles if one.name == name),
                keys=tuple(one for one in self.keys if one.name == name),
            )
            for query in self.spec.query
            for name in file_names(query)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers don't say."""
        return summary.list_notes(self)

    def to_record(self) -> dict[str, Any]:
        """Return the plan as JSON values; privacy numbers are exact texts."""
        return {
            "version": 1,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "rule": self.certificate.rule,
            "caps": {"rows": MAX_ROWS, "units": MAX_UNITS},
            **summary.series_record(self),
            "blocks": [self._marked(block) for block in self.blocks],
            **(
                {"quantiles": [part.to_record() for part in self.quantiles]}
                if self.quantiles
                else {}
            ),
            **({"keys": [part.to_record() for part in self.keys]} if self.keys else {}),
            **({"derived": dict(self.spec.derive)} if self.spec.derive else {}),
            **finding.to_record(self.spec),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_record(), indent=2, allow_nan=False)
