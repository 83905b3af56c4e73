"""Lines of a CSV: each is split by itself, and no bytes in one change another line's fields."""

from __future__ import annotations

import gzip
import re
import stat
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leastnoise.errors import SourceError, SpecError
from leastnoise.tables.parse import spec_file
from leastnoise.tables.spec.source import Dialect
from leastnoise.tables.values import csv_lines
from leastnoise.tables.values.casts import MAX_TEXT
from tests.tables.integers import integers
from tests.tables.rows.test_source import HEADER, counts, raw_spec

PIECES = [
    b'"',
    b'"',
    b",",
    b",",
    b'""',
    b"a",
    b"8",
    b"true",
    b"\\",
    b"\x00",
    b"\x1f",
    b"\xff",
    b"#",
]
PIECES += [
    b"\xc3\xa9",
    b"\xe2\x82",
    b"\xef\xbb\xbf",
    b" ",
    b"'",
    b"\t",
    "\u0301".encode(),
    b"99,a,8,8",
]
ANY_LINE = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
DIALECTS = [
    Dialect(delimiter=";", decimal=","),
    Dialect(delimiter="\t", names=("h", "i", "j", "k")),
    Dialect(delimiter="|", encoding="latin-1"),
]
LONG = b"9" * (csv_lines.MAX_LINE + 7)


def by_sql(
    path: Path, folder: Path, used: str = "hijk", dialect: Dialect | None = None
) -> list[list[str]]:
    dialect = dialect or Dialect()
    rows = csv_lines.select_rows(path, used, dialect)
    with (
        csv_lines.open_readable(path, folder, used, dialect) as readable,
        duckdb.connect() as connection,
    ):
        result = connection.sql(f"FROM {rows.sql}", params={"path": str(readable)}).fetchall()
    return [[field or "" for field in row] for row in result]


@pytest.mark.dense
@example(lines=[b'1,"oops', b'2"', b'a,"b""c",""', b'"', b'"",', b'"a"b"', b'"\xcc\x81a"'])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(lines=st.lists(ANY_LINE, max_size=8))
def test_the_query_splits_as_python_does(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    path = folder / "rows.csv"
    path.write_bytes(b"h,i,j,k\n" + b"\n".join(lines))
    rows = by_sql(path, folder)
    # what follows the reader's own delimiter is not read
    read = [cut for line in lines if (cut := line.split(b"\x1f")[0])]
    expected = [[*map(_text, _fields(line)), "", "", "", ""][:4] for line in read]
    assert sorted(rows) == sorted(expected)


@pytest.mark.dense
@example(lines=[b'1;"oops', b'2"', b'a;"b""c";""', b'"";;|', b"\xe9;a\t,"], dialect=DIALECTS[0])
@example(lines=[b"\xe9\ta\t" + b"9" * 5000 + b"\tb"], dialect=DIALECTS[1])
@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    lines=st.lists(
        st.lists(st.sampled_from([*PIECES, b";", b"|", b"\t", b"\xe9"]), max_size=12).map(b"".join),
        max_size=8,
    ),
    dialect=st.sampled_from(DIALECTS),
)
def test_a_dialect_is_that_of_commas_with_another_sign(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], dialect: Dialect
) -> None:
    """Swapped signs give the fields of the line with the signs swapped."""
    folder = tmp_path_factory.mktemp("lines")
    path = folder / "rows.csv"
    names = b"" if dialect.names else b"h,i,j,k\n"
    text = names + b"\n".join(lines)
    path.write_bytes(_swapped(text.decode("latin-1"), dialect).encode("latin-1"))
    rows = by_sql(path, folder, dialect=dialect)
    path.write_bytes(text)
    plain = Dialect(encoding=dialect.encoding, names=dialect.names)
    expected = by_sql(path, folder, dialect=plain)
    # what marks a file as UTF-8 has no sign in it
    assert sorted(rows) == sorted([_swapped(item, dialect) for item in row] for row in expected)


