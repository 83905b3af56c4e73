"""Rows in the public cells of a block: each with its unit, its cell, and integers of its values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from leastnoise.tables.query.axes import Bins, KeyColumn, Nearest, Unlisted
from leastnoise.tables.statistics.base import bounds_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.query.axes import Axis
    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import Component

UNIT, CELL = "unit", "cell"
_BOUNDED = "bounded"


@final
@dataclass(frozen=True, kw_only=True)
class Summand:
    """A component of each row as an integer I, which stands for I·2^(−bits)."""

    component: Component
    bits: int


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


def columns_read(engine: Engine, spec: Spec, layouts: Sequence[Layout]) -> set[str]:
    """Return what the engine's frame calls the columns that these layouts are about."""
    read = {engine.filter_column(text) for layout in layouts for text in layout.filters}
    if not spec.privacy.by_row:
        read.add(engine.column(spec.privacy.unit, "u"))
    for layout in layouts:
        for axis in layout.grouped:
            by_value = isinstance(axis, Bins | Nearest)
            read.add(engine.column(axis.column, "v" if by_value else "k"))
        for component in layout.components:
            read |= {engine.value_column(name) for name in component.needed}
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
    """Return the units with more than so many rows that count, in a table to join rows with."""
    unit = engine.column(spec.privacy.unit, "u")
    frame = rows_that_count(engine, layout).select(unit)
    counts = frame.filter(~nw.col(unit).is_null()).group_by(unit).agg(n=nw.len())
    more = counts.filter(nw.col("n") > rows).select(unit, nw.col(unit).alias(_BOUNDED))
    return engine.materialise(more)


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
    bounded: nw.LazyFrame[Any] | None = None,
) -> nw.LazyFrame[Any]:
    """Return one row per row that falls in a public cell: its unit, cell and scaled values.

    The values are the integers of the `summands` that depend on the row: x0, x1, …. Where units
    are `bounded`, all other units are NULL: see `units_with_more_rows`.
    Keys that nobody listed are beside them, also those that may not be published. A row without a
    unit is dropped: all such rows clipped together would be one person's rows to the clip, and many
    persons' in truth. NULL keys and keys that aren't public match no cell.
    """
    frame, columns = _grouped(engine, spec, layout)
    if bounded is not None:
        frame = frame.join(bounded, on=engine.column(spec.privacy.unit, "u"), how="left")
        columns[UNIT] = nw.col(_BOUNDED)
    values: dict[str, Summand] = {}
    for index, summand in enumerate(summands):
        component = summand.component
        if component.of_values:
            values[f"x{index}"] = summand
            columns[f"x{index}"] = _value(engine, spec, component)
        elif component.column:
            ends = 2**summand.bits, 0
            if component.kind == "without":  # what is NULL has no value, either
                ends = ends[::-1]
            there = nw.when(_counts(engine, spec, component)).then(ends[0]).otherwise(ends[1])
            columns[f"x{index}"] = there.cast(nw.Int64)
    # A block may need no column but the rows themselves. First with_columns: a select of constants
    # alone has one row on some engines.
    frame = frame.with_columns(all=nw.lit(0)).select("all", **columns)
    frame = _fixed_point(frame, spec, values)
    for index, axis in enumerate(layout.grouped):
        by, at = f"by{index}", f"at{index}"
        if isinstance(axis, Unlisted):
            continue
        if isinstance(axis, Bins):
            frame = _in_bins(engine, frame, axis, value=by, index=at)
        elif isinstance(axis, Nearest):
            frame = frame.filter(~nw.col(by).is_null())
            frame = engine.counted(frame, value=by, edges=axis.edges, count=at)
        else:
            known = engine.keys(axis.values, key=by, index=at)
            frame = frame.join(known, on=by, how="inner")
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
    other = None if missing is None else float(missing)
    value = nw.col(engine.column(column, "v"))
    return nw.when(engine.has_value(column)).then(value).otherwise(nw.lit(other, nw.Float64))


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
        clamped = x.clip(float(bounds[0]), float(bounds[1]))
        steps[0][name] = clamped.fill_null(0.0) if component.filled else clamped
        centre, within = float(component.centre), False
        centred = x - centre if centre else x
        if component.kind == "square":
            steps[1][name] = centred * factor
            steps[2][name] = (x * x * 2.0 ** (1 - bits) + 0.5).floor() - 2.0**bits
        else:
            steps[1][name] = (centred * factor + 0.5).floor()
            extremes = (*bounds, 0) if component.filled else bounds
            ends = ((float(one) - centre) * factor + 0.5 for one in extremes)
            within = all(-(2**bits) <= end < 2**bits + 1 for end in ends)
        whole = x if within else x.clip(-(2**bits), 2**bits)
        steps[3][name] = whole.cast(nw.Int64).fill_null(0)
    for step in filter(None, steps):
        frame = frame.with_columns(**step)
    return frame


def _in_bins(
    engine: Engine, frame: nw.LazyFrame[Any], bins: Bins, *, value: str, index: str
) -> nw.LazyFrame[Any]:
    """Return the rows whose `value` is in a bin, with its `index`: [a, b), the last one closed."""
    edges = [float(edge) for edge in bins.edges]
    frame = frame.filter((nw.col(value) >= edges[0]) & (nw.col(value) <= edges[-1]))
    frame = engine.counted(frame, value=value, edges=edges, count=index)
    place = nw.min_horizontal(nw.col(index) - 1, nw.lit(bins.cells - 1))
    return frame.with_columns(place.alias(index))
