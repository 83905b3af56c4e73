"""One released table on a page: its findings, a chart for each statistic, and all numbers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise._notebooks import NOT_SHOWN
from leastnoise._words import html
from leastnoise.report.dot_chart import Dot, dot_chart
from leastnoise.report.words import as_float, beside_noise, wide_table
from leastnoise.tables.layout.axes import Bins, RunningBins
from leastnoise.tables.plan.reader_notes import describe_selection
from leastnoise.tables.results.headers import describe_query, in_words, names_of
from leastnoise.tables.results.table import (
    PRIMARY,
    SECONDARY,
    SHOWN,
    SUPPRESSED,
    number_columns,
    statistics_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.plan.plan import QueryPlan
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import AnyStatistic

MOST_ROWS, MOST_DOTS = 200, 20
"""Limits on a page's rows of a table and dots of a chart; the table's file has all rows."""
MOST_ACROSS = 6  # columns of a table with two keys: few, because a phone has little room
MOST_FOUND = 3  # statistics of a table that are among the findings


Numbers = list[tuple[float, float, float]]


@final
@dataclass(frozen=True, kw_only=True)
class TableSection:
    """A table of the page: its groups, and the values and intervals of each statistic.

    `heads` name the columns of `keys`; a band is one column.
    """

    name: str
    layout: TableShape
    heads: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    statistics: tuple[tuple[str, bool, Numbers], ...]
    """Name, True for counts, and numbers by row; ends are NaN without an interval."""
    marks: tuple[str, ...]
    """For each row its mark if it is suppressed, else an empty text."""
    sentences: tuple[str, ...]
    """The query, and how its groups and values were selected, in sentences."""
    link: str
    """HTML link to the table's file."""

    @classmethod
    def of(
        cls,
        spec: Spec,
        query: QueryPlan,
        columns: dict[str, list[Any]],
        *,
        link: str,
    ) -> TableSection:
        """The section of a table, from its columns and the plan of its query."""
        parts = query.layouts
        layout = parts[0]
        length = len(next(iter(columns.values())))
        marks = columns.get(SUPPRESSED, [SHOWN] * length)
        named = [(in_words(asked, spec), asked, _numbers(asked, columns)) for asked in
                 statistics_of(parts)]  # fmt: skip
        keys = _keys(parts, columns)
        return cls(
            name=layout.name,
            layout=layout,
            heads=_heads(layout, spec.labels),
            keys=tuple(zip(*keys, strict=True)) if keys else ((),) * length,
            statistics=tuple((name, asked.counts, numbers) for name, asked, numbers in named),
            marks=tuple(marks),
            sentences=(
                describe_query(parts, spec),
                *_count_suppressed(marks),
                *describe_selection(query.parts, names_of(parts, spec)),
            ),
            link=link,
        )

    def findings(self) -> list[str]:
        """Sentences about the first statistics: the only value, or the highest and the lowest.

        Empty for a table of several rows that has no intervals, or whose rows add up cells.
        """
        sentences: list[str] = []
        for name, counts, numbers in self.statistics[:MOST_FOUND]:
            known = [row for row, values in enumerate(numbers) if _is_known(*values)]
            if not known:
                continue
            most = max(known, key=lambda row: numbers[row][0])
            least = min(known, key=lambda row: numbers[row][0])
            start = f"Table {self.name}: the published {name} is "
            high, low = _format(numbers[most], counts), _format(numbers[least], counts)
            if len(numbers) == 1:
                sentences.append(f"{start}{high}.")
            # sums overlap; and without intervals nobody sees that a difference may be chance
            elif self.layout.adds_cells or math.isnan(numbers[most][1]):
                continue
            elif len(known) == 1:
                sentences.append(f"{start}shown only for {self._group(most)}: {high}.")
            elif numbers[most][0] == numbers[least][0]:
                value = _format((numbers[most][0], math.nan, math.nan), counts)
                sentences.append(f"{start}the same for all groups that are shown: {value}.")
            else:
                start += f"highest for {self._group(most)}: {high}. "
                sentences.append(f"{start}It is lowest for {self._group(least)}: {low}.")
        return sentences

    def to_html(self) -> str:
        """The section as HTML: its sentences, then its charts, then its numbers."""
        query, *selection = self.sentences
        text = f'<p class="asked">{html(query)}</p>'
        text += "".join(f"<p>{html(sentence)}</p>" for sentence in selection)
        charts = "".join(map(self._chart, self.statistics)) if len(self.keys) > 1 else ""
        across = self._across() if self.statistics and len(self.keys) <= MOST_ROWS else None
        rest = len(self.keys) - MOST_ROWS
        note = f"<p>{rest:,} more rows are in the table's file.</p>" if rest > 0 else ""
        return (
            f"<article><h3>{html(self.name)}</h3>{text}{charts}"
            f"{self._down() if across is None else across}{note}"
            f'<p class="file">{self.link}</p></article>'
        )

    def _group(self, row: int) -> str:
        heads = ("",) if self.layout.conditions else self.heads
        return ", ".join(f"{h} {k}".strip() for h, k in zip(heads, self.keys[row], strict=True))

    def _label(self, row: int) -> str:
        return ", ".join(self.keys[row])

    def _chart(self, statistic: tuple[str, bool, Numbers]) -> str:
        name, counts, numbers = statistic
        dots = [
            Dot(label=self._label(row) or name, value=value, low=low, high=high)
            for row, (value, low, high) in enumerate(numbers[:MOST_DOTS])
            if all(map(math.isfinite, (value, low, high)))
        ]
        title = f"{name} of {self.name}"
        if len(numbers) > MOST_DOTS:
            title += f", the first {MOST_DOTS} of {len(numbers):,}"
        chart = dot_chart(title, dots, unit=name, from_zero=counts)
        return f"<figure><figcaption>{html(title)}</figcaption>{chart}</figure>" if chart else ""

    def _down(self) -> str:
        """One HTML table with all statistics, and a row for each of the first groups."""
        rows: list[str] = []
        for row, keys in enumerate(self.keys[:MOST_ROWS]):
            cells = [f'<th scope="row">{html(key)}</th>' for key in keys]
            mark = self.marks[row]
            cells += [_cell(numbers[row], counts, mark) for _, counts, numbers in self.statistics]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        heads = [*self.heads, *(name for name, _, _ in self.statistics)]
        return wide_table(self.name, "", heads, rows)

    def _across(self) -> str | None:
        """A table per statistic, with one key on the left and one on top; None if impossible.

        It is impossible unless there are two keys, few on top, and all pairs of them are in order.
        """
        if len(self.heads) != 2 or not self.keys:
            return None
        lefts, tops = (list(dict.fromkeys(keys)) for keys in zip(*self.keys, strict=True))
        if len(tops) > MOST_ACROSS or self.keys != tuple(itertools.product(lefts, tops)):
            return None
        tables: list[str] = []
        for name, counts, numbers in self.statistics:
            pairs = zip(numbers, self.marks, strict=True)
            cells = [_cell(values, counts, mark) for values, mark in pairs]
            rows = [
                f'<tr><th scope="row">{html(self.keys[first][0])}</th>'
                f"{''.join(cells[first : first + len(tops)])}</tr>"
                for first in range(0, len(self.keys), len(tops))
            ]
            caption = f"{name}, by {self.heads[0]} and {self.heads[1]}"
            tables.append(wide_table(name, caption, [self.heads[0], *tops], rows))
        return "".join(tables)


