"""Bound what each unit adds, in exact integers, and sum it over units (theory/release.md §5).

Per row: values are made finite, clamped to the public bounds and turned into fixed-point integers
of at most 2^bits. Per unit and cell: integer sums, clamped to ±⌊√N⌋, N = ⌊C²·4^bits⌋. Per unit: the
exact squared norm q = ΣI² < 2^53, and, where q > N, every integer shrunk toward 0 so that the norm
passes √N no more. Then integer totals by cell. Where a unit adds 0 or 1 to each cell, it is counted
in the first few of its cells instead. No step depends on the order of rows or on threads.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.engine import Engine
    from leastnoise.tables.layout import Component, Condition, Layout
    from leastnoise.tables.spec import Predicate, Spec

_UNIT, _CELL, _SHRINK = "unit", "cell", "shrink"


def query_vector(engine: Engine, spec: Spec, layout: Layout) -> NDArray[np.int64]:
    """Return the exact integer vector of a block before noise, shape (dimension,).

    Entry I stands for I·2^(−bits). It is the secret that the noise hides: internal, and reachable
    from no public function.
    """
    if layout.conditions:
        return _condition_totals(engine, spec, layout)
    rows = _in_cells(engine, spec, layout)
    if layout.at_most is not None and not layout.by_row:
        totals = _first_cells(rows, layout.at_most)
    elif layout.by_row:
        totals = rows.group_by(_CELL).agg(*_row_sums(layout))
    else:
        per_unit = rows.group_by(_UNIT, _CELL).agg(*_row_sums(layout))
        totals = _clipped_totals(engine, layout, per_unit)
    return _scatter(engine.rows(totals.select(_CELL, *_names(layout))), layout)


def _names(layout: Layout) -> list[str]:
    return [f"i{index}" for index in range(len(layout.components))]


def _scatter(rows: list[tuple[Any, ...]], layout: Layout) -> NDArray[np.int64]:
    """Put the totals where they belong; a cell without rows is 0."""
    vector = np.zeros((layout.cells, len(layout.components)), dtype=np.int64)
    for cell, *values in rows:
        vector[int(cell)] = [int(value) for value in values]
    return vector.reshape(-1)


def _in_cells(engine: Engine, spec: Spec, layout: Layout) -> nw.LazyFrame[Any]:
    """Return one row per row that falls in a public cell: its unit, cell and scaled values.

    A row without a unit is dropped: all such rows clipped together would be one person's rows to
    the clip, and many persons' in truth. NULL keys and keys that aren't public match no cell.
    """
    frame = engine.frame
    columns = {
        f"key{index}": nw.col(engine.column(key.column, "k"))
        for index, key in enumerate(layout.keys)
    }
    if not layout.by_row:
        columns[_UNIT] = nw.col(engine.column(spec.privacy.unit, "u"))
        frame = frame.filter(~columns[_UNIT].is_null())
    if layout.bins:
        column = layout.bins.column
        columns["value"] = _finite(engine, spec, column)
    for index, component in enumerate(layout.components):
        if component.kind == "value":
            columns[f"x{index}"] = _fixed_point(engine, spec, component, bits=layout.bits)
    # narwhals needs a column, and a block may need none but the rows themselves
    frame = frame.select(**columns, all=nw.lit(0))
    if layout.bins:
        frame = _in_bins(engine, frame, [float(edge) for edge in layout.bins.edges])
    cell = nw.lit(0, nw.Int64)
    for index, key in enumerate(layout.keys):
        known = engine.keys(key.values, key=f"key{index}", index=f"at{index}")
        frame = frame.join(known, on=f"key{index}", how="inner")
        cell = cell * len(key.values) + nw.col(f"at{index}")
    if layout.bins:
        cell = cell * (len(layout.bins.edges) - 1) + nw.col("bin")
    return frame.with_columns(cell.alias(_CELL))


def _finite(engine: Engine, spec: Spec, column: str) -> nw.Expr:
    """Return the column as float64, what is not finite replaced by `missing`, or NULL."""
    declared = spec.columns.get(column)
    missing = declared.missing if declared else None
    value = nw.col(engine.column(column, "v")).cast(nw.Float64)
    other = nw.lit(None, nw.Float64) if missing is None else nw.lit(float(missing), nw.Float64)
    return nw.when(value.is_finite()).then(value).otherwise(other)


def _fixed_point(engine: Engine, spec: Spec, component: Component, *, bits: int) -> nw.Expr:
    """Return ⌊(x − centre)·2^bits/radius + ½⌋ with x clamped to its bounds; at most 2^bits.

    One float64 constant and three operations that IEEE 754 rounds alike everywhere. The last clamp
    makes the bound a fact, whatever the roundings did.
    """
    bounds = spec.columns[component.column].bounds
    if bounds is None:
        raise KeyError(component.column)  # the checks of the spec come first
    low, high = float(bounds[0]), float(bounds[1])
    value = _finite(engine, spec, component.column).fill_null(0.0).clip(low, high)
    if component.centre:
        value = value - float(component.centre)
    factor = float(Fraction(2**bits) / component.radius)
    return (value * factor + 0.5).floor().clip(-(2**bits), 2**bits).cast(nw.Int64)


def _in_bins(engine: Engine, frame: nw.LazyFrame[Any], edges: Sequence[float]) -> nw.LazyFrame[Any]:
    """Return the rows whose value is in a bin, with the bin: [a, b), the last one closed."""
    value = nw.col("value")
    frame = frame.filter((value >= edges[0]) & (value <= edges[-1]))
    frame = engine.counted(frame, value="value", edges=edges, count="at_most")
    return frame.with_columns(bin=nw.min_horizontal(nw.col("at_most") - 1, nw.lit(len(edges) - 2)))


def _condition_totals(engine: Engine, spec: Spec, layout: Layout) -> NDArray[np.int64]:
    """Return how many units are in each condition, each unit in the first `at_most` of its own.

    A person is in a condition if any of their rows is.
    """
    names = [f"c{index}" for index in range(layout.cells)]
    held = [
        nw.when(_holds(engine, spec, condition)).then(1).otherwise(0).alias(name)
        for name, condition in zip(names, layout.conditions, strict=True)
    ]
    frame = engine.frame
    if layout.by_row:
        frame = frame.select(*held)
    else:
        unit = nw.col(engine.column(spec.privacy.unit, "u"))
        frame = frame.filter(~unit.is_null()).select(unit.alias(_UNIT), *held)
        frame = frame.group_by(_UNIT).agg(*(nw.col(name).max() for name in names))
    frame = frame.with_columns(_before=nw.lit(0))
    for name in names:
        kept = nw.when(nw.col("_before") < layout.at_most).then(nw.col(name)).otherwise(0)
        frame = frame.with_columns(kept.alias(name))
        frame = frame.with_columns(_before=nw.col("_before") + nw.col(name))
    ((*totals,),) = engine.rows(frame.select(*(nw.col(name).sum() for name in names)))
    return np.array([int(total or 0) for total in totals], dtype=np.int64)  # NULL: no row at all


def _holds(engine: Engine, spec: Spec, condition: Condition) -> nw.Expr:
    """Return whether a row satisfies every predicate; one that can't be read satisfies none."""
    return nw.all_horizontal(
        *(_satisfies(engine, spec, *predicate) for predicate in condition.predicates),
        ignore_nulls=False,
    )


