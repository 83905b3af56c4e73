"""The choice of an engine; Spark's tests are in tests/engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import leastnoise as ln
from leastnoise.errors import SourceError, SpecError
from tests.tables.integers import integers
from tests.tables.several import ROWS, raw_spec


def test_a_release_says_its_engine_and_verifies(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec("rows.parquet")
    del raw["version"]
    raw["data"] |= {"engine": "duckdb"}
    raw["output"] = {"path": "out"}
    ln.Release(**raw, folder=tmp_path).run()
    assert 'engine = "duckdb"' in (tmp_path / "out" / "spec.toml").read_text()
    ln.verify_directory(tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"engine": "sparks"}, 'Expected "duckdb", "spark"'),
        (
            {"engine": "polars"},
            "data.engine: .*DuckDB, the default, reads Polars frames as they are",
        ),
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
    with pytest.raises(SpecError, match="'spark' reads only Spark frames"):
        ln.Release(**raw).plan()


def test_an_engine_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec("rows.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(SourceError, match=r"pip install leastnoise\[spark\]"):
        integers(raw, tmp_path, engine="spark")


def test_what_the_reader_raises_quotes_nothing(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.register("given", ROWS)
        connection.execute("CREATE TABLE visits AS FROM given")
        mistaken = "(CASE WHEN who = 3 THEN 'Ada Lovelace' ELSE '1' END)::DOUBLE AS x"
        connection.execute(f"CREATE VIEW failing AS SELECT who, year, {mistaken} FROM visits")
    raw = raw_spec("visits.duckdb")
    raw["data"]["table"] = "failing"
    with pytest.raises(SourceError, match=r"failing in visits\.duckdb can't be read") as caught:
        integers(raw, tmp_path)
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
