"""Queries of all kinds on Spark: quantiles, margins, months of timestamps, keys of columns.

Spark has the integers that DuckDB has, and refuses what it can't do before anything is charged.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise.errors import SpecError
from tests.tables.integers import integers

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

STAMPS = [datetime(2024, 3, 1), datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1, 1, 1)]
COLUMNS: dict[str, Any] = {
    "x": {"candidates": {"from": 0, "to": 100, "step": 10}, "bounds": [0, 100]},
    "y": {"candidates": {"from": "0.5", "to": 2000, "number": 40, "scale": "log"}, "missing": 7},
    "age": {"edges": [0, 18, 65, 120]},
    "region": {"keys": ["n", "s"]},
    "month": {"keys": [date(2024, month, 1) for month in (1, 2, 3, 4)]},
}
QUANTILES: list[dict[str, Any]] = [
    {
        "name": "grouped",
        "statistics": ["quantile(x, 0.9)", "count", "median(x)", "quantile(y, 0.25)"],
        "group_by": ["region", "age"],
        "filter": "y is null or y < 1500",
    },
    {"name": "alone", "sql": "select quantile(x, 0.1) from data"},
]
TABLES: list[dict[str, Any]] = [
    {"name": "two", "statistics": ["count"], "group_by": ["region", "month"], "margins": True},
    {
        "name": "three",
        "statistics": ["count", "sum(x)", "mean(x)"],
        "group_by": {"region": ["s"], "age": {"edges": [0, 40, 99]}, "seen_on": [1, 2, 7]},
        "margins": [["region", "age", "seen_on"], ["region"], []],
    },
    {
        "name": "selected",
        "sql": "select month, count(*), avg(x) from data group by month",
        "top": 2,
    },
]
SELECTED = {
    "name": "top",
    "statistics": ["count_units"],
    "group_by": {"region": ["n", "s", "N"]},
    "top": 2,
    "by": "selection",
    "filter": "region <> 'N' or age < 10",
}
MANY = {
    "name": "many",
    "statistics": ["count"],
    "group_by": {
        "region": ["n", "s"],
        "month": COLUMNS["month"]["keys"],
        "x": {"edges": [*range(-1, 102)]},
        "y": {"edges": [*range(0, 3000, 10)]},
    },
    "margins": [["region", "x"], ["month", "region"], ["y"]],
}
"""A query of 246,928 cells; no engine stores them all."""
OF_PERSONS = {**TABLES[0], "name": "persons", "statistics": ["count_units"]}
ONE_GROUP = {"max_groups": 1, "max_rows_per_group": 2}


def rows() -> pd.DataFrame:
    """Rows with persons over each limit, ties of candidates, NULL, NaN and missing years."""
    rng = np.random.default_rng(11)  # makes the table, no noise
    count = 500
    x = np.where(
        rng.random(count) < 0.5, rng.integers(-3, 24, count) * 5.0, rng.normal(50, 40, count)
    )
    odd = [np.nan, np.inf, -np.inf, -0.0, 44.99999999999999, 1e300]
    days = [
        datetime(2023, 12, 1) + timedelta(seconds=int(integer))
        for integer in rng.integers(2**24, size=count)
    ]
    stamps = [*STAMPS * 3, *days[9:]]
    return pd.DataFrame(
        {
            "person": pd.Series(rng.zipf(1.5, count) % 60, dtype="Int64").mask(x == 45),
            "region": rng.choice(np.array(["n", "s", "N", None], dtype=object), count),
            "age": pd.Series(rng.integers(-1, 130, count), dtype="Int64").mask(x == 10),
            "x": np.where(rng.random(count) < 0.1, rng.choice(odd, count), x),
            "y": np.where(rng.random(count) < 0.1, np.nan, rng.lognormal(3, 2, count)),
            "seen": pd.Series(np.array(stamps, dtype="datetime64[us]")).mask(x == 20),
        }
    )


def spec_of(contribution: dict[str, Any] | None, queries: list[dict[str, Any]]) -> dict[str, Any]:
    unit = {"unit": "person"} if contribution else {"unit": "row"}
    return {
        "version": 1,
        "data": {"source": "rows.parquet"},
        "derive": {"month": "date_trunc('month', date(seen))", "seen_on": "weekday(seen)"},
        "privacy": {**unit, "epsilon": 1, "delta": "1e-6"},
        "columns": COLUMNS,
        "query": queries,
    } | ({"contribution": contribution} if contribution else {})


@pytest.mark.parametrize(
    ("contribution", "queries"),
    [
        ({"max_rows": 3}, [*QUANTILES, *TABLES]),
        pytest.param(None, [*QUANTILES, *TABLES, MANY], marks=pytest.mark.slow),
        pytest.param({"l1": "1.5"}, QUANTILES, marks=pytest.mark.slow),
        pytest.param(ONE_GROUP, [QUANTILES[0], OF_PERSONS], marks=pytest.mark.slow),
    ],
)
def test_integers_are_those_of_duckdb(
    session: Any,
    tmp_path: Path,
    contribution: dict[str, Any] | None,
    queries: list[dict[str, Any]],
) -> None:
    rows().to_parquet(tmp_path / "rows.parquet", index=False)
    raw = spec_of(contribution, queries)
    expected = integers(raw, tmp_path)
    assert all(map(any, expected.values()))
    frame = session.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)
    assert integers(raw, tmp_path, frame=frame) == expected


def test_groups_are_selected_on_either_engine(session: Any, tmp_path: Path) -> None:
    """From the same counts of all groups, with a limit that chance meets and without one."""
    rows().to_parquet(tmp_path / "rows.parquet", index=False)
    frame = session.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)
    for limits in (None, {"max_groups": 2}):
        raw = spec_of(limits, [SELECTED])
        raw["privacy"] |= {"unit": "person", "epsilon": 100}
        expected = integers(raw, tmp_path)
        assert all(map(any, expected.values()))
        assert integers(raw, tmp_path, frame=frame) == expected
        raw["data"] = {"source": frame}
        table = ln.Release(**raw).run().tables["top"].columns
        assert table["region"] == ["n", "s"] or table["region"] == ["s", "n"]


def test_no_timestamp_is_an_error(session: Any, tmp_path: Path) -> None:
    """Days of years from 1 to 9999 are their days, before 1970 too; all others are missing."""
    second = 10**6
    stamps = [0, -1, 1, second * 86400 - 1, -second * 86400, -second * 86400 - 1]
    stamps += [None, -(2**63), 1 - 2**63, 2**63 - 1, 2**63 - 2]
    values = pa.array(stamps, pa.int64()).view(pa.timestamp("us"))
    pq.write_table(pa.table({"seen": values}), tmp_path / "rows.parquet")
    days = ["1969-12-30", "1969-12-31", "1970-01-01"]
    query = {"name": "q", "statistics": ["count"], "group_by": {"day": days}}
    raw = spec_of(None, [query]) | {"derive": {"day": "date(seen)"}, "columns": {}}
    (result,) = integers(raw, tmp_path, engine="spark").values()
    assert [count >> 28 for count in result] == [1, 2, 3]


def release_of(frame: Any, folder: Path, **data: Any) -> ln.Release:
    raw = spec_of({"max_rows": 3}, [QUANTILES[0], *TABLES[:2]])
    del raw["version"]
    raw["data"] = {"source": frame, **data}
    raw["privacy"] |= {"ledger": {"path": "budget.ledger"}}
    return ln.Release(**raw, output={"path": "out"}, folder=folder)


def test_a_release_of_all_is_charged_once_and_one_with_a_join_never(
    session: Any, tmp_path: Path
) -> None:
    ledger = ln.Ledger(tmp_path / "budget.ledger")
    ledger.open_account("rows", unit="person", budget=ln.Budget(epsilon=2, delta="1e-5"))
    rows().to_parquet(tmp_path / "rows.parquet", index=False)
    frame = session.read.parquet(str(tmp_path / "rows.parquet"))
    join = {"persons": {"source": "rows.parquet", "on": "person"}}
    for where, engine in ((frame, {}), ("rows.parquet", {"engine": "spark"})):
        with pytest.raises(SpecError, match="Join the frames in Spark, and use the result"):
            release_of(where, tmp_path, join=join, **engine).run()
    assert ledger.accounts()["rows"].spent.epsilon == 0
    tables = release_of(frame, tmp_path).run().tables
    assert tables["two_by_month"].columns["month"] == [
        "2024-01-01",
        "2024-02-01",
        "2024-03-01",
        "2024-04-01",
    ]
    assert set(tables["grouped"].columns["median_x"]) <= {*range(0, 101, 10)}
    assert ln.verify_directory(tmp_path / "out").rows["three_total"] == 1
    assert ledger.accounts()["rows"].spent.epsilon == 1
