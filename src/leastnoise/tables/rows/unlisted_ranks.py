"""The rows at each candidate for the quantiles of unlisted groups.

If permute-and-flip chooses the quantiles, each row of a person over the limit counts as a fraction:
see `row_sums`. If they are read off a tree of counts, whole rows count, and a person counts in a
few groups, chosen by a salted hash as for other numbers. Suppose a person's n rows in a group
exceed the limit m. Then the c rows at a candidate count as about c·m/n rows, rounded down. To reach
m rows, some candidates count one row more: those with the smallest hashes. So m whole rows count,
and whole-number noise hides them. No step uses another person's rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from leastnoise.tables.layout.axes import Unlisted
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.rows.cells import (
    CELL,
    UNIT,
    cell_of,
    keep_publishable,
    rows_in_cells,
    unlisted_keys,
)
from leastnoise.tables.rows.choose_cells import keep_few
from leastnoise.tables.rows.row_sums import BELOW_ONE, weighted_totals

if TYPE_CHECKING:
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec

_CANDIDATE, _ROWS = "candidate", "rows"
_ALL, _WHOLE, _LEFT, _HASH, _PLACE = "of_group", "whole", "left", "hashed", "place"


def candidate_totals(
    engine: Engine, spec: Spec, layout: Layout, *, salt: str
) -> list[tuple[Any, ...]]:
    """The rows at each candidate of each group: tuples of public cell, keys, candidate and rows.

    The last axis of the layout has the candidates. Numbers of rows are in units of 2^−bits. Tuples
    are in any order. They are as secret as the source, and so is the set of groups.
    """
    *grouped, candidates = layout.axes
    at = nw.col(f"at{layout.axes.index(candidates)}").cast(nw.Int64)
    rows = rows_in_cells(engine, spec, layout, ()).with_columns(
        cell_of(layout, grouped), at.alias(_CANDIDATE)
    )
    public = any(not isinstance(axis, Unlisted) for axis in grouped)
    keys = [*([CELL] if public else []), *unlisted_keys(layout)]
    if not layout.by_row and isinstance(layout.bounding, InCells):
        rows = keep_publishable(engine, layout, rows.select(UNIT, *keys, _CANDIDATE))
        limit = 2**layout.bits, layout.bounding.integer_limits(bits=layout.bits)[1]
        cells = weighted_totals(engine, rows, [limit], keys=[*keys, _CANDIDATE])
        return cells if public else [(0, *row) for row in cells]
    unit = [] if layout.by_row else [UNIT]
    count = nw.len().cast(nw.Int64).alias(_ROWS)
    entries = rows.group_by(*unit, *keys, _CANDIDATE).agg(count)
    entries = keep_publishable(engine, layout, entries)
    if not layout.by_row:
        entries = _limit_persons(engine, layout, engine.materialise(entries), keys, salt=salt)
    totals = entries.group_by(*keys, _CANDIDATE).agg(nw.col(_ROWS).sum())
    cells = engine.rows(totals.select(*keys, _CANDIDATE, _ROWS))
    return cells if public else [(0, *row) for row in cells]


def _limit_persons(
    engine: Engine, layout: Layout, entries: nw.LazyFrame[Any], keys: list[str], *, salt: str
) -> nw.LazyFrame[Any]:
    """Limit the groups of each person, and the person's rows in each group.

    `entries` has the person's rows for each group and candidate.
    """
    if not isinstance(layout.bounding, InUnlistedGroups):
        raise TypeError("a person is in few of the groups that nobody listed")
    most, group = layout.bounding.per_group, [UNIT, *keys]
    sizes = engine.materialise(entries.group_by(*group).agg(nw.col(_ROWS).sum().alias(_ALL)))
    kept = keep_few(engine, sizes, keys, layout.bounding.groups, salt=salt)
    entries = engine.materialise(entries.join(kept, on=group, how="inner"))
    columns = [*keys, _CANDIDATE, _ROWS]
    within = entries.filter(nw.col(_ALL) <= most).select(*columns)
    over = entries.filter(nw.col(_ALL) > most)
    # Rounding raises no quotient: BELOW_ONE lowers it by more, and a quotient below a whole number
    # gives one row to the hashes.
    share = nw.lit(most * BELOW_ONE) / nw.col(_ALL).cast(nw.Float64)
    whole = (nw.col(_ROWS).cast(nw.Float64) * share).floor().cast(nw.Int64)
    over = engine.add_hash(
        over.with_columns(whole.alias(_WHOLE)),
        columns=[*group, _CANDIDATE],
        salt=salt,
        name=_HASH,
    )
    over = over.with_columns(
        nw.col(_HASH).rank("ordinal").over(*group).alias(_PLACE),
        (most - nw.col(_WHOLE).sum().over(*group)).alias(_LEFT),
    )
    more = nw.when(nw.col(_PLACE) <= nw.col(_LEFT)).then(1).otherwise(0)
    over = over.with_columns((nw.col(_WHOLE) + more).cast(nw.Int64).alias(_ROWS))
    return nw.concat([within, over.filter(nw.col(_ROWS) > 0).select(*columns)])
