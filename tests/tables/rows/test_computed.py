"""Filters and derived columns give the same integers as columns that pandas computed."""

from __future__ import annotations

import random
import re
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise.errors import SpecError
from tests.tables.integers import integers

_RANDOM = random.Random(5)
ROWS: Any = pd.DataFrame(
    [
        {
            "who": _RANDOM.randrange(40),
            "age": _RANDOM.choice([*range(90), None]),
            "region": _RANDOM.choice(["north", "south", "Ä", None]),
            "day": date(2024, _RANDOM.randrange(1, 13), _RANDOM.randrange(1, 29)),
            "spent": _RANDOM.choice([_RANDOM.uniform(0, 120), float("nan"), float("inf")]),
            "smoker": _RANDOM.choice([True, False, None]),
            "seen": pd.Timestamp(2024, 1, 1) + pd.Timedelta(seconds=_RANDOM.randrange(3 * 10**7)),
        }
        for _ in range(300)
    ]
).astype({"age": "Int64", "smoker": "boolean"})
TYPES = {
    "who": "int",
    "age": "int",
    "region": "text",
    "day": "text",
    "spent": "float",
    "smoker": "bool",
    "seen": "text",
}
DERIVE = {
    "month": "month(day)",
    "band": "case when age < 40 then 'young' when age >= 40 then 'old' end",
    "paid": "spent * smoker + 1",
    "summer": "month in (6, 7, 8)",
    "start": "date_trunc('quarter', day)",
    "late": "weekday(seen) = 7 or seen is null",
    "week": "date_trunc('week', seen)",
}
QUERIES: list[dict[str, Any]] = [
    {
        "name": "months",
        "filter": "age >= 18 and region <> 'north'",
        "statistics": ["count", "mean(paid)"],
        "group_by": {"month": list(range(1, 13))},
    },
    {"name": "bands", "statistics": ["count"], "group_by": {"band": ["young", "old"]}},
    {
        "name": "quarters",
        "filter": "summer",
        "statistics": ["count_units", "sum(paid)"],
        "group_by": {"start": [date(2024, 4, 1), date(2024, 7, 1)], "summer": [True]},
    },
    {
        "name": "weeks",
        "filter": "week >= '2024-02-01'",
        "statistics": ["count"],
        "group_by": {"week": [date(2024, 3, 4), date(2024, 3, 11)], "late": [True, False]},
    },
    {"name": "paid", "filter": "not smoker", "histogram": {"column": "paid", "edges": [0, 9, 99]}},
    {
        "name": "overlapping",
        "filter": "smoker is not null",
        "conditions": {"adults": {"age": {"min": 18}}, "summer": {"summer": {"among": [True]}}},
    },
]


def raw(source: object, **changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"source": source, "filter": "coalesce(age, 50) < 80"},
        "derive": DERIVE,
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 3, "max_groups": 2},
        "columns": {"paid": {"bounds": [0, 100]}},
        "query": QUERIES,
    } | changes


def by_hand() -> Any:
    """The same table with its columns computed by pandas."""
    rows = ROWS.copy()
    rows = rows[rows["age"].isna() | (rows["age"].fillna(0) < 80)]
    days: Any = pd.to_datetime(rows["day"])
    rows["month"] = days.dt.month.astype("int64")
    rows["band"] = [None if pd.isna(age) else "young" if age < 40 else "old" for age in rows["age"]]
    rows["paid"] = [
        None if pd.isna(smoker) or not abs(spent) < float("inf") else spent * smoker + 1
        for spent, smoker in zip(rows["spent"], rows["smoker"], strict=True)
    ]
    rows["summer"] = rows["month"].isin([6, 7, 8])
    rows["start"] = [str(day.to_period("Q").start_time.date()) for day in days]
    rows["week"] = [str(day.to_period("W").start_time.date()) for day in rows["seen"]]
    rows["late"] = rows["seen"].dt.day_of_week == 6
    return rows


def keep_rows(rows: Any, name: str) -> Any:
    known = {
        "months": (rows["age"].fillna(0) >= 18) & rows["region"].isin(["south", "Ä"]),
        "bands": rows["age"].fillna(0) < 1000,
        "quarters": rows["summer"],
        "weeks": rows["week"] >= "2024-02-01",
        "paid": rows["smoker"].fillna(True) == False,  # noqa: E712  # pandas' way
        "overlapping": rows["smoker"].notna(),
    }
    return rows[known[name].astype(bool)]


