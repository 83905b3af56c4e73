"""One released table on a page: what stands out, a chart a statistic, and all numbers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise._words import html
from leastnoise.report.dot_chart import Dot, dot_chart
from leastnoise.report.words import as_float, beside_noise, number, wide_table
from leastnoise.tables.plan.summary import SELECTED_NOTE
from leastnoise.tables.plan.summed.measured import FOR_THE_LARGEST
from leastnoise.tables.plan.summed.whole_counts import WHOLE_NOTE, bias_in_words
from leastnoise.tables.query import results
from leastnoise.tables.query.axes import Bins, Unlisted
from leastnoise.tables.query.layout import Layout
from leastnoise.tables.query.results import statistics_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import Asked

MOST_ROWS, MOST_DOTS = 200, 20
"""Of a table on the page, and of a chart: the page stays short, and the files have all of it."""
MOST_ACROSS = 6  # columns of a table of two keys, as a phone has little room
MOST_FOUND = 3  # statistics of a table that are among the findings


Numbers = list[tuple[float, float, float]]


@final
@dataclass(frozen=True, kw_only=True)
class TableSection:
    """A table of the page: its groups, and of each statistic the values and their intervals.

    `heads` name the columns of `keys`, which say a band in one.
    """

    name: str
    layout: Layout | Ranks
    heads: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    statistics: tuple[tuple[str, bool, Numbers], ...]
    """The name of each, whether it counts, and its numbers a row: no ends without an interval."""
    said: tuple[str, ...]
    """What was asked, and how it was decided which groups and values are there, in sentences."""
    link: str
    """HTML that leads to the table's file."""

    @classmethod
    def of(
        cls,
        spec: Spec,
        parts: Sequence[Layout | Ranks],
        plan: Mapping[str, Any],
        columns: dict[str, list[Any]],
        *,
        link: str,
    ) -> TableSection:
        """Return the section of a table that was read, from the record of the plan."""
        layout = parts[0]
        length = len(next(iter(columns.values())))
        named = [(in_words(asked, spec), asked, _numbers(asked, columns)) for asked in
                 statistics_of(parts)]  # fmt: skip
        keys = _keys(parts, columns)
        return cls(
            name=layout.name,
            layout=layout,
            heads=_heads(layout, spec.labels),
            keys=tuple(zip(*keys, strict=True)) if keys else ((),) * length,
            statistics=tuple((name, asked.counts, numbers) for name, asked, numbers in named),
            said=(_asked_in_words(parts, spec), *_decided(parts, plan, names_of(parts, spec))),
            link=link,
        )

    def findings(self) -> list[str]:
        """Return what stands out, a sentence a statistic."""
        found: list[str] = []
        for name, counts, numbers in self.statistics[:MOST_FOUND]:
            known = [place for place, one in enumerate(numbers) if _is_known(*one)]
            if not known:
                continue
            most = max(known, key=lambda place: numbers[place][0])
            least = min(known, key=lambda place: numbers[place][0])
            said = f"{self.name}, {name}: "
            if len(numbers) == 1:
                found.append(f"{said}{_shown(numbers[0], counts)}.")
            else:
                high, low = _shown(numbers[most], counts), _shown(numbers[least], counts)
                said += f"highest for {self._group(most)}: {high}; "
                found.append(f"{said}lowest for {self._group(least)}: {low}.")
        return found

    def to_html(self) -> str:
        """Return the section: its charts, then its numbers."""
        asked, *decided = self.said
        said = f'<p class="asked">{html(asked)}</p>'
        said += "".join(f"<p>{html(one)}</p>" for one in decided)
        charts = "".join(map(self._chart, self.statistics)) if len(self.keys) > 1 else ""
        across = self._across() if self.statistics and len(self.keys) <= MOST_ROWS else None
        rest = len(self.keys) - MOST_ROWS
        note = f"<p>{rest:,} more rows are in the table's file.</p>" if rest > 0 else ""
        return (
            f"<article><h3>{html(self.name)}</h3>{said}{charts}"
            f"{self._down() if across is None else across}{note}"
            f'<p class="file">{self.link}</p></article>'
        )

    def _group(self, place: int) -> str:
        heads = ("",) if self.layout.conditions else self.heads
        return ", ".join(f"{h} {k}".strip() for h, k in zip(heads, self.keys[place], strict=True))

    def _label(self, place: int) -> str:
        return ", ".join(self.keys[place])

    def _chart(self, statistic: tuple[str, bool, Numbers]) -> str:
        name, counts, numbers = statistic
        dots = [
            Dot(label=self._label(place) or name, value=value, low=low, high=high)
            for place, (value, low, high) in enumerate(numbers[:MOST_DOTS])
            if all(map(math.isfinite, (value, low, high)))
        ]
        title = f"{name} of {self.name}"
        if len(numbers) > MOST_DOTS:
            title += f", the first {MOST_DOTS} of {len(numbers):,}"
        chart = dot_chart(title, dots, unit=name, from_zero=counts)
        return f"<figure><figcaption>{html(title)}</figcaption>{chart}</figure>" if chart else ""

    def _down(self) -> str:
        """Return all statistics as one table, a row a group."""
        rows: list[str] = []
        for place, keys in enumerate(self.keys[:MOST_ROWS]):
            cells = [f'<th scope="row">{html(key)}</th>' for key in keys]
            cells += [_cell(numbers[place], counts) for _, counts, numbers in self.statistics]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        heads = [*self.heads, *(name for name, _, _ in self.statistics)]
        return wide_table(self.name, "", heads, rows)

    def _across(self) -> str | None:
        """Return a table a statistic with a key to the left and one on top, None if that can't be.

        It can't where a group was left out, or isn't in its place.
        """
        if len(self.heads) != 2 or not self.keys:
            return None
        lefts, tops = (list(dict.fromkeys(keys)) for keys in zip(*self.keys, strict=True))
        if len(tops) > MOST_ACROSS or self.keys != tuple(itertools.product(lefts, tops)):
            return None
        tables: list[str] = []
        for name, counts, numbers in self.statistics:
            cells = [_cell(one, counts) for one in numbers]
            rows = [
                f'<tr><th scope="row">{html(self.keys[first][0])}</th>'
                f"{''.join(cells[first : first + len(tops)])}</tr>"
                for first in range(0, len(self.keys), len(tops))
            ]
            caption = f"{name}, by {self.heads[0]} and {self.heads[1]}"
            tables.append(wide_table(name, caption, [self.heads[0], *tops], rows))
        return "".join(tables)


