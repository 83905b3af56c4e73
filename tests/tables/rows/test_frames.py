"""Frames in memory of all kinds give the same integers before noise as a file."""

from __future__ import annotations

import sys
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
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.reference import SALT
from tests.tables.several import ROWS, raw_spec

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
    """The exact integers of each query, before noise."""
    rows_source = source.find_source(given.spec, given._folder, given._frame)
    vectors: list[list[int]] = []
    for query in given.spec.query:
        layout = lay_out_query(parse_query(given.spec, query))[0][0]
        with source.open_engine(rows_source) as engine:
            vectors.append(
                integer_vectors.query_vector(engine, given.spec, layout, salt=SALT).tolist()
            )
    return vectors


@pytest.mark.dense
@pytest.mark.parametrize("kind", FRAMES)
def test_data_may_be_the_frame_itself(kind: str) -> None:
    frame = FRAMES[kind]
    raw = {
        name: section for name, section in raw_spec(None).items() if name not in {"version", "data"}
    }
    assert answers(ln.Release(data=frame(ROWS), **raw)) == answers(release(frame(ROWS)))


@pytest.mark.parametrize("none", ["visits.csv", 3, ["a.csv"], object()])
def test_data_that_is_no_frame_is_told_so(none: Any) -> None:
    raw = {
        name: section for name, section in raw_spec(None).items() if name not in {"version", "data"}
    }
    with pytest.raises(SpecError, match="data: Expected a table of source"):
        ln.Release(data=none, **raw)


@pytest.mark.parametrize("columns", [{"who": [1, 2]}, ROWS.to_dict("list"), dict(ROWS.items())])
def test_a_dict_of_columns_is_told_what_is_read(columns: dict[str, Any]) -> None:
    raw = {
        name: section for name, section in raw_spec(None).items() if name not in {"version", "data"}
    }
    for data, key in ((columns, "data"), ({"source": columns}, r"data\.source")):
        with pytest.raises(SpecError, match=f"{key}: A dict of columns .* pandas.DataFrame"):
            ln.Release(data=data, **raw)


@pytest.mark.dense
def test_a_frame_of_dask_is_refused_by_name() -> None:
    dask = pytest.importorskip("dask.dataframe", reason="an extra")
    with pytest.raises(SourceError, match=r"dask frames can't be read\. Write the frame as"):
        release(dask.from_pandas(ROWS, npartitions=1))


@pytest.mark.dense
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


def test_columns_of_a_record_batch_may_hold_the_same(tmp_path: Path) -> None:
    """They were told apart by their values, which the error quoted."""
    batch = pa.RecordBatch.from_pydict({"k": [1, 1], "who": [1, 1]})
    query = [{"name": "all", "statistics": ["count"]}]
    release = ln.Release(
        data={"source": batch}, privacy={"unit": "row", "epsilon": 1}, query=query, folder=tmp_path
    )
    assert release.plan().noisy_parts
    same = pa.RecordBatch.from_arrays([batch.column(0)] * 2, names=["k", "K"])
    with pytest.raises(SourceError, match="equals 'K' except for capitals"):
        ln.Release(data={"source": same}, privacy={"unit": "row", "epsilon": 1}, query=query)


def test_a_release_of_a_frame_is_written_and_verified(tmp_path: Path) -> None:
    output = {"path": str(tmp_path / "out"), "format": "csv"}
    given = release(pl.from_pandas(ROWS), output=output)
    assert given.plan().noisy_parts
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
    assert given.plan().noisy_parts
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
    ((*counts,),) = answers(release(frame, query=query, columns={}))
    assert [value > 0 for value in counts] == [True, True, False]


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
        (ROWS.assign(year=pd.Categorical(ROWS.year)), "Expected text, as the column is, got 2024"),
        (ROWS.assign(Year=1), "another column whose name equals 'Year'"),
        (pa.table({"who": [1], "x": [1.0], "year": [1], "YEAR": [2]}), "equals 'YEAR'"),
        (
            pa.table({"who": [1], "x": pa.array([1.0], pa.float16()), "year": [1]}),
            "The column 'x' holds halffloat, which can't be read. Make it numbers",
        ),
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


