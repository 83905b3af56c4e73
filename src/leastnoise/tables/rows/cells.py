"""The public cell, the unit and the integers of each row of a query."""

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
    """A component of a query as an integer I of each row; I stands for I·2^(−bits)."""

    component: Component
    bits: int

    @property
    def integer(self) -> type[nw.Int32 | nw.Int64]:
        """The type of I: 32 bits if `bits` < 31, as DuckDB sums these faster, else 64."""
        return nw.Int32 if self.bits < 31 else nw.Int64


def summands_of(layout: Layout) -> tuple[Summand, ...]:
    """The summands of each row of a layout, one per component."""
    return tuple(Summand(component=component, bits=layout.bits) for component in layout.components)


def integer_names(layout: Layout) -> list[str]:
    """The column names of the integers of each component."""
    return [f"i{index}" for index in range(len(layout.components))]


def scatter(
    rows: list[tuple[Any, ...]], layout: Layout, positions: Sequence[int]
) -> NDArray[np.int64]:
    """The vector of all cells, from rows with a cell's index and its totals.

    `positions` are the indices of this layout's totals among all totals of a row. A cell without a
    row has zeros.
    """
    vector = np.zeros((layout.cells, len(layout.components)), dtype=np.int64)
    for cell, *values in rows:
        vector[int(cell)] = [int(values[position]) for position in positions]
    return vector.reshape(-1)


def unlisted_keys(layout: Layout) -> list[str]:
    """The names of the columns with unlisted keys in the frame of `rows_in_cells`."""
    return [f"by{index}" for index, axis in enumerate(layout.grouped) if isinstance(axis, Unlisted)]


def copy_columns(engine: Engine, spec: Spec, layouts: Sequence[Layout]) -> dict[Summand, str]:
    """Copy the columns that these layouts read, so that they can be read several times.

    Integers of values are computed once, here, and copied in place of the values. Returns the
    column name of each summand that reads a column; empty if the engine makes no copy.
    """
    summands = dict.fromkeys(component for layout in layouts for component in summands_of(layout))
    names = {
        summand: f"s{index}" for index, summand in enumerate(summands) if summand.component.column
    }
    columns = {name: _raw_integer(engine, spec, summand) for summand, name in names.items()}
    read = sorted(_columns_read(engine, spec, layouts))
    if not (read or names):
        read = engine.frame.collect_schema().names()[:1]
    scaled = {name: summand for summand, name in names.items() if summand.component.of_values}
    engine.copy_rows(_fixed_point(engine.frame.select(*read, **columns), spec, scaled))
    return names if engine.can_reread else {}


def _columns_read(engine: Engine, spec: Spec, layouts: Sequence[Layout]) -> set[str]:
    """The columns of the engine's frame that these layouts read but don't sum."""
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
    """The rows that satisfy all filters of the query."""
    frame = engine.frame
    for text in layout.filters:
        frame = frame.filter(engine.filter_holds(text))
    return frame


def units_with_more_rows(
    engine: Engine, spec: Spec, layout: Layout, rows: int
) -> nw.LazyFrame[Any]:
    """A table of the units with more than `rows` rows that satisfy all filters of the query."""
    unit = engine.column(spec.privacy.unit, "u")
    frame = rows_that_count(engine, layout).select(unit)
    counts = frame.filter(~nw.col(unit).is_null()).group_by(unit).agg(n=nw.len())
    more = counts.filter(nw.col("n") > rows)
    return engine.materialise(more.select(nw.col(unit).alias(UNIT)))


def rows_in_no_cell(engine: Engine, spec: Spec, layout: Layout) -> nw.LazyFrame[Any]:
    """The rows that satisfy all filters but are in no public cell.

    If rows have units, rows without a unit are left out. No row is in two cells, since keys are
    distinct and bins disjoint.
    """
    frame, columns = _select_grouping(engine, spec, layout)
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
    # a missing value compares as NULL, and so is in no bin
    counts = [nw.when(condition).then(1).otherwise(0) for condition in inside]
    return frame.filter(nw.min_horizontal(*counts, nw.lit(1)) == 0)