def in_words(asked: Asked, spec: Spec) -> str:
    """Return what a page calls a statistic: whom it counts, if it counts without a column."""
    if asked.label == "count_units":
        return f"count, each {spec.privacy.person} once"
    if asked.label == "count" and not spec.privacy.by_row:
        return "count of rows"
    columns = {one.column: one.column for one in asked.parts if one.column}
    return asked.in_words(columns | spec.labels)


def names_of(parts: Sequence[Layout | Ranks], spec: Spec) -> dict[str, str]:
    """Return what a page calls the statistics of a table, by their columns."""
    return {asked.label: in_words(asked, spec) for asked in statistics_of(parts)}


def _numbers(asked: Asked, columns: Mapping[str, list[Any]]) -> Numbers:
    values = [*map(as_float, columns[asked.label])]
    if "_low" not in asked.suffixes:
        return [(value, math.nan, math.nan) for value in values]
    opens = {"_low": -math.inf, "_high": math.inf}  # null in JSON
    low, high = (
        [end if one is None else as_float(one) for one in columns[asked.label + suffix]]
        for suffix, end in opens.items()
    )
    return [*zip(values, low, high, strict=True)]


def _is_known(value: float, low: float, high: float) -> bool:
    """Whether a number is finite, and its interval, if it has one."""
    ends = (low, high)
    return math.isfinite(value) and (all(map(math.isnan, ends)) or all(map(math.isfinite, ends)))


def _heads(layout: Layout | Ranks, labels: Mapping[str, str]) -> tuple[str, ...]:
    if layout.conditions:
        return ("condition",)
    return tuple(labels.get(axis.column, axis.column) for axis in layout.axes)


def _keys(parts: Sequence[Layout | Ranks], columns: dict[str, list[Any]]) -> list[list[str]]:
    """Return the columns that tell groups apart, as texts, the two ends of a band in one."""
    values = {f"{asked.label}{end}" for asked in statistics_of(parts) for end in asked.suffixes}
    left = [found for name, found in columns.items() if name not in values]
    found: list[list[str]] = []
    for axis in parts[0].axes:
        column = left.pop(0)
        if isinstance(axis, Bins):
            found.append(_bands(axis, column, left.pop(0)))
        else:
            found.append([_key(one) for one in column])
    return [*found, *([_key(one) for one in column] for column in left)]


def _bands(axis: Bins, lower: list[Any], upper: list[Any]) -> list[str]:
    """Return bands [a, b) in words, the last one of the axis closed, be it there or left out."""
    last = float(axis.edges[-1])
    said: list[str] = []
    for low, high in zip(map(as_float, lower), map(as_float, upper), strict=True):
        if math.isinf(low):
            said.append(f"below {_edge(high)}" if math.isfinite(high) else "all")
        elif math.isinf(high):
            said.append(f"{_edge(low)} or more")
        else:
            said.append(f"{_edge(low)} to {'' if high == last else 'below '}{_edge(high)}")
    return said


def _edge(value: float) -> str:
    return f"{value:,.6g}".replace("-", "−")


