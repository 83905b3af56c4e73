"""From a noisy vector to a table: keys, statistics, and the error that the noise causes.

The names of a block's tables and columns are public, so known before any row is read. Which groups
of a table are published is told by their published counts alone. That is post-processing of noisy
numbers, and costs nothing: the rows of the source decide of it through these alone. No exit code
and no message depends on it, but the number of rows does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise._notebooks import MOST_ROWS, Framed, Shown, text_table
from leastnoise.tables.statistics.base import LARGEST_WHOLE, SUFFIXES, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise._notebooks import Columns
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.statistics.base import Asked, Floats, Four, NoiseError


def key_names(part: TableShape) -> list[str]:
    """Return the columns that tell the groups apart."""
    keys = [name for axis in part.axes for name in axis.columns]
    return [*keys, "condition"] if part.conditions else keys


def result_columns(parts: Sequence[TableShape]) -> tuple[str, ...]:
    """Return the columns of a block's result: those of the groups, then each statistic's.

    `parts` are the layouts of the block's parts.
    """
    values = [f"{one.label}{suffix}" for one in statistics_of(parts) for suffix in one.suffixes]
    return (*key_names(parts[0]), *values)


def statistics_of(parts: Sequence[TableShape]) -> list[Asked]:
    """Return the statistics of a block, from the layouts of its parts, in the block's order."""
    placed = {
        place: asked
        for part in parts
        for place, asked in zip(part.places, part.statistics, strict=True)
    }
    return [placed[place] for place in sorted(placed)]


def publish_all(layout: Layout) -> Layout:
    """Return the layout of the table in which every group is published."""
    return replace(layout, min_count=None, top=None, decides=None)


def select(layout: TableShape, table: Table) -> Table:
    """Return what is published of a block's `table`, given the layout of any of its parts.

    Groups below `min_count` are left out; of the others the `top` are kept, the largest count
    first, equal ones in the order of their keys.
    """
    if layout.decides is None:
        return table
    counts = table.columns[layout.decides]
    kept = [place for place, count in enumerate(counts) if _reaches(layout, count)]
    if layout.top is not None:
        kept = sorted(kept, key=lambda place: -counts[place])[: layout.top]
    columns = {label: [found[place] for place in kept] for label, found in table.columns.items()}
    return Table(name=table.name, columns=columns)


def _reaches(layout: TableShape, count: float) -> bool:
    """Whether a group of that published count isn't left out by `min_count`."""
    return layout.min_count is None or count >= layout.min_count


def wrong_rows(layout: TableShape, told: Mapping[str, Sequence[float]]) -> str | None:
    """Return what is wrong with the rows that are there, to end a sentence; None if nothing is.

    `told` are the numbers of a table. The order of its rows is checked with their keys. Of the
    counts of groups that aren't there a table says nothing.
    """
    if layout.decides is None:
        return None
    counts = told[layout.decides]
    if not all(_reaches(layout, count) for count in counts):
        return f"a {layout.decides} below min_count, {layout.min_count:,}"
    most = layout.most_rows
    exact = layout.min_count is None and layout.listed_cells is not None
    if most is not None and (len(counts) > most or (exact and len(counts) < most)):
        return f"other than the {most:,} groups that the spec says"
    return None


def describe_kept_groups(layout: Layout) -> Iterator[str]:
    """Yield how counts are rounded, and which groups are published, in sentences."""
    if layout.multiple > 1 and any(asked.counts for asked in layout.statistics):
        yield (
            f"Counts are published as multiples of {layout.multiple:,}, their intervals rounded "
            "outwards; the std is that of the noise before."
        )
    if layout.min_count is not None:
        which = (
            "Of groups that reach the threshold those" if layout.listed_cells is None else "Groups"
        )
        least = f"{layout.decides} is below {layout.min_count:,}"
        yield f"{which} whose published {least} are left out."
    if layout.top is not None:
        yield f"The {layout.top:,} groups of the largest published {layout.decides} are kept."


