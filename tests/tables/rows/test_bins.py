"""Bins of numbers: which values are in each, also at edges, and the largest number of bins."""

from __future__ import annotations

import bisect
import math
from pathlib import Path

import pandas as pd
import pytest

from tests.tables.rows.test_bounding import by_row, exact

EDGES = [-1e300, -5.0, -1e-300, 0.0, 1e-300, 0.1, 0.30000000000000004, 1.0, 2.0**53, 1e300]


OPEN = [-math.inf, 0.0, 1.0, math.inf]


@pytest.mark.dense
@pytest.mark.parametrize(
    "edges",
    [*(EDGES[-count:] for count in (2, 3, 4, 5, 7, 8, 9, 10)), OPEN, OPEN[1:], OPEN[:2], OPEN[::3]],
)
def test_bins_are_half_open_and_the_last_is_closed(tmp_path: Path, edges: list[float]) -> None:
    count = len(edges)
    near = [
        math.nextafter(edge, direction) for edge in EDGES for direction in (-math.inf, math.inf)
    ]
    values = [*EDGES, *near, -0.0, 0.3, 2.0**53 + 2, math.nan, math.inf, -math.inf, None]
    frame = pd.DataFrame({"x": pd.array(values, dtype="object")}).astype("float64")
    frame.to_parquet(tmp_path / "rows.parquet")
    query = [
        {"name": "q", "histogram": {"column": "x", "edges": edges}},
        {"name": "b", "statistics": ["count"], "group_by": {"x": {"edges": edges}}},
    ]
    layout, vector = exact(tmp_path, by_row() | {"query": query, "columns": {}}, 0)
    assert (
        exact(tmp_path, by_row() | {"query": query, "columns": {}}, 1)[1].tolist()
        == vector.tolist()
    )
    finite = [x for x in values if x is not None and math.isfinite(x)]  # the others are missing
    inside = [x for x in finite if edges[0] <= x <= edges[-1]]
    bins = [min(bisect.bisect_right(edges, x), count - 1) - 1 for x in inside]
    assert (vector >> layout.bits).tolist() == [bins.count(index) for index in range(count - 1)]


@pytest.mark.dense
def test_many_bins_are_no_chain_of_comparisons(tmp_path: Path) -> None:
    # Which would be planned for minutes.
    frame = pd.DataFrame({"x": [0.5, 7.0, 19_999.0, 20_000.0, 20_000.5], "person": 1, "plan": 1})
    frame.to_parquet(tmp_path / "rows.parquet")
    query = {"name": "q", "histogram": {"column": "x", "edges": list(range(20_001))}}
    layout, vector = exact(tmp_path, by_row() | {"query": [query], "columns": {}}, 0)
    assert {index: vector[index] >> layout.bits for index in vector.nonzero()[0].tolist()} == {
        0: 1,
        7: 1,
        19_999: 2,
    }
