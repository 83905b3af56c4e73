"""Rows in the public cells of a block: each with its unit, its cell, and integers of its values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from leastnoise.tables.layout.axes import Bins, KeyColumn, Nearest, Unlisted
from leastnoise.tables.statistics.base import bounds_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.layout.axes import Axis
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import Component

UNIT, CELL = "unit", "cell"


@final
@dataclass(frozen=True, kw_only=True)
class Summand:
    """A component of each row as an integer I, which stands for I·2^(−bits)."""

    component: Component
    bits: int

    @property
    def integer(self) -> type[nw.Int32 | nw.Int64]:
        """The type of the integers of rows: DuckDB sums 32 bits of a table of its own faster."""
        return nw.Int32 if self.bits < 31 else nw.Int64


def summands_of(layout: Layout) -> tuple[Summand, ...]:
    """Return the summands of each row of a layout, one for each of its components."""
    return tuple(Summand(component=one, bits=layout.bits) for one in layout.components)


def names_of(layout: Layout) -> list[str]:
    """Return what the integers of each component are called."""
    return [f"i{index}" for index in range(len(layout.components))]


def scatter(
    rows: list[tuple[Any, ...]], layout: Layout, places: Sequence[int]
) -> NDArray[np.int64]:
    """Return the totals at these places of each cell's tuple; a cell without rows is 0."""
    vector = np.zeros((layout.cells, len(layout.components)), dtype=np.int64)
    for cell, *values in rows:
        vector[int(cell)] = [int(values[place]) for place in places]
    return vector.reshape(-1)


def keys_of(layout: Layout) -> list[str]:
    """Return what `in_cells` calls the columns whose keys nobody listed."""
    return [f"by{index}" for index, one in enumerate(layout.grouped) if isinstance(one, Unlisted)]


def settle(engine: Engine, spec: Spec, layouts: Sequence[Layout]) -> dict[Summand, str]:
    """Copy the columns that these layouts read, so that they may be read several times.

    The integers of values are computed once, here, and copied instead of the values. Returns the
    name of the column of each summand; none where the engine needs no copy.
    """
    summands = dict.fromkeys(one for layout in layouts for one in summands_of(layout))
    names = {
        summand: f"s{place}" for place, summand in enumerate(summands) if summand.component.column
    }
    columns = {name: _unscaled(engine, spec, summand) for summand, name in names.items()}
    read = sorted(_columns_read(engine, spec, layouts))
    if not (read or names):
        read = engine.frame.collect_schema().names()[:1]
    scaled = {name: summand for summand, name in names.items() if summand.component.of_values}
    engine.settle(_fixed_point(engine.frame.select(*read, **columns), spec, scaled))
    return names if engine.reads_again else {}


def _columns_read(engine: Engine, spec: Spec, layouts: Sequence[Layout]) -> set[str]:
    """Return the columns of the engine's frame that these layouts read beside their summands."""
    read = {engine.filter_column(text) for layout in layouts for text in layout.filters}
    if not spec.privacy.by_row:
        read.add(engine.column(spec.privacy.unit, "u"))
    for layout in layouts:
        for axis in layout.grouped:
            by_value = isinstance(axis, Bins | Nearest)
            read.add(engine.column(axis.column, "v" if by_value else "k"))
        for condition in layout.conditions:
            for name, predicate in condition.predicates:
                read.add(engine.column(name, "k") if predicate.among else engine.value_column(name))
    return read


def rows_that_count(engine: Engine, layout: Layout) -> nw.LazyFrame[Any]:
    """Return the rows of which all filters of the query are true."""
    frame = engine.frame
    for text in layout.filters:
        frame = frame.filter(engine.holds(text))
    return frame


def units_with_more_rows(
    engine: Engine, spec: Spec, layout: Layout, rows: int
) -> nw.LazyFrame[Any]:
    """Return a table of the units with more than `rows` rows that count."""
    unit = engine.column(spec.privacy.unit, "u")
    frame = rows_that_count(engine, layout).select(unit)
    counts = frame.filter(~nw.col(unit).is_null()).group_by(unit).agg(n=nw.len())
    more = counts.filter(nw.col("n") > rows)
    return engine.materialise(more.select(nw.col(unit).alias(UNIT)))


