"""Quantiles of persons: the weight of each row, against Python's integers."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from leastnoise.tables.rows.duckdb.engine import DuckDB
from tests.tables.integers import integers
from tests.tables.quantiles import ranks_of, spec_of

LIMITS: list[dict[str, Any]] = [{"max_rows": 3}, {"l1": "1.5"}, {"max_rows": 1}]


def by_hand(frame: pd.DataFrame, *, reach: Fraction, bits: int) -> list[int]:
    """The weight of rows by group and candidate, if each person's weight is at most `reach`."""
    cells: dict[int, list[int]] = {}
    for person, plan, x in frame.itertuples(index=False):
        if not pd.isna(person) and math.isfinite(x) and plan in {1, 2}:
            at = max(range(11), key=lambda index: (-abs(x - 10 * index), index))
            cells.setdefault(int(person), []).append(11 * (plan - 1) + at)
    most = math.floor(reach * 2**bits)
    weights = Counter[int]()
    for cell_rows in cells.values():
        within = len(cell_rows) << bits <= most
        weight = 1 << bits if within else math.floor(most * (1 - 2.0**-40) / len(cell_rows))
        assert len(cell_rows) * weight <= most
        weights.update({cell: weight * count for cell, count in Counter(cell_rows).items()})
    return [weights[cell] for cell in range(22)]


@pytest.mark.dense
@pytest.mark.parametrize("limits", LIMITS)
def test_each_row_of_a_person_with_too_many_counts_for_as_much_less(
    tmp_path: Path, limits: dict[str, Any]
) -> None:
    """The query reads the file once by itself, and a copy of the rows beside other queries."""
    generator = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "person": pd.array(generator.geometric(0.02, 600), dtype="Int64"),
            "plan": generator.integers(1, 4, 600),
            "x": generator.normal(50, 40, 600).round(generator.integers(0, 3)),
        }
    )
    frame.loc[::40, "person"] = pd.NA
    frame.loc[::33, "x"] = math.nan
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = {"version": 1} | spec_of(contribution=limits)
    raw["query"][0]["statistics"] = ["quantile(x, 0.9)", "median(x)"]
    counted = ranks_of(raw).histogram
    expected = by_hand(frame, reach=ranks_of(raw).reach, bits=counted.bits)
    totals = [integers(raw, tmp_path, together=together) for together in (False, True)]
    name = f"{counted.label} {counted.bounding.to_record()}"
    assert [vectors[name] for vectors in totals] == [expected, expected]


def test_rows_and_their_number_are_of_one_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person with two rows has a hundred, once anything was taken from the file."""
    path, materialise = tmp_path / "rows.parquet", DuckDB.materialise
    pd.DataFrame({"person": [1, 1], "plan": 1, "x": 5.0}).to_parquet(path)

    def replaced(engine: DuckDB, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        table = materialise(engine, frame)
        pd.DataFrame({"person": [1] * 100, "plan": 1, "x": 5.0}).to_parquet(path)
        return table

    monkeypatch.setattr(DuckDB, "materialise", replaced)
    raw = {"version": 1} | spec_of(contribution={"max_rows": 2})
    raw["query"] = [raw["query"][1]]
    (vector,) = integers(raw, tmp_path).values()
    assert sum(vector) == 2 << ranks_of(raw).histogram.bits