def _swapped(text: str, dialect: Dialect) -> str:
    return text.translate(str.maketrans({",": dialect.between, dialect.between: ","}))


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("bad", [b"", b"\n\xff\xff,3,4,5", b"\n" + b"9" * 5000])
def test_the_first_line_is_a_row_where_the_names_are_told(
    tmp_path: Path, start: bytes, bad: bytes
) -> None:
    """Also behind what says that the file is UTF-8, whoever reads it: DuckDB, or a pipe."""
    path = tmp_path / "rows.csv"
    path.write_bytes(start + b"\xc3\xa9,2,3,4" + bad)
    rows = by_sql(path, tmp_path, dialect=Dialect(names=("h", "i", "j", "k")))
    assert ["é", "2", "3", "4"] in rows
    assert len(rows) == 1 + bool(bad)


def _text(field: bytes) -> str:
    """The text of a field; "", which is missing, if it isn't UTF-8."""
    return csv_lines.split(field.decode())[0] if _is_text(field) else ""


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.dense
@pytest.mark.parametrize(
    "line",
    [b"", b'"', b'99,a,8,8,"oops', b"\xff", b"99,a,8,8,true\xff", LONG, LONG * 40, b'"' * 99],
)
@pytest.mark.parametrize("index", [1, 60_000])
def test_the_neighbours_of_a_bad_line_survive(tmp_path: Path, line: bytes, index: int) -> None:
    rows = [b"%d,b,8,8,true" % index for index in range(60_000)]
    rows.insert(index, line)
    (tmp_path / "rows.csv").write_bytes(HEADER + b"\n".join(rows))
    assert counts(tmp_path)[4:] == [60_000] * 4


ROWS = [b"1,a,8,8,true", b'2,"a",4,8,false', b"3,b,8,,true", b"", b'4,b,"1', b'"5",a,8,"8",t']


@pytest.mark.dense
@example(line=b'5,a,8,"oops', index=0, by_row=True, breaks=b"\n", times=1)
@example(line=b'a,8,8,true,"', index=1, by_row=False, breaks=b"\r\n", times=40)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    line=ANY_LINE,
    index=st.integers(0, len(ROWS)),
    by_row=st.booleans(),
    breaks=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    times=st.sampled_from([1, 2, 40]),
)
def test_no_line_moves_the_query_by_more_than_the_certified_sensitivity(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    line: bytes,
    index: int,
    by_row: bool,
    breaks: bytes,
    times: int,
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    raw = raw_spec(contribution={"l2": "1.5"})
    if by_row:
        raw = raw_spec(privacy={"unit": "row", "epsilon": 1, "delta": "1e-6"}, contribution=None)
    # One line of any bytes where lines are units; else any number of lines of one new person.
    added = [line] if by_row else [b"99," + line] * times
    vectors: list[list[float]] = []
    for rows in (ROWS, [*ROWS[:index], *added, *ROWS[index:]]):
        (folder / "rows.csv").write_bytes(HEADER + breaks.join(rows) + breaks)
        vectors.append(counts(folder, raw))
    moved = [a - b for a, b in zip(*vectors, strict=True)]  # exact: multiples of 2^−22
    limit = 4 if by_row else 1.5**2  # a row has 4 statistics in [−1, 1]
    assert sum(value * value for value in moved) <= limit


WIDE = b"".join(b",%d" % index for index in range(2000))


@example(line=[b'"a,', b'f"oo', b",", b'x"', b",y"], used={0, 2})
@example(line=[b"\x1f,a"], used={0})
@example(line=[b"9" * 5000, b",", b'"', b"8" * 5000, b'",7'], used={0, 1, 2})
@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    line=st.lists(st.sampled_from(PIECES), max_size=12),
    used=st.sets(st.integers(0, 5), max_size=3),
)
def test_a_long_line_keeps_the_fields_that_are_used(line: list[bytes], used: set[int]) -> None:
    whole = b"".join(line) + WIDE
    cut = whole.split(b"\x1f")[0]
    short = csv_lines.shorten(whole, used)
    assert bool(short) == bool(cut)
    wanted, result = _fields(cut), _fields(short)
    for index in used:
        # An empty field without quotes is NULL, and one with quotes isn't.
        field = wanted[index] if index < len(wanted) else b""
        kept = result[index] if index < len(result) else b""
        assert bool(kept) == (0 < len(field) <= MAX_TEXT and _is_text(field))
        if kept:
            assert _value(kept) == _value(field)
    assert len(result) <= max(used, default=0) + 2


