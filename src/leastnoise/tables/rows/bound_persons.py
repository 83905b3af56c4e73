"""Bound the integers that each unit adds, and sum them over units (theory/release.md §5).

1. Per row: values are made finite, clamped to the public bounds, and turned into fixed-point
   integers of at most 2^bits in size.
2. Per unit and cell: integers are summed. If an integer exceeds its limit, one factor shrinks all
   integers of the cell toward 0, or of the whole unit (`Part.shrinks_largest`).
3. Per unit: the size of its vector is computed exactly, in the norm (or gauge) of the query's
   sensitivity. If it exceeds the limit, one factor shrinks all integers of the unit.
4. Per cell: totals are summed.

Since one factor shrinks all integers, the mean of a unit over a limit stays the same up to
rounding. If a unit is in more cells than a limit allows, only some of its cells count: those with
the smallest hashes. A cell is hashed together with a salt and the unit. The salt is fresh for each
release, so that nobody can choose a key that is always kept, and no cell loses more persons than
others because of its position. The hash of a unit's cells doesn't depend on other units. No step
depends on the order of rows or on threads.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Self, final

import narwhals as nw
import numpy as np

from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.rows.cells import CELL, UNIT, Summand, scatter, summands_of
from leastnoise.tables.rows.choose_cells import keep_few
from leastnoise.tables.rows.row_sums import BELOW_ONE, row_sums
from leastnoise.tables.statistics.base import A_PERSON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine

_SHRINK, _LARGEST = "shrink", "largest"


@final
@dataclass(frozen=True, kw_only=True)
class Part:
    """One of several layouts that are summed together, and the names of its columns in frames.

    No two parts have the same `index`. `sums` are the names of a person's integers in a cell before
    they are bounded; `names` are the names after that.
    """

    layout: Layout
    sums: tuple[str, ...]
    index: int

    @classmethod
    def of(cls, layout: Layout, summands: Sequence[Summand], index: int) -> Self:
        """The part for `layout`.

        The column i0 has the sums of the first of `summands`, and so on.
        """
        sums = tuple(f"i{summands.index(summand)}" for summand in summands_of(layout))
        return cls(layout=layout, sums=sums, index=index)

    @property
    def names(self) -> list[str]:
        """The names of the bounded integers of a person and cell."""
        return [f"b{self.index}_{index}" for index in range(len(self.sums))]

    def column_name(self, what: str) -> str:
        """The name of a column about this part: `what`, followed by the part's index."""
        return f"{what}{self.index}"

    @property
    def counts_missing(self) -> bool:
        """True if the last number of a cell counts rows without a value."""
        return bool(self.layout.numbers.without)

    @property
    def shrinking(self) -> InBall | InCells:
        """The limits by which persons' integers are shrunk."""
        if not isinstance(self.layout.bounding, InBall | InCells):
            raise TypeError("expected limits of persons whose integers are shrunk")
        return self.layout.bounding

    @property
    def counts_once(self) -> bool:
        """True if a person counts 1 in each of a few cells."""
        return isinstance(self.layout.bounding, OnceInCells)

    @property
    def limits(self) -> tuple[int, int]:
        """The largest absolute integer of a coordinate, and the largest size of a person's vector.

        `_bounded_totals` defines the size; in a ball it is the sum of squares.
        """
        return self.shrinking.integer_limits(bits=self.layout.bits)

    @property
    def shrinks_in_cells(self) -> bool:
        """True if each cell is limited by itself.

        One factor shrinks all integers of the cell; a single integer is clipped.
        """
        if self.counts_once:
            return False
        by_cell = isinstance(self.shrinking, InCells) and not self.shrinking.by_number
        return by_cell or self.layout.dimension == 1

    @property
    def shrinks_largest(self) -> bool:
        """True if a person's largest integer is limited, by one factor for all their integers."""
        return not self.counts_once and not self.shrinks_in_cells

    @property
    def shrinks_persons(self) -> bool:
        """True if the size of a person's vector is limited, by one factor for all its integers."""
        bounding = self.layout.bounding
        return isinstance(bounding, InBall) or (
            isinstance(bounding, InCells) and bounding.shrinks(self.layout.numbers)
        )

    @property
    def cell_limit(self) -> tuple[str, int | None]:
        """The limit on a person's cells: the column by which cells count, and the number of cells.

        A cell counts if this column is positive there. If the name of the column is "", every cell
        with rows counts. The number is None if a person can be in every cell.
        """
        bounding = self.layout.bounding
        if isinstance(bounding, OnceInCells):
            most = bounding.most if bounding.most < self.layout.cells else None
            return (self.names[0] if self.layout.components[0].column else ""), most
        most = bounding.first if isinstance(bounding, InCells) else None
        return "", None if most is None or most >= self.layout.cells else most