def _satisfies(engine: Engine, spec: Spec, column: str, predicate: Predicate) -> nw.Expr:
    if predicate.among:
        return nw.col(engine.column(column, "k")).is_in(list(predicate.among))
    value = _finite(engine, spec, column)
    ends = [
        (predicate.min, lambda end: value >= end),
        (predicate.max, lambda end: value <= end),
        (predicate.below, lambda end: value < end),
    ]
    found = [compare(float(end)) for end, compare in ends if end is not None]
    return nw.all_horizontal(*found, ignore_nulls=False)


def _first_cells(rows: nw.LazyFrame[Any], at_most: int) -> nw.LazyFrame[Any]:
    """Return how many persons are in each cell, each in the first `at_most` of their own."""
    once = rows.group_by(_UNIT, _CELL).agg(i0=(nw.len() > 0).cast(nw.Int64))
    placed = once.with_columns(place=nw.col(_CELL).rank("ordinal").over(_UNIT))
    return placed.filter(nw.col("place") <= at_most).group_by(_CELL).agg(nw.col("i0").sum())


def _row_sums(layout: Layout) -> list[nw.Expr]:
    """Return the sums over rows: at most 2^40 rows of at most 2^22, so no int64 wraps around."""
    one = 2**layout.bits
    sums: list[nw.Expr] = []
    for index, component in enumerate(layout.components):
        if component.kind == "value":
            total = nw.col(f"x{index}").sum()
        elif component.kind == "count":
            total = nw.len().cast(nw.Int64) * one
        else:
            total = (nw.len() > 0).cast(nw.Int64) * one
        sums.append(total.alias(f"i{index}"))
    return sums


def _clipped_totals(
    engine: Engine, layout: Layout, per_unit: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """Return the totals by cell of every unit's integers, each unit's norm being at most √N.

    q is exact: coordinates within ±⌊√N⌋ have squares of at most N, and d·N < 2^53 by the choice of
    bits, so float64 adds them without rounding in any order. Where q > N the factor is
    ŝ = fl(√N·(1−2^−40)/√q); it and the product with I are each off by less than 8 roundings of
    2^−53, far less than the margin 2^−40, and truncation shrinks: |t| <= |I|·√(N/q), so ‖t‖² <= N.
    """
    names = _names(layout)
    most = math.isqrt(layout.clip_integer)
    clamped = [nw.col(name).clip(-most, most).cast(nw.Int64).alias(name) for name in names]
    entries = engine.materialise(per_unit.select(_UNIT, _CELL, *clamped))
    squares = [nw.col(name).cast(nw.Float64) * nw.col(name).cast(nw.Float64) for name in names]
    norms = entries.select(_UNIT, q=sum(squares[1:], squares[0]))
    norms = norms.group_by(_UNIT).agg(nw.col("q").sum())
    numerator = math.sqrt(layout.clip_integer) * (1 - 2.0**-40)
    over = norms.filter(nw.col("q") > layout.clip_integer)
    shrink = over.select(_UNIT, (nw.lit(numerator) / nw.col("q").sqrt()).alias(_SHRINK))
    joined = entries.join(shrink, on=_UNIT, how="left")
    clipped = joined.select(_CELL, *(_shrunk(name) for name in names))
    return clipped.group_by(_CELL).agg(*(nw.col(name).sum() for name in names))


def _shrunk(name: str) -> nw.Expr:
    """Return trunc(I·ŝ) for a unit over the clip, I for the others."""
    value = nw.col(name)
    scaled = value.cast(nw.Float64) * nw.col(_SHRINK)
    # Casts from float to int round in one engine and truncate in another: truncate first.
    whole = nw.when(scaled >= 0).then(scaled.floor()).otherwise(scaled.ceil()).cast(nw.Int64)
    return nw.when(nw.col(_SHRINK).is_null()).then(value).otherwise(whole).alias(name)
