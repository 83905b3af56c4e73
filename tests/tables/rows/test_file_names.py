"""Names of files, folders and columns are never code or patterns; odd ones are refused."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from leastnoise.errors import SourceError
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import source
from tests.tables.integers import integers
from tests.tables.several import ROWS, TYPES, answers, raw_spec, write


@pytest.fixture
def whole(tmp_path: Path) -> list[int]:
    """The exact answers for one file with all rows."""
    ROWS.to_parquet(tmp_path / "all.parquet")
    return answers(tmp_path, "all.parquet")


def test_letters_of_patterns_in_a_folders_name_are_letters(
    tmp_path: Path, whole: list[int]
) -> None:
    write(ROWS, tmp_path / "data[1]/a.parquet")
    write(ROWS.assign(who=1), tmp_path / "data1/a.parquet")
    assert answers(tmp_path / "data[1]", "*.parquet") == whole


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders_of_persons_that_are_no_utf_8_are_nobody(tmp_path: Path, kind: str) -> None:
    """Such texts are nobody anywhere: two must not become one person of twice the limit."""
    names = [b"who=%FF", b"who=%FE", b"who=\xff", b"who=a\xfe", b"who=%C3%A9", b"who=\xc3\xa8"]
    for name in names:
        part = pd.DataFrame({"year": [2024, 2024], "x": [8.0, 8.0]})
        write(part, tmp_path / f"part.{kind}")  # Arrow writes to no path that isn't UTF-8
        (tmp_path / "rows" / os.fsdecode(name)).mkdir(parents=True)
        (tmp_path / f"part.{kind}").rename(tmp_path / "rows" / os.fsdecode(name) / f"part.{kind}")
    types = {"who": "text", "year": "int", "x": "float"}
    count, total, *others = answers(tmp_path, "rows", types)
    single = answers(tmp_path, f"rows/who=%C3%A9/part.{kind}".replace("%C3%A9", "*"), types)
    assert single == [count, total, *others]
    bound = 2 * 2  # rows of the two who have a name
    unit = answers_of_one_row(tmp_path, kind)
    assert [count, total] == [bound * unit[0], bound * unit[1]]


def answers_of_one_row(folder: Path, kind: str) -> list[int]:
    """The numbers that a row of 2024 with the x above adds to a count and a sum."""
    write(pd.DataFrame({"who": ["a"], "year": [2024], "x": [8.0]}), folder / f"one.{kind}")
    return answers(folder, f"one.{kind}", {"who": "text", "year": "int", "x": "float"})[:2]


def test_a_column_name_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "rows" / "%FF=1" / "part.parquet")
    with pytest.raises(SourceError, match="the part before the = isn't UTF-8"):
        answers(tmp_path, "rows")


NAMES = ["line=7", "who=9", "c0=1", "a[b", "what?", "~", "file:", "k\\b", "x'y\"z", "n=a*"]


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "duckdb"])
def test_no_name_of_a_folder_means_anything_to_duckdb(
    tmp_path: Path, whole: list[int], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where a row is text among numbers: a name told DuckDB the type of a whole line."""
    rows = pd.concat([ROWS.astype(str), pd.DataFrame([{"who": "x", "year": "2024", "x": "é?"}])])
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        if kind == "duckdb" and set(name) & {"\\", "?"}:
            continue
        Path(name).mkdir()
        if not set(name) & set("*?[\\"):  # where there are no patterns of pipes
            monkeypatch.setattr("tempfile.tempdir", str(Path(name).absolute()))
        path = Path(name) / f"rows.{kind}"
        raw = raw_spec(str(path), TYPES)
        if kind == "duckdb":
            with duckdb.connect(str(tmp_path / f"{NAMES.index(name)}.duckdb")) as connection:
                connection.from_df(rows).create("visits")
            (tmp_path / f"{NAMES.index(name)}.duckdb").rename(path)
            raw["data"]["table"] = "visits"
        else:
            write(rows, path.absolute())
        (vector,) = integers(raw, Path()).values()
        assert vector == whole


def test_a_database_whose_name_duckdb_takes_for_another_is_refused(tmp_path: Path) -> None:
    for name in ("a/b", "a\\b"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        with duckdb.connect(str(tmp_path / "made.duckdb")) as connection:
            connection.from_df(ROWS).create("visits")
        (tmp_path / "made.duckdb").rename(folder / "rows.duckdb")
    raw = raw_spec("a\\b/rows.duckdb")
    raw["data"]["table"] = "visits"
    with pytest.raises(SourceError, match="can't open"):
        source.find_source(spec_file.parse(raw), tmp_path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_name_that_no_pattern_is_for_is_refused_before_a_row_is_read(
    tmp_path: Path, kind: str
) -> None:
    write(ROWS, tmp_path / f"a[\\b/rows.{kind}")
    with pytest.raises(SourceError, match="its path has both"):
        source.find_source(spec_file.parse(raw_spec(f"a[\\b/rows.{kind}", TYPES)), tmp_path)


def test_a_temporary_folder_that_duckdb_finds_no_pipe_in_is_refused_before_a_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ROWS, tmp_path / "rows.csv")
    (tmp_path / "a[b").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "a[b"))
    with pytest.raises(SourceError, match="TMPDIR"):
        source.find_source(spec_file.parse(raw_spec("rows.csv", TYPES)), tmp_path)


@pytest.mark.parametrize("name", ["file_row_number", "File_Row_Number"])
def test_a_parquet_column_of_duckdb_s_own_name_is_refused_whatever_texts_say(
    tmp_path: Path, name: str
) -> None:
    """Rows were numbered, under that name, where one of them had a question mark."""
    rows = ROWS.assign(year=["2024?"] * len(ROWS))
    rows.assign(**{name: 1}).to_parquet(tmp_path / "rows.parquet")
    query = {"name": "q", "statistics": ["count"], "group_by": {"year": ["2024?"]}}
    raw = raw_spec("rows.parquet") | {"query": [query], "columns": {}}
    with pytest.raises(SourceError, match="file_row_number"):
        source.find_source(spec_file.parse(raw), tmp_path)
