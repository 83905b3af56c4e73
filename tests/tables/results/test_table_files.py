"""Tables as files: each format reads back what was written, whatever keys and names contain."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.errors import InvalidInput, SourceError
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.results import sdmx
from leastnoise.tables.results.table import Table, table_of
from leastnoise.tables.results.table_files import (
    escape_formulas,
    read_table,
    unescape_formulas,
    values_as_read,
    write_table,
)
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.tables.statistics.registry import parse_query

KINDS = ["csv", "json", "parquet"]
HOSTILE = [
    *("", " ", "  a", "a\t", "\r", "a\rb", "\n", "\r\n", "a\n", '"', '""', 'a"b', "'", ",", "a,b"),
    *('",\n"', "=1+1", "@x", "+1", "-1", "1", "1.0", "01", "1e5", "nan", "NULL", "None", "true"),
    *("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\ufeff", "\xa0", "\u200b", "\x7f"),
    *(
        "\0",
        "a\0b",
        "\x1f",
        "\x1a",
        "\\",
        "\\n",
        "\\N",
        "\U0001f600",
        "e\u0301",
        "\u202e",
        "#",
        ";",
    ),
    *("x" * 131_073, '"' * 131_073, "\r" * 131_073, "é" * 70_000),
]


def layout(others: dict[str, Any] | None = None, /, **query: Any) -> Layout:
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-6"},
        "query": [{"name": "q", "statistics": ["count"], **query}],
        **(others or {}),
    }
    spec = spec_file.parse(raw)
    return lay_out_query(parse_query(spec, spec.query[0]))[0][0]


def table(part: Layout) -> Table:
    noise = NoiseError(std=1.0, half95=1.96, half975=2.2414, half983=2.3940)
    return table_of(part, np.arange(float(part.dimension)), [noise] * part.dimension)


def check_round_trip(part: Layout, folder: Path) -> None:
    built = table(part)
    for kind in KINDS:
        read = read_table(write_table(built, folder, kind), [part])
        if kind == "csv":
            assert read == {name: list(map(str, built.columns[name])) for name in built.columns}
        else:
            wanted = {name: values_as_read(values, kind) for name, values in built.columns.items()}
            assert read == wanted
            assert all(map(_same_types, read.values(), wanted.values()))
        assert list(read) == list(built.columns)


def _same_types(some: list[Any], others: list[Any]) -> bool:
    return list(map(type, some)) == list(map(type, others))


def test_hostile_keys_read_back(tmp_path: Path) -> None:
    check_round_trip(layout(group_by={"town": HOSTILE}), tmp_path)


@pytest.mark.dense
@pytest.mark.parametrize("name", [text for text in HOSTILE if 0 < len(text) < 1000])
def test_hostile_names_of_columns_read_back(name: str, tmp_path: Path) -> None:
    check_round_trip(layout(group_by={name: ["a", "b"]}), tmp_path)


@pytest.mark.dense
@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    texts=st.lists(st.text(max_size=6), min_size=1, max_size=6, unique=True),
    numbers=st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=3, unique=True),
)
def test_any_keys_read_back(
    texts: list[str], numbers: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    keys = {"a": texts, "b": numbers, "c": [True, False]}
    check_round_trip(layout(group_by=keys), tmp_path_factory.mktemp("any"))


def test_long_keys_in_many_observations_read_back(tmp_path: Path) -> None:
    """SDMX-CSV repeats the keys in each line; the limit on a file's bytes allows for that."""
    keys = [number + "語" * 40_000 for number in "1234"]
    statistics = ["count", *(f"sum(x{i})" for i in range(8))]
    bounds = {f"x{i}": {"bounds": [0, 1], "missing": "none"} for i in range(8)}
    part = layout({"columns": bounds}, group_by={"town": keys}, statistics=statistics)
    built = table(part)
    path = write_table(built, tmp_path, "csv", sdmx.list_lines(built, [part], agency="XX"))
    assert path.stat().st_size > 4e6
    assert read_table(path, [part])["town"] == keys


def test_open_ends_read_back(tmp_path: Path) -> None:
    keys = {"y": {"edges": ["-inf", 0, "inf"]}, "k": ["inf", "-inf"]}
    part = layout(group_by=keys)
    check_round_trip(part, tmp_path)
    assert pd.read_csv(tmp_path / "q.csv")["y_from"].tolist() == [-math.inf] * 2 + [0.0] * 2
    assert pd.read_parquet(tmp_path / "q.parquet")["y_to"].tolist() == [0.0] * 2 + [math.inf] * 2

    def refused(name: str) -> None:
        raise AssertionError(name)

    records = json.loads((tmp_path / "q.json").read_text(), parse_constant=refused)
    assert [row["y_from"] for row in records] == [None, None, 0, 0]
    assert [row["y_to"] for row in records] == [0, 0, None, None]


