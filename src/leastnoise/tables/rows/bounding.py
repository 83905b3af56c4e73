"""Bound what each unit adds, in exact integers, and sum it over units (theory/release.md §5).

Per row: values are made finite, clamped to the public bounds and turned into fixed-point integers
of at most 2^bits. Per unit and cell: integer sums, and, where one is over what a cell may hold, all
of them shrunk toward 0 by one factor, so that none is. Per unit: the exact size of its vector, in
the gauge or the norm that the noise hides, and, where it is over the limit, every integer shrunk
likewise. Then integer totals by cell. So a mean of one who is over a limit stays what it is, as far
as one factor goes. Where a unit is in more cells than a limit allows, those of the smallest hash of
a salt, the unit and the cell count. The salt is fresh for each release, so nobody can choose a key
to come first, and none of the cells of a table loses more than others for its place. The hash is of
that unit's own data alone: what others have changes nothing. No step depends on the order of rows
or on threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from leastnoise.tables.query.layout import INT64_END
from leastnoise.tables.query.limits import FewGroups, FirstCells, InBall, InCells, integer_limits
from leastnoise.tables.rows.cells import (
    CELL,
    UNIT,
    finite,
    in_cells,
    names_of,
    rows_that_count,
)
from leastnoise.tables.rows.left_out import LEFT_OUT, count_left_out
from leastnoise.tables.spec.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy
    from leastnoise.tables.query.axes import Condition
    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Predicate

_SHRINK, _LARGEST = "shrink", "largest"
_SALT_BITS = 256
_HASH, _PLACE, _CELLS = "hashed", "place", "cells"
_PART = 2**14  # an integer of a row is summed as so many of these, and what is left
_BELOW_ONE = 1 - 2.0**-40  # what a factor is shrunk by, for all roundings on its way


def query_vector(engine: Engine, spec: Spec, layout: Layout, *, salt: str) -> NDArray[np.int64]:
    """Return the exact integer vector of a block before noise, shape (dimension,).

    `salt` decides which cells count of a person in too many: `new_salt`, one for a release.
    Entry I stands for I·2^(−bits). It is the secret that the noise hides: internal, and reachable
    from no public function.
    """
    if isinstance(layout.bounding, FewGroups):
        raise TypeError("groups that nobody listed have no vector: see `exact`")
    if layout.conditions:
        return _condition_totals(engine, spec, layout, salt=salt)
    if layout.components in LEFT_OUT:
        return count_left_out(engine, spec, layout)
    rows = in_cells(engine, spec, layout)
    if layout.within:
        rows = rows.with_columns(nw.lit(0, nw.Int64).alias(CELL))
    if layout.by_row:
        sums = sums_of_rows(engine, layout, rows, [CELL])
        return _scatter(read_totals(engine, layout, sums, keys=1), layout)
    if isinstance(layout.bounding, FirstCells):
        totals = _units_in_cells(engine, rows, layout, layout.bounding.most, salt=salt)
    else:
        # Where there is one cell, a second key would cost as much as the first.
        keys = [UNIT, CELL] if layout.axes else [UNIT]
        per_unit = rows.group_by(*keys).agg(*row_sums(layout))
        if not layout.axes:
            per_unit = per_unit.with_columns(nw.lit(0, nw.Int64).alias(CELL))
        way = layout.bounding
        if isinstance(way, InCells) and way.first is not None and way.first < layout.cells:
            per_unit = keep_few(engine, per_unit, [CELL], way.first, salt=salt)
        totals = _bounded_totals(engine, layout, way, per_unit)
    return _scatter(engine.rows(totals.select(CELL, *names_of(layout))), layout)


def _scatter(rows: list[tuple[Any, ...]], layout: Layout) -> NDArray[np.int64]:
    """Put the totals where they belong; a cell without rows is 0."""
    vector = np.zeros((layout.cells, len(layout.components)), dtype=np.int64)
    for cell, *values in rows:
        vector[int(cell)] = [int(value) for value in values]
    return vector.reshape(-1)


def _condition_totals(
    engine: Engine, spec: Spec, layout: Layout, *, salt: str
) -> NDArray[np.int64]:
    """Return how many units are in each condition, each unit in few of its own.

    A person is in a condition if any of their rows is. A row has no name to hash: where it is the
    unit, the first conditions count that it is in.
    """
    if not isinstance(layout.bounding, FirstCells):
        raise TypeError("persons in conditions are counted in few of them")
    most = layout.bounding.most
    names = [f"c{index}" for index in range(layout.cells)]
    held = [
        nw.when(_holds(engine, spec, condition)).then(1).otherwise(0).alias(name)
        for name, condition in zip(names, layout.conditions, strict=True)
    ]
    frame = rows_that_count(engine, layout)
    if layout.by_row:
        frame = frame.select(*held)
        frame = _in_first(frame, names, most) if most < layout.cells else frame
    else:
        unit = nw.col(engine.column(spec.privacy.unit, "u"))
        frame = frame.filter(~unit.is_null()).select(unit.alias(UNIT), *held)
        frame = frame.group_by(UNIT).agg(*(nw.col(name).max() for name in names))
        if most < layout.cells:
            totals = _few_conditions(engine, frame, names, most, salt=salt)
            return _scatter(engine.rows(totals), layout)
    ((*totals,),) = engine.rows(frame.select(*(nw.col(name).sum() for name in names)))
    return np.array([int(total or 0) for total in totals], dtype=np.int64)  # NULL: no row at all


def _in_first(frame: nw.LazyFrame[Any], names: list[str], most: int) -> nw.LazyFrame[Any]:
    """Return the rows with 1 in `most` of the columns `names` at most: in the first that have 1."""
    frame = frame.with_columns(_before=nw.lit(0))
    for name in names:
        kept = nw.when(nw.col("_before") < most).then(nw.col(name)).otherwise(0)
        frame = frame.with_columns(kept.alias(name))
        frame = frame.with_columns(_before=nw.col("_before") + nw.col(name))
    return frame


def _few_conditions(
    engine: Engine, held: nw.LazyFrame[Any], names: list[str], most: int, *, salt: str
) -> nw.LazyFrame[Any]:
    """Return how many persons are in each condition, each in few of those that `held` says."""
    held = engine.materialise(held)
    cells = [
        held.filter(nw.col(name) == 1).select(UNIT, nw.lit(place, nw.Int64).alias(CELL))
        for place, name in enumerate(names)
    ]
    entries = keep_few(engine, nw.concat(cells), [CELL], most, salt=salt)
    return entries.group_by(CELL).agg(i0=nw.len())


def _holds(engine: Engine, spec: Spec, condition: Condition) -> nw.Expr:
    """Return whether a row satisfies every predicate; one that can't be read satisfies none."""
    return nw.all_horizontal(
        *(_satisfies(engine, spec, *predicate) for predicate in condition.predicates),
        ignore_nulls=False,
    )


