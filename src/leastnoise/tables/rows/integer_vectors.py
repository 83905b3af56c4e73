"""The exact integer vectors of queries; layouts that read the same rows are summed together.

If rows are units, their integers are summed by cell. Otherwise each person is bounded: see
`bound_persons`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from leastnoise.tables.layout.axes import Nearest
from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.rows.bound_persons import Part, person_vectors
from leastnoise.tables.rows.cells import (
    CELL,
    Summand,
    cell_of,
    copy_columns,
    rows_in_cells,
    scatter,
    summands_of,
    units_with_more_rows,
)
from leastnoise.tables.rows.conditions import condition_totals
from leastnoise.tables.rows.left_out import LEFT_OUT, count_left_out
from leastnoise.tables.rows.row_sums import (
    read_totals,
    sums_of_rows,
    weighted_totals,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec

_MOST_NUMBERS = 16  # numbers per person and cell that are summed in one batch


def query_vector(engine: Engine, spec: Spec, layout: Layout, *, salt: str) -> NDArray[np.int64]:
    """The exact integer vector of a query before noise, shape (dimension,).

    Entry I stands for I·2^(−bits). `salt` decides which cells count for a person who is in too
    many: see `choose_cells`. The vector is the secret that the noise hides: internal, and not
    reachable from a public function.
    """
    (vector,) = query_vectors(engine, spec, [layout], salt=salt)
    return vector


def query_vectors(
    engine: Engine, spec: Spec, layouts: Sequence[Layout], *, salt: str
) -> list[NDArray[np.int64]]:
    """The vectors of several layouts, in their order: see `query_vector`.

    Layouts that read the same rows are summed together: see `batches_of`.
    """
    batches = batches_of(layouts)
    ready: dict[Summand, str] = {}
    # A copy costs as much as three queries of persons. It saves more if few persons are over a
    # limit.
    if len(batches) > 1 or (len(layouts) > 3 and min(map(_rows_within, layouts))):
        ready = copy_columns(engine, spec, layouts)
    over: dict[Any, nw.LazyFrame[Any]] = {}
    vectors: dict[int, NDArray[np.int64]] = {}
    for indices in batches:
        batch = [layouts[index] for index in indices]
        most_rows, bounded = min(map(_rows_within, batch)), None
        if most_rows and engine.can_reread:
            key = batch[0].filters, most_rows
            if key not in over:
                over[key] = units_with_more_rows(engine, spec, batch[0], most_rows)
            bounded = over[key]
        with engine.scratch():
            bound = _batch_vectors(engine, spec, batch, ready=ready, bounded=bounded, salt=salt)
        vectors |= zip(indices, bound, strict=True)
    return [vectors[index] for index in range(len(layouts))]


def _rows_within(layout: Layout) -> int:
    """A number n of rows with which a person is certainly within every limit; 0 if unknown.

    With n rows, each number of a cell is at most n, and so is the sum over cells of each cell's
    largest number. If a cell has q numbers, and each counts as its own cell, that sum is at most
    n·q; in a ball the squared size is at most n²·q. The person is in at most n cells. n is
    chosen so that these bounds meet every limit, so bounding changes none of the person's integers.
    """
    bounding, numbers = layout.bounding, layout.numbers
    by_person = any(component.kind == "units" for component in layout.components)
    if layout.by_row or by_person or numbers.without or _weighs_rows(layout):
        return 0
    if isinstance(bounding, InBall):
        return math.isqrt(math.floor(bounding.squared / numbers.each))
    if not isinstance(bounding, InCells):
        return 0
    most = math.floor(bounding.most / (numbers.each if bounding.by_number else 1))
    return (
        most
        if bounding.first is None or bounding.first >= layout.cells
        else min(most, bounding.first)
    )


def _weighs_rows(layout: Layout) -> bool:
    """True if a factor scales each row of a person over a limit, as for quantiles."""
    return any(isinstance(axis, Nearest) for axis in layout.axes)


def batches_of(layouts: Sequence[Layout]) -> list[list[int]]:
    """Group layouts into batches that are summed together; a batch is a list of indices of layouts.

    The layouts of a batch read the same rows, in the same cells. If rows are units, they may
    instead have the same `within`, from whose cells each layout's own cells follow. A batch of
    several layouts has at most `_MOST_NUMBERS` numbers for a person and cell.
    """
    alike: dict[Any, list[int]] = {}
    for index, layout in enumerate(layouts):
        separate = layout.conditions or layout.components in LEFT_OUT
        # Read rows in the same groups once for tables by several sets of columns.
        axes = () if layout.by_row and layout.within else layout.axes
        rows_and_cells = layout.filters, axes, layout.within, layout.by_row
        alike.setdefault(index if separate else rows_and_cells, []).append(index)
    batches: list[list[int]] = []
    for indices in alike.values():
        batch: list[int] = []
        numbers: set[tuple[Any, ...]] = set()
        for index in indices:
            layout = layouts[index]
            more = {(_bound_to(layout)[1:], component) for component in layout.components}
            if batch and len(numbers | more) > _MOST_NUMBERS:
                batches.append(batch)
                batch, numbers = [], set()
            batch.append(index)
            numbers |= more
        batches.append(batch)
    return batches


def _bound_to(layout: Layout) -> tuple[Any, ...]:
    """A key of a layout. Layouts of one batch with equal keys have equal vectors."""
    return layout.axes, layout.components, layout.bits, layout.bounding


def _batch_vectors(
    engine: Engine,
    spec: Spec,
    layouts: Sequence[Layout],
    *,
    ready: Mapping[Summand, str],
    bounded: nw.LazyFrame[Any] | None,
    salt: str,
) -> list[NDArray[np.int64]]:
    """The vectors of the layouts of one batch: see `query_vector`.

    `bounded` is a table of the persons who may exceed a limit; None if all may. `ready` is the
    result of `copy_columns`.
    """
    first = layouts[0]
    if any(isinstance(layout.bounding, InUnlistedGroups) for layout in layouts):
        raise TypeError("groups that nobody listed have no vector: see `exact`")
    if first.conditions:
        return [condition_totals(engine, spec, first, salt=salt)]
    if first.components in LEFT_OUT:
        return [count_left_out(engine, spec, first)]
    distinct = {_bound_to(layout): layout for layout in layouts}
    summands = tuple(
        dict.fromkeys(summand for layout in distinct.values() for summand in summands_of(layout))
    )
    rows = rows_in_cells(engine, spec, first, summands, ready=ready)
    if first.by_row:
        if len(by_axes := {layout.axes: layout for layout in layouts}) > 1:
            used = [name for name in rows.collect_schema().names() if not name.startswith("by")]
            rows = engine.materialise(rows.select(*used))
        vectors = dict[Any, "NDArray[np.int64]"]()
        for axes, table in by_axes.items():
            sums = sums_of_rows(engine, summands, rows.with_columns(cell_of(table, axes)), [CELL])
            totals = read_totals(engine, summands, sums, keys=1)
            vectors |= {
                key: scatter(
                    totals, layout, [summands.index(summand) for summand in summands_of(layout)]
                )
                for key, layout in distinct.items()
                if layout.axes == axes
            }
    else:
        parts = [Part.of(layout, summands, index) for index, layout in enumerate(distinct.values())]
        if _weighs_rows(first):
            totals = weighted_totals(
                engine, rows, [(2**part.layout.bits, part.limits[1]) for part in parts]
            )
            part_vectors = [scatter(totals, part.layout, [part.index]) for part in parts]
        else:
            part_vectors = person_vectors(engine, rows, summands, parts, bounded=bounded, salt=salt)
        vectors = dict(zip(distinct, part_vectors, strict=True))
    for vector in vectors.values():
        vector.setflags(write=False)  # several layouts may share it
    return [vectors[_bound_to(layout)] for layout in layouts]
