"""Spark's sources, which are files, folders, tables and frames, are read correctly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise.errors import SourceError, SpecError
from tests.engines.spark import command_settings
from tests.tables.integers import integers
from tests.tables.several import ROWS, TYPES, raw_spec

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


def on_both(folder: Path, where: object, **data: Any) -> dict[str, list[int]]:
    raw = raw_spec(where)
    raw["data"] |= data
    expected = integers(raw, folder)
    assert any(any(vector) for vector in expected.values())
    assert integers(raw, folder, engine="spark") == expected
    return expected


def test_files_lists_patterns_and_folders(session: Any, tmp_path: Path) -> None:
    odd = tmp_path / "odd {1,2} [x] ü%20 a=b"  # what Hadoop takes for a pattern, or a partition
    odd.mkdir()
    ROWS[:3].to_parquet(odd / "a*.parquet")
    ROWS[3:].to_parquet(odd / "b.parquet")
    ROWS.to_parquet(tmp_path / "whole.parquet")
    ROWS.to_parquet(odd / "_hidden.parquet")
    whole = on_both(tmp_path, "whole.parquet")
    assert on_both(tmp_path, odd.name) == whole
    assert on_both(tmp_path, [f"{odd.name}/a*.parquet", f"{odd.name}/b.parquet"]) == whole


def test_partitions_are_texts_as_they_are_written(session: Any, tmp_path: Path) -> None:
    for year in ("2024", "2025", "02026", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / "visits" / f"year={year}"
        folder.mkdir(parents=True)
        ROWS[ROWS.year == int(year) if year.isdigit() else ROWS.year < 0].drop(
            columns="year"
        ).to_parquet(folder / "rows.parquet", index=False)
    on_both(tmp_path, "visits", types={"year": "int"})
    raw = raw_spec("visits", {"year": "text"})
    raw["query"][0]["group_by"] = {"year": ["2024", "2025", "2026", "02026"]}
    expected = integers(raw, tmp_path)
    assert integers(raw, tmp_path, engine="spark") == expected
    # as Spark itself lists them, where this machine doesn't
    raw["data"]["source"] = f"file://{tmp_path / 'visits'}"
    assert integers(raw, tmp_path, engine="spark") == expected


def test_a_table_of_the_catalog_and_frames(session: Any, tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    expected = on_both(tmp_path, "rows.parquet")
    frame = session.read.parquet(str(tmp_path / "rows.parquet"))
    assert integers(raw_spec(""), tmp_path, frame=frame) == expected
    frame.createOrReplaceTempView("the_visits")
    raw = raw_spec("") | {"data": {"table": "the_visits"}}
    assert integers(raw, tmp_path, engine="spark") == expected
    with pytest.raises(SourceError, match="the table none can't be read by Spark"):
        integers(raw | {"data": {"table": "none"}}, tmp_path, engine="spark")


def test_names_that_spark_takes_for_others(session: Any, tmp_path: Path) -> None:
    """Capitals alike, dots, backticks and spaces; and one that a join makes."""
    rows = pa.table(
        {
            "Who": ["nobody"] * len(ROWS),
            "who": ROWS.who,
            "a.year`s": ROWS.year,
            "x y": ROWS.x,
            "unit": ROWS.who,
            "u0": ROWS.x,
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    raw = raw_spec("rows.parquet") | {"columns": {"x y": {"bounds": [0, 8]}}}
    raw["query"] = [
        {"name": "q", "statistics": ["sum(x y)"], "group_by": {"a.year`s": [2024, 2025]}}
    ]
    expected = integers(raw, tmp_path)
    with pytest.raises(SourceError, match=r"columns 'Who' and 'who' of .* differ only in capitals"):
        integers(raw, tmp_path, engine="spark")
    pq.write_table(rows.drop(["Who"]), tmp_path / "rows.parquet")
    assert integers(raw, tmp_path, engine="spark") == expected


def test_capitals_are_two_columns_of_a_frame(session: Any, tmp_path: Path) -> None:
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = session.createDataFrame(
            [(who, "x", year, x) for who, year, x in ROWS.itertuples(index=False)],
            "who bigint, Who string, year bigint, x double",
        )
        ROWS.to_parquet(tmp_path / "rows.parquet")
        expected = integers(raw_spec("rows.parquet"), tmp_path)
        assert integers(raw_spec(""), tmp_path, frame=frame) == expected
    finally:
        session.conf.set("spark.sql.caseSensitive", "false")


def test_a_collation_makes_no_one_of_two(session: Any, tmp_path: Path) -> None:
    rows = [("Ann", "A", 1.0), ("ann", "a", 2.0), ("ANN ", "a ", 4.0)]
    frame = session.createDataFrame(rows, "who string, year string, x double")
    alike = frame.selectExpr(
        "who COLLATE UTF8_LCASE AS who", "year COLLATE UTF8_LCASE AS year", "x"
    )
    raw = raw_spec("") | {"contribution": {"max_rows": 1}}
    raw["query"] = [
        {"name": "q", "statistics": ["count_units"], "group_by": {"year": ["A", "a", "a "]}},
        {"name": "r", "statistics": ["count_units"]},
    ]
    result = integers(raw, tmp_path, frame=alike)
    assert result == integers(raw, tmp_path, frame=frame)
    assert all(len(set(vector)) == 1 for vector in result.values())


@pytest.mark.parametrize(
    "collation",
    [
        "UTF8_LCASE",
        *(pytest.param(name, marks=pytest.mark.dense) for name in ("UNICODE_CI", "UNICODE_RTRIM")),
    ],
)
def test_a_collated_text_is_read_by_the_same_grammar(
    session: Any, tmp_path: Path, collation: str
) -> None:
    rows = [("1", "yes", "1.5"), ("2 ", "ye\u017f", "2e0"), ("3", "NO", "4")]  # a long s is an s
    frame = session.createDataFrame(rows, "who string, year string, x string")
    alike = frame.selectExpr(
        *(f"{name} COLLATE {collation} AS {name}" for name in ("who", "year", "x"))
    )
    raw = raw_spec("") | {"data": {"types": {"who": "int", "year": "bool", "x": "float"}}}
    raw["query"] = [
        {"name": "q", "statistics": ["count", "sum(x)"], "group_by": {"year": [True, False]}}
    ]
    expected = integers(raw, tmp_path, frame=frame)
    assert any(any(vector) for vector in expected.values())
    assert integers(raw, tmp_path, frame=alike) == expected


def test_files_that_differ_and_types_that_do_not_fit(session: Any, tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "a.parquet")
    ROWS.astype({"x": "int64"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"BIGINT in b\.parquet, but DOUBLE in a\.parquet"):
        integers(raw_spec(["a.parquet", "b.parquet"]), tmp_path, engine="spark")
    for where in (["file:///a", "file:///b"], "file:///{a,a}"):
        with pytest.raises(SourceError, match="only one folder or one pattern"):
            integers(raw_spec(where), tmp_path, engine="spark")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(SourceError, match="only Parquet files and tables can be read"):
        integers(raw_spec("rows.csv", TYPES), tmp_path, engine="spark")
    frame = session.createDataFrame([(1, 2024, None)], "who bigint, year int, x timestamp")
    with pytest.raises(SpecError, match="holds TIMESTAMP"):
        integers(raw_spec(""), tmp_path, frame=frame)
    frame = session.createDataFrame([(1.5, 2024, 1.0)], "who double, year int, x double")
    with pytest.raises(SpecError, match="It can't be declared 'text', only \"int\""):
        integers(raw_spec("") | {"data": {"types": {"who": "text"}}}, tmp_path, frame=frame)


def test_what_spark_raises_quotes_nothing(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame([("Ada Lovelace",)], "name string")
    failing = frame.selectExpr(
        "IF(length(name) > 0, raise_error(name), 1L) AS who", "2024L AS year", "1.0D AS x"
    )
    with pytest.raises(SourceError, match="the frame can't be read by Spark") as caught:
        integers(raw_spec(""), tmp_path, frame=failing)
    assert "Ada" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_release_is_charged_written_and_verified(session: Any, tmp_path: Path) -> None:
    ledger = ln.Ledger(tmp_path / "budget.ledger")
    ledger.open_account("visits", unit="who", budget=ln.Budget(epsilon=2, delta="1e-5"))
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec(session.read.parquet(str(tmp_path / "rows.parquet")))
    del raw["version"]
    raw["privacy"] |= {"ledger": {"path": "budget.ledger"}}
    raw["output"] = {"path": "out"}
    released = ln.Release(**raw, folder=tmp_path).run()
    assert released.tables["q"]
    ln.verify_directory(tmp_path / "out")
    assert ledger.accounts()["visits"].spent.epsilon == 1


ONE_SPEC = """
version = 1
[data]
source = "rows.parquet"
[privacy]
unit = "who"
epsilon = 1
delta = "1e-6"
[contribution]
max_rows = 2
[columns.x]
bounds = [0, 8]
[[query]]
name = "visits"
statistics = ["count", "mean(x)"]
group_by = { year = [2024, 2025, 2026] }
[output]
path = "out"
"""


def test_the_command_runs_a_spec_that_names_no_engine(
    session: Any, engine: str, tmp_path: Path
) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "spec.toml").write_text(ONE_SPEC)
    command = [sys.executable, "-m", "leastnoise", "release", "spec.toml", "--engine", engine]
    environment = os.environ | command_settings()
    done = subprocess.run(
        command,
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Written to out" in done.stdout
    ln.verify_directory(tmp_path / "out")
    assert f'engine = "{engine}"' in (tmp_path / "out" / "spec.toml").read_text()


def test_a_server_that_is_not_there_is_said_at_once(session: Any, tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(
        SourceError, match=r"No Spark Connect server answers at sc://127\.0\.0\.1:1/"
    ):
        integers(raw_spec("rows.parquet"), tmp_path, engine="sc://127.0.0.1:1/")
    with pytest.raises(SourceError, match="No Spark Connect server"):
        integers(raw_spec("rows.parquet"), tmp_path, engine="sc://:x")