def _fields(line: bytes) -> list[bytes]:
    return re.findall(rb'("(?:[^"]|"")*"|[^,]*),', line + b",")


def _value(field: bytes) -> str:
    return csv_lines.split(field.decode("latin-1"))[0]


@pytest.mark.dense
def test_lines_are_mended_alone_and_none_of_them_is_on_a_disk(tmp_path: Path) -> None:
    path, folder = tmp_path / "rows.csv", tmp_path / "private"
    folder.mkdir()
    good = b"\xef\xbb\xbfa,b\r\n" + b"1,2\n" * 300_000 + b"3,\xc3\xa9"
    path.write_bytes(good)
    with csv_lines.open_readable(path, folder, "a") as readable:
        assert readable == path
    for bad in (LONG, LONG * 3, b"a" * csv_lines.MAX_LINE + b"\xe9"):
        for at in (good.index(b"\n") + 1, 2**20 + 5, len(good) - 4):
            start = good.index(b"\n", at - 1) + 1  # the start of a line
            path.write_bytes(good[:start] + bad + b"\n" + good[start:])
            with csv_lines.open_readable(path, folder, "a") as readable:
                assert stat.S_ISFIFO(readable.lstat().st_mode)
                assert readable.read_bytes().split() == good.split()
            assert list(folder.iterdir()) == []