def test_other_readers_see_the_same_keys(tmp_path: Path) -> None:
    keys = ["plain", 'a "b"', "a,b", "a\nb", " a", "é"]
    part = layout(group_by={"town": keys})
    path = write_table(table(part), tmp_path, "csv")
    assert pd.read_csv(path, keep_default_na=False)["town"].tolist() == keys
    assert path.read_text().startswith("town,count,count_std,count_low,count_high\nplain,0.0,1.0,")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_csv_with_other_line_ends_is_read(end: str, tmp_path: Path) -> None:
    part = layout(group_by={"town": ["a", '"', "c,d"]})
    path = write_table(table(part), tmp_path, "csv")
    path.write_text(path.read_text().replace("\n", end), newline="")
    assert read_table(path, [part])["town"] == ["a", '"', "c,d"]


@pytest.mark.parametrize(
    "text",
    ["", "\n", "a\n", 'a,b\n"x\n', 'a,b\nx"y,1\n', 'a,b\n"x"y,1\n', "a,a\n1,2\n"],
)
def test_what_is_no_table_is_a_value_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(text)
    part = layout(group_by={"town": ["a"]})
    try:
        read = read_table(path, [part])
    except ValueError:
        return
    assert list(read) != list(table(part).columns)


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_is_read_than_such_a_table_can_be_long(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"q.{kind}"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(SourceError, match="more than 1,0"):
        read_table(path, [layout()])


def test_a_small_file_of_many_rows_or_letters_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    part = layout()
    for many in ("1.0::DOUBLE AS a FROM range(10_000_000)", "repeat('x', 9_000_000) AS a"):
        duckdb.sql(f"COPY (SELECT {many}) TO '{path}'")
        assert path.stat().st_size < 2**20
        try:
            assert len(read_table(path, [part])["a"]) == 2
        except ValueError:
            assert "repeat" in many
    duckdb.sql(f"COPY (SELECT [1] AS a) TO '{path}'")
    with pytest.raises(ValueError, match="unexpected types"):
        read_table(path, [part])


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "device"])
def test_only_regular_files_are_read(what: str, tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    if what == "link":
        (tmp_path / "other").touch()
        path.symlink_to(tmp_path / "other")
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(InvalidInput, match="can't be read: it is"):
        read_table(path, [layout()])


def _is_formula(cell: str) -> bool:
    return cell.lstrip(" \"'" if cell[:1] != "'" else "")[:1] in {*"=+-@\t\r\uff1d"}


@pytest.mark.dense
@settings(max_examples=1000, deadline=None, derandomize=True)
@given(text=st.text(alphabet="=-@\t\r\n;,'\" \uff1da", max_size=7))
def test_no_cell_of_a_spreadsheet_begins_as_a_formula(text: str) -> None:
    escaped = escape_formulas(text)
    assert unescape_formulas(escaped) == text
    assert not _is_formula(escaped)
    assert not any(map(_is_formula, re.split(r"[;\t\r\n]", escaped)))
    rows = csv.reader(io.StringIO('a,"' + escaped.replace('"', '""') + '",1'))
    assert not any(_is_formula(cell) for row in rows for cell in row)


def test_texts_that_are_no_formulas_stay_as_they_are() -> None:
    for text in ("'s-Hertogenbosch", "a-b", "a=1", "18-24", "50+", "x@example.org", "'", "a;b", ""):
        assert escape_formulas(text) == text


def test_formulas_are_escaped_in_csv_alone(tmp_path: Path) -> None:
    texts = ["=HYPERLINK(1)", "'=1", "''-", "+1", "-1", "@a", "a;=1", "'s-Hertogenbosch"]
    wanted = ["'=HYPERLINK(1)", "''=1", "'''-", "'+1", "'-1", "'@a", "a;'=1", "'s-Hertogenbosch"]
    part = layout(group_by={"=town": texts, "n": [-1]})
    check_round_trip(part, tmp_path)
    assert pd.read_parquet(tmp_path / "q.parquet")["=town"].tolist() == texts
    assert [row["=town"] for row in json.loads((tmp_path / "q.json").read_text())] == texts
    written = pd.read_csv(tmp_path / "q.csv")
    assert written["'=town"].tolist() == wanted
    assert written["n"].tolist() == [-1] * 8
    # No writer puts an apostrophe before a number.
    text = (tmp_path / "q.csv").read_text()
    (tmp_path / "q.csv").write_text(text.replace(",0.0,", ",'-0.0,"))
    assert "'-0.0" in read_table(tmp_path / "q.csv", [part])["count"]
