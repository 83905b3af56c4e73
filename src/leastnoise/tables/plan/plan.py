"""The plan of a release: its noise and errors, which follow from the spec without any data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, final

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown, text_table
from leastnoise.certificate.limits import LimitCertificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.guarantees.exact import decimal_text, printed_at_least
from leastnoise.tables.answers.base import SECTIONS, Answered, TablePart
from leastnoise.tables.answers.noisy import NoisyPart
from leastnoise.tables.answers.quantiles.plan import QuantilePlan
from leastnoise.tables.answers.unlisted.keys import KeysPlan
from leastnoise.tables.layout import found_bounds, found_limits
from leastnoise.tables.layout.layout import MAX_ROWS, MAX_UNITS
from leastnoise.tables.plan import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise._notebooks import Columns
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.spec.model import Spec

_Kind = TypeVar("_Kind")
_ERRORS = ("std", "half_width_95", "plain_laplace_std", "plain_gaussian_std")


@final
@dataclass(frozen=True, kw_only=True)
class QueryPlan:
    """A published table of a query, with the parts that publish the table's columns."""

    name: str
    parts: tuple[TablePart, ...]

    @property
    def noisy_parts(self) -> tuple[NoisyPart, ...]:
        """The parts with noise added to their numbers."""
        return _of_kind(self.parts, NoisyPart)

    @property
    def layouts(self) -> tuple[TableShape, ...]:
        """The layouts of all parts."""
        return tuple(layout for part in self.parts for layout in part.layouts)


def _of_kind(parts: Sequence[TablePart], kind: type[_Kind]) -> tuple[_Kind, ...]:
    return tuple(part for part in parts if isinstance(part, kind))


