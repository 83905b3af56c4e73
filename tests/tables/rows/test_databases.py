"""Tables of DuckDB and SQLite files: read-only, and their contents never get into messages."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

from leastnoise.errors import SourceError, SpecError
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.duckdb import databases
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.reference import SALT
from tests.tables.several import ROWS, TYPES, answers, raw_spec


def of_table(
    folder: Path,
    name: Any,
    table: str | None,
    types: dict[str, str] | None = None,
    *,
    engine: str | None = None,
    **more: Any,
) -> list[int]:
    raw = raw_spec(name, types) | more
    if engine is not None:
        raw["data"]["engine"] = engine
    if table is not None:
        raw["data"]["table"] = table
    spec = spec_file.parse(raw)
    layout = lay_out_query(parse_query(spec, spec.query[0]))[0][0]
    rows_source = source.find_source(spec, folder)
    with source.open_engine(rows_source) as opened:
        return integer_vectors.query_vector(opened, spec, layout, salt=SALT).tolist()


@pytest.fixture
def whole(tmp_path: Path) -> list[int]:
    """The exact answers for one file with all rows."""
    ROWS.to_parquet(tmp_path / "all.parquet")
    return answers(tmp_path, "all.parquet")


@pytest.fixture
def duck(tmp_path: Path, whole: list[int]) -> Path:
    assert whole
    path = tmp_path / "shop's.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA old; CREATE TYPE kind AS ENUM ('secret', 'other')")
        source = str(tmp_path / "all.parquet")
        connection.from_parquet(source).create("visits")
        connection.execute('CREATE TABLE old."my ""visits""" AS FROM visits')
        connection.execute("CREATE VIEW recent AS SELECT * FROM visits WHERE who > 0")
        connection.execute("CREATE TABLE kinds AS SELECT who, 'secret'::kind AS year FROM visits")
    return path


@pytest.mark.dense
@pytest.mark.parametrize("table", ["visits", "main.visits", 'old.my "visits"', "recent"])
def test_a_table_or_view_of_duckdb_has_the_integers_of_a_file(
    tmp_path: Path, duck: Path, whole: list[int], table: str
) -> None:
    before = duck.read_bytes()
    assert of_table(tmp_path, duck.name, table) == whole
    assert duck.read_bytes() == before


def test_what_duckdb_lacks_is_named_without_its_rows(tmp_path: Path, duck: Path) -> None:
    with pytest.raises(SourceError, match="has no table 'none'"):
        of_table(tmp_path, duck.name, "none")
    with pytest.raises(SpecError) as caught:
        of_table(tmp_path, duck.name, "kinds", {"year": "float"})
    assert "secret" not in str(caught.value)
    (tmp_path / "no.duckdb").write_bytes(b"no database at all" * 100)
    for name in ("no.duckdb", "none.duckdb"):
        with pytest.raises(SourceError, match="DuckDB"):
            of_table(tmp_path, name, "visits")


@pytest.mark.dense
def test_sqlite_has_the_integers_of_a_file(tmp_path: Path, whole: list[int]) -> None:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "my ""visits" (who, year INTEGER, x REAL)')
        rows = ROWS.itertuples(index=False, name=None)
        connection.executemany('INSERT INTO "my ""visits" VALUES (?, ?, ?)', rows)
        connection.execute('CREATE VIEW seen AS SELECT * FROM "my ""visits"')
    connection.close()
    before = path.read_bytes()
    for table in ('my "visits', "seen"):
        assert of_table(tmp_path, path.name, table, TYPES) == whole
    assert path.read_bytes() == before
    path.rename(tmp_path / "shop.db")  # what it is, the file says
    assert of_table(tmp_path, "shop.db", "seen", TYPES) == whole


