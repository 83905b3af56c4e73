"""Polars beside DuckDB, and how an engine is chosen; Spark's tests are in tests/engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import leastnoise as ln
from leastnoise.errors import SourceError, SpecError
from leastnoise.tables.rows import polars as on_polars
from tests.tables.integers import integers
from tests.tables.rows.test_bounding import LIMITS, by_row, rows, spec_of
from tests.tables.several import ROWS, raw_spec

SPECS = [*(spec_of(contribution=one) for one in LIMITS), by_row()]
NOT_FIRST = [one for place, one in enumerate(SPECS) if place % 4]


@pytest.mark.dense
@pytest.mark.parametrize(
    "raw", [*SPECS[::4], *(pytest.param(one, marks=pytest.mark.slow) for one in NOT_FIRST)]
)
def test_polars_has_the_integers_of_duckdb(tmp_path: Path, raw: dict[str, Any]) -> None:
    rows(400, seed=len(str(raw))).to_parquet(tmp_path / "rows.parquet")
    expected = integers(raw, tmp_path)
    assert any(any(vector) for vector in expected.values())
    assert integers(raw, tmp_path, engine="polars") == expected
    assert integers(raw, tmp_path, engine="polars", together=True) == expected


@pytest.mark.dense
def test_polars_reads_in_batches_whatever_duckdb_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_polars, "_ROWS_AT_ONCE", 2048)
    frame = rows(20_000, seed=1)
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of()
    expected = integers(raw, tmp_path)
    assert integers(raw, tmp_path, engine="polars", frame=pl.from_pandas(frame)) == expected
    csv = tmp_path / "rows.csv.gz"
    frame.to_csv(csv, index=False)
    kinds = {"person": "int", "plan": "int", "town": "text", "old": "bool", "k": "int"}
    typed = raw | {"data": {"source": csv.name, "types": kinds | dict.fromkeys("xyzw", "float")}}
    assert integers(typed, tmp_path, engine="polars") == expected
    assert integers(typed, tmp_path, engine="polars", together=True) == expected


def test_a_release_says_its_engine_and_verifies(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec("rows.parquet")
    del raw["version"]
    raw["data"] |= {"engine": "polars"}
    raw["output"] = {"path": "out"}
    ln.Release(**raw, folder=tmp_path).run()
    assert 'engine = "polars"' in (tmp_path / "out" / "spec.toml").read_text()
    ln.verify_directory(tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"engine": "sparks"}, 'Expected "duckdb", "polars", "spark"'),
        ({"engine": ""}, "data.engine"),
        ({"source": None, "table": "visits"}, "data.source: Missing"),
        ({"source": None}, "data.source: Missing"),
    ],
)
def test_what_is_no_engine_is_refused_with_its_key(data: dict[str, Any], why: str) -> None:
    raw = raw_spec("rows.parquet")
    del raw["version"]
    changed = {key: value for key, value in (raw["data"] | data).items() if value is not None}
    raw["data"] = changed
    with pytest.raises(SpecError, match=why):
        ln.Release(**raw)


def test_a_frame_is_read_by_its_own_engine(tmp_path: Path) -> None:
    raw = raw_spec(pl.from_pandas(ROWS))
    del raw["version"]
    raw["data"] |= {"engine": "spark"}
    with pytest.raises(SpecError, match="'spark' reads frames of Spark's alone"):
        ln.Release(**raw).plan()


def test_an_engine_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec("rows.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(SourceError, match=r"pip install leastnoise\[spark\]"):
        integers(raw, tmp_path, engine="spark")
    monkeypatch.setitem(__import__("sys").modules, "leastnoise.tables.rows.polars", None)
    monkeypatch.delattr("leastnoise.tables.rows.polars")
    with pytest.raises(SourceError, match=r"pip install leastnoise\[polars\]"):
        integers(raw, tmp_path, engine="polars")


@pytest.mark.parametrize("engine", [None, "polars"])
def test_what_the_reader_raises_quotes_nothing_on_any_engine(
    tmp_path: Path, engine: str | None
) -> None:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.register("given", ROWS)
        connection.execute("CREATE TABLE visits AS FROM given")
        mistaken = "(CASE WHEN who = 3 THEN 'Ada Lovelace' ELSE '1' END)::DOUBLE AS x"
        connection.execute(f"CREATE VIEW failing AS SELECT who, year, {mistaken} FROM visits")
    raw = raw_spec("visits.duckdb")
    raw["data"]["table"] = "failing"
    with pytest.raises(SourceError, match=r"failing in visits\.duckdb can't be read") as caught:
        integers(raw, tmp_path, engine=engine)
    assert "Ada" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        {"source": "postgresql://me:secret@host/db", "table": "visits"},
        {"source": "postgres://host/db?pass%77ord=secret", "table": "visits"},
        {"source": "s3a://key:secret@bucket/visits.parquet", "engine": "spark"},
        {"engine": "sc://host:15002/;use_ssl=true;token=secret"},
    ],
)
def test_what_is_secret_is_not_published(data: dict[str, Any]) -> None:
    raw = raw_spec("rows.parquet")
    del raw["version"]
    raw["data"] |= data
    with pytest.raises(SpecError, match="Leave passwords and tokens out") as caught:
        ln.Release(**raw)
    assert "secret" not in str(caught.value)
