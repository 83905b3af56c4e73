"""Totals where rows are units: of more rows than 64 bits hold the sums of, too."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from leastnoise.tables.parse import spec_file
from leastnoise.tables.query.lay_out import lay_out_query
from leastnoise.tables.rows import bounding, source
from tests.tables.reference import SALT

LARGEST = 2**63 - 1


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("value", [30.0, -30.0])
def test_totals_end_where_int64_does(tmp_path: Path, engine: str, value: float) -> None:
    """With 50 bits after 8,192 rows, as with 28 bits after more than any table has: none wraps."""
    spec = spec_file.parse(
        {
            "version": 1,
            "data": {"source": "rows.parquet", "engine": engine},
            "privacy": {"unit": "row", "epsilon": 1},
            "columns": {"y": {"bounds": [-30, 30]}},
            "query": [{"name": "q", "statistics": ["count", "count(y)", "sum(y)"]}],
        }
    )
    layout = dataclasses.replace(lay_out_query(spec, spec.query[0])[0][0], bits=50)
    for rows in (5_000, 8_191, 8_192, 8_193, 20_000):
        pd.DataFrame({"y": [value] * rows}).to_parquet(tmp_path / "rows.parquet")
        with source.open_engine(source.find_source(spec, tmp_path)) as opened:
            found = bounding.query_vector(opened, spec, layout, salt=SALT).tolist()
        total = min(rows * 2**50, LARGEST)
        assert found == [total, total, total if value > 0 else -total]