def rows_in_cells(
    engine: Engine,
    spec: Spec,
    layout: Layout,
    summands: Sequence[Summand],
    *,
    ready: Mapping[Summand, str] | None = None,
) -> nw.LazyFrame[Any]:
    """The rows that satisfy all filters and are in a public cell: unit, cell and integers of each.

    The values x0, x1, … are the integers of those `summands` that depend on the row. Some may be
    `ready` in a column of the frame: see `copy_columns`. Each column with unlisted keys is kept,
    even for keys that may not be published. NULL keys and unknown keys of public columns match no
    cell. Rows without a unit are dropped: bounding would treat them all as one person, though they
    may belong to many.
    """
    frame, columns = _select_grouping(engine, spec, layout)
    scaled: dict[str, Summand] = {}
    for index, summand in enumerate(summands):
        name = f"x{index}"
        if ready and summand in ready:
            columns[name] = nw.col(ready[summand])
        elif summand.component.column:
            columns[name] = _raw_integer(engine, spec, summand)
            if summand.component.of_values:
                scaled[name] = summand
    # A query may need no column. Begin with with_columns, because on some engines a select of
    # constants alone has one row.
    frame = frame.with_columns(all=nw.lit(0)).select("all", **columns)
    frame = _fixed_point(frame, spec, scaled)
    for index, axis in enumerate(layout.grouped):
        by, at = f"by{index}", f"at{index}"
        if isinstance(axis, Unlisted):
            continue
        if isinstance(axis, Bins):
            frame = _assign_bins(engine, frame, axis, value=by, index=at)
        elif isinstance(axis, Nearest):
            frame = frame.filter(~nw.col(by).is_null())
            frame = engine.add_edge_count(frame, value=by, edges=axis.edges, count=at)
        elif isinstance(axis, KeyColumn):
            known = engine.keys(axis.values, key=by, index=at)
            frame = frame.join(known, on=by, how="inner")
        else:
            raise TypeError("rows are not grouped by sums of cells")
    return frame.with_columns(cell_of(layout, layout.axes))


def cell_of(layout: Layout, axes: Sequence[Axis]) -> nw.Expr:
    """The index of a row's public cell, from all `axes` except those with unlisted keys.

    The frame is the result of `rows_in_cells`.
    """
    cell = nw.lit(0, nw.Int64)
    for axis in axes:
        if not isinstance(axis, Unlisted):
            at = nw.col(f"at{layout.grouped.index(axis)}")
            cell = cell * axis.cells + at
    return cell.alias(CELL)


def _select_grouping(
    engine: Engine, spec: Spec, layout: Layout
) -> tuple[nw.LazyFrame[Any], dict[str, nw.Expr]]:
    """The rows that satisfy all filters, and expressions for grouping columns and unit.

    The expressions are keyed by new names. If rows have units, rows without a unit are left out.
    """
    frame = rows_that_count(engine, layout)
    columns = {
        f"by{index}": finite_values(engine, axis.column, axis.missing)
        if isinstance(axis, Bins | Nearest)
        else nw.col(engine.column(axis.column, "k"))
        for index, axis in enumerate(layout.grouped)
    }
    if not layout.by_row:
        columns[UNIT] = nw.col(engine.column(spec.privacy.unit, "u"))
        frame = frame.filter(~columns[UNIT].is_null())
    return frame, columns