@pytest.mark.dense
@pytest.mark.parametrize(  # what bounds a person doesn't know where the rows come from
    ("kind", "unit"), [("csv", "who"), ("parquet", "row"), ("frame", "who")]
)
def test_integers_are_those_of_a_table_computed_by_hand(
    tmp_path: Path, kind: str, unit: str
) -> None:
    changes: dict[str, Any] = {"privacy": {"unit": unit, "epsilon": 1, "delta": "1e-6"}}
    if unit == "row":
        changes["contribution"] = None
    data: dict[str, Any] = {"source": f"rows.{kind}", "filter": "coalesce(age, 50) < 80"}
    derive = DERIVE
    if kind == "csv":
        ROWS.to_csv(tmp_path / "rows.csv", index=False)
        data["types"] = TYPES
        derive = {
            name: re.sub(r"\bday\b", "date(day)", text).replace("seen", "date(substr(seen, 1, 10))")
            for name, text in DERIVE.items()
        }
    else:
        ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    totals = integers(
        raw("", data=data, derive=derive, **changes),
        tmp_path,
        frame=pl.from_pandas(ROWS) if kind == "frame" else None,
    )
    rows = by_hand()
    for query in QUERIES:
        keep_rows(rows, query["name"]).to_parquet(tmp_path / "by_hand.parquet", index=False)
        alone = {name: value for name, value in query.items() if name != "filter"}
        plain = raw("", data={"source": "by_hand.parquet"}, derive={}, query=[alone], **changes)
        expected = integers(plain, tmp_path)
        assert {label: totals[label] for label in expected} == expected
        assert any(map(any, expected.values()))


ZONED: Any = ROWS.assign(seen=ROWS["seen"].dt.tz_localize("UTC"))


@pytest.mark.parametrize(
    ("frame", "unit", "why"),
    [
        (ZONED, "ms", "The column 'seen' holds TIMESTAMP WITH TIME ZONE in milliseconds"),
        (ROWS, "ms", "The column 'seen' holds TIMESTAMP in milliseconds"),
    ],
)
def test_timestamps_of_milliseconds_are_refused(
    tmp_path: Path, frame: Any, unit: Any, why: str
) -> None:
    """DuckDB's reader would fail on a row past its range of microseconds."""
    frame.to_parquet(tmp_path / "rows.parquet", index=False, coerce_timestamps=unit)
    with pytest.raises(SpecError) as caught:
        integers(raw("rows.parquet"), tmp_path)
    problems = dict(caught.value.problems)
    assert problems["derive.week"].startswith(why)
    assert "Write it as a timestamp in microseconds" in problems["derive.week"]


@pytest.mark.parametrize(
    "used", [{"derive": {"week": "date(seen)"}}, {"query": [{"filter": "seen is null"}]}]
)
def test_int96_is_named_with_what_to_write(tmp_path: Path, used: dict[str, Any]) -> None:
    ROWS.to_parquet(tmp_path / "r.parquet", index=False, use_deprecated_int96_timestamps=True)
    changes = {name: value for name, value in used.items() if name == "derive"}
    query = {"name": "q", "statistics": ["count"]} | used.get("query", [{}])[0]
    given = raw("r.parquet", **({"derive": {}} | changes), query=[query], columns={})
    with pytest.raises(SpecError, match=r"'seen' holds INT96 timestamps.*cast to timestamp_ntz"):
        integers(given, tmp_path)
    plain = {"name": "q", "statistics": ["count"]}
    unused = raw("r.parquet", derive={}, query=[plain], columns={})
    assert any(map(any, integers(unused, tmp_path).values()))