def person_vectors(
    engine: Engine,
    rows: nw.LazyFrame[Any],
    summands: Sequence[Summand],
    parts: Sequence[Part],
    *,
    bounded: nw.LazyFrame[Any] | None,
    salt: str,
) -> list[NDArray[np.int64]]:
    """The vector of each part: the sums over persons, each bounded to the part's limits.

    `bounded` is a table of the persons who may exceed a limit. All others' rows are summed without
    bounding. With None, every person is bounded.
    """
    of_persons = rows if bounded is None else rows.join(bounded, on=UNIT, how="semi")
    sums = [] if bounded is None else [f"i{index}" for index in range(len(summands))]
    entries = _sum_persons(of_persons, summands, parts)
    entries = _bound_in_cells(entries, parts, keep=sums)
    groups: dict[tuple[str, int | None], list[Part]] = {}
    for part in parts:
        groups.setdefault(part.cell_limit, []).append(part)
    read_twice = any(part.shrinks_largest or part.shrinks_persons for part in parts)
    if sums or read_twice or len(groups) > 1 or any(most is not None for _, most in groups):
        entries = engine.materialise(entries)
    others = [np.zeros(part.layout.dimension, dtype=np.int64) for part in parts]
    if sums:
        others = _unbounded_vectors(engine, rows, entries, summands, parts=parts)
    vectors: dict[int, NDArray[np.int64]] = {}
    for (needed, most), group in groups.items():
        kept = entries.select(UNIT, CELL, *(name for part in group for name in part.names))
        kept = kept.filter(nw.col(needed) > 0) if needed else kept
        if most is not None:
            kept = keep_few(engine, kept, [CELL], most, salt=salt)
            if any(part.shrinks_largest or part.shrinks_persons for part in group):
                kept = engine.materialise(kept)
        totals = engine.rows(_bounded_totals(engine, group, kept))
        start = 0
        for part in group:
            end = start + len(part.names)
            bound = scatter(totals, part.layout, range(start, end))
            vectors[part.index] = bound + others[part.index]
            start = end
    return [vectors[part.index] for part in parts]


def _sum_persons(
    rows: nw.LazyFrame[Any], summands: Sequence[Summand], parts: Sequence[Part]
) -> nw.LazyFrame[Any]:
    """Sum each person's rows in each cell.

    The columns i0, i1, … of the result have the sums of the summands, in their order.
    """
    # With a single cell, a second key would cost as much as the first.
    keys = [UNIT, CELL] if parts[0].layout.axes else [UNIT]
    if all(summand.component == A_PERSON for summand in summands):  # a count of rows isn't needed
        entries = rows.group_by(*keys).agg()
        units = {f"i{index}": 2**summand.bits for index, summand in enumerate(summands)}
        entries = entries.with_columns(**{n: nw.lit(unit, nw.Int64) for n, unit in units.items()})
    else:
        # DuckDB's sums have 128 bits, which makes later operations slower
        entries = rows.group_by(*keys).agg(
            *(summand.cast(nw.Int64) for summand in row_sums(summands))
        )
    if len(keys) == 1:
        entries = entries.with_columns(nw.lit(0, nw.Int64).alias(CELL))
    return entries


def _unbounded_vectors(
    engine: Engine,
    rows: nw.LazyFrame[Any],
    entries: nw.LazyFrame[Any],
    summands: Sequence[Summand],
    *,
    parts: Sequence[Part],
) -> list[NDArray[np.int64]]:
    """The vector of each part, summed over the `rows` of persons who are not in `entries`.

    It is an exact difference: the sum of all rows minus the sum of the entries, each of which is
    the sum of a person's rows in a cell.
    """
    names = [f"i{index}" for index in range(len(summands))]
    sums = rows.group_by(CELL).agg(*row_sums(summands)).select(CELL, *names)
    in_entries = entries.group_by(CELL).agg(*(nw.col(name).sum() for name in names))
    totals = {cell: values for cell, *values in engine.rows(sums)}
    for cell, *values in engine.rows(in_entries.select(CELL, *names)):
        totals[cell] = list(map(operator.sub, totals[cell], values))
    differences = [(cell, *values) for cell, values in totals.items()]
    return [
        scatter(differences, part.layout, [names.index(name) for name in part.sums])
        for part in parts
    ]