@final
@dataclass(frozen=True, kw_only=True)
class Table(Framed, Shown):
    """A named table: column names, and a list of values for each, of equal lengths.

    As a frame it has the same columns: those of the groups, and for each statistic its value,
    `_std`, `_low` and `_high` in the statistic's own units; see `table_of`. The intervals hold 95 %
    of the noise, or as much as `confidence` says by statistic.
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
        """Return the table as text: of each statistic the value, and what 95 % of noise say."""
        heads, columns = zip(*self.shown(), strict=True)
        rows = [*islice(zip(*columns, strict=True), MOST_ROWS)]
        more = len(self) - len(rows)
        note = [f"… and {more:,} more rows"] if more else []
        return "\n".join([repr(self), "", text_table(heads, rows), *note])

    def shown(self, truth: Sequence[Sequence[str]] = ()) -> list[tuple[str, list[str]]]:
        """Return the columns for people, each with its head: intervals are one column.

        `truth`, a row a row and a value a statistic, is for public data alone.
        """
        columns = {name: _shown(values) for name, values in self.columns.items()}
        found = [name for name in columns if all(f"{name}{end}" in columns for end in SUFFIXES)]
        ends = {f"{name}{end}" for name in found for end in SUFFIXES[1:]}
        shown: list[tuple[str, list[str]]] = []
        for name, values in columns.items():
            if name in ends:
                continue
            shown.append((name, values))
            if name in found:
                pairs = zip(columns[f"{name}_low"], columns[f"{name}_high"], strict=True)
                held = 100 * self.confidence.get(name, 0.95)
                shown.append(
                    (f"{held:.0f} % of noise", [f"{low} to {high}" for low, high in pairs])
                )
                if truth:
                    shown.append(("truth", [row[found.index(name)] for row in truth]))
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
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))


def _shown(values: Sequence[Any]) -> list[str]:
    """Return a column for people: floats that are all whole as whole numbers."""
    whole = all(
        isinstance(one, float) and one.is_integer() and abs(one) < LARGEST_WHOLE for one in values
    )
    return [f"{one:.0f}" for one in values] if whole else [*map(_short, values)]


def _short(value: object) -> str:
    return _words.tenths(value, digits=3) if isinstance(value, float) else str(value)


def table_of(
    layout: Layout,
    vector: NDArray[np.float64],
    noise: Sequence[NoiseError],
    *,
    keys: list[list[Any]] | None = None,
) -> Table:
    """Return the result of a block, or of a part of it, from its noisy vector, shape (dimension,).

    `noise` holds an error a component. Post-processing of the vector and of public numbers. `_low`
    and `_high` hold the statistic without noise (clamped and clipped as the plan says) with
    probability 95 %, each by itself. `_std` is of the noise, before anything is rounded or clamped.
    Where nobody listed the groups, `keys` are the columns that tell them apart, and there are as
    many rows as these have.
    """
    cells = vector.reshape(-1, len(layout.components))
    values = key_columns(layout) if keys is None else [*keys]
    for asked, four in zip(layout.statistics, values_of(layout, cells, noise), strict=True):
        value, std, *ends = four
        shown: list[NDArray[Any]] = [value, *ends]
        if layout.clamp and asked.clamps:
            shown = list(map(_not_negative, shown))
        if layout.multiple and asked.counts:
            roundings = (np.rint, np.floor, np.ceil)
            pairs = zip(roundings, shown, strict=True)
            shown = [_whole(rounding, one, layout.multiple) for rounding, one in pairs]
        values += [column.tolist() for column in (shown[0], std, *shown[1:])]
    return Table(name=layout.name, columns=dict(zip(result_columns([layout]), values, strict=True)))


def joined(layouts: Sequence[TableShape], tables: Sequence[Table]) -> Table:
    """Return the table of a block from those of its parts."""
    found = {label: values for table in tables for label, values in table.columns.items()}
    columns = {label: found[label] for label in result_columns(layouts)}
    return Table(name=layouts[0].name, columns=columns)


def _not_negative(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers, 0 for negative ones: what isn't negative stays between such ends."""
    return np.where(ends > 0, ends, 0.0)  # −0 becomes 0, too


def _whole(
    rounding: Callable[[Floats], Floats], values: Floats, multiple: int
) -> NDArray[np.int64]:
    """Return multiples as ints of a size that any reader of JSON holds exactly.

    A true count is at most 2^34 (see `layout`), so that it stays between such ends.
    """
    most = float(LARGEST_WHOLE // multiple * multiple)
    return np.clip(rounded(rounding, values, multiple), -most, most).astype(np.int64)


def values_of(layout: Layout, cells: Floats, noise: Sequence[NoiseError]) -> list[Four]:
    """Return value, std, low and high of every statistic, each of shape (n,).

    `cells` are noisy vectors of n cells, shape (n, components); `noise` an error a component.
    """
    # A caller's np.seterr must not turn what was drawn into a warning, or an error.
    with np.errstate(all="ignore"):
        return [
            asked.values(own, [cells[:, use] for use in uses])
            for asked, uses, own in zip(
                layout.statistics, layout.uses, layout.ingredients(noise), strict=True
            )
        ]


def key_columns(layout: TableShape) -> list[list[Any]]:
    """Return the columns that tell the groups apart, cell by cell."""
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
