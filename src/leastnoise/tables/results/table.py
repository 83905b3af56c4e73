"""From a noisy vector to a table: keys, statistics, and the error that the noise causes.

The names of tables and columns are public, so they are known before any row is read. If not all
groups are published because of `min_count` or `top`, noisy counts alone decide on each group. That
is post-processing and costs nothing. For unlisted groups and selections see `answers`. Rows of the
source influence the number of published rows only through noisy results, and never an exit code or
a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise._notebooks import MOST_ROWS, NOT_SHOWN, Framed, Shown, text_table
from leastnoise.tables.statistics.base import LARGEST_WHOLE, SUFFIXES, round_to_multiple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise._notebooks import Columns
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.statistics.base import AnyStatistic, Floats, FourColumns, NoiseError

SUPPRESSED = "suppressed"
"""The last column of a table with suppressed rows. It has one of `MARKS` for each row."""
MARKS = SHOWN, PRIMARY, SECONDARY = "", "primary", "secondary"
"""Marks of a shown row, of a row whose count is small, and of a row suppressed to protect it."""


def key_names(part: TableShape) -> list[str]:
    """The names of the columns that identify a group."""
    keys = [name for axis in part.axes for name in axis.columns]
    return [*keys, "condition"] if part.conditions else keys


def result_columns(parts: Sequence[TableShape]) -> tuple[str, ...]:
    """The column names of a query's table: keys, each statistic's columns, suppression marks.

    `parts` are the layouts of the query's parts.
    """
    marks = [] if parts[0].suppressed_below is None else [SUPPRESSED]
    return (*key_names(parts[0]), *number_columns(parts), *marks)


def number_columns(parts: Sequence[TableShape]) -> list[str]:
    """The names of the columns of a query's statistics."""
    return [
        f"{statistic.label}{suffix}"
        for statistic in statistics_of(parts)
        for suffix in statistic.suffixes
    ]


def statistics_of(parts: Sequence[TableShape]) -> list[AnyStatistic]:
    """The statistics of a query, from the layouts of its parts, in the query's order."""
    by_position = {
        position: statistic
        for part in parts
        for position, statistic in zip(part.places, part.statistics, strict=True)
    }
    return [by_position[position] for position in sorted(by_position)]


def publish_all(layout: Layout) -> Layout:
    """A copy of the layout in which every group is published."""
    return replace(layout, min_count=None, top=None, decides=None)


def select_groups(layout: TableShape, table: Table) -> Table:
    """The published rows of a query's `table`, given the layout of any of its parts.

    Groups with counts below `min_count` are left out. With `top`, the groups with the largest
    counts are kept, in falling order; groups with equal counts keep their order.
    """
    if layout.decides is None:
        return table
    counts = table.columns[layout.decides]
    kept = [row for row, count in enumerate(counts) if _reaches(layout, count)]
    if layout.top is not None:
        kept = sorted(kept, key=lambda row: -counts[row])[: layout.top]
    columns = {label: [values[row] for row in kept] for label, values in table.columns.items()}
    return Table(name=table.name, columns=columns)


def _reaches(layout: TableShape, count: float) -> bool:
    """True if `min_count` keeps a group with this published count."""
    return layout.min_count is None or count >= layout.min_count


def find_wrong_rows(layout: TableShape, numbers: Mapping[str, Sequence[float]]) -> str | None:
    """The fault in a table's selection of groups, as the end of a sentence; None without a fault.

    `numbers` are the table's columns of numbers. `find_wrong_keys` checks the order of the rows.
    The counts of groups that were left out can't be checked, since the table doesn't have them.
    """
    if layout.decides is None:
        return None
    counts = numbers[layout.decides]
    if not all(_reaches(layout, count) for count in counts):
        return f"a {layout.decides} below min_count, {layout.min_count:,}"
    most = layout.most_rows
    exact = layout.min_count is None and layout.listed_cells is not None
    if most is not None and (len(counts) > most or (exact and len(counts) < most)):
        return f"other than the {most:,} groups that the spec says"
    return None


def describe_kept_groups(layout: Layout) -> Iterator[str]:
    """Sentences about the rounding of counts, and about groups left out and suppressed rows."""
    if layout.multiple > 1 and any(statistic.counts for statistic in layout.statistics):
        yield (
            f"Counts are rounded to multiples of {layout.multiple:,}, and their intervals rounded "
            "outwards; the std is the noise before rounding."
        )
    if layout.min_count is not None:
        which = "Groups" if layout.listed_cells is not None else "Groups that reach the threshold"
        least = f"{layout.decides} is below {layout.min_count:,}"
        yield f"{which} are left out if their published {least}."
    if layout.top is not None and layout.selected is None:
        yield f"The {layout.top:,} groups with the largest published {layout.decides} are kept."
    if layout.suppressed_below is not None:
        label = next(asked.label for asked in layout.statistics if asked.counts)
        yield (
            f"Rows are suppressed if their published {label} is below "
            f"{layout.suppressed_below:,} (primary). Further rows are suppressed with them "
            "(secondary), so that sums and differences of shown numbers give no suppressed number."
        )


