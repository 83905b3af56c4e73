"""The number of edges at or below a value, by a guess and few steps on DuckDB, against NumPy."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from leastnoise.tables.rows.duckdb.engine import open_engine
from leastnoise.tables.rows.duckdb.even_edges import guess_of
from leastnoise.tables.rows.duckdb.inputs import ParquetFile

TENTHS = [float(Fraction(2 * k + 1, 20)) for k in range(-70, 900)]
EDGES: dict[str, tuple[list[float], int | None]] = {
    "tenths": (TENTHS, 1),
    "years": ([float(year) for year in range(1900, 2031)], 1),
    "far": ([1e300 * k for k in range(-99, 100)], 1),
    "bent down": ([k - 2.5 * math.sin(math.pi * k / 499) for k in range(500)], 3),
    "bent up": ([k + 2.5 * math.sin(math.pi * k / 499) for k in range(500)], None),
    "few": ([0.0, 1.0, 2.0], None),
    "tiny": ([5e-324 * k for k in range(100)], None),
    "open": ([-math.inf, *map(float, range(100)), math.inf], None),
    "logarithmic": (np.geomspace(1, 1e6, 100).tolist(), None),
    "beyond float64": ([-1.7e308, *map(float, range(100)), 1.7e308], None),
}


@pytest.mark.grid
@pytest.mark.parametrize("name", EDGES)
def test_as_many_edges_are_below_as_numpy_finds(tmp_path: Path, name: str) -> None:
    edges, _ = EDGES[name]
    finite = [edge for edge in edges if math.isfinite(edge)]
    near = [np.nextafter(finite, to) for to in (-math.inf, math.inf)]
    drawn = np.random.default_rng(3).uniform(0, 1, 3000) * finite[-1]
    values = np.concatenate([finite, *near, drawn, [-1.7e308, 1.7e308, 0.0, -0.0, 5e-324]])
    frame = pd.DataFrame({"x": [*values, None]})
    frame.to_parquet(tmp_path / "rows.parquet")
    with open_engine(ParquetFile(tmp_path / "rows.parquet"), columns={"x": "float"}) as engine:
        rows = engine.frame.select(v=nw.col(engine.column("x", "v")))
        counted = engine.rows(
            engine.add_edge_count(rows, value="v", edges=edges, count="n").select("v", "n")
        )
    expected = np.searchsorted(edges, values, side="right").tolist()
    assert sorted(count for value, count in counted if value is not None) == sorted(expected)
    assert [count for value, count in counted if value is None] == [0]
    pairs = {value: count for value, count in counted if value is not None}
    assert [pairs[value] for value in values.tolist()] == expected


@pytest.mark.parametrize("name", EDGES)
def test_a_guess_saves_steps_where_edges_are_even(name: str) -> None:
    edges, most = EDGES[name]
    guess = guess_of(edges, "v")
    assert (None if guess is None else guess[1]) == most