def _key(value: Any) -> str:
    return "" if value is None else str(value)


def _shown(numbers: tuple[float, float, float], counts: bool) -> str:  # noqa: FBT001
    if math.isnan(numbers[1]):
        return number(numbers[0])
    value, low, high = beside_noise(*numbers, whole=counts)
    return f"{value} ({low} to {high})"


def _cell(numbers: tuple[float, float, float], counts: bool) -> str:  # noqa: FBT001
    if math.isnan(numbers[1]):
        return f"<td>{number(numbers[0])}</td>"
    value, low, high = beside_noise(*numbers, whole=counts)
    return f"<td>{value}<small>{low} to {high}</small></td>"


def _decided(
    parts: Sequence[Layout | Ranks], plan: Mapping[str, Any], names: Mapping[str, str]
) -> list[str]:
    """Return how it was decided which groups of a table are there, and which quantiles."""
    name, noisy = parts[0].name, [part for part in parts if isinstance(part, Layout)]
    said = [
        _published(one["unlisted"])
        for one in plan["blocks"]
        if one["name"] == name and "unlisted" in one
    ]
    said += [_published_keys(one) for one in plan.get("keys", []) if one["name"] == name]
    said += [_chosen(one, names) for one in plan.get("quantiles", []) if one["name"] == name]
    said += dict.fromkeys(one for part in noisy for one in results.describe_kept_groups(part))
    said += [
        text
        for one in plan["blocks"]
        if one["name"] == name and "too_high" in one
        for text in (bias_in_words({"this table": one["too_high"]}), WHOLE_NOTE)
    ]
    said += [
        f"{FOR_THE_LARGEST} It is {number(own['largest_std'])}, of all tables that add up with it."
        for one in plan["blocks"]
        for kind in ("margins", "cumulative", "levels")
        if one["name"] == name and "objective" in (own := one.get(kind, {}))
    ]
    return [*said, SELECTED_NOTE] if any(part.decides for part in noisy) else said


def _chosen(record: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """How quantiles were chosen, and how far off they are, in sentences."""
    rows = [f"{names[one['statistic']]} {one['rows_95']:,.3g}" for one in record["errors"]]
    if "tree" in record:
        total = ""
        if "count" in record:
            total = f" Each {names[record['count']['statistic']]} is the total of a group's counts."
        return (
            f"Quantiles are read off noisy counts of the rows at each of {record['candidates']:,} "
            f"public candidates from {number(record['least_candidate'])} to "
            f"{number(record['largest_candidate'])}. With 95 % one is off by at most so many rows "
            f"of its group: {', '.join(rows)}. An interval ends halfway to the next candidate, and "
            f"is open beyond the first and the last.{total}"
        )
    return (
        f"No noise is added to a quantile: it is chosen by chance among {record['candidates']:,} "
        f"public candidates from {number(record['least_candidate'])} to "
        f"{number(record['largest_candidate'])}, those near the true rank most likely. With 95 % "
        f"it is off by at most so many rows of its group: {', '.join(rows)}. No interval of values "
        "exists."
    )


def _published_keys(keys: Mapping[str, Any]) -> str:
    """Return which keys are on the page, and what that says of the others."""
    return (
        "Nobody listed these keys. Chance decides which are here: of keys of "
        f"{keys['half']:,} every second one, of keys of {keys['nearly']:,} 95 %. How many have a "
        "key is not published, and one that isn't here may have few, many or none."
    )


def _published(groups: Mapping[str, Any]) -> str:
    """The sentences that say which groups are on the page, and what follows for their counts."""
    chosen = groups["chosen"]
    preferred = " Noise was chosen for small errors rather than for small groups."
    return (
        "Nobody listed these groups. None is here whose noisy count is below "
        f"{chosen['threshold']:.6g}: of groups of {chosen['half']:,} every second one, of "
        f"groups of {chosen['nearly']:,} 95 %. A group that isn't here may be small, or empty. "
        "Near the threshold a count that is here is biased upwards."
        f"{preferred if 'prefer' in groups else ''}"
    )


def _asked_in_words(parts: Sequence[Layout | Ranks], spec: Spec) -> str:
    """Return a table's statistics and its keys, in a sentence."""
    layout = parts[0]
    what = ", ".join(in_words(asked, spec) for asked in statistics_of(parts)) or "keys alone"
    what = what[0].upper() + what[1:]
    if layout.conditions:
        return f"{what}, for each of {layout.cells:,} conditions."
    by = _words.in_turn([
        spec.labels.get(axis.column, axis.column)
        + (" (keys that nobody listed)" if isinstance(axis, Unlisted) else "")
        + (" (cumulative)" if isinstance(axis, Bins) and axis.running else "")
        for axis in layout.axes
    ]) if layout.axes else ""  # fmt: skip
    return f"{what}, by {by}." if by else f"{what}."
