"""Sheets of workbooks as sources: each cell is read as the text that it has in a CSV."""

from __future__ import annotations

import warnings
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from leastnoise.errors import SourceError, SpecError
from leastnoise.tables.rows.duckdb import sheets
from tests.tables.integers import integers

openpyxl = pytest.importorskip("openpyxl")


def write(
    path: Path, rows: list[list[Any]], *, more: str | None = None, iso_dates: bool = False
) -> None:
    book = openpyxl.Workbook()
    book.iso_dates = iso_dates
    sheet = book.active
    sheet.title = "rows"
    for row in rows:
        sheet.append(row)
    if more is not None:
        book.create_sheet(more)
    book.save(path)


def counts(folder: Path, group_by: Any, kind: str, **data: Any) -> list[int]:
    spec = {
        "version": 1,
        "data": {"source": "a.xlsx", "types": dict.fromkeys(group_by, kind), **data},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "statistics": ["count"], "group_by": group_by}],
    }
    (vector,) = integers(spec, folder).values()
    return list(vector)


CELLS = [
    ("text", "text"),
    (" a ", " a "),
    ("=1+1", None),  # a formula without a stored value
    (3, "3"),
    (3.0, "3"),
    (-0.0, "0"),
    (0.1, "0.1"),
    (123456789012345, "123456789012345"),
    (1e17, "100000000000000000"),
    (1e300, "1e+300"),
    (True, "true"),
    (date(2024, 2, 29), "2024-02-29"),
    (datetime(2024, 2, 29, 10, 30), "2024-02-29 10:30:00"),
    (time(10, 30), "10:30:00"),
    (timedelta(hours=30), None),
    ("#N/A", None),
    ("'=1", "'=1"),
]


@pytest.mark.grid
@pytest.mark.parametrize(("value", "text"), CELLS)
def test_a_cell_is_the_text_of_a_csv(value: Any, text: str | None, tmp_path: Path) -> None:
    write(tmp_path / "a.xlsx", [["k", "other"], [value, 1], ["ordinary", 1]])
    ordinary, *rest = counts(tmp_path, {"k": ["ordinary", text or "none"]}, "text")
    assert rest == [ordinary if text is not None else 0]
    assert ordinary > 0


def test_a_date_is_read_even_if_the_file_stores_its_text(tmp_path: Path) -> None:
    write(tmp_path / "a.xlsx", [["day"], [date(2024, 2, 29)]], iso_dates=True)
    (count,) = counts(tmp_path, {"day": ["2024-02-29"]}, "text")
    assert count > 0


def test_rows_without_a_value_are_left_out_and_short_rows_are_missing(tmp_path: Path) -> None:
    rows = [["k", None, "n"], ["a", 5, 1], [None, None, None], ["a"], [None, 7, None], ["b", 1, 2]]
    write(tmp_path / "a.xlsx", rows)
    assert counts(tmp_path, {"k": ["a"]}, "text") == [2 * counts(tmp_path, {"k": ["b"]}, "text")[0]]
    assert counts(tmp_path, {"n": [1, 2]}, "int") == counts(tmp_path, {"n": [2, 1]}, "int")


def test_the_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    write(tmp_path / "a.xlsx", [["k"], ["a"]], more="secret")
    with pytest.raises(
        SourceError, match=r"2 sheets: 'rows', 'secret'. Name one of the sheets in data.table"
    ):
        counts(tmp_path, {"k": ["a"]}, "text")
    assert counts(tmp_path, {"k": ["a"]}, "text", table="rows")[0] > 0
    with pytest.raises(SourceError, match="no sheet 'other'"):
        counts(tmp_path, {"k": ["a"]}, "text", table="other")
    with pytest.raises(SourceError, match="no column names"):
        counts(tmp_path, {"k": ["a"]}, "text", table="secret")


def test_types_are_needed(tmp_path: Path) -> None:
    write(tmp_path / "a.xlsx", [["k"], ["a"]])
    with pytest.raises(SpecError, match="a workbook source needs the type of each column"):
        counts(tmp_path, {"k": ["a"]}, "text", types={})
    with pytest.raises(SpecError, match="CSV files only"):
        counts(tmp_path, {"k": ["a"]}, "text", encoding="latin-1")


def test_no_warning_quotes_a_cell(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """A number that is formatted as a date, but is none, is missing."""
    book = openpyxl.Workbook()
    for row in (["k"], [1e15], ["a"]):
        book.active.append(row)
    book.active["A2"].number_format = "yyyy-mm-dd"
    book.save(tmp_path / "a.xlsx")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert counts(tmp_path, {"k": ["a"]}, "text")[0] > 0
    assert not recwarn.list


@pytest.mark.parametrize("most", [1, 2, 100])
def test_chunks_are_the_same_rows(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.xlsx", [["k"], ["a"], [None], ["b"], ["a"], [None], ["a"]])
    monkeypatch.setattr(sheets, "_ROWS_IN_CHUNK", most)
    three, item = counts(tmp_path, {"k": ["a", "b"]}, "text")
    assert three == 3 * item > 0


def test_a_damaged_workbook_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(SourceError, match=r"a\.xlsx isn't a readable workbook"):
        counts(tmp_path, {"k": ["a"]}, "text")