def in_no_cell(engine: Engine, spec: Spec, layout: Layout) -> nw.LazyFrame[Any]:
    """Return one row per row that falls in no public cell, with its unit if rows have units.

    Each of the others falls in exactly one, as keys are distinct and bins disjoint.
    """
    frame, columns = _grouped(engine, spec, layout)
    frame = frame.with_columns(all=nw.lit(0)).select("all", **columns)
    inside: list[nw.Expr] = []
    for index, axis in enumerate(layout.grouped):
        by, at = f"by{index}", f"at{index}"
        if isinstance(axis, Bins):
            edges = [float(edge) for edge in axis.edges]
            inside.append((nw.col(by) >= edges[0]) & (nw.col(by) <= edges[-1]))
        elif isinstance(axis, KeyColumn):
            known = engine.keys(axis.values, key=by, index=at)
            frame = frame.join(known, on=by, how="left")
            inside.append(~nw.col(at).is_null())
        else:
            raise TypeError("rows are in no group of public keys and bands")
    # a value that is missing compares as NULL, and is in no bin
    counts = [nw.when(one).then(1).otherwise(0) for one in inside]
    return frame.filter(nw.min_horizontal(*counts, nw.lit(1)) == 0)


def in_cells(
    engine: Engine,
    spec: Spec,
    layout: Layout,
    summands: Sequence[Summand],
    *,
    ready: Mapping[Summand, str] | None = None,
) -> nw.LazyFrame[Any]:
    """Return one row per row that falls in a public cell: its unit, cell and scaled values.

    The values are the integers of the `summands` that depend on the row: x0, x1, …. Some may be
    `ready` in a column of the frame: see `settle`.
    Keys that nobody listed are beside them, also those that may not be published. A row without a
    unit is dropped: all such rows clipped together would be one person's rows to the clip, and many
    persons' in truth. NULL keys and keys that aren't public match no cell.
    """
    frame, columns = _grouped(engine, spec, layout)
    scaled: dict[str, Summand] = {}
    for index, summand in enumerate(summands):
        name = f"x{index}"
        if ready and summand in ready:
            columns[name] = nw.col(ready[summand])
        elif summand.component.column:
            columns[name] = _unscaled(engine, spec, summand)
            if summand.component.of_values:
                scaled[name] = summand
    # A block may need no column but the rows themselves. First with_columns: a select of constants
    # alone has one row on some engines.
    frame = frame.with_columns(all=nw.lit(0)).select("all", **columns)
    frame = _fixed_point(frame, spec, scaled)
    for index, axis in enumerate(layout.grouped):
        by, at = f"by{index}", f"at{index}"
        if isinstance(axis, Unlisted):
            continue
        if isinstance(axis, Bins):
            frame = _in_bins(engine, frame, axis, value=by, index=at)
        elif isinstance(axis, Nearest):
            frame = frame.filter(~nw.col(by).is_null())
            frame = engine.counted(frame, value=by, edges=axis.edges, count=at)
        elif isinstance(axis, KeyColumn):
            known = engine.keys(axis.values, key=by, index=at)
            frame = frame.join(known, on=by, how="inner")
        else:
            raise TypeError("rows are not grouped by sums of cells")
    return frame.with_columns(cell_of(layout, layout.axes))


def cell_of(layout: Layout, axes: Sequence[Axis]) -> nw.Expr:
    """Return the cell of a row that `in_cells` found, by some of the axes that it is grouped by.

    Keys that nobody listed have no place in it.
    """
    cell = nw.lit(0, nw.Int64)
    for axis in axes:
        if not isinstance(axis, Unlisted):
            at = nw.col(f"at{layout.grouped.index(axis)}")
            cell = cell * axis.cells + at
    return cell.alias(CELL)


def _grouped(
    engine: Engine, spec: Spec, layout: Layout
) -> tuple[nw.LazyFrame[Any], dict[str, nw.Expr]]:
    """Return the rows that count, without those that lack a unit, and what they are grouped by."""
    frame = rows_that_count(engine, layout)
    columns = {
        f"by{index}": finite(engine, axis.column, axis.missing)
        if isinstance(axis, Bins | Nearest)
        else nw.col(engine.column(axis.column, "k"))
        for index, axis in enumerate(layout.grouped)
    }
    if not layout.by_row:
        columns[UNIT] = nw.col(engine.column(spec.privacy.unit, "u"))
        frame = frame.filter(~columns[UNIT].is_null())
    return frame, columns