def _satisfies(engine: Engine, spec: Spec, column: str, predicate: Predicate) -> nw.Expr:
    if predicate.among:
        return nw.col(engine.column(column, "k")).is_in(list(predicate.among))
    value = finite(engine, column, spec.columns.get(column, Column()).number)
    ends = [
        (predicate.min, lambda end: value >= end),
        (predicate.max, lambda end: value <= end),
        (predicate.below, lambda end: value < end),
    ]
    found = [compare(float(end)) for end, compare in ends if end is not None]
    return nw.all_horizontal(*found, ignore_nulls=False)


def _units_in_cells(
    engine: Engine, rows: nw.LazyFrame[Any], layout: Layout, most: int, *, salt: str
) -> nw.LazyFrame[Any]:
    """Return how many persons are in each cell, each in `most` of their own at most.

    Where values are counted, a row without one puts nobody into its cell.
    """
    if layout.components[0].column:
        rows = rows.filter(nw.col("x0") > 0)
    once = rows.group_by(UNIT, CELL).agg(i0=(nw.len() > 0).cast(nw.Int64))
    if most < layout.cells:
        once = keep_few(engine, once, [CELL], most, salt=salt)
    return once.group_by(CELL).agg(nw.col("i0").sum())


def sums_of_rows(
    engine: Engine, layout: Layout, rows: nw.LazyFrame[Any], keys: list[str]
) -> nw.LazyFrame[Any]:
    """Return the `keys` of each cell and its sums where a row is a unit: however many rows.

    Where an engine's sum of int64 could wrap around, each integer of a value is summed in two
    parts, high and low, none of which does.
    """
    sums: dict[str, nw.Expr] = {}
    for index, component in enumerate(layout.components):
        x, high, low = nw.col(f"x{index}"), f"h{index}", f"l{index}"
        if component.of_values and engine.sums_are_wide:
            sums[low] = x.sum()
        elif component.of_values:
            rows = rows.with_columns((x / _PART).floor().cast(nw.Int64).alias(high))
            rows = rows.with_columns((x - nw.col(high) * _PART).alias(low))
            sums |= {low: nw.col(low).sum(), high: nw.col(high).sum()}
        elif component.column:
            sums[f"n{index}"] = (x > 0).cast(nw.Int64).sum()
        else:
            sums[f"n{index}"] = nw.len()
    return rows.group_by(*keys).agg(**sums).select(*keys, *sums)