def keep_publishable(
    engine: Engine, layout: Layout, entries: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """The rows of `entries` whose unlisted keys may all be published.

    Each distinct key is tested once, because the test takes longer than grouping by the key.
    """
    entries = engine.materialise(entries)
    for index, axis in enumerate(layout.grouped):
        if isinstance(axis, Unlisted):
            key, longest = f"by{index}", axis.longest
            # On DuckDB unique() numbers the rows of each key, which takes ten times as long.
            once = engine.materialise(entries.group_by(key).agg())
            named = engine.keep_publishable_keys(once, key=key, column=axis.column, longest=longest)
            entries = entries.join(named, on=key, how="semi")
    return entries


def _raw_integer(engine: Engine, spec: Spec, summand: Summand) -> nw.Expr:
    """The number that a row adds: 2^bits if it counts, else 0; or its value, not yet scaled."""
    component = summand.component
    if component.of_values:
        return _value(engine, spec, component)
    counted, others = 2**summand.bits, 0
    if component.kind == "without":  # counts the other rows instead
        counted, others = others, counted
    integer = nw.when(_is_counted(engine, spec, component)).then(counted).otherwise(others)
    return integer.cast(summand.integer)


def _value(engine: Engine, spec: Spec, component: Component) -> nw.Expr:
    """The value of the component's column, or the number that replaces a missing value.

    NULL if no number replaces it, or if the `paired` column has no value.
    """
    value = finite_values(engine, component.column, spec.columns[component.column].counts_as)
    if not component.paired:
        return value
    none = nw.lit(None, nw.Float64)
    return nw.when(engine.has_value(component.paired)).then(value).otherwise(none)


def _is_counted(engine: Engine, spec: Spec, component: Component) -> nw.Expr:
    """True for a row with a value in the column, and in the `paired` column if there is one.

    For a component of kind "outside", the value must also be outside its bounds.
    """
    has_value = engine.has_value(component.column)
    if component.paired:
        has_value &= engine.has_value(component.paired)
    if component.kind != "outside":
        return has_value
    low, high = map(float, bounds_of(spec, component.column))
    value = nw.col(engine.column(component.column, "v"))
    return has_value & ((value < low) | (value > high))


def finite_values(engine: Engine, column: str, missing: Fraction | None) -> nw.Expr:
    """The column as float64; `missing` (or NULL) for rows without a value."""
    value = nw.col(engine.column(column, "v"))
    if missing is None:
        return value
    other = nw.lit(float(missing), nw.Float64)
    return nw.when(engine.has_value(column)).then(value).otherwise(other)


def _fixed_point(
    frame: nw.LazyFrame[Any], spec: Spec, values: Mapping[str, Summand]
) -> nw.LazyFrame[Any]:
    """Replace each x of `values` by the integer ⌊y + ½⌋, where y = (x − centre)·2^bits/radius.

    A square is ⌊y²·2^(1 − bits) + ½⌋ − 2^bits, computed from the unrounded y, so that it is rounded
    no more than a value. x is first clamped to its bounds, and all integers are at most 2^bits in
    size. If x is NULL (a value that is left out), its integer is 0. For a `filled` component, it is
    the integer of x = 0 instead.

    IEEE 754 rounds the few operations alike everywhere. For a value, each operation is monotone in
    x. So if both bounds and the filled-in value give integers of at most 2^bits in size, all x do.
    Otherwise, and for squares, a last clamp ensures it. The operations are separate steps, because
    engines compute an expression twice if it is used twice.
    """
    steps: list[dict[str, nw.Expr]] = [{}, {}, {}, {}]
    for name, summand in values.items():
        component, bits = summand.component, summand.bits
        bounds = bounds_of(spec, component.column)
        x, factor = nw.col(name), float(Fraction(2**bits) / component.radius)
        centre, within, square = float(component.centre), False, component.kind == "square"
        # the integer of a value at the centre is 0
        missing = 0.0 if component.filled else None if square else centre
        clamped = _clamp(x, *map(float, bounds))
        steps[0][name] = nw.when(x.is_null()).then(nw.lit(missing, nw.Float64)).otherwise(clamped)
        centred = x - centre if centre else x
        if square:
            steps[1][name] = centred * factor
            steps[2][name] = (x * x * 2.0 ** (1 - bits) + 0.5).floor() - 2.0**bits
        else:
            steps[1][name] = (centred * factor + 0.5).floor()
            extremes = (*bounds, 0) if component.filled else bounds
            ends = ((float(extreme) - centre) * factor + 0.5 for extreme in extremes)
            within = all(-(2**bits) <= end < 2**bits + 1 for end in ends)
        whole = x if within else _clamp(x, -(2.0**bits), 2.0**bits)
        if missing is None:
            whole = nw.when(x.is_null()).then(nw.lit(0.0)).otherwise(whole)
        steps[3][name] = whole.cast(summand.integer)
    for step in filter(None, steps):
        frame = frame.with_columns(**step)
    return frame


def _clamp(x: nw.Expr, low: float, high: float) -> nw.Expr:
    """Clamp a value that isn't NULL to its bounds, without narwhals' test for NULL."""
    return nw.max_horizontal(nw.min_horizontal(x, nw.lit(high)), nw.lit(low))


def _assign_bins(
    engine: Engine, frame: nw.LazyFrame[Any], bins: Bins, *, value: str, index: str
) -> nw.LazyFrame[Any]:
    """The rows whose `value` is in a bin [a, b), with the bin's `index`; the last bin is closed."""
    edges = [float(edge) for edge in bins.edges]
    frame = frame.filter((nw.col(value) >= edges[0]) & (nw.col(value) <= edges[-1]))
    frame = engine.add_edge_count(frame, value=value, edges=edges, count=index)
    bin_index = nw.min_horizontal(nw.col(index) - 1, nw.lit(bins.cells - 1))
    return frame.with_columns(bin_index.alias(index))
