"""The exact integer vectors of queries: rows that are read together are summed together.

Where rows are units, their integers are summed by cell. Each person is bounded: see `persons`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from leastnoise.tables.layout.axes import Nearest
from leastnoise.tables.layout.limits import FewGroups, InBall, InCells
from leastnoise.tables.rows.cells import (
    CELL,
    Summand,
    cell_of,
    in_cells,
    scatter,
    settle,
    summands_of,
    units_with_more_rows,
)
from leastnoise.tables.rows.conditions import condition_totals
from leastnoise.tables.rows.left_out import LEFT_OUT, count_left_out
from leastnoise.tables.rows.persons import Part, person_vectors
from leastnoise.tables.rows.row_sums import (
    read_totals,
    sums_of_rows,
    weighed_totals,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.spec.model import Spec

_MOST_NUMBERS = 16  # of a person and cell that are added up together


def query_vector(engine: Engine, spec: Spec, layout: Layout, *, salt: str) -> NDArray[np.int64]:
    """Return the exact integer vector of a block before noise, shape (dimension,).

    `salt` decides which cells count of a person in too many: see `choose_cells`.
    Entry I stands for I·2^(−bits). It is the secret that the noise hides: internal, and reachable
    from no public function.
    """
    (vector,) = query_vectors(engine, spec, [layout], salt=salt)
    return vector


def query_vectors(
    engine: Engine, spec: Spec, layouts: Sequence[Layout], *, salt: str
) -> list[NDArray[np.int64]]:
    """Return the vectors of several layouts, in their order: see `query_vector`.

    Layouts of the same rows in the same cells are summed together, and all read the rows of one
    engine.
    """
    batches = batches_of(layouts)
    ready: dict[Summand, str] = {}
    # a copy costs as much as three queries of persons, and saves more where few are over a limit
    if len(batches) > 1 or (len(layouts) > 3 and min(map(_rows_within, layouts))):
        ready = settle(engine, spec, layouts)
    over: dict[Any, nw.LazyFrame[Any]] = {}
    vectors: dict[int, NDArray[np.int64]] = {}
    for places in batches:
        batch = [layouts[place] for place in places]
        few, bounded = min(map(_rows_within, batch)), None
        if few and engine.reads_again:
            same = batch[0].filters, few
            if same not in over:
                over[same] = units_with_more_rows(engine, spec, batch[0], few)
            bounded = over[same]
        with engine.scratch():
            bound = _batch_vectors(engine, spec, batch, ready=ready, bounded=bounded, salt=salt)
        vectors |= zip(places, bound, strict=True)
    return [vectors[place] for place in range(len(layouts))]


def _rows_within(layout: Layout) -> int:
    """Return with how many rows a person is within every limit, whatever the rows are; 0 if none.

    With n rows a cell's numbers are at most n each, and so is the sum over cells of the largest of
    each; it is n·q where each of q numbers is a cell, and the square is n²·q in a ball. Such a
    person is in n cells or fewer. So bounding changes none of their integers.
    """
    way, numbers = layout.bounding, layout.numbers
    by_person = any(one.kind == "units" for one in layout.components)
    if layout.by_row or by_person or numbers.without or _weighs_rows(layout):
        return 0
    if isinstance(way, InBall):
        return math.isqrt(math.floor(way.squared / numbers.each))
    if not isinstance(way, InCells):
        return 0
    most = math.floor(way.most / (numbers.each if way.by_number else 1))
    return most if way.first is None or way.first >= layout.cells else min(most, way.first)


def _weighs_rows(layout: Layout) -> bool:
    """True if all rows of a person over a limit count for less by one factor: for quantiles."""
    return any(isinstance(axis, Nearest) for axis in layout.axes)


def batches_of(layouts: Sequence[Layout]) -> list[list[int]]:
    """Return the places of layouts that are summed together: of the same rows in the same cells.

    A batch has few numbers, so that what it adds up for a person and a cell has a bounded size.
    """
    alike: dict[Any, list[int]] = {}
    for place, layout in enumerate(layouts):
        alone = layout.conditions or layout.components in LEFT_OUT
        # rows in the same groups are read once for the tables by several sets of columns
        axes = () if layout.by_row and layout.within else layout.axes
        rows_and_cells = layout.filters, axes, layout.within, layout.by_row
        alike.setdefault(place if alone else rows_and_cells, []).append(place)
    batches: list[list[int]] = []
    for places in alike.values():
        batch: list[int] = []
        numbers: set[tuple[Any, ...]] = set()
        for place in places:
            layout = layouts[place]
            more = {(_bound_to(layout)[1:], one) for one in layout.components}
            if batch and len(numbers | more) > _MOST_NUMBERS:
                batches.append(batch)
                batch, numbers = [], set()
            batch.append(place)
            numbers |= more
        batches.append(batch)
    return batches


def _bound_to(layout: Layout) -> tuple[Any, ...]:
    """Return the key of a layout: layouts of the same rows, groups and key have one vector."""
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
    """Return the vectors of the layouts of one batch: see `query_vector`.

    With `bounded`, a table of persons, all other persons are within every limit. `ready` is the
    result of `settle`.
    """
    first = layouts[0]
    if any(isinstance(layout.bounding, FewGroups) for layout in layouts):
        raise TypeError("groups that nobody listed have no vector: see `exact`")
    if first.conditions:
        return [condition_totals(engine, spec, first, salt=salt)]
    if first.components in LEFT_OUT:
        return [count_left_out(engine, spec, first)]
    distinct = {_bound_to(layout): layout for layout in layouts}
    summands = tuple(dict.fromkeys(one for own in distinct.values() for one in summands_of(own)))
    rows = in_cells(engine, spec, first, summands, ready=ready)
    if first.by_row:
        if len(by_axes := {layout.axes: layout for layout in layouts}) > 1:
            used = [name for name in rows.collect_schema().names() if not name.startswith("by")]
            rows = engine.materialise(rows.select(*used))
        vectors = dict[Any, "NDArray[np.int64]"]()
        for axes, table in by_axes.items():
            sums = sums_of_rows(engine, summands, rows.with_columns(cell_of(table, axes)), [CELL])
            totals = read_totals(engine, summands, sums, keys=1)
            vectors |= {
                key: scatter(totals, layout, [summands.index(one) for one in summands_of(layout)])
                for key, layout in distinct.items()
                if layout.axes == axes
            }
    else:
        parts = [Part.of(layout, summands, place) for place, layout in enumerate(distinct.values())]
        if _weighs_rows(first):
            totals = weighed_totals(
                engine, rows, [(2**part.layout.bits, part.limits[1]) for part in parts]
            )
            found = [scatter(totals, part.layout, [part.place]) for part in parts]
        else:
            found = person_vectors(engine, rows, summands, parts, bounded=bounded, salt=salt)
        vectors = dict(zip(distinct, found, strict=True))
    for vector in vectors.values():
        vector.setflags(write=False)  # several layouts may share it
    return [vectors[_bound_to(layout)] for layout in layouts]
