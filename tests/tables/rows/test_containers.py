"""No row changes how another row is read, whatever the file states about its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.tables.values.connection import open_connection
from tests.tables.containers import compare, compare_filters
from tests.tables.integers import integers

NAN = float("nan")


def spec_of(name: str, query: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"source": name},
        "privacy": {"unit": "p", "epsilon": 1},
        "contribution": {"max_rows": 1},
        "query": [{"name": "q", "statistics": ["count"]} | query],
    } | changes


@pytest.mark.dense
@pytest.mark.parametrize("text", ["x > 0.5", "not (x < 1)", "x <> 2", "x is not null", "x = x"])
@pytest.mark.parametrize("key", ["filter", "data.filter", "derive"])
def test_a_finite_value_among_nan_makes_no_other_row_count(
    tmp_path: Path, text: str, key: str
) -> None:
    """Minimum and maximum in a Parquet file leave NaN out: they are those of one row."""
    rows = pa.table({"p": range(1001), "x": [NAN] * 1000 + [1.0]})
    pq.write_table(rows, tmp_path / "with.parquet")
    query: dict[str, Any] = {"filter": text} if key == "filter" else {}
    changes: dict[str, Any] = {}
    if key == "data.filter":
        changes = {"data": {"source": "with.parquet", "filter": text}}
    if key == "derive":
        query, changes = {"filter": "kept"}, {"derive": {"kept": text}}
    (counted,) = integers(spec_of("with.parquet", query, **changes), tmp_path).values()
    pq.write_table(rows.slice(1000), tmp_path / "with.parquet")
    (alone,) = integers(spec_of("with.parquet", query, **changes), tmp_path).values()
    assert counted == alone
    assert counted[0] > 0


@pytest.mark.dense
def test_a_random_spec_has_the_integers_of_plain_python_in_every_container(tmp_path: Path) -> None:
    """The long run of this test is in tests/attacks/test_containers.py."""
    compare(0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_fifty_random_filters_keep_the_rows_of_plain_python_in_every_container(
    tmp_path: Path, seed: int
) -> None:
    compare_filters(seed, tmp_path, 50)


_ODD: dict[str, tuple[pa.DataType, Any, Any, str, str]] = {
    # the column's type, an ordinary value and an odd one, the type in the spec, and a filter
    "not whole": (pa.float64(), 1.0, 2.5, "int", "x >= 1"),
    "past 2^53": (pa.int64(), 1, 2**53 + 1, "int", "x >= 1"),
    "past the year 9999": (pa.date32(), 1, 10**7, "", "year(x) >= 1"),
    "infinite": (pa.float64(), 1.0, float("inf"), "float", "x >= 1"),
    "ordinary": (pa.float64(), 1.0, 0.25, "float", "x >= 1"),
}


@pytest.mark.grid
@pytest.mark.parametrize("odd", _ODD)
def test_a_row_is_read_as_it_is_where_a_file_states_another_largest_value(
    tmp_path: Path, odd: str
) -> None:
    """A guard that DuckDB could drop, or rows that it could skip, would change the count."""
    kind, plain, value, declared, text = _ODD[odd]
    rows = pa.table({"p": range(4), "x": pa.array([plain, plain, plain, value], kind)})
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path, compression="none", use_dictionary=False)
    width = kind.bit_width // 8
    buffers = [pa.array([item], kind).buffers()[1].to_pybytes() for item in (value, plain)]
    _restate(path, *(buffer[:width] for buffer in buffers))
    stated = pq.ParquetFile(path).metadata.row_group(0).column(1).statistics
    assert stated.min == stated.max
    data = {"source": "rows.parquet"} | ({"types": {"p": "int", "x": declared}} if declared else {})
    (counted,) = integers(spec_of("", {"filter": text}, data=data), tmp_path).values()
    (each,) = integers(spec_of("", {"filter": f"p = 0 and {text}"}, data=data), tmp_path).values()
    assert counted[0] == 3 * each[0]


def _restate(path: Path, old: bytes, new: bytes) -> None:
    """Replace `old` by `new` in the columns' statistics, in the footer of a Parquet file."""
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert old in content[start:]
    path.write_bytes(content[:start] + content[start:].replace(old, new))


@pytest.mark.grid
@pytest.mark.parametrize("test", ["x = 1", "x > 0", "isfinite(x)", "NOT isnan(x)", "x - x = 0"])
def test_no_connection_decides_a_condition_by_statistics(tmp_path: Path, test: str) -> None:
    """DuckDB's own result in a new table, without a file's statistics, is the truth."""
    pq.write_table(pa.table({"x": [NAN, NAN, 1.0]}), tmp_path / "x.parquet")
    with duckdb.connect() as plain:
        plain.execute("CREATE TABLE t AS SELECT unnest(['nan', 'nan', '1'])::DOUBLE AS x")
        (true,) = plain.sql(f"SELECT count(*) FROM t WHERE {test}").fetchall()
    with open_connection() as connection:
        file = connection.read_parquet(str(tmp_path / "x.parquet"))
        assert file.filter(test).count("*").fetchall() == [true]
        assert file.project(f"({test})::INT AS y").sum("y").fetchall() == [true]
        ends = file.aggregate("min(x)::VARCHAR, max(x)::VARCHAR, count(x)").fetchall()
    assert ends == [("1.0", "nan", 3)]


@pytest.mark.dense
def test_whole_numbers_are_compared_before_float64_rounds_them(tmp_path: Path) -> None:
    most = 2**53
    rows = pa.table({"p": range(4), "x": [most, most + 1, -most, -most - 1]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    for text, count in (
        (f"x = {most}", 1),
        ("x is null", 2),
        ("x + 1 is null", 3),
        ("-x is null", 2),
        ("x * 1 = x", 2),
        ("x - 1 is null", 3),
    ):
        spec = spec_of("rows.parquet", {"filter": text})
        (total,) = integers(spec, tmp_path).values()
        (item,) = integers(
            spec_of("rows.parquet", {"filter": "x = x and p = 0"}), tmp_path
        ).values()
        assert total[0] == count * item[0], text
