"""The plan of a release: its noise and errors, decided from the spec without any row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, final

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown, text_table
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.guarantees.exact import decimal_text, printed_at_least
from leastnoise.tables.answers.base import SECTIONS, Answered, TablePart
from leastnoise.tables.answers.noisy import NoisyPart
from leastnoise.tables.answers.quantiles.plan import QuantilePlan
from leastnoise.tables.answers.unlisted.keys import KeysPlan
from leastnoise.tables.layout import found_bounds
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
    """One published table of a query: the parts that its columns come from."""

    name: str
    parts: tuple[TablePart, ...]

    @property
    def blocks(self) -> tuple[NoisyPart, ...]:
        """The parts that noise is added to."""
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
    answered: tuple[Answered, ...]
    """Each draw, in the order of the certificate."""
    certificate: PlanCertificate
    """The proof of the whole release: of each draw, and of all together."""

    @cached_property
    def parts(self) -> tuple[TablePart, ...]:
        """The columns of all tables, query by query, and those with noise first."""

        def order(part: TablePart) -> tuple[int, int, int]:
            places = [place for layout in part.layouts for place in layout.places]
            section = SECTIONS.index(part.section)
            return self.names.index(part.query), section, min(places, default=0)

        every = [part for answered in self.answered for part in answered.parts]
        return tuple(sorted(every, key=order))

    @property
    def blocks(self) -> tuple[NoisyPart, ...]:
        """The parts that noise is added to."""
        return _of_kind(self.parts, NoisyPart)

    @property
    def quantiles(self) -> tuple[QuantilePlan, ...]:
        """The quantiles, each of one column in a query."""
        return _of_kind(self.parts, QuantilePlan)

    @property
    def keys(self) -> tuple[KeysPlan, ...]:
        """The queries that publish which keys there are."""
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
        """An ε that one release of a series has alone, at the δ of all.

        None without a series, and where a unit is in one release only.
        """
        several = self.certificate.releases > 1
        return summary.find_epsilon_of_one(self.certificate) if several else None

    def __repr__(self) -> str:
        queries = _words.count_noun(len(self.names), "query", "queries")
        if self.planned_releases > 1:
            queries += f", {self.planned_releases:,} releases together"
        said = _words.format_guarantee(self.budget.epsilon, self.budget.delta)
        return _words.line(
            "Plan",
            f"{queries}, {said} for each {self.spec.protected}: {_words.list_names(self.names)}",
        )

    def __str__(self) -> str:
        """Return the plan as a table, and what it rests on."""
        table = text_table(summary.HEADS, summary.list_rows(self))
        return "\n".join([repr(self), "", table, "", *summary.list_sentences(self)])

    @property
    def neighbours(self) -> Neighbours:
        """The change of one unit between two datasets that nobody can tell apart."""
        return self.spec.privacy.neighbours

    @property
    def finds_bounds(self) -> bool:
        """True if bounds of columns are found first, with a part of the budget."""
        return bool(found_bounds.columns_by_query(self.spec))

    @property
    def sections(self) -> dict[str, list[TablePart]]:
        """The parts by the section of the record that lists them, in its order."""
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
        """The record of a part, in which errors of the widest bounds say so."""
        record = part.to_record()
        for error in record.get("errors", ()):
            if self._bounds(part, error["statistic"]) is not None:
                error["bounds"] = "widest"
        return record

    def _bounds(self, part: TablePart, label: str) -> str | None:
        """Return "widest" if an error is that of the widest bounds that may be found."""
        statistics = (asked for layout in part.layouts for asked in layout.statistics)
        (asked,) = (statistic for statistic in statistics if statistic.label == label)
        return "widest" if found_bounds.has_open_bounds(self.spec, asked) else None

    def _tables(self) -> dict[str, Columns]:
        rows = zip(*summary.list_rows(self), strict=True)
        return {"": dict(zip(summary.HEADS, map(list, rows), strict=True))}

    @property
    def by_query(self) -> tuple[QueryPlan, ...]:
        """The parts of each table together, in the order of the spec; of sums the cells first."""
        return tuple(
            QueryPlan(name=name, parts=tuple(part for part in self.parts if part.name == name))
            for name in dict.fromkeys(part.name for part in self.parts)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that the numbers don't show."""
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
            **{
                section: [self._marked(part) for part in parts]
                for section, parts in self.sections.items()
                if parts or section == SECTIONS[0]
            },
            **({"derived": dict(self.spec.derive)} if self.spec.derive else {}),
            **found_bounds.to_record(self.spec),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_record(), indent=2, allow_nan=False)