@pytest.mark.dense
@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        *((unit, kind) for unit in ("s", "ms", "us", "ns") for kind in ("arrow", "pandas")),
        ("us", "parquet"),
        ("ns", "parquet"),
    ],
)
def test_no_timestamp_is_an_error(tmp_path: Path, unit: Any, kind: str) -> None:
    """Days of years from 1 to 9999 are their days, before 1970 too; all others are missing."""
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    stamps = [0, -1, 1, second * 86400 - 1, -second * 86400, -second * 86400 - 1]
    stamps += [None, -(2**63), 1 - 2**63, 2**63 - 1, 2**63 - 2]
    values = pa.array(stamps, pa.int64()).view(pa.timestamp(unit))
    days = ["1969-12-30", "1969-12-31", "1970-01-01"]
    query = {"name": "q", "statistics": ["count"], "group_by": {"day": days}}
    given = raw("rows.parquet", derive={"day": "date(at)"}, query=[query], columns={})
    given["data"].pop("filter")
    given |= {"privacy": {"unit": "row", "epsilon": 1}, "contribution": None}
    frame: Any = pa.table({"at": values})
    if kind == "parquet":
        pq.write_table(frame, tmp_path / "rows.parquet", coerce_timestamps=None)
        frame = None
    elif kind == "pandas":
        frame = pd.DataFrame({"at": pd.Series(values.to_numpy(zero_copy_only=False))})
    (vector,) = integers(given, tmp_path, frame=frame).values()
    assert [count >> 28 for count in vector] == [1, 2, 3]


_WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"derive": {"age": "1"}}, "derive.age", "has a column 'age', too"),
    ({"derive": {"no": "null"}}, "derive.no", "NULL in every row"),
    ({"derive": {"a": "b + 1", "b": "age"}}, "derive.a", "There is no column 'b'"),
    ({"derive": {"a": "sum(age)"}}, "derive.a", "looks at other rows"),
    ({"derive": {"a": "agee + 1"}}, "derive.a", "Did you mean age?"),
    ({"data": {"filter": "age"}}, "data.filter", "Expected a condition"),
    ({"data": {"filter": "age = 'x'"}}, "data.filter", "compares a number and a text"),
    ({"query": [QUERIES[1] | {"filter": "age >"}]}, "query[0].filter", "can't be read"),
    (
        {"query": [QUERIES[1] | {"filter": "now() > 1"}]},
        "query[0].filter",
        "changes from call to call",
    ),
    ({"derive": DERIVE | {"band": "spent"}}, "query[1].group_by.band", "got a float one"),
    ({"derive": {"at": "seen"}}, "derive.at", "used by its date: write date(x)"),
    ({"query": [QUERIES[1] | {"group_by": {"seen": ["a"]}}]}, "query[0]", "Compute its day in"),
    ({"derive": 3}, "derive", "Expected a table of keys"),
]


@pytest.mark.grid
@pytest.mark.parametrize(("change", "key", "why"), _WRONG)
def test_what_can_not_be_computed_is_refused_before_a_row_is_read(
    tmp_path: Path, change: dict[str, Any], key: str, why: str
) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    given = raw("rows.parquet")
    for name, value in change.items():
        given[name] = given[name] | value if name == "data" else value
    del given["version"]
    with pytest.raises(SpecError) as caught:
        ln.Release(**given, folder=tmp_path).plan()
    assert any(where.startswith(key) and why in message for where, message in caught.value.problems)


@pytest.mark.dense
def test_a_release_with_them_is_planned_written_and_verified(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    given = raw("rows.parquet", output={"path": "out", "format": "csv"})
    del given["version"]
    release = ln.Release(**given, folder=tmp_path)
    assert release.plan().to_record()["noisy_parts"][0]["filters"] == [
        "coalesce(age, 50) < 80",
        "age >= 18 and region <> 'north'",
    ]
    tables = release.run().tables
    assert tables["quarters"].columns["start"] == ["2024-04-01", "2024-07-01"]
    assert ln.verify_directory(tmp_path / "out")
    again = ln.Release.from_toml(tmp_path / "out/spec.toml")
    assert again.spec == release.spec


def test_a_text_of_a_filter_is_never_part_of_a_query(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    filtered = """region = "region" and region <> 'x'' OR ''1''=''1'"""
    query = [{"name": "q", "filter": filtered, "statistics": ["count"]}]
    given = raw("rows.parquet", derive={}, columns={}, contribution=None, query=query)
    given["privacy"] = {"unit": "row", "epsilon": 1}
    (vector,) = integers(given, tmp_path).values()
    young = ROWS["age"].isna() | (ROWS["age"].fillna(0) < 80)
    assert vector == [int((ROWS["region"].notna() & young).sum()) * 2**28]
