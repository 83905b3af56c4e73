"""Sum the integers of rows: over a cell, over a unit, or over a cell with rows weighted by unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from leastnoise.tables.layout.layout import INT64_END
from leastnoise.tables.rows.cells import CELL, UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.rows.cells import Summand
    from leastnoise.tables.rows.engine import Engine

BELOW_ONE = 1 - 2.0**-40
"""A factor slightly below 1. It lowers other factors by more than rounding can raise them."""
_PART = 2**14  # a row's integer is summed in two parts: a multiple of 2^14 and the remainder


def sums_of_rows(
    engine: Engine, summands: Sequence[Summand], rows: nw.LazyFrame[Any], keys: list[str]
) -> nw.LazyFrame[Any]:
    """Sum `rows`, each of which is a unit, by cell.

    The result has a row for each combination of `keys` that occurs: the keys, and one or two
    columns for each summand (`read_totals`). For a summand of values it has the sum of integers,
    for any other the number of rows that count. The sums are right for any number of rows. If an
    engine's sum of int64 could wrap around, the high and the low part of each integer are summed
    separately, which can't wrap around.
    """
    sums: dict[str, nw.Expr] = {}
    for index, summand in enumerate(summands):
        component = summand.component
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
    engine: Engine, summands: Sequence[Summand], sums: nw.LazyFrame[Any], keys: int
) -> list[tuple[Any, ...]]:
    """A tuple per cell, from the result of `sums_of_rows`: the keys, and a total for each summand.

    `keys` is the number of keys. Totals are clipped to the range of int64; clipping never enlarges
    the change by one row.
    """
    parts: list[list[tuple[int, int]]] = [[] for _ in summands]
    for position, name in enumerate(sums.collect_schema().names()[keys:], keys):
        index = int(name[1:])
        unit = int(2 ** summands[index].bits / summands[index].component.radius)
        weights = {"n": unit, "h": _PART, "l": 1}
        parts[index].append((position, weights[name[0]]))
    totals: list[tuple[Any, ...]] = []
    for row in engine.rows(sums):
        cell = list(row[:keys])
        for part in parts:
            total = 0
            for position, weight in part:
                total += int(row[position]) * weight
            cell.append(min(max(total, 1 - INT64_END), INT64_END - 1))
        totals.append(tuple(cell))
    return totals


def row_sums(summands: Sequence[Summand]) -> list[nw.Expr]:
    """Expressions i0, i1, … for the sums of each summand's integers in a group.

    The sums are right for fewer than 2^34 rows with integers of at most 2^28 in size. Beyond that
    cap, which every plan states, int64 could wrap around.
    """
    sums: list[nw.Expr] = []
    for index, summand in enumerate(summands):
        component, unit = summand.component, 2**summand.bits
        if component.column:
            total = nw.col(f"x{index}").sum()
        elif component.kind == "count":
            total = nw.len().cast(nw.Int64) * unit
        else:
            total = (nw.len() > 0).cast(nw.Int64) * unit
        sums.append(total.alias(f"i{index}"))
    return sums


def weighted_totals(
    engine: Engine,
    rows: nw.LazyFrame[Any],
    limits: Sequence[tuple[int, int]],
    *,
    keys: Sequence[str] = (CELL,),
) -> list[tuple[Any, ...]]:
    """A tuple per cell: its `keys`, and for each (S, N) of `limits` the total of its weighted rows.

    A row counts as the integer S = 2^bits, and all rows of a person add up to at most N. A person
    with n rows adds n·S if that is at most N. Otherwise each of their rows counts as the integer w
    = ⌊fl(fl((1 − 2^−40)·N)/n)⌋, where fl is the result in float64. The two roundings raise w by at
    most a factor of 1 + 2^−51, so that n·w <= N. The number of rows and the rows come from the same
    reading of the source.
    """
    rows = rows.select(UNIT, *keys)
    if not engine.can_reread:
        rows = engine.materialise(rows)
    persons = rows.group_by(UNIT).agg(n=nw.len())
    count = nw.col("n")
    weights = {
        f"w{index}": nw.when(count > most // unit)
        .then((nw.lit(most * BELOW_ONE) / count.cast(nw.Float64)).floor().cast(nw.Int64))
        .otherwise(nw.lit(unit, nw.Int64))
        for index, (unit, most) in enumerate(limits)
    }
    over = persons.filter(count > min(most // unit for unit, most in limits))
    over = engine.materialise(over.select(UNIT, **weights))
    weighed = rows.join(over, on=UNIT, how="left")
    sums = {
        f"w{index}": nw.col(f"w{index}").fill_null(unit).sum()
        for index, (unit, _) in enumerate(limits)
    }
    return engine.rows(weighed.group_by(*keys).agg(**sums).select(*keys, *sums))