@final
@dataclass(frozen=True, kw_only=True)
class Table(Framed, Shown):
    """A named table: column names, and a list of values for each, all of the same length.

    As a frame it has the same columns: the keys, and for most statistics a value, `_std`, `_low`
    and `_high` in the statistic's own units; see `table_of`. An interval holds the value without
    noise with probability 95 %, or with the probability that `confidence` states for its statistic.
    """

    name: str
    columns: dict[str, list[Any]]
    confidence: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        columns = _words.count_noun(len(self.columns), "column")
        return _words.line(
            "Table", f"{_words.count_noun(len(self), 'row')}, {columns}; {self.name}"
        )

    def __str__(self) -> str:
        """The first rows as text: keys, each statistic's value, and its interval if it has one."""
        heads, columns = zip(*self.text_columns(), strict=True)
        rows = [*islice(zip(*columns, strict=True), MOST_ROWS)]
        more = len(self) - len(rows)
        note = [f"… and {more:,} more rows"] if more else []
        return "\n".join([repr(self), "", text_table(heads, rows), *note])

    def text_columns(self, truth: Sequence[Sequence[str]] = ()) -> list[tuple[str, list[str]]]:
        """Pairs of a head and a column as text: keys, values, and intervals as one column.

        `truth` has the exact value of every statistic, shape (rows, statistics): for public data
        only.
        """
        columns = {name: _shown(values) for name, values in self.columns.items()}
        with_interval = [
            name for name in columns if all(f"{name}{end}" in columns for end in SUFFIXES)
        ]
        ends = {f"{name}{end}" for name in with_interval for end in SUFFIXES[1:]}
        shown: list[tuple[str, list[str]]] = []
        for name, values in columns.items():
            if name in ends:
                continue
            shown.append((name, values))
            if name in with_interval:
                pairs = zip(columns[f"{name}_low"], columns[f"{name}_high"], strict=True)
                percent = 100 * self.confidence.get(name, 0.95)
                texts = [low if low == NOT_SHOWN else f"{low} to {high}" for low, high in pairs]
                shown.append((f"{percent:.0f} % of noise", texts))
                if truth:
                    shown.append(("truth", [row[with_interval.index(name)] for row in truth]))
        return shown

    def _columns(self) -> Columns:
        return self.columns

    def _tables(self) -> dict[str, Columns]:
        return {self.name: self.columns}

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, in order."""
        return zip(*self.columns.values(), strict=True)

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))


def _shown(values: Sequence[Any]) -> list[str]:
    """A column as text, without decimals if all its values are whole floats."""
    whole = all(
        isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE
        for value in values
        if value is not None
    )
    if not whole:
        return [*map(_short, values)]
    return [NOT_SHOWN if value is None else f"{value:.0f}" for value in values]


def _short(value: object) -> str:
    if value is None:
        return NOT_SHOWN
    return _words.tenths(value, digits=3) if isinstance(value, float) else str(value)


def table_of(
    layout: Layout,
    vector: NDArray[np.float64],
    noise: Sequence[NoiseError],
    *,
    keys: list[list[Any]] | None = None,
) -> Table:
    """The table of a query, or of a part of it, from its noisy vector, shape (dimension,).

    `noise` has an error per component. Each interval from `_low` to `_high`, taken by itself, holds
    the statistic without noise (clamped and clipped as the plan says) with a probability of at
    least 95 %. `_std` is the standard deviation of the noise before rounding and clamping. `keys`
    are the columns of keys, a value per row; they are needed only for unlisted groups and for
    selected groups. All this is post-processing of the vector and of public numbers.
    """
    cells = vector.reshape(-1, len(layout.components))
    values = key_columns(layout) if keys is None else [*keys]
    for statistic, four in zip(layout.statistics, values_of(layout, cells, noise), strict=True):
        value, std, *ends = four
        shown: list[NDArray[Any]] = [value, *ends]
        if layout.clamp and statistic.clamps:
            shown = list(map(_not_negative, shown))
        if layout.multiple and statistic.counts:
            roundings = (np.rint, np.floor, np.ceil)
            pairs = zip(roundings, shown, strict=True)
            shown = [_whole(rounding, numbers, layout.multiple) for rounding, numbers in pairs]
        values += [column.tolist() for column in (shown[0], std, *shown[1:])]
    if layout.suppressed_below is not None:
        values.append([SHOWN] * len(cells))
    return Table(name=layout.name, columns=dict(zip(result_columns([layout]), values, strict=True)))


def join_parts(layouts: Sequence[TableShape], tables: Sequence[Table]) -> Table:
    """The table of a query, from the tables of its parts."""
    by_label = {label: values for table in tables for label, values in table.columns.items()}
    columns = {label: by_label[label] for label in result_columns(layouts)}
    return Table(name=layouts[0].name, columns=columns)


def _not_negative(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace negative numbers by 0; an interval still contains all its values ≥ 0."""
    return np.where(ends > 0, ends, 0.0)  # −0 becomes 0, too


def _whole(
    rounding: Callable[[Floats], Floats], values: Floats, multiple: int
) -> NDArray[np.int64]:
    """Round values to multiples, clipped to whole numbers that every JSON reader keeps exact."""
    most = float(LARGEST_WHOLE // multiple * multiple)
    return np.clip(round_to_multiple(rounding, values, multiple), -most, most).astype(np.int64)


def values_of(layout: Layout, cells: Floats, noise: Sequence[NoiseError]) -> list[FourColumns]:
    """Value, std, low and high of every statistic, each of shape (n,).

    `cells` are noisy vectors of n cells, shape (n, components); `noise` has an error per component.
    """
    # A caller's np.seterr must not turn drawn noise into a warning or an error.
    with np.errstate(all="ignore"):
        return [
            statistic.values(ingredients, [cells[:, use] for use in uses])
            for statistic, uses, ingredients in zip(
                layout.statistics, layout.uses, layout.ingredients(noise), strict=True
            )
        ]


def key_columns(layout: TableShape) -> list[list[Any]]:
    """The columns of keys, with a value per cell, for groups that the spec lists."""
    if layout.conditions:
        return [[condition.name for condition in layout.conditions]]
    columns: list[list[Any]] = []
    inner = layout.cells
    for axis in layout.axes:
        outer, inner = layout.cells // inner, inner // axis.cells
        columns += [
            [value for value in values for _ in range(inner)] * outer
            for values in axis.columns.values()
        ]
    return columns