def _bound_in_cells(
    entries: nw.LazyFrame[Any], parts: Sequence[Part], *, keep: Sequence[str]
) -> nw.LazyFrame[Any]:
    """The integers of each part, bounded in each cell, beside the columns `keep`.

    One factor shrinks all integers of a cell; a single integer is clipped to the limit. A person
    who is counted once in a cell has 1 there if the sum is positive, else 0. The integers of parts
    with `shrinks_largest` stay unchanged.
    """
    steps: list[dict[str, nw.Expr]] = [{}, {}, {}]
    for part in parts:
        sums = [nw.col(name) for name in part.sums]
        if part.counts_once:
            steps[2][part.names[0]] = (sums[0] > 0).cast(nw.Int64)
        elif part.shrinks_largest:
            steps[2] |= dict(zip(part.names, sums, strict=True))
        elif len(sums) == 1:
            most, _ = part.limits
            steps[2][part.names[0]] = sums[0].clip(-most, most).cast(nw.Int64)
        else:
            most, _ = part.limits
            largest, shrink = part.column_name(_LARGEST), part.column_name(_SHRINK)
            steps[0][largest] = _largest_in_cell(part.sums, counts_missing=part.counts_missing)
            steps[1][shrink] = _factor_above(most, nw.col(largest))
            steps[2] |= {
                name: _shrink(total, shrink)
                for name, total in zip(part.names, part.sums, strict=True)
            }
    for step in filter(None, steps):
        entries = entries.with_columns(**step)
    return entries.select(UNIT, CELL, *keep, *(name for part in parts for name in part.names))


def _bounded_totals(
    engine: Engine, parts: Sequence[Part], entries: nw.LazyFrame[Any]
) -> nw.LazyFrame[Any]:
    """Bound the integers of each unit to the limits of each part, and sum them by cell.

    The size q of a unit with integers I is ΣI² if a ball limits it. Otherwise it is the sum, over
    cells, of the largest |I|, or of all |I| if each number counts as a cell. It is exact: `bits`
    are chosen so that q < 2^53, and float64 adds such whole numbers without rounding, in any order.
    If q exceeds the limit N, the factor is ŝ = fl((1 − 2^−40)·N/q), where fl is the result in
    float64; for squares it is the root of this factor. The factor and its product with I are off by
    less than 8 roundings of 2^−53 each, far less than the margin 2^−41. Truncation to whole numbers
    t then gives |t| <= |I|·N/q, or |I|·√(N/q), so that the size of all t is at most N.

    If a cell's last number L counts rows without a value, the size of the cell is max|I| of the
    other numbers plus L. That is the gauge of its body, and no more than the sum over its rows,
    since each row adds to only one of the two. One factor shrinks both, and so their sum. At last L
    is converted to units of 1/w (`layout.components`) as ⌊L·w⌋. That is L·w unless L was shrunk,
    because w is a multiple of 2^−8, and 2^8 divides a row's integer. L·w is an exact float, below
    2^29 (`find_bits`).
    """
    too_large = [
        _Limit(
            part=part, size=_largest_in_cell(part.names, counts_missing=False), most=part.limits[0]
        )
        for part in parts
        if part.shrinks_largest
    ]
    if too_large:
        entries = engine.materialise(_shrink_persons(entries, parts, too_large, by=nw.Expr.max))
    too_long = [
        _Limit(part=part, size=_size(part), most=part.limits[1])
        for part in parts
        if part.shrinks_persons
    ]
    if too_long:
        entries = _shrink_persons(entries, parts, too_long, by=nw.Expr.sum)
    last = {
        name: (nw.col(name).cast(nw.Float64) * root).floor().cast(nw.Int64)
        for part in parts
        for name, root in ((part.names[-1], float(part.layout.numbers.without)),)
        if root
    }
    entries = entries.with_columns(**last) if last else entries
    names = [name for part in parts for name in part.names]
    totals = entries.group_by(CELL).agg(*(nw.col(name).sum() for name in names))
    return totals.select(CELL, *names)


@final
@dataclass(frozen=True, kw_only=True)
class _Limit:
    """A limit on persons: a `size` of each cell, and the largest size of a person, `most`.

    `_shrink_persons` combines the sizes of a person's cells into the person's size.
    """

    part: Part
    size: nw.Expr
    most: int


