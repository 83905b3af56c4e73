"""The exact integers of a spec before noise, on any engine. All engines must agree in them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from leastnoise.tables.answers.kinds import lay_out_query, lay_out_ranks
from leastnoise.tables.answers.selection.layout import candidates_of
from leastnoise.tables.answers.sums.margin_queries import layouts_read
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.spec.source import IN_MEMORY
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.reference import SALT


def integers(
    raw: dict[str, Any],
    folder: Path,
    *,
    engine: str | None = None,
    frame: Any = None,
    together: bool = False,
    release: int = 1,
) -> dict[str, list[int]]:
    """The vector of each query and of its quantiles, for each way to bound a person.

    Rows come from the source of `raw`, or from a frame. Vectors are read one by one, or all
    `together`, as in a release. `release` is the number of the release, for a series with a report
    column.
    """
    data = raw["data"] if frame is None else raw["data"] | {"source": IN_MEMORY}
    spec = spec_file.parse(raw | {"data": data | ({"engine": engine} if engine else {})})
    rows = None if frame is None else frame_of(frame)
    result = source.find_source(spec, folder, rows, release=release)
    layouts: dict[str, Layout] = {}
    for query in spec.query:
        ranks = [lay_out_rank.histogram for lay_out_rank in lay_out_ranks(parse_query(spec, query))]
        for layout in itertools.chain(*lay_out_query(parse_query(spec, query)), ranks):
            text = str(layout.bounding.to_record())
            of_margins = layout.margins and "cumulative" not in query.keys_of_sums
            read = layouts_read(layout) if of_margins else [layout]
            read = read if layout.selected is None else [candidates_of(layout)]
            layouts |= {f"{item.label} {text}": item for item in read}
    if together:
        with source.open_engine(result) as opened:
            vectors = integer_vectors.query_vectors(opened, spec, [*layouts.values()], salt=SALT)
        return {name: item.tolist() for name, item in zip(layouts, vectors, strict=True)}
    alone: dict[str, list[int]] = {}
    for name, layout in layouts.items():
        with source.open_engine(result) as opened:
            alone[name] = integer_vectors.query_vector(opened, spec, layout, salt=SALT).tolist()
    return alone
