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

import operator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Self, final

import narwhals as nw
import numpy as np

from leastnoise.tables.layout.limits import FirstCells, InBall, InCells, integer_limits
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
    """A layout in a batch of persons: what its integers are called before and after bounding."""

    layout: Layout
    sums: tuple[str, ...]
    place: int

    @classmethod
    def of(cls, layout: Layout, summands: Sequence[Summand], place: int) -> Self:
        """Return the layout at this place, with the sums over rows that it needs."""
        sums = tuple(f"i{summands.index(one)}" for one in summands_of(layout))
        return cls(layout=layout, sums=sums, place=place)

    @property
    def names(self) -> list[str]:
        """The names of the integers of a person and cell, within what a cell may hold."""
        return [f"b{self.place}_{index}" for index in range(len(self.sums))]

    def called(self, what: str) -> str:
        """Return the name of a column about this part."""
        return f"{what}{self.place}"

    @property
    def beside(self) -> bool:
        """True if the last number of a cell counts rows without a value."""
        return bool(self.layout.numbers.without)

    @property
    def way(self) -> InBall | InCells:
        """How persons are bounded whose integers are shrunk."""
        if not isinstance(self.layout.bounding, InBall | InCells):
            raise TypeError("persons in few cells are counted once in each")
        return self.layout.bounding

    @property
    def once(self) -> bool:
        """True if a person counts 1 in each of few cells."""
        return isinstance(self.layout.bounding, FirstCells)

    @property
    def limits(self) -> tuple[int, int]:
        """The largest integer of a coordinate, and the largest size of a person's integers."""
        return integer_limits(self.way, bits=self.layout.bits)

    @property
    def shrinks_in_cells(self) -> bool:
        """True if the integers of one cell are shrunk by one factor; or a single one is cut off."""
        if self.once:
            return False
        by_cell = isinstance(self.way, InCells) and not self.way.by_number
        return by_cell or self.layout.dimension == 1

    @property
    def shrinks_largest(self) -> bool:
        """True if all integers of a person are shrunk where the largest is over a limit."""
        return not self.once and not self.shrinks_in_cells

    @property
    def shrinks_persons(self) -> bool:
        """True if all integers of a person are shrunk where their size is over a limit."""
        way = self.layout.bounding
        return isinstance(way, InBall) or (
            isinstance(way, InCells) and way.shrinks(self.layout.numbers)
        )

    @property
    def few(self) -> tuple[str, int | None]:
        """The number without which a cell isn't one of a person's, and in how many they may be.

        An empty name if all are; None if they may be in any number.
        """
        way = self.layout.bounding
        if isinstance(way, FirstCells):
            most = way.most if way.most < self.layout.cells else None
            return (self.names[0] if self.layout.components[0].column else ""), most
        most = way.first if isinstance(way, InCells) else None
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
    """Return the vectors of persons, each person within the limits of each part.

    With `bounded`, a table of persons, the rows of all other persons are summed without bounding.
    """
    of_persons = rows if bounded is None else rows.join(bounded, on=UNIT, how="semi")
    sums = [] if bounded is None else [f"i{place}" for place in range(len(summands))]
    entries = _sums_of_persons(of_persons, summands, parts)
    entries = _bounded_in_cells(entries, parts, kept=sums)
    groups: dict[tuple[str, int | None], list[Part]] = {}
    for part in parts:
        groups.setdefault(part.few, []).append(part)
    read_twice = any(one.shrinks_largest or one.shrinks_persons for one in parts)
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
            if any(one.shrinks_largest or one.shrinks_persons for one in group):
                kept = engine.materialise(kept)
        totals = engine.rows(_bounded_totals(engine, group, kept))
        start = 0
        for part in group:
            end = start + len(part.names)
            bound = scatter(totals, part.layout, range(start, end))
            vectors[part.place] = bound + others[part.place]
            start = end
    return [vectors[part.place] for part in parts]


def _sums_of_persons(
    rows: nw.LazyFrame[Any], summands: Sequence[Summand], parts: Sequence[Part]
) -> nw.LazyFrame[Any]:
    """Return an entry for each person and cell, with the sums of the rows: i0, i1, …."""
    # Where there is one cell, a second key would cost as much as the first.
    keys = [UNIT, CELL] if parts[0].layout.axes else [UNIT]
    if all(one.component == A_PERSON for one in summands):  # a count would only be compared with 0
        entries = rows.group_by(*keys).agg()
        ones = {f"i{place}": 2**one.bits for place, one in enumerate(summands)}
        entries = entries.with_columns(**{n: nw.lit(one, nw.Int64) for n, one in ones.items()})
    else:
        # sums of DuckDB have 128 bits, with which it computes more slowly
        entries = rows.group_by(*keys).agg(*(one.cast(nw.Int64) for one in row_sums(summands)))
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
    """Return the vector of each part, summed over the `rows` that the `entries` leave out.

    The entries are sums of some of the rows. So the vector is an exact difference.
    """
    names = [f"i{place}" for place in range(len(summands))]
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