@pytest.mark.dense
def test_what_is_not_used_can_fail_nobody() -> None:
    """A column of objects, and texts that are no letters, beside those that are asked for."""
    halves = pd.array(["\ud800"] * len(ROWS), dtype=pd.StringDtype("python"))
    odd = ROWS.assign(o=[object() for _ in ROWS.who], s=halves)
    assert answers(release(odd)) == answers(release(ROWS))
    bad = pa.array(["a"] * len(ROWS)).cast(pa.binary()).view(pa.string())
    nested = pa.StructArray.from_arrays([bad], names=["a"])
    table = pa.Table.from_pandas(ROWS).append_column("s", nested)
    assert answers(release(table.to_reader())) == answers(release(ROWS))


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
    assert given.plan().noisy_parts
    assert not seen
    assert answers(given) == answers(release(ROWS))
    assert set(seen) == set(ROWS.who)


def test_a_reader_serves_one_release_alone() -> None:
    reader = pa.Table.from_pandas(ROWS).to_reader()
    assert answers(release(reader)) == answers(release(ROWS))
    with pytest.raises(SourceError, match="was read already"):
        answers(release(reader))


class Unhashable:
    """A stream that isn't hashable."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, rows: pd.DataFrame) -> None:
        self.reader = pa.Table.from_pandas(rows).to_reader()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


def test_any_object_with_a_stream_is_a_source() -> None:
    assert answers(release(Unhashable(ROWS))) == answers(release(ROWS))


_STRING = pa.string()


def past(numbers: list[int | None], kind: Any) -> Any:
    """An Arrow array of decimals, whose type may have too few digits for the numbers."""
    wide = {32: pa.int32(), 64: pa.int64()}.get(kind.bit_width, pa.decimal128(38, 0))
    return pa.array(numbers, wide).view(kind)


def of_offsets(*offsets: int, text: bytes, kind: Any = _STRING) -> Any:
    size = 8 if kind == pa.large_string() else 4
    buffer = pa.py_buffer(b"".join(at.to_bytes(size, "little") for at in offsets))
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, buffer, pa.py_buffer(text)])


_NO_TEXT = b"\xff" * 20
_NO_VALUES: dict[str, tuple[Any, Any]] = {
    "decimal128(4)": (past([1, 123_456_789, 2, None], pa.decimal128(4, 0)), "sum"),
    "decimal128(18)": (past([1, 10**30, 2, None], pa.decimal128(18, 0)), "sum"),
    "decimal32": (past([1, 123_456, 2, None], pa.decimal32(4, 0)), "sum"),
    "decimal64": (past([1, 10**15, 2, None], pa.decimal64(12, 0)), "sum"),
    "dictionary": (
        pa.DictionaryArray.from_arrays(
            pa.array([0, 90, 1, -1], pa.int8()), pa.array([1, 2]), safe=False
        ),
        "sum",
    ),
    "dictionary of decimals": (
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2, None]), past([1, 123_456_789, 2], pa.decimal128(4, 0)), safe=False
        ),
        "sum",
    ),
    "dictionary of texts": (
        pa.DictionaryArray.from_arrays(
            pa.array([0, 90, 1, 2**63], pa.uint64()), pa.array(["1", "2"]), safe=False
        ),
        "keys",
    ),
    "date64": (
        pa.array([0, 86_400_000 * 2**34, 86_400_000, 5]).view(pa.date64()),
        "days",
    ),
    "date32": (pa.array([0, 2**31 - 1, 1, -(2**31)], pa.int32()).view(pa.date32()), "days"),
    "texts": (of_offsets(0, 1, 21, 22, 42, text=b"1" + _NO_TEXT + b"2" + _NO_TEXT), "keys"),
    "large texts": (
        of_offsets(0, 1, 3, 4, 6, text=b"1\xff\xfe2\xc3\x28", kind=pa.large_string()),
        "keys",
    ),
    "views of texts": (
        pa.array([b"1", _NO_TEXT, b"2", None], pa.binary_view()).view(pa.string_view()),
        "keys",
    ),
}


@pytest.mark.dense
@pytest.mark.parametrize("kind", _NO_VALUES)
@pytest.mark.parametrize("built", ["a table", "a reader", "pandas"])
def test_a_value_that_its_type_can_not_have_is_missing(kind: str, built: str) -> None:
    """Arrow's arrays may hold what their types exclude: it is no row's, and no other memory."""
    values, asked = _NO_VALUES[kind]
    if built == "pandas" and "view" in kind:
        pytest.skip("pandas has no views")

    def asking(query: dict[str, Any], types: dict[str, str], bounds: Any) -> list[list[int]]:
        frame: Any = pa.table({"who": [1, 2, 3, 4], "v": values})
        if built == "a reader":
            frame = frame.to_reader()
        if built == "pandas":
            frame = pd.DataFrame({"who": [1, 2, 3, 4], "v": pd.arrays.ArrowExtensionArray(values)})
        data = {"source": frame, "types": types}
        columns = {"v": {"bounds": bounds}} if bounds else {}
        return answers(release(frame, query=[{"name": "q"} | query], columns=columns, data=data))

    if asked == "sum":
        assert asking({"statistics": ["sum(v)"]}, {}, [0, 5000]) == [[_grid(3, 5000)]]
        return
    keys = ["1970-01-01", "1970-01-02"] if asked == "days" else ["1", "2"]
    types = {"v": "text"} if asked == "days" else {}
    ((*counts,),) = asking({"statistics": ["count"], "group_by": {"v": keys}}, types, None)
    assert len(set(counts)) == 1
    assert counts[0] > 0
    assert asking({"conditions": {"a": {"v": {"among": keys}}}}, types, None) == [[2]]


def _grid(value: int, most: int) -> int:
    """A sum as every frame without anything missing has it."""
    frame = pa.table({"who": [1], "v": [value]})
    query = {"name": "q", "statistics": ["sum(v)"]}
    ((counts,),) = answers(release(frame, query=[query], columns={"v": {"bounds": [0, most]}}))
    return counts


@pytest.mark.dense
@pytest.mark.parametrize("offsets", [(0, 5, 2, 3), (0, 2, 100, 3)])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_that_lie_nowhere_are_refused(offsets: tuple[int, ...], kind: Any) -> None:
    texts = of_offsets(*offsets, text=b"abcdefgh", kind=kind)
    query = [{"name": "q", "statistics": ["count"], "group_by": {"v": ["a"]}}]
    for frame in (
        pa.table({"who": [1, 2, 3], "v": texts}),
        pd.DataFrame({"who": [1, 2, 3], "v": pd.arrays.ArrowExtensionArray(texts)}),
    ):
        with pytest.raises(SourceError, match="can't be read"):
            answers(release(frame, query=query, columns={}))
        (count,) = answers(
            release(frame, query=[{"name": "q", "statistics": ["count"]}], columns={})
        )
        assert count[0] > 0  # who doesn't ask for the column isn't told


def test_pandas_own_texts_that_are_no_utf_8_are_missing() -> None:
    texts = of_offsets(0, 2, 3, 5, text=b"\xff\xfeaab", kind=pa.large_string())
    column: Any = pd.Series(["", "", ""], dtype="string[pyarrow]").array
    plan = type(column)(pa.chunked_array([texts]))
    frame = pd.DataFrame({"who": [1, 2, 3], "plan": plan})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"plan": ["a", "ab", "?"]}}]
    ((*counts,),) = answers(release(frame, query=query, columns={}))
    assert [value > 0 for value in counts] == [True, True, False]


def test_without_pyarrow_a_stream_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = release(pl.from_pandas(ROWS))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match="pip install pyarrow"):
        given.plan()
    assert release(ROWS).plan().noisy_parts