def read_totals(
    engine: Engine, layout: Layout, sums: nw.LazyFrame[Any], keys: int
) -> list[tuple[Any, ...]]:
    """Return the keys of each cell and its totals, of `sums_of_rows` with so many keys.

    Totals end where int64 does, so that beyond it one row moves them by no more than before.
    """
    parts: list[list[tuple[int, int]]] = [[] for _ in layout.components]
    for place, name in enumerate(sums.collect_schema().names()[keys:], keys):
        index = int(name[1:])
        one = int(2**layout.bits / layout.components[index].radius)
        weights = {"n": one, "h": _PART, "l": 1}
        parts[index].append((place, weights[name[0]]))
    found: list[tuple[Any, ...]] = []
    for row in engine.rows(sums):
        told = list(row[:keys])
        for part in parts:
            total = 0
            for place, weight in part:
                total += int(row[place]) * weight
            told.append(min(max(total, 1 - INT64_END), INT64_END - 1))
        found.append(tuple(told))
    return found


def row_sums(layout: Layout) -> list[nw.Expr]:
    """Return the sums over a unit's rows: below 2^34 rows of at most 2^28 no int64 wraps around.

    Beyond that cap, which every plan states, they would be wrong.
    """
    one = 2**layout.bits
    sums: list[nw.Expr] = []
    for index, component in enumerate(layout.components):
        if component.column:
            total = nw.col(f"x{index}").sum()
        elif component.kind == "count":
            total = nw.len().cast(nw.Int64) * one
        else:
            total = (nw.len() > 0).cast(nw.Int64) * one
        sums.append(total.alias(f"i{index}"))
    return sums