def test_what_sqlite_stores_in_a_column_is_data(tmp_path: Path) -> None:
    """A column may hold anything; each value counts as from a CSV, and nothing raises."""
    values = [1, 3.0, "5", " 7 ", 3.7, "x", b"9", None, math.inf, 2**62, "9" * 5000, "a\nb"]
    with sqlite3.connect(tmp_path / "odd.sqlite") as connection:
        connection.execute("CREATE TABLE odd (who, year, x)")
        rows = [(index, 2024, value) for index, value in enumerate(values)]
        connection.executemany("INSERT INTO odd VALUES (?, ?, ?)", rows)
        connection.execute("INSERT INTO odd VALUES (99, 2024, CAST(X'ff' AS TEXT))")
    connection.close()
    query = [{"name": "q", "statistics": ["sum(x)"]}]
    (vector,) = of_table(tmp_path, "odd.sqlite", "odd", TYPES, query=query)
    spec = spec_file.parse(raw_spec("a.parquet") | {"query": query})
    bits = lay_out_query(parse_query(spec, spec.query[0]))[0][0].bits
    # 1 + 3 + 5 + 7 + 3.7, and 2^62 clamped to 8, all of them in eighths
    assert vector / 2**bits == pytest.approx((1 + 3 + 5 + 7 + 3.7 + 8) / 8, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "table", "why"),
    [
        ("shop.duckdb", None, "data.table: Missing"),
        ("rows.csv", "visits", "data.table: Only a database has tables"),
        (["a.duckdb", "b.duckdb"], "visits", "data.table: Expected either a single database"),
        ("shop.sqlite", "visits", "data.types: Missing: SQLite source needs"),
    ],
)
def test_a_table_belongs_to_a_database(name: Any, table: str | None, why: str) -> None:
    raw = raw_spec(name, TYPES if name == "rows.csv" else None)
    if table:
        raw["data"]["table"] = table
    with pytest.raises(SpecError, match=why):
        spec_file.parse(raw)


def test_a_damaged_sqlite_file_is_an_error_that_quotes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (who, year, x)")
        rows = [(index, 2024, f"secret{index}") for index in range(5000)]
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    connection.close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 20] = b"\x07" * (4096 * 17)
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        of_table(tmp_path, "shop.sqlite", "visits", TYPES)
    assert "secret" not in str(caught.value)
    with pytest.raises(SourceError, match="has no table 'none'"):
        of_table(tmp_path, "shop.sqlite", "none", TYPES)


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["DECIMAL(19,0)", "DECIMAL(38,0)", "HUGEINT", "DECIMAL(18,0)"])
def test_long_whole_numbers_are_the_nearest_floats(tmp_path: Path, kind: str) -> None:
    """They are the same floats as on Spark and from texts."""
    digits = 18 if "18" in kind else 19 if "19" in kind else 38
    whole = [
        (-1) ** at * (at * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 10**digits) for at in range(500)
    ]
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE rows AS SELECT unnest(?::VARCHAR[])::{kind} AS x",
            [list(map(str, whole))],
        )
    table = databases.DuckDBTable(tmp_path / "rows.duckdb", "rows")
    for wanted in ("int", "float"):
        with duckdb_engine.open_engine(table, columns={"x": wanted}) as engine:
            floats = engine.rows(engine.frame.select(engine.column("x", "v")))
        assert sorted(value for (value,) in floats) == sorted(map(float, whole))


@pytest.mark.dense
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "de"])
def test_texts_are_compared_by_bytes_whatever_their_collation(
    tmp_path: Path, collation: str
) -> None:
    """Keys, persons, conditions and numbers, from a table and from a view."""
    texts = [("a", "m", "1"), ("A", "M", "2"), ("á", "m", "3"), ("Á", "é", "4"), ("a", "E", "x")]
    texts += [("e\u0301", "e\u0301", "5"), ("é", "é", "6")]
    types = dict.fromkeys(("who", "year"), "text") | {"x": "float"}
    asked: list[dict[str, Any]] = [
        {"name": "q", "statistics": ["count", "sum(x)"], "group_by": {"year": list("mMeEé")}},
        {"name": "q", "statistics": ["count_units"]},
        {
            "name": "q",
            "conditions": {key: {"year": {"among": [key]}} for key in "mMeE"},
        },
    ]
    with duckdb.connect(str(tmp_path / "texts.duckdb")) as connection:
        columns = ", ".join(f"{name} VARCHAR COLLATE {collation}" for name in ("who", "year", "x"))
        connection.execute(f"CREATE TABLE told ({columns})")
        connection.execute("CREATE TABLE bytes (who VARCHAR, year VARCHAR, x VARCHAR)")
        for table in ("told", "bytes"):
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", texts)
        listed = ", ".join(f"{name} COLLATE {collation} AS {name}" for name in ("who", "year", "x"))
        connection.execute(f"CREATE VIEW seen AS SELECT {listed} FROM bytes")
    for query in asked:
        vectors = {
            table: of_table(tmp_path, "texts.duckdb", table, types, query=[query])
            for table in ("bytes", "told", "seen")
        }
        assert vectors["told"] == vectors["seen"] == vectors["bytes"]
        assert any(vectors["bytes"])