def _shrink_persons(
    entries: nw.LazyFrame[Any],
    parts: Sequence[Part],
    limits: Sequence[_Limit],
    *,
    by: Callable[[nw.Expr], nw.Expr],
) -> nw.LazyFrame[Any]:
    """Shrink the integers of persons who exceed a limit; one factor per person and part.

    `by` combines the sizes of a person's cells into the person's size: their sum or maximum.
    """
    sizes = {limit.part.column_name(_LARGEST): limit.size for limit in limits}
    persons = (
        entries.select(UNIT, **sizes).group_by(UNIT).agg(*(by(nw.col(name)) for name in sizes))
    )
    over = [nw.col(limit.part.column_name(_LARGEST)) > limit.most for limit in limits]
    factors = {
        limit.part.column_name(_SHRINK): _factor_above(
            limit.most,
            nw.col(limit.part.column_name(_LARGEST)),
            squares=by is nw.Expr.sum and isinstance(limit.part.shrinking, InBall),
        )
        for limit in limits
    }
    persons = persons.filter(reduce(operator.or_, over)).select(UNIT, **factors)
    joined = entries.join(persons, on=UNIT, how="left")
    shrunk = [
        _shrink(name, limit.part.column_name(_SHRINK))
        for limit in limits
        for name in limit.part.names
    ]
    kept = {limit.part.index for limit in limits}
    others = [name for part in parts if part.index not in kept for name in part.names]
    return joined.select(UNIT, CELL, *others, *(limit for limit in shrunk))


def _factor_above(most: int, size: nw.Expr, *, squares: bool = False) -> nw.Expr:
    """The factor that shrinks integers of this `size` to at most `most`; NULL if none is needed.

    With `squares`, `size` and `most` are sums of squares, so the factor is a square root.
    """
    factor = nw.lit(most * BELOW_ONE) / size.cast(nw.Float64)
    return nw.when(size > most).then(factor.sqrt() if squares else factor).otherwise(None)


def shrink_rows(entries: nw.LazyFrame[Any], names: list[str], most: int) -> nw.LazyFrame[Any]:
    """Shrink the integers `names` of each row by one factor, so that none exceeds `most`."""
    marked = entries.with_columns(_largest_in_cell(names, counts_missing=False).alias(_LARGEST))
    marked = marked.with_columns(_factor_above(most, nw.col(_LARGEST)).alias(_SHRINK))
    return marked.with_columns(*(_shrink(name, _SHRINK) for name in names))


def _size(part: Part) -> nw.Expr:
    """The size of a cell, which adds to the size of its unit's vector (see `_bounded_totals`).

    For integers I of the cell, it is Σ I² in a ball, and Σ |I| if each number counts as a cell.
    Otherwise it is the result of `_largest_in_cell`.
    """
    values = [nw.col(name).cast(nw.Float64) for name in part.names]
    if isinstance(part.shrinking, InBall):
        return nw.sum_horizontal(*(value * value for value in values))
    if part.shrinking.by_number:
        return nw.sum_horizontal(*(value.abs() for value in values))
    return _largest_in_cell(part.names, counts_missing=part.counts_missing).cast(nw.Float64)


def _largest_in_cell(names: Sequence[str], *, counts_missing: bool) -> nw.Expr:
    """The largest absolute integer of a cell.

    With `counts_missing`, it is the largest of all but the last integer, plus the last. Since a row
    adds either to the last integer or to the others, the size of a cell is at most the sum of its
    rows' sizes.
    """
    values = [nw.col(name).abs() for name in names]
    last = values.pop() if counts_missing else None
    # max_horizontal needs at least two on Spark
    largest = values[0] if len(values) == 1 else nw.max_horizontal(*values)
    return largest if last is None else largest + last


def _shrink(name: str, factor: str) -> nw.Expr:
    """The integer times `factor`, truncated toward 0; the integer itself if `factor` is NULL."""
    value = nw.col(name)
    scaled = value.cast(nw.Float64) * nw.col(factor)
    # Casts from float to int round in one engine and truncate in another: truncate first.
    whole = nw.when(scaled >= 0).then(scaled.floor()).otherwise(scaled.ceil()).cast(nw.Int64)
    return nw.when(nw.col(factor).is_null()).then(value).otherwise(whole).alias(name)
