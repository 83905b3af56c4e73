"""Totals if rows are units, also of so many rows that their sums exceed 64 bits."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import exact, integer_vectors, source
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.reference import SALT

LARGEST = 2**63 - 1
STATISTICS = ["count", "count(y)", "sum(y)"]


@pytest.mark.dense
@pytest.mark.parametrize("value", [30.0, -30.0])
def test_totals_end_where_int64_does(tmp_path: Path, value: float) -> None:
    """With 50 bits after 8,192 rows, as with 28 bits after more than any table has: none wraps."""
    spec = spec_file.parse(
        {
            "version": 1,
            "data": {"source": "rows.parquet"},
            "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-6"},
            "columns": {"y": {"bounds": [-30, 30]}},
            "query": [
                {"name": "q", "statistics": STATISTICS},
                {"name": "g", "statistics": STATISTICS, "group_by": {"k": {"keys": "private"}}},
            ],
        }
    )
    layouts = (lay_out_query(parse_query(spec, query))[0][0] for query in spec.query)
    whole, grouped = (dataclasses.replace(layout, bits=50) for layout in layouts)
    for rows in (5_000, 8_191, 8_192, 8_193, 20_000):
        pd.DataFrame({"k": 7, "y": [value] * rows}).to_parquet(tmp_path / "rows.parquet")
        total = min(rows * 2**50, LARGEST)
        signed = total if value > 0 else -total
        rows_source = source.find_source(spec, tmp_path)
        with source.open_engine(rows_source) as opened:
            vector = integer_vectors.query_vector(opened, spec, whole, salt=SALT)
        assert vector.tolist() == [total, signed, 0]  # no row is without a value
        with source.open_engine(rows_source) as opened:
            groups = exact.group_totals(opened, spec, grouped, salt=SALT)
        assert groups == [(0, 7, total, total, signed)]


@pytest.mark.grid
@pytest.mark.parametrize("statistic", ["mean(y)", "var(y)"])
def test_no_row_adds_more_than_its_bound_says(tmp_path: Path, statistic: str) -> None:
    """Floats are too coarse for these bounds: both are a quarter past their half-width."""
    spec = spec_file.parse(
        {
            "version": 1,
            "data": {"source": "rows.parquet"},
            "privacy": {"unit": "row", "epsilon": 1},
            "columns": {"y": {"bounds": ["1000000000000000", "1000000000000000.2"]}},
            "query": [{"name": "q", "statistics": [statistic]}],
        }
    )
    layout = lay_out_query(parse_query(spec, spec.query[0]))[0][0]
    item = 2**layout.bits
    for y, value in ((-1e300, -item), (1e15, -item), (1e15 + 0.125, 0), (1e300, item)):
        pd.DataFrame({"y": [y]}).to_parquet(tmp_path / "rows.parquet")
        with source.open_engine(source.find_source(spec, tmp_path)) as opened:
            vector = integer_vectors.query_vector(opened, spec, layout, salt=SALT).tolist()
        assert vector[0] == value
        assert max(map(abs, vector)) == item
