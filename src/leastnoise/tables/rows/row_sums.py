"""Sum the integers of rows: over a cell, over a unit, or over a cell with weights of units."""

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
"""What a factor is shrunk by, for all roundings on its way."""
_PART = 2**14  # an integer of a row is summed as a multiple of 2^14 and a rest


def sums_of_rows(
    engine: Engine, summands: Sequence[Summand], rows: nw.LazyFrame[Any], keys: list[str]
) -> nw.LazyFrame[Any]:
    """Return the `keys` of each cell and its sums where a row is a unit: however many rows.

    Where an engine's sum of int64 could wrap around, each integer of a value is summed in two
    parts, high and low, none of which does.
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
    """Return the keys of each cell and its totals, of `sums_of_rows` with so many keys.

    Totals end where int64 does, so that beyond it one row moves them by no more than before.
    """
    parts: list[list[tuple[int, int]]] = [[] for _ in summands]
    for place, name in enumerate(sums.collect_schema().names()[keys:], keys):
        index = int(name[1:])
        one = int(2 ** summands[index].bits / summands[index].component.radius)
        weights = {"n": one, "h": _PART, "l": 1}
        parts[index].append((place, weights[name[0]]))
    totals: list[tuple[Any, ...]] = []
    for row in engine.rows(sums):
        cell = list(row[:keys])
        for part in parts:
            total = 0
            for place, weight in part:
                total += int(row[place]) * weight
            cell.append(min(max(total, 1 - INT64_END), INT64_END - 1))
        totals.append(tuple(cell))
    return totals


def row_sums(summands: Sequence[Summand]) -> list[nw.Expr]:
    """Return the sums over rows: below 2^34 rows of at most 2^28 no int64 wraps around.

    Beyond that cap, which every plan states, they would be wrong.
    """
    sums: list[nw.Expr] = []
    for index, summand in enumerate(summands):
        component, one = summand.component, 2**summand.bits
        if component.column:
            total = nw.col(f"x{index}").sum()
        elif component.kind == "count":
            total = nw.len().cast(nw.Int64) * one
        else:
            total = (nw.len() > 0).cast(nw.Int64) * one
        sums.append(total.alias(f"i{index}"))
    return sums


def weighed_totals(
    engine: Engine, rows: nw.LazyFrame[Any], limits: Sequence[tuple[int, int]]
) -> list[tuple[Any, ...]]:
    """Return a tuple a cell: the cell, then for each (S, N) of `limits` the total of its rows.

    A row is the integer S = 2^bits, and all rows of a person add up to N at most. A person with n
    rows adds n·S where that is at most N. Otherwise each of their rows adds the integer
    w = ⌊fl(fl((1 − 2^−40)·N)/n)⌋ instead. Its two roundings raise it by a factor of 1 + 2^−51 at
    most, so that n·w <= N. The number of rows and the rows are of one reading of the source.
    """
    rows = rows.select(UNIT, CELL)
    if not engine.reads_again:
        rows = engine.materialise(rows)
    persons = rows.group_by(UNIT).agg(n=nw.len())
    count = nw.col("n")
    weights = {
        f"w{place}": nw.when(count > most // one)
        .then((nw.lit(most * BELOW_ONE) / count.cast(nw.Float64)).floor().cast(nw.Int64))
        .otherwise(nw.lit(one, nw.Int64))
        for place, (one, most) in enumerate(limits)
    }
    over = persons.filter(count > min(most // one for one, most in limits))
    over = engine.materialise(over.select(UNIT, **weights))
    weighed = rows.join(over, on=UNIT, how="left")
    sums = {
        f"w{place}": nw.col(f"w{place}").fill_null(one).sum()
        for place, (one, _) in enumerate(limits)
    }
    return engine.rows(weighed.group_by(CELL).agg(**sums).select(CELL, *sums))