@final
@dataclass(frozen=True, kw_only=True)
class Plan(Framed, Shown):
    """The plan of a whole release before it happens; everything in it is public.

    As a frame it has one row for each expected error, which is the same in every cell of a query.
    If cells have different errors, as running sums have, the row has the root mean square of their
    standard deviations and the largest half-width. The columns are:

    - `query`, `statistic`, `rows` (the size of a group that a mean's error is for), `cells`,
      `noise`;
    - `epsilon` and `delta`, the budget of the part of the query that publishes the statistic;
    - in the statistic's units `std`, `half_width_95`, `plain_laplace_std` and
      `plain_gaussian_std`; the last two are missing if such plain noise is impossible;
    - `rows_95`, only with quantiles: their error in rows; `std` and so on are missing for them;
    - `bounds`, only if bounds are still to be found: "widest" if an error is for the widest.

    Printed, the plan is one table, and sentences about it. The table has the shares of the budget,
    the interval with 95 % of the noise, and the ratio of plain noise's error to this noise's error.
    """

    spec: Spec
    answered: tuple[Answered, ...]
    """The draws of noise, in the order of the certificate."""
    certificate: PlanCertificate
    """The proof of the whole release: for each draw, and for all draws together."""
    with_limits: tuple[Plan, ...] = ()
    """The plans with each candidate for a limit that is still to be found."""

    @cached_property
    def parts(self) -> tuple[TablePart, ...]:
        """The parts of all tables by query; in each query, the parts with noise come first."""

        def order(part: TablePart) -> tuple[int, int, int]:
            positions = [position for layout in part.layouts for position in layout.places]
            section = SECTIONS.index(part.section)
            return self.names.index(part.query), section, min(positions, default=0)

        every = [part for answered in self.answered for part in answered.parts]
        return tuple(sorted(every, key=order))

    @property
    def noisy_parts(self) -> tuple[NoisyPart, ...]:
        """The parts with noise added to their numbers."""
        return _of_kind(self.parts, NoisyPart)

    @property
    def quantiles(self) -> tuple[QuantilePlan, ...]:
        """The plans of quantiles, one for each column of a query."""
        return _of_kind(self.parts, QuantilePlan)

    @property
    def keys(self) -> tuple[KeysPlan, ...]:
        """The parts of queries that publish keys without numbers."""
        return _of_kind(self.parts, KeysPlan)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries, in the order of the spec."""
        return tuple(query.name for query in self.spec.query)

    @property
    def unit(self) -> str:
        """The name of the unit in ledgers: a column, or rows."""
        return self.spec.unit_label

    @property
    def person(self) -> str:
        """The name of the unit for readers."""
        return self.spec.privacy.person

    @property
    def budget(self) -> Budget:
        """The budget of the whole release."""
        return self.certificate.budget

    @property
    def planned_releases(self) -> int:
        """The number of releases of the series; 1 without a series."""
        return 1 if self.spec.series is None else self.spec.series.releases

    @cached_property
    def epsilon_of_one(self) -> float | None:
        """A proved ε of a single release of a series, at the δ of the whole series.

        None without a series, or if each unit is in one release only.
        """
        several = self.certificate.releases > 1
        return summary.find_epsilon_of_one(self.certificate) if several else None

    def __repr__(self) -> str:
        queries = _words.count_noun(len(self.names), "query", "queries")
        if self.planned_releases > 1:
            queries += f", {self.planned_releases:,} releases together"
        guarantee = _words.format_guarantee(
            self.budget.epsilon, self.budget.delta, self.certificate.rho
        )
        return _words.line(
            "Plan",
            f"{queries}, {guarantee} for each {self.spec.protected}: "
            f"{_words.list_names(self.names)}",
        )

    def __str__(self) -> str:
        """The plan as a table, followed by sentences about its guarantee and limits."""
        table = text_table(summary.HEADS, summary.list_rows(self))
        return "\n".join([repr(self), "", table, "", *summary.list_sentences(self)])

    @property
    def neighbours(self) -> Neighbours:
        """The relation between two neighbouring data sets."""
        return self.spec.privacy.neighbours

    @property
    def finds_bounds(self) -> bool:
        """True if a part of the budget is spent on finding bounds of columns first."""
        return bool(found_bounds.columns_by_query(self.spec))

    @property
    def finds_limit(self) -> bool:
        """True if a part of the budget is spent on finding a limit first."""
        return found_limits.finder_of(self.spec) is not None

    @property
    def rule(self) -> str:
        """The rule by which the draws of noise compose.

        If the release finds a limit, it is the rule of the plan with the limit that was found, or
        before that with the largest candidate.
        """
        claim = self.certificate.draws[0][1]
        if not isinstance(claim, LimitCertificate):
            return self.certificate.rule
        finder = found_limits.finder_of(self.spec)
        limit = 0 if finder is None else finder.finds.limit
        return claim.plans[claim.candidates.index(limit)].rule

    @property
    def sections(self) -> dict[str, list[TablePart]]:
        """The parts by their sections of plan.json, in the order of plan.json."""
        return {
            section: [part for part in self.parts if part.section == section]
            for section in SECTIONS
        }

    def _columns(self) -> Columns:
        rows = [
            (part, error)
            for parts in self.sections.values()
            for part in parts
            for error in part.all_errors
        ]
        budgets = [part.budget for part, _ in rows]
        columns: Columns = {
            "query": [part.name for part, _ in rows],
            "statistic": [error.statistic for _, error in rows],
            "rows": [getattr(error, "rows", None) for _, error in rows],
            "cells": [part.layouts[-1].cells for part, _ in rows],
            "noise": [part.chosen_by for part, _ in rows],
            "epsilon": [printed_at_least(budget.epsilon) for budget in budgets],
            "delta": [printed_at_least(budget.delta) for budget in budgets],
            **{name: [getattr(error, name, None) for _, error in rows] for name in _ERRORS},
        }
        rows_95 = [getattr(error, "rows_95", None) for _, error in rows]
        if any(rows is not None for rows in rows_95):
            columns["rows_95"] = rows_95
        if any(column.is_open for column in self.spec.columns.values()):
            columns["bounds"] = [self._bounds(part, error.statistic) for part, error in rows]
        return columns

    def _marked(self, part: TablePart) -> dict[str, Any]:
        """The record of a part; errors for the widest bounds get `bounds` = "widest"."""
        record = part.to_record()
        for error in record.get("errors", ()):
            if self._bounds(part, error["statistic"]) is not None:
                error["bounds"] = "widest"
        return record

    def _bounds(self, part: TablePart, label: str) -> str | None:
        """The text "widest" if this statistic's error is for the widest bounds; else None."""
        statistics = (asked for layout in part.layouts for asked in layout.statistics)
        (asked,) = (statistic for statistic in statistics if statistic.label == label)
        return "widest" if found_bounds.has_open_bounds(self.spec, asked) else None

    def _tables(self) -> dict[str, Columns]:
        rows = zip(*summary.list_rows(self), strict=True)
        return {"": dict(zip(summary.HEADS, map(list, rows), strict=True))}

    @property
    def by_query(self) -> tuple[QueryPlan, ...]:
        """The tables with their parts, in the order of the spec.

        If a query also has tables of sums, the table of its cells comes first.
        """
        return tuple(
            QueryPlan(name=name, parts=tuple(part for part in self.parts if part.name == name))
            for name in dict.fromkeys(part.name for part in self.parts)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about facts that the numbers of the plan don't show."""
        return summary.list_notes(self)

    def to_record(self) -> dict[str, Any]:
        """The plan as JSON values.

        Returns:
            The record that plan.json holds. Budgets are exact texts; the ε of one release of a
            series is a float, rounded up.
        """
        rho = self.certificate.rho
        return {
            "version": 1,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            **({} if rho is None else {"rho": decimal_text(rho)}),
            "rule": self.certificate.rule,
            "caps": {"rows": MAX_ROWS, "units": MAX_UNITS},
            **summary.series_record(self),
            **{
                section: [self._marked(part) for part in parts]
                for section, parts in self.sections.items()
                if parts or section == SECTIONS[0]
            },
            **({"derived": dict(self.spec.derive)} if self.spec.derive else {}),
            **found_bounds.to_record(self.spec),
            **found_limits.to_record(self.spec),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The plan as JSON text.

        Returns:
            The text of plan.json.
        """
        return json.dumps(self.to_record(), indent=2, allow_nan=False)