def _bounded_in_cells(
    entries: nw.LazyFrame[Any], parts: Sequence[Part], *, kept: Sequence[str]
) -> nw.LazyFrame[Any]:
    """Return the integers of each part, with the integers of each cell within the cell's limit.

    The columns `kept` of the entries stay beside them.

    The integers of a cell are shrunk by one factor; a single integer is cut off at the limit.
    A person who is counted once in a cell has 1 there.
    """
    steps: list[dict[str, nw.Expr]] = [{}, {}, {}]
    for part in parts:
        sums = [nw.col(name) for name in part.sums]
        if part.once:
            steps[2][part.names[0]] = (sums[0] > 0).cast(nw.Int64)
        elif part.shrinks_largest:
            steps[2] |= dict(zip(part.names, sums, strict=True))
        elif len(sums) == 1:
            most, _ = part.limits
            steps[2][part.names[0]] = sums[0].clip(-most, most).cast(nw.Int64)
        else:
            most, _ = part.limits
            largest, shrink = part.called(_LARGEST), part.called(_SHRINK)
            steps[0][largest] = _in_one(part.sums, beside=part.beside)
            steps[1][shrink] = _factor_above(most, nw.col(largest))
            steps[2] |= {
                name: _shrunk(one, shrink) for name, one in zip(part.names, part.sums, strict=True)
            }
    for step in filter(None, steps):
        entries = entries.with_columns(**step)
    return entries.select(UNIT, CELL, *kept, *(name for part in parts for name in part.names))


def _bounded_totals(
    engine: Engine, parts: Sequence[Part], entries: nw.LazyFrame[Any]
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
    too_large = [
        _Over(part=part, size=_in_one(part.names, beside=False), most=part.limits[0])
        for part in parts
        if part.shrinks_largest
    ]
    if too_large:
        entries = engine.materialise(_shrunk_persons(entries, parts, too_large, by=nw.Expr.max))
    too_long = [
        _Over(part=part, size=_size(part), most=part.limits[1])
        for part in parts
        if part.shrinks_persons
    ]
    if too_long:
        entries = _shrunk_persons(entries, parts, too_long, by=nw.Expr.sum)
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
class _Over:
    """A limit of a part: `size` of each cell, put together for a person, is `most` at most."""

    part: Part
    size: nw.Expr
    most: int


def _shrunk_persons(
    entries: nw.LazyFrame[Any],
    parts: Sequence[Part],
    limits: Sequence[_Over],
    *,
    by: Callable[[nw.Expr], nw.Expr],
) -> nw.LazyFrame[Any]:
    """Return the entries; of a person over a limit, all integers of its part shrink by one factor.

    `by` puts the sizes of a person's cells together.
    """
    sizes = {one.part.called(_LARGEST): one.size for one in limits}
    persons = (
        entries.select(UNIT, **sizes).group_by(UNIT).agg(*(by(nw.col(name)) for name in sizes))
    )
    over = [nw.col(one.part.called(_LARGEST)) > one.most for one in limits]
    factors = {
        one.part.called(_SHRINK): _factor_above(
            one.most,
            nw.col(one.part.called(_LARGEST)),
            squares=by is nw.Expr.sum and isinstance(one.part.way, InBall),
        )
        for one in limits
    }
    persons = persons.filter(reduce(operator.or_, over)).select(UNIT, **factors)
    joined = entries.join(persons, on=UNIT, how="left")
    shrunk = [_shrunk(name, one.part.called(_SHRINK)) for one in limits for name in one.part.names]
    kept = {one.part.place for one in limits}
    others = [name for part in parts if part.place not in kept for name in part.names]
    return joined.select(UNIT, CELL, *others, *(one for one in shrunk))


def _factor_above(most: int, size: nw.Expr, *, squares: bool = False) -> nw.Expr:
    """Return the factor that shrinks integers whose size is over `most`; NULL elsewhere."""
    factor = nw.lit(most * BELOW_ONE) / size.cast(nw.Float64)
    return nw.when(size > most).then(factor.sqrt() if squares else factor).otherwise(None)


def shrunk_rows(entries: nw.LazyFrame[Any], names: list[str], most: int) -> nw.LazyFrame[Any]:
    """Return rows of which each of the integers in `names` is `most` at most.

    Those of a row with more are shrunk by one factor.
    """
    marked = entries.with_columns(_in_one(names, beside=False).alias(_LARGEST))
    marked = marked.with_columns(_factor_above(most, nw.col(_LARGEST)).alias(_SHRINK))
    return marked.with_columns(*(_shrunk(name, _SHRINK) for name in names))


def _size(part: Part) -> nw.Expr:
    """Return the share of a cell in the size of its unit's vector."""
    values = [nw.col(name).cast(nw.Float64) for name in part.names]
    if isinstance(part.way, InBall):
        return nw.sum_horizontal(*(value * value for value in values))
    if part.way.by_number:
        return nw.sum_horizontal(*(value.abs() for value in values))
    return _in_one(part.names, beside=part.beside).cast(nw.Float64)


def _in_one(names: Sequence[str], *, beside: bool) -> nw.Expr:
    """Return the largest |I| of one cell; with `beside`, of all but the last, which is added.

    No row adds to the last and to others, so that the sum is no more than for all of its rows.
    """
    values = [nw.col(name).abs() for name in names]
    last = values.pop() if beside else None
    # Spark takes two or more
    largest = values[0] if len(values) == 1 else nw.max_horizontal(*values)
    return largest if last is None else largest + last


def _shrunk(name: str, factor: str) -> nw.Expr:
    """Return trunc(I·ŝ) where there is a factor ŝ, I elsewhere."""
    value = nw.col(name)
    scaled = value.cast(nw.Float64) * nw.col(factor)
    # Casts from float to int round in one engine and truncate in another: truncate first.
    whole = nw.when(scaled >= 0).then(scaled.floor()).otherwise(scaled.ceil()).cast(nw.Int64)
    return nw.when(nw.col(factor).is_null()).then(value).otherwise(whole).alias(name)