@pytest.mark.parametrize("breaks", [b"\n", b"\r", b"\r\n"])
def test_a_long_line_has_the_same_rows_as_a_short_one(tmp_path: Path, breaks: bytes) -> None:
    names = b"h,i,j,k"
    lines = [b'1,"a ""b"", c",,"oops', b"2,,x", b'"3",y"z,,"w', b'4,"",5,6']
    texts = [b"1" * (MAX_TEXT + 1) + b",a", b"7," + b"\xc3\xa9" * (MAX_TEXT // 2) + b",8"]
    tails = [b"," * 100_000, b',"' + b"t" * 100_000]  # after the columns of the header
    short, long = tmp_path / "short.csv", tmp_path / "long.csv"
    short.write_bytes(breaks.join([names, *lines, b",a", texts[1]]))
    mixed = [line + b"," * 3 + tail for line in lines for tail in tails]
    long.write_bytes(breaks.join([names, *mixed, *texts]))
    expected = by_sql(short, tmp_path)
    assert sorted(by_sql(long, tmp_path)) == sorted(expected[:4] * 2 + expected[4:])


def test_a_line_of_commas_takes_no_more_memory_than_its_header(tmp_path: Path) -> None:
    # Ten lines of a million fields would take 16 MB each.
    path = tmp_path / "rows.csv"
    path.write_bytes(b"h,i,j,k\n" + (b"," * csv_lines.MAX_LINE + b"\n") * 10 + b"1,2,3,4\n")
    with csv_lines.open_readable(path, tmp_path, "k") as readable:
        assert len(readable.read_bytes()) < 100


def test_headers(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for ending in (b"\n", b"\r\n", b"\r", b""):
        path.write_bytes(b'\xef\xbb\xbf"a ""x"",",b, c' + ending)
        assert csv_lines.read_header(path) == ['a "x",', "b", " c"]
    for bad in (b"\na,b\n", b"a,\xff\n", b"a" * (csv_lines.MAX_LINE + 1)):
        path.write_bytes(bad)
        with pytest.raises(SourceError):
            csv_lines.read_header(path)


_LATIN = "Müller,ä,8,4,yes\nLefèvre,b,x,8,no\nSmith,ä,8,,yes\n"


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["csv", "csv.gz"])
@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252"])
def test_an_encoding_that_is_stated_is_read(tmp_path: Path, kind: str, encoding: str) -> None:
    """The header, persons, keys and numbers: the same integers as from UTF-8."""
    text = "höh,i,j,k,l\n" + _LATIN * 20_000 + ("€uro,ä,8,8,yes\n" if "-12" in encoding else "")
    pack = gzip.compress if kind.endswith("gz") else bytes
    results: list[list[int]] = []
    for name, coded in (("one", "utf-8"), ("two", encoding)):
        (tmp_path / f"{name}.{kind}").write_bytes(pack(text.encode(coded)))
        raw = _raw(f"{name}.{kind}", "höh")
        raw["data"]["encoding"] = coded
        results += integers(raw, tmp_path).values()
    assert results[0] == results[1]
    assert all(results[0])
    assert (
        results[0][4] == -results[0][3]
    )  # x is no number: each is 0, 1 below the middle of [0, 8]


def test_another_encoding_than_the_stated_one_leaves_out_values_and_not_lines(
    tmp_path: Path,
) -> None:
    """A whole file of Latin-1 was nothing at all: each line held a name of a person."""
    text = "who,i,j,k,l\n" + _LATIN * 1000
    for name, coded in (("one", "utf-8"), ("two", "latin-1")):
        (tmp_path / f"{name}.csv").write_bytes(text.encode(coded))
    query = {"name": "q", "statistics": ["count", "sum(j)", "sum(k)"]}
    results: list[list[int]] = []
    for name in ("one", "two"):
        raw = _raw(f"{name}.csv", "row") | {"query": [query], "contribution": None}
        given = {key: raw[key] for key in raw if raw[key] is not None}
        results += integers(given, tmp_path).values()
    assert results[0] == results[1]
    assert results[0] == [3000 << 28, 1000 << 28, 0]  # sums of 8, 0, 8 and 4, 8, 0, from the middle


def test_a_byte_that_the_encoding_lacks_is_a_missing_field(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'h,i,j,k\n\x80,\x81,"\xe4,",\xe4\n')
    rows = csv_lines.select_rows(path, "hijk", Dialect(encoding="windows-1252"))
    with (
        csv_lines.open_readable(
            path, tmp_path, "hijk", Dialect(encoding="windows-1252")
        ) as readable,
        duckdb.connect() as connection,
    ):
        result = connection.sql(f"FROM {rows.sql}", params={"path": str(readable)}).fetchall()
    assert result == [("€", None, "ä,", "ä")]


def _raw(name: str, unit: str) -> dict[str, Any]:
    raw = raw_spec(contribution={"max_rows": 30_000})
    types = {"i": "text", "j": "float", "k": "float", "l": "bool"}
    raw["data"] = {"source": name, "types": types | ({unit: "text"} if unit != "row" else {})}
    raw["privacy"] = {"unit": unit, "epsilon": 1, "delta": "1e-6"}
    raw["columns"] = {name: {"bounds": [0, 8]} for name in "jk"}
    raw["query"] = [
        {
            "name": "q",
            "statistics": ["count", "sum(j)", "sum(k)"],
            "group_by": {"i": ["ä", "b"]},
        }
    ]
    return raw


def test_an_encoding_that_can_not_be_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for start, encoding, why in (
        (b"\xff\xfea\x00", "utf-8", "data.encoding"),
        ("é,b".encode("latin-1"), "utf-8", "data.encoding"),
        (b"\xef\xbb\xbfa,b", "latin-1", "begins with the byte order mark of UTF-8"),
        (b"a,\x81", "windows-1252", "not in the encoding windows-1252"),
    ):
        path.write_bytes(start + b"\n")
        with pytest.raises(SourceError, match=why):
            csv_lines.read_header(path, Dialect(encoding=encoding))  # pyright: ignore[reportArgumentType]
    raw = _raw("rows.csv", "row")
    for name, encoding in (("rows.csv", "utf-16"), ("rows.parquet", "latin-1")):
        raw["data"] |= {"source": name, "encoding": encoding}
        with pytest.raises(SpecError, match=r"data\.encoding"):
            spec_file.parse(raw)