def publishable(engine: Engine, layout: Layout, entries: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return the entries of which every key may be published.

    Each key is looked at once: that takes longer than to group by it.
    """
    entries = engine.materialise(entries)
    for index, axis in enumerate(layout.grouped):
        if isinstance(axis, Unlisted):
            key, longest = f"by{index}", axis.longest
            # unique() numbers the rows of each key on DuckDB, which takes ten times as long
            once = engine.materialise(entries.group_by(key).agg())
            named = engine.named(once, key=key, column=axis.column, longest=longest)
            entries = entries.join(named, on=key, how="semi")
    return entries


def _unscaled(engine: Engine, spec: Spec, summand: Summand) -> nw.Expr:
    """Return the integer of a row that depends on a column; of values, the value to be scaled."""
    component = summand.component
    if component.of_values:
        return _value(engine, spec, component)
    counted, others = 2**summand.bits, 0
    if component.kind == "without":  # a row whose value is NULL has no value, either
        counted, others = others, counted
    there = nw.when(_counts(engine, spec, component)).then(counted).otherwise(others)
    return there.cast(summand.integer)


def _value(engine: Engine, spec: Spec, component: Component) -> nw.Expr:
    """The column's value; NULL where it is left out, or where the `paired` column has none."""
    value = finite(engine, component.column, spec.columns[component.column].counts_as)
    if not component.paired:
        return value
    none = nw.lit(None, nw.Float64)
    return nw.when(engine.has_value(component.paired)).then(value).otherwise(none)


def _counts(engine: Engine, spec: Spec, component: Component) -> nw.Expr:
    """Return whether a row has a value, or one that bounds clamp."""
    there = engine.has_value(component.column)
    if component.paired:
        there &= engine.has_value(component.paired)
    if component.kind != "outside":
        return there
    low, high = map(float, bounds_of(spec, component.column))
    value = nw.col(engine.column(component.column, "v"))
    return there & ((value < low) | (value > high))


def finite(engine: Engine, column: str, missing: Fraction | None) -> nw.Expr:
    """Return the column as float64, `missing` or else NULL where it has no value."""
    value = nw.col(engine.column(column, "v"))
    if missing is None:
        return value
    other = nw.lit(float(missing), nw.Float64)
    return nw.when(engine.has_value(column)).then(value).otherwise(other)


def _fixed_point(
    frame: nw.LazyFrame[Any], spec: Spec, values: Mapping[str, Summand]
) -> nw.LazyFrame[Any]:
    """Return the frame, each x of `values` as ⌊y + ½⌋, y = (x − centre)·2^bits/radius.

    Of a square it is ⌊y²·2^(1 − bits) + ½⌋ − 2^bits, from y as it is, so that it is rounded no more
    than a value. All are at most 2^bits, and x is clamped to its bounds first; where it is NULL, a
    value that is left out, both integers are 0, but for one that is `filled`. One float64 constant
    and a few operations that IEEE 754 rounds alike everywhere. For a value none of them changes the
    order of two x, so where both bounds, and what is filled in, end within 2^bits, all x do.
    Elsewhere, and for squares, a last clamp makes it a fact.
    A step at a time, since an expression that is used twice is computed twice.
    """
    steps: list[dict[str, nw.Expr]] = [{}, {}, {}, {}]
    for name, summand in values.items():
        component, bits = summand.component, summand.bits
        bounds = bounds_of(spec, component.column)
        x, factor = nw.col(name), float(Fraction(2**bits) / component.radius)
        centre, within, square = float(component.centre), False, component.kind == "square"
        # the integer of a value at the centre is 0
        missing = 0.0 if component.filled else None if square else centre
        clamped = _clamped(x, *map(float, bounds))
        steps[0][name] = nw.when(x.is_null()).then(nw.lit(missing, nw.Float64)).otherwise(clamped)
        centred = x - centre if centre else x
        if square:
            steps[1][name] = centred * factor
            steps[2][name] = (x * x * 2.0 ** (1 - bits) + 0.5).floor() - 2.0**bits
        else:
            steps[1][name] = (centred * factor + 0.5).floor()
            extremes = (*bounds, 0) if component.filled else bounds
            ends = ((float(one) - centre) * factor + 0.5 for one in extremes)
            within = all(-(2**bits) <= end < 2**bits + 1 for end in ends)
        whole = x if within else _clamped(x, -(2.0**bits), 2.0**bits)
        if missing is None:
            whole = nw.when(x.is_null()).then(nw.lit(0.0)).otherwise(whole)
        steps[3][name] = whole.cast(summand.integer)
    for step in filter(None, steps):
        frame = frame.with_columns(**step)
    return frame


def _clamped(x: nw.Expr, low: float, high: float) -> nw.Expr:
    """Return x within its bounds, where x isn't NULL: narwhals' `clip` asks that of every row."""
    return nw.max_horizontal(nw.min_horizontal(x, nw.lit(high)), nw.lit(low))


def _in_bins(
    engine: Engine, frame: nw.LazyFrame[Any], bins: Bins, *, value: str, index: str
) -> nw.LazyFrame[Any]:
    """Return the rows whose `value` is in a bin, with its `index`: [a, b), the last one closed."""
    edges = [float(edge) for edge in bins.edges]
    frame = frame.filter((nw.col(value) >= edges[0]) & (nw.col(value) <= edges[-1]))
    frame = engine.counted(frame, value=value, edges=edges, count=index)
    place = nw.min_horizontal(nw.col(index) - 1, nw.lit(bins.cells - 1))
    return frame.with_columns(place.alias(index))