def _bounded_totals(
    engine: Engine, layout: Layout, way: InBall | InCells, per_unit: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """Return the totals by cell of every unit's integers, each unit within its limit.

    Its size q, ΣI² in a ball and else the sum over cells of the largest |I| (or of all |I|, where
    each number is a cell), is exact: coordinates are made so small that q < 2^53 by the choice of
    bits, and float64 adds whole numbers so far without rounding, in any order. Where q is over the
    limit N, the factor is ŝ = fl((1 − 2^−40)·N/q), or its root for squares; it and its product with
    I are off by less than 8 roundings of 2^−53 each, far less than the margin 2^−41, and truncation
    shrinks: |t| <= |I|·N/q, or |I|·√(N/q), so that the size of t is at most N.
    Where a cell's last number L is of rows without a value, the size of the cell is max|I| of the
    others, plus L: the gauge of its body, and no more than for its rows, each of which adds to one
    of the two. What shrinks both by a factor shrinks their sum by it. In units of 1/w (`choices`) L
    is ⌊L·w⌋ at last, which is L·w unless L was shrunk: w is a multiple of 2^−8, and 2^8 divides a
    row's integer. L·w is an exact float, below 2^29 (`find_bits`).
    """
    names, beside = names_of(layout), bool(layout.numbers.without)
    _, limit = integer_limits(way, bits=layout.bits)
    entries = _each_at_most(engine, layout, way, per_unit.select(UNIT, CELL, *names))
    if isinstance(way, InBall) or way.shrinks(layout.numbers):
        entries = engine.materialise(entries)
        sizes = entries.select(UNIT, q=_size(way, names, beside=beside))
        sizes = sizes.group_by(UNIT).agg(nw.col("q").sum())
        share = nw.lit(limit * _BELOW_ONE) / nw.col("q")
        factor = share.sqrt() if isinstance(way, InBall) else share
        shrink = sizes.filter(nw.col("q") > limit).select(UNIT, factor.alias(_SHRINK))
        joined = entries.join(shrink, on=UNIT, how="left")
        entries = joined.select(CELL, *(_shrunk(name) for name in names))
    if root := float(layout.numbers.without):
        last = (nw.col(names[-1]).cast(nw.Float64) * root).floor().cast(nw.Int64)
        entries = entries.with_columns(last.alias(names[-1]))
    return entries.group_by(CELL).agg(*(nw.col(name).sum() for name in names))


def _each_at_most(
    engine: Engine, layout: Layout, way: InBall | InCells, entries: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """Return integers within what one may be: those of a cell are shrunk by one factor.

    Those of a unit, where a norm limits it. A single number is cut off, which leaves it whole.
    """
    names = names_of(layout)
    most, _ = integer_limits(way, bits=layout.bits)
    by_cell = isinstance(way, InCells) and not way.apart
    if len(names) == 1 and (by_cell or layout.dimension == 1):
        return entries.with_columns(nw.col(names[0]).clip(-most, most).cast(nw.Int64))
    if by_cell:
        beside = bool(layout.numbers.without)
        return shrunk_rows(entries, names, most, beside=beside).select(UNIT, CELL, *names)
    largest = _in_one(names, beside=False)
    factor = nw.lit(most * _BELOW_ONE) / nw.col(_LARGEST).cast(nw.Float64)
    entries = engine.materialise(entries)
    tops = entries.select(UNIT, largest.alias(_LARGEST)).group_by(UNIT)
    over = tops.agg(nw.col(_LARGEST).max()).filter(nw.col(_LARGEST) > most)
    marked = entries.join(over.select(UNIT, factor.alias(_SHRINK)), on=UNIT, how="left")
    return marked.select(UNIT, CELL, *(_shrunk(name) for name in names))


def shrunk_rows(
    entries: nw.LazyFrame[Any], names: list[str], most: int, *, beside: bool = False
) -> nw.LazyFrame[Any]:
    """Return rows of which `_in_one` of the integers in `names` is `most` at most.

    Those of a row with more are shrunk by one factor.
    """
    largest = _in_one(names, beside=beside)
    factor = nw.lit(most * _BELOW_ONE) / nw.col(_LARGEST).cast(nw.Float64)
    marked = entries.with_columns(largest.alias(_LARGEST))
    over = nw.when(nw.col(_LARGEST) > most).then(factor).otherwise(None)
    marked = marked.with_columns(over.alias(_SHRINK))
    return marked.with_columns(*(_shrunk(name) for name in names))


def _size(way: InBall | InCells, names: list[str], *, beside: bool) -> nw.Expr:
    """Return what a cell adds to the size of its unit's vector."""
    values = [nw.col(name).cast(nw.Float64) for name in names]
    if isinstance(way, InBall):
        return nw.sum_horizontal(*(value * value for value in values))
    if way.apart:
        return nw.sum_horizontal(*(value.abs() for value in values))
    return _in_one(names, beside=beside).cast(nw.Float64)


def _in_one(names: list[str], *, beside: bool) -> nw.Expr:
    """Return the largest |I| of one cell; with `beside`, of all but the last, which is added.

    No row adds to the last and to others, so that the sum is no more than for all of its rows.
    """
    values = [nw.col(name).abs() for name in names]
    last = values.pop() if beside else None
    # Spark takes two or more
    largest = values[0] if len(values) == 1 else nw.max_horizontal(*values)
    return largest if last is None else largest + last


def _shrunk(name: str) -> nw.Expr:
    """Return trunc(I·ŝ) where there is a factor ŝ, I elsewhere."""
    value = nw.col(name)
    scaled = value.cast(nw.Float64) * nw.col(_SHRINK)
    # Casts from float to int round in one engine and truncate in another: truncate first.
    whole = nw.when(scaled >= 0).then(scaled.floor()).otherwise(scaled.ceil()).cast(nw.Int64)
    return nw.when(nw.col(_SHRINK).is_null()).then(value).otherwise(whole).alias(name)


def new_salt(entropy: Entropy) -> str:
    """Return a fresh salt, as hexadecimal digits."""
    return f"{entropy.bits(_SALT_BITS):0{_SALT_BITS // 4}x}"


def keep_few(
    engine: Engine, per_unit: nw.LazyFrame[Any], keys: list[str], most: int, *, salt: str
) -> nw.LazyFrame[Any]:
    """Return the entries of each person in `most` cells at most, those of the least hashes.

    Only those of persons in more cells are hashed.
    """
    per_unit = engine.materialise(per_unit)
    columns = per_unit.collect_schema().names()
    sizes = per_unit.group_by(UNIT).agg(nw.len().alias(_CELLS))
    over = sizes.filter(nw.col(_CELLS) > most).select(UNIT)
    many = engine.hashed(
        per_unit.join(over, on=UNIT, how="semi"), columns=[UNIT, *keys], salt=salt, name=_HASH
    )
    placed = many.with_columns(nw.col(_HASH).rank("ordinal").over(UNIT).alias(_PLACE))
    kept = placed.filter(nw.col(_PLACE) <= most).select(*columns)
    return nw.concat([per_unit.join(over, on=UNIT, how="anti").select(*columns), kept])
