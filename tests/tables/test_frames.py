"""Frames in memory: whatever holds the rows, the same integers before noise as from a file."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise.errors import SourceError, SpecError
from leastnoise.tables import bounding, engines, source
from leastnoise.tables.layout import of_block
from tests.tables.test_files import ROWS, raw_spec

FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda rows: rows,
    "pandas of its own nullable types": lambda rows: rows.convert_dtypes(),
    "pandas on Arrow": lambda rows: rows.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "lazy polars": lambda rows: pl.from_pandas(rows).lazy().filter(pl.col("who") > 0),
    "pyarrow": pa.Table.from_pandas,
    "a record batch": pa.RecordBatch.from_pandas,
    "a reader, which has rows once": lambda rows: pa.Table.from_pandas(rows).to_reader(3),
    "narwhals of polars": lambda rows: nw.from_native(pl.from_pandas(rows)),
    "a relation of another connection": lambda rows: duckdb.connect().from_df(rows),
}


def release(frame: Any, **changes: Any) -> ln.Release:
    raw = raw_spec(frame) | changes
    del raw["version"]
    return ln.Release(**raw)


def answers(given: ln.Release) -> list[list[int]]:
    """The exact integers of each block, before noise."""
    found = source.find(given.spec, given._folder, given._frame)
    vectors: list[list[int]] = []
    for query in given.spec.query:
        layout = of_block(given.spec, query)[0][0]
        with engines.opened(found) as engine:
            vectors.append(bounding.query_vector(engine, given.spec, layout).tolist())
    return vectors


@pytest.mark.parametrize("kind", FRAMES)
def test_every_block_has_the_integers_of_a_file(tmp_path: Path, kind: str) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec("rows.parquet")
    all_of_them = {"name": "all", "statistics": ["count", "count_units"]}
    more: dict[str, Any] = {"query": [raw["query"][0], all_of_them]}
    del raw["version"]
    expected = answers(ln.Release(**(raw | more), folder=tmp_path))
    assert sum(map(sum, expected))
    assert answers(release(FRAMES[kind](ROWS), **more)) == expected


def test_a_release_of_a_frame_is_written_and_verified(tmp_path: Path) -> None:
    output = {"path": str(tmp_path / "out"), "format": "csv"}
    given = release(pl.from_pandas(ROWS), output=output)
    assert given.plan().blocks
    assert len(given.run().tables["q"].columns["count"]) == 3
    assert ln.verify_directory(tmp_path / "out")
    again = ln.Release.from_toml(tmp_path / "out/spec.toml")
    assert again.spec == given.spec
    with pytest.raises(SourceError, match="was a frame in memory"):
        again.plan()


def test_planning_reads_no_row_of_a_reader() -> None:
    def batches() -> Any:
        raise AssertionError("a row was asked for")
        yield

    schema = pa.Schema.from_pandas(ROWS)
    given = release(pa.RecordBatchReader.from_batches(schema, batches()))
    assert given.plan().blocks
    with pytest.raises(SourceError, match="can't be read") as caught:
        given.run()
    assert "asked for" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_what_a_query_raises_quotes_nothing() -> None:
    frame = pl.from_pandas(ROWS).lazy().with_columns(who=pl.lit("secret").cast(pl.Int64))
    with pytest.raises(SourceError) as caught:
        release(frame).run()
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_texts_that_are_no_utf_8_are_missing() -> None:
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 2, 3, 5)))
    texts = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"\xff\xfeaab")])
    frame = pa.table({"who": [1, 2, 3], "plan": texts})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"plan": ["a", "ab", "?"]}}]
    ((*found,),) = answers(release(frame, query=query, columns={}))
    assert [value > 0 for value in found] == [True, True, False]


def test_decimals_past_their_digits_are_missing_and_dictionaries_are_texts() -> None:
    digits = pa.array([Decimal("7.5"), Decimal("0.5")], pa.decimal128(38, 2))
    past = digits.view(pa.binary(16)).view(pa.decimal128(2, 2))  # 7.5 has a digit too many
    frame = pa.table({"who": [1, 2], "x": past, "plan": pa.array(["a", "b"]).dictionary_encode()})
    query = [{"name": "q", "statistics": ["sum(x)"], "group_by": {"plan": ["a", "b"]}}]
    first, second = answers(release(frame, query=query))[0]
    assert second > first


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (pd.DataFrame({"who": [1, "two"], "x": 1.0, "year": 1}), "'who' holds Python objects"),
        (ROWS.assign(who=ROWS.who.astype(str).astype(object)), "'who' holds Python objects"),
        (ROWS.assign(year=pd.Categorical(ROWS.year)), "'year' holds categories"),
        (ROWS.assign(Year=1), "another column called like 'Year'"),
        (pa.table({"who": [1], "x": [1.0], "year": [1], "YEAR": [2]}), "called like 'YEAR'"),
        (pa.table({"who": [1], "h": pa.array([1.0], pa.float16())}), "schema can't be read"),
    ],
)
def test_what_says_no_types_is_refused(frame: Any, why: str) -> None:
    with pytest.raises((SourceError, SpecError), match=why):
        release(frame).plan()


@pytest.mark.parametrize("source", [object(), b"rows.csv", 7, 1.5, {}, len])
def test_what_is_no_frame_is_the_specs_to_refuse(source: Any) -> None:
    with pytest.raises(SpecError, match=r"data\.source"):
        release(source)


def test_columns_are_checked_by_the_schema() -> None:
    with pytest.raises(SpecError, match="the frame has no column 'year'"):
        release(ROWS.drop(columns="year")).plan()
    stamped = ROWS.assign(x=pd.Timestamp("2026-01-01"))
    with pytest.raises(SpecError, match="The column 'x' holds TIMESTAMP"):
        release(stamped).plan()


def test_what_is_not_used_can_fail_nobody() -> None:
    """A column of objects, and texts that are no letters, beside those that are asked for."""
    halves = pd.array(["\ud800"] * len(ROWS), dtype=pd.StringDtype("python"))
    odd = ROWS.assign(o=[object() for _ in ROWS.who], s=halves)
    assert answers(release(odd)) == answers(release(ROWS))
    bad = pa.array(["a"] * len(ROWS)).cast(pa.binary()).view(pa.string())
    nested = pa.StructArray.from_arrays([bad], names=["a"])
    table = pa.Table.from_pandas(ROWS).append_column("s", nested)
    assert answers(release(table.to_reader())) == answers(release(ROWS))


def test_halves_of_letters_in_pandas_are_missing() -> None:
    texts = pd.array(["a", "\ud800", None, "a"], dtype=pd.StringDtype("python"))
    frame = pd.DataFrame({"who": [1, 2, 3, 4], "plan": texts})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"plan": ["a", "b"]}}]
    raw = {"query": query, "columns": {}}
    first, second = answers(release(frame, **raw))[0]
    assert first > 0
    assert second == 0


def test_columns_of_pandas_may_have_numbers_for_names() -> None:
    texts = pd.array(["a", "\ud800", None, "a"], dtype=pd.StringDtype("python"))
    frame = pd.DataFrame({0: [1, 2, 3, 4], 1: texts, 2: [object() for _ in range(4)]})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"1": ["a", "b"]}}]
    privacy = {"unit": "0", "epsilon": 1, "delta": "1e-6"}
    (counted,) = answers(release(frame, privacy=privacy, query=query, columns={}))
    assert counted[0] > 0
    assert list(frame.columns) == [0, 1, 2]
    assert not any(one is None for one in frame[2])  # what the release leaves out of its own copy


@pytest.mark.parametrize("kind", ["ENUM('Ada', 'Bob')[]", "DECIMAL(10,2)[]", "INTEGER[3]"])
def test_a_nested_type_is_named_without_what_rows_hold(kind: str) -> None:
    relation = duckdb.sql(f"SELECT 1 AS who, NULL::{kind} AS x")
    with pytest.raises(SpecError, match=r"holds (VARCHAR|DECIMAL|INTEGER)\[\] in") as refused:
        release(relation).plan()
    assert "Ada" not in str(refused.value)


def test_a_reader_that_failed_is_not_taken_for_its_rest() -> None:
    def batches() -> Any:
        yield from pa.Table.from_pandas(ROWS).to_batches(3)
        raise OSError("secret")

    schema = pa.Schema.from_pandas(ROWS)
    given = release(pa.RecordBatchReader.from_batches(schema, batches()))
    for why in ("can't be read", "was read already"):
        with pytest.raises(SourceError, match=why) as caught:
            answers(given)
        assert "secret" not in str(caught.value)


def test_a_query_is_not_run_to_see_its_columns() -> None:
    seen: list[int] = []

    def noted(value: int) -> int:
        seen.append(value)
        return value

    connection = duckdb.connect()
    connection.create_function("noted", noted, ["BIGINT"], "BIGINT")
    rows = ROWS  # noqa: F841  # by its name, below
    relation = connection.sql("SELECT noted(who) AS who, year, x FROM rows")
    given = release(relation)
    assert given.plan().blocks
    assert not seen
    assert answers(given) == answers(release(ROWS))
    assert set(seen) == set(ROWS.who)


def test_a_reader_serves_one_release_alone() -> None:
    reader = pa.Table.from_pandas(ROWS).to_reader()
    assert answers(release(reader)) == answers(release(ROWS))
    with pytest.raises(SourceError, match="was read already"):
        answers(release(reader))


class Unhashable:
    """A stream that no set can hold."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, rows: pd.DataFrame) -> None:
        self.reader = pa.Table.from_pandas(rows).to_reader()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


def test_any_object_with_a_stream_is_a_source() -> None:
    assert answers(release(Unhashable(ROWS))) == answers(release(ROWS))
