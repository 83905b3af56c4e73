"""Bad files are refused before anything is spent; bad values in good files never are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.errors import InvalidInput, SourceError, SpecError
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.duckdb.inputs import CsvFile
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.reference import SALT

TYPES = {"who": "int", "plan": "text", "x": "float", "n": "int", "ok": "bool"}


def raw_spec(name: str = "rows.csv", **changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "version": 1,
        "data": {"source": name, "types": TYPES},
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 10},
        "columns": {"x": {"bounds": [0, 8]}, "n": {"bounds": [0, 8]}, "ok": {"bounds": [0, 1]}},
        "query": [
            {
                "name": "q",
                "statistics": ["count", "sum(x)", "sum(n)", "sum(ok)"],
                "group_by": {"plan": ["a", "b"]},
            }
        ],
    }
    return {**base, **changes}


def counts(folder: Path, raw: dict[str, Any] | None = None) -> list[float]:
    """The count of rows and the exact sums in each group, sums in units of their largest value."""
    spec = spec_file.parse(raw or raw_spec())
    layout = lay_out_query(parse_query(spec, spec.query[0]))[0][0]
    rows_source = source.find_source(spec, folder)
    with source.open_engine(rows_source) as engine:
        rows_source = integer_vectors.query_vector(engine, spec, layout, salt=SALT) / 2**layout.bits
    cells = rows_source.reshape(layout.cells, -1)
    # sums are made of the count and of values about the middle of [0, B], in units of B/2
    each = [cells[:, list(uses)].sum(axis=1) / len(uses) for uses in layout.uses]
    return np.stack(each, axis=1).reshape(-1).tolist()


SHRUNK = 10 - 2**-25  # by a factor that leaves room for roundings, and cut off to the grid
HEADER = b"who,plan,x,n,ok\n"


@pytest.mark.dense
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"1,a,8,8,true\n2,b,4,8,false\n", [1, 1, 1, 1, 1, 0.5, 1, 0]),
        (b"", [0] * 8),
        (b"1,a,abc,abc,abc\n", [1, 0, 0, 0, 0, 0, 0, 0]),  # text in number columns
        (b"1,a,,,\n", [1, 0, 0, 0, 0, 0, 0, 0]),
        (b"1,a,1e999,99999999999999999999999,1\n", [1, 0, 1, 1, 0, 0, 0, 0]),
        (b"1,a,nan,1e400,t\n1,a,-inf,-5,f\n", [2, 0, 0, 1, 0, 0, 0, 0]),
        (b"1,a\n2\n3,b,8,8,true,extra,more\n\n", [1, 0, 0, 0, 1, 1, 1, 1]),  # ragged lines
        (b"1.5,a,8,8,true\n1e3,a,8,8,true\n0x1,a,8,8,true\n", [0] * 8),  # not a whole number
        (b"1.0,a,8,7.9,true\n 2 ,b,8,8.0,true\n", [1, 1, 0, 1, 1, 1, 1, 1]),
        (b",a,8,8,true\nx,a,8,8,true\n1e999,a,8,8,true\n", [0] * 8),  # no unit
        (b"1,zzz,8,8,true\n1,,8,8,true\n1,A,8,8,true\n", [0] * 8),  # unknown keys
        (b"1,a\xff\xfe,8,8,true\n2,b,8,8,true\n", [0, 0, 0, 0, 1, 1, 1, 1]),  # not UTF-8
        (b"1,a\x00,8,8,true\n2,b,8,8,true\n", [0, 0, 0, 0, 1, 1, 1, 1]),
        (b'1,"a",8,"8",true\r\n2,"b","8",8,true', [1, 1, 1, 1, 1, 1, 1, 1]),
        (b'1,a,8,8,true\n2,"b,8,8,true\n3,b,8,8,true\n', [1] * 8),  # open quote
        (b'1,a,8,8,"oops\n' + b"2,b,8,8,true\n" * 9, [1, 1, 1, 0, 9, 9, 9, 9]),
        (b"1,a,8,8,true\r2,b,8,8,true\r\n\r", [1] * 8),
        (b"1,a,8\x1f,8,true\n2,b,8,8,true\n", [1, 1, 0, 0, 1, 1, 1, 1]),  # the reader's delimiter
        (b"1,a,8,8,true\n2," + b"y" * 3_000_000 + b",8,8,true\n", [1, 1, 1, 1, 0, 0, 0, 0]),
        (b'1,"a\nb",8,8,true\n2,b,8,8,true\n', [0, 0, 0, 0, 1, 1, 1, 1]),
        (b"," * (2**20 - 1) + b"\n", [0] * 8),
        (
            (b"1,a" + b"," * (2**20 - 9) + b"\n") * 60 + b"2,b,8,8,true\n",
            [SHRUNK, 0, 0, 0, 1, 1, 1, 1],
        ),
        (
            b"1,a,8,8,true," + b"y" * 9000 + b"\n2,b," + b"0" * 5000 + b"8,8,t\n",
            [1] * 5 + [0, 1, 1],
        ),
    ],
)
def test_no_data_in_a_csv_is_an_error(tmp_path: Path, lines: bytes, expected: list[float]) -> None:
    (tmp_path / "rows.csv").write_bytes(HEADER + lines)
    assert counts(tmp_path) == expected


@pytest.mark.dense
def test_a_large_csv_is_read_in_full(tmp_path: Path) -> None:
    # Larger than the scanner's buffers, with quotes that don't close.
    padding = b"z" * 200
    lines = [f'{i},a,8,8,true,"{i},b",8,\n'.encode() + padding + b"\n" for i in range(200_000)]
    (tmp_path / "rows.csv").write_bytes(HEADER + b"".join(lines))
    assert counts(tmp_path) == [200_000] * 4 + [0] * 4


def test_columns_may_have_any_name_and_come_in_any_order(tmp_path: Path) -> None:
    odd = "x\"; DROP TABLE y; --'"
    raw = raw_spec(
        data={"source": "rows.csv", "types": {"unit": "int", odd: "float", "cell": "int"}},
        privacy={"unit": "unit", "epsilon": 1, "delta": "1e-6"},
        columns={odd: {"bounds": [0, 8]}},
        query=[{"name": "q", "statistics": [f"sum({odd})"], "group_by": {"cell": [1, 2]}}],
    )
    quoted = odd.replace('"', '""')
    (tmp_path / "rows.csv").write_text(f'cell,"{quoted}",all,unit\n2,4,0,1\n1,8,0,1\n')
    assert counts(tmp_path, raw) == [1, 0.5]


@pytest.mark.dense
@pytest.mark.parametrize("name", ["it's.csv", 'a "b".csv', "[ab]*?.csv", "x=1.csv", "ünï.csv"])
def test_a_path_is_a_file_and_never_a_pattern_or_sql(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "plan=b"  # not a partition either
    folder.mkdir()
    (folder / name).write_bytes(HEADER + b"1,a,8,8,true\n")
    (folder / "ax.csv").write_bytes(HEADER + b"5,b,8,8,true\n")
    assert counts(folder, raw_spec(name)) == [1, 1, 1, 1, 0, 0, 0, 0]
    frame = pd.read_csv(folder / name)
    frame.to_parquet(folder / name.replace(".csv", ".parquet"))
    parquet = raw_spec(name.replace(".csv", ".parquet"))
    assert counts(folder, parquet) == [1, 1, 1, 1, 0, 0, 0, 0]


def test_parquet_brings_its_own_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [1, 2], "plan": ["a", "b"], "x": [8.0, 4], "n": [8, 8]})
    frame["ok"] = [True, False]
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec("rows.parquet", data={"source": "rows.parquet"})
    assert counts(tmp_path, raw) == [1, 1, 1, 1, 1, 0.5, 1, 0]
    frame.rename(columns={"plan": "pln"}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(SpecError, match=r"group_by.plan: .* no column 'plan'. Did you mean pln\?"):
        counts(tmp_path, raw)
    frame["x"] = "text"
    frame["who"] = 1.5
    frame["plan"] = 1
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(SpecError) as caught:
        counts(tmp_path, raw)
    keys = {key for key, _ in caught.value.problems}
    wanted = {"privacy.unit", "query[0].statistics[1]"}
    assert keys == wanted | {"query[0].group_by.plan[0]", "query[0].group_by.plan[1]"}


def test_numbers_that_are_not_whole_are_nobody(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [1.0, 1.4, 2, float("nan"), 1e300], "plan": "a", "x": 8.0})
    frame.assign(n=8, ok=True).to_parquet(tmp_path / "rows.parquet")
    assert counts(tmp_path, raw_spec("rows.parquet"))[:4] == [2, 2, 2, 2]


def test_a_float_in_the_file_is_no_person_whatever_is_declared(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [0.0, -0.0], "plan": "a", "x": 8.0, "n": 8, "ok": True})
    frame.to_parquet(tmp_path / "rows.parquet")
    types = {**TYPES, "who": "text"}
    with pytest.raises(SpecError, match=r"privacy.unit: .* float column 'who'"):
        counts(tmp_path, raw_spec(data={"source": "rows.parquet", "types": types}))
    raw = raw_spec("rows.parquet", contribution={"l2": 1})
    assert counts(tmp_path, raw)[:4] == pytest.approx([0.5] * 4)  # one person, and clipped as one


def test_names_that_differ_in_capitals_are_two_columns(tmp_path: Path) -> None:
    # c0 is what another column is called inside.
    rows = b"X,c0,who,plan,x,n,ok,N\n1,1,1,a,8,8,true,3\n"
    (tmp_path / "rows.csv").write_bytes(rows)
    assert counts(tmp_path) == [1, 1, 1, 1, 0, 0, 0, 0]
    frame = pd.read_csv(tmp_path / "rows.csv")
    frame.insert(3, "pair", [{"x": 2.0, "deep": {"y": 3.0}}])  # inner names are no columns
    frame.to_parquet(tmp_path / "rows.parquet")
    assert counts(tmp_path, raw_spec("rows.parquet")) == [1, 1, 1, 1, 0, 0, 0, 0]
    more = {**raw_spec()["columns"], "x_1": {"bounds": [0, 1]}}  # what DuckDB would call x
    with pytest.raises(SpecError, match="no column 'x_1'"):
        counts(tmp_path, raw_spec("rows.parquet", columns=more))


LARGE = [2**63, 2**63 + 1, 2**64 - 1, 2**64 - 2]


@pytest.mark.parametrize("kind", ["rows.csv", "rows.parquet"])
def test_numbers_past_64_bits_are_persons_and_are_clamped(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"who": LARGE, "plan": "a", "x": LARGE, "n": LARGE, "ok": True})
    frame = frame.astype({"who": "uint64", "x": "uint64", "n": "uint64"})
    if kind == "rows.csv":
        frame.to_csv(tmp_path / kind, index=False)
    else:
        frame.to_parquet(tmp_path / kind)
    # a clip of one row: persons that were taken for one would lose all but one row
    counted = counts(tmp_path, raw_spec(kind, contribution={"max_rows": 1}))
    assert counted == [4, 4, 4, 4, 0, 0, 0, 0]


def test_decimals_are_persons_and_are_clamped(tmp_path: Path) -> None:
    large = 10**30
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT {large}::DECIMAL(38, 0) + i AS who, 'a' AS plan, true AS ok, "
            f"{large}::DECIMAL(38, 2) AS x, {large}::DECIMAL(38, 2) AS n FROM range(3) t(i)) "
            f"TO '{tmp_path}/rows.parquet' (FORMAT parquet)"
        )
    raw = raw_spec("rows.parquet", contribution={"max_rows": 1})
    assert counts(tmp_path, raw) == [3, 3, 3, 3, 0, 0, 0, 0]


@pytest.mark.parametrize("dictionary", [True, False])
def test_texts_that_are_not_utf8_are_missing(tmp_path: Path, dictionary: bool) -> None:
    texts = [b"1", b"2\xff", b"2\xfe", b"2?", b"2", b"\xc3", b"?", b""]
    keys = [b"a", b"b", b"b", b"b", b"b", b"b", b"b", b"a\xff"]
    table = pa.table({"who": _text(texts), "plan": _text(keys)})
    for name, value in (("x", 8.0), ("n", 8), ("ok", True)):
        table = table.append_column(name, pa.array([value] * len(texts)))
    pq.write_table(table, tmp_path / "rows.parquet", use_dictionary=dictionary)
    raw = raw_spec("rows.parquet", data={"source": "rows.parquet"}, contribution={"max_rows": 1})
    assert counts(tmp_path, raw) == [1, 1, 1, 1, 3, 3, 3, 3]


def _text(values: list[bytes]) -> Any:
    """An Arrow array of texts that may not be UTF-8, as in a file."""
    plain = pa.array(values, type=pa.binary())
    return pa.Array.from_buffers(pa.string(), len(values), plain.buffers())


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="found none"):
        counts(tmp_path)
    (tmp_path / "rows.csv").write_bytes(b"")
    with pytest.raises(SourceError, match="no header"):
        counts(tmp_path)
    (tmp_path / "rows.csv").write_bytes(b"who,plan,x,n,n\n")
    with pytest.raises(SourceError, match="more than once"):
        counts(tmp_path)
    (tmp_path / "rows.csv").write_bytes(b"woh,plan,x,n,ok\n")
    with pytest.raises(SpecError, match=r"Did you mean woh\?"):
        counts(tmp_path)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 secret secret")
    with pytest.raises(SourceError, match="not a readable Parquet"):
        counts(tmp_path, raw_spec("rows.parquet"))


def test_a_damaged_parquet_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame({"who": range(5000), "plan": ["a", "secret"] * 2500, "x": 1.0})
    frame = frame.assign(n=1, ok=True)
    frame.to_parquet(path, compression="zstd")
    damaged = bytearray(path.read_bytes())
    footer = len(damaged) - 8 - int.from_bytes(damaged[-8:-4], "little")
    damaged[4:footer] = b"\x01" * (footer - 4)  # the metadata stay whole
    path.write_bytes(damaged)
    with pytest.raises(InvalidInput) as caught:
        counts(tmp_path, raw_spec("rows.parquet"))
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_without_room_for_temporary_files_nothing_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).write_bytes(HEADER)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(SourceError, match="TMPDIR"):
        source.find_source(spec_file.parse(raw_spec(name)), tmp_path)


def test_keys_that_no_row_can_have_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(HEADER + b"1," + b"k" * 4094 + b",8,8,t\n")
    query = {"name": "q", "statistics": ["count"], "group_by": {"plan": ["a", "k" * 4094]}}
    assert counts(tmp_path, raw_spec(query=[query])) == [0, 1]
    for long in ("k" * 4095, '"' * 2048, "\u00e9" * 2048):
        query = {**query, "group_by": {"plan": ["a", long]}}
        with pytest.raises(SpecError, match=r"plan\[1\]: Expected a key of less than 4,096"):
            counts(tmp_path, raw_spec(query=[query]))


def test_types_that_can_not_be_read_are_refused_by_the_schema(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [1], "plan": ["a"], "x": [pd.Timestamp("2020-01-01")], "n": [1]})
    frame.assign(ok=True).to_parquet(tmp_path / "rows.parquet")
    raw = raw_spec(data={"source": "rows.parquet", "types": {"x": "float"}})
    with pytest.raises(SpecError, match=r"data.types.x: The column 'x' holds TIMESTAMP"):
        counts(tmp_path, raw)
    frame.assign(ok=True, x=b"\xff").to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(SpecError, match=r"can't be declared 'float', only \"text\""):
        counts(tmp_path, raw)


def test_the_machine_and_no_constant_limits_the_memory(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(HEADER)
    query = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
    with duckdb.connect() as connection:
        expected = connection.sql(query).fetchall()[0][0]
    with duckdb_engine.open_engine(CsvFile(tmp_path / "rows.csv"), columns={}) as engine:
        limit, folder = engine._connection.sql(query).fetchall()[0]
        assert limit == expected
        assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert not Path(folder).exists()