def _numbers(asked: AnyStatistic, columns: Mapping[str, list[Any]]) -> Numbers:
    values = [*map(as_float, columns[asked.label])]
    if "_low" not in asked.suffixes:
        return [(value, math.nan, math.nan) for value in values]
    opens = {"_low": -math.inf, "_high": math.inf}  # null in JSON
    low, high = (
        [end if value is None else as_float(value) for value in columns[asked.label + suffix]]
        for suffix, end in opens.items()
    )
    return [*zip(values, low, high, strict=True)]


def _count_suppressed(marks: Sequence[str]) -> list[str]:
    """A list of one sentence with the numbers of suppressed rows; empty without such rows."""
    if all(mark == SHOWN for mark in marks):
        return []
    small, others = marks.count(PRIMARY), marks.count(SECONDARY)
    hidden = f"{small:,} {'is' if small == 1 else 'are'} suppressed as small (primary)"
    return [f"Of {len(marks):,} rows, {hidden}, and {others:,} to protect them (secondary)."]


def _is_known(value: float, low: float, high: float) -> bool:
    """True if a number is finite, and so is its interval, if it has one."""
    ends = (low, high)
    return math.isfinite(value) and (all(map(math.isnan, ends)) or all(map(math.isfinite, ends)))


def _heads(layout: TableShape, labels: Mapping[str, str]) -> tuple[str, ...]:
    if layout.conditions:
        return ("condition",)
    return tuple(labels.get(axis.column, axis.column) for axis in layout.axes)


def _keys(parts: Sequence[TableShape], columns: dict[str, list[Any]]) -> list[list[str]]:
    """The key columns of a table as texts; the two ends of a band become one column."""
    values = {*number_columns(parts), SUPPRESSED}
    rest = [column for name, column in columns.items() if name not in values]
    keys: list[list[str]] = []
    for axis in parts[0].axes:
        column = rest.pop(0)
        if isinstance(axis, Bins | RunningBins):
            keys.append(_bands(axis, column, rest.pop(0)))
        else:
            keys.append([_key(value) for value in column])
    return [*keys, *([_key(value) for value in column] for column in rest)]


def _bands(axis: Bins | RunningBins, lower: list[Any], upper: list[Any]) -> list[str]:
    """Describe each band [a, b) in words.

    A band that ends at the last edge of the axis is closed, [a, b].
    """
    last = float(axis.edges[-1])
    texts: list[str] = []
    for low, high in zip(map(as_float, lower), map(as_float, upper), strict=True):
        if math.isinf(low) and math.isinf(high):
            texts.append("all")
        elif math.isinf(high):
            texts.append(f"{_edge(low)} or more")
        else:
            start = "" if math.isinf(low) else f"{_edge(low)} to "
            end = "below " if high != last else "" if start else "at most "
            texts.append(f"{start}{end}{_edge(high)}")
    return texts


def _edge(value: float) -> str:
    return f"{value:,.15g}".replace("-", "−")


def _key(value: Any) -> str:
    return "" if value is None else str(value)


def _format(numbers: tuple[float, float, float], counts: bool) -> str:  # noqa: FBT001
    if math.isnan(numbers[1]):
        return _words.format_for_page(numbers[0])
    value, low, high = beside_noise(*numbers, whole=counts)
    return f"{value} ({low} to {high})"


def _cell(numbers: tuple[float, float, float], counts: bool, mark: str) -> str:  # noqa: FBT001
    if mark != SHOWN:
        return f"<td>{NOT_SHOWN}<small>{html(mark)}</small></td>"
    if math.isnan(numbers[1]):
        return f"<td>{_words.format_for_page(numbers[0])}</td>"
    value, low, high = beside_noise(*numbers, whole=counts)
    return f"<td>{value}<small>{low} to {high}</small></td>"
