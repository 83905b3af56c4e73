"""Sources of several files: each file is read once, no other is, and columns have one type."""

from __future__ import annotations

import glob
import gzip
import os
import resource
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import zstandard

import leastnoise as ln
from leastnoise.errors import SourceError, SpecError
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.duckdb import files
from leastnoise.tables.rows.duckdb.inputs import SeveralFiles
from tests.tables.several import ROWS, TYPES, answers, raw_spec, write


@pytest.fixture
def whole(tmp_path: Path) -> list[int]:
    """The exact answers for one file with all rows."""
    ROWS.to_parquet(tmp_path / "all.parquet")
    return answers(tmp_path, "all.parquet")


def written(folder: Path, kind: str) -> None:
    """A folder with the same rows in three files, and with other files that aren't rows."""
    for index, part in enumerate((ROWS[:3], ROWS[3:4], ROWS[4:])):
        write(part, folder / f"part{index}.{kind}")
    for hidden in (".part.", "_temporary/part9.", "_part."):
        path = folder / f"{hidden}{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(ROWS, path)
    (folder / "README").write_text("rows")


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "csv.zst", "parquet"])
def test_a_list_a_pattern_and_a_folder_are_all_rows_once(
    tmp_path: Path, whole: list[int], kind: str
) -> None:
    written(tmp_path / "parts", kind)
    types = None if kind == "parquet" else TYPES
    names = [f"parts/part{index}.{kind}" for index in range(3)]
    patterns = [f"parts/*.{kind}", f"**/part?.{kind}", ["parts/part0.*", *names[1:]]]
    for where in (names, "parts", "parts/", *patterns):
        assert answers(tmp_path, where, types) == whole, where


def test_columns_in_another_order_are_the_same_columns(tmp_path: Path, whole: list[int]) -> None:
    write(ROWS[:3], tmp_path / "a.csv")
    write(ROWS[3:][["x", "who", "year"]], tmp_path / "b.csv")
    assert answers(tmp_path, ["a.csv", "b.csv"], TYPES) == whole
    write(ROWS[:3], tmp_path / "a.parquet")
    write(ROWS[3:][["year", "x", "who"]], tmp_path / "b.parquet")
    assert answers(tmp_path, "?.parquet") == whole


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_partitioned_folder_has_a_column_by_the_names_of_its_folders(
    tmp_path: Path, whole: list[int], kind: str
) -> None:
    for year, rows in ROWS.groupby("year"):
        write(rows.drop(columns="year"), tmp_path / f"parts/year={year}/rows.{kind}")
    types = TYPES if kind == "csv" else {"year": "int"}
    assert answers(tmp_path, "parts", types) == whole
    assert answers(tmp_path, f"parts/*/*.{kind}", types) == whole
    write(ROWS.drop(columns="year"), tmp_path / f"parts/year=__HIVE_DEFAULT_PARTITION__/r.{kind}")
    assert answers(tmp_path, "parts", types)[0] == whole[0]  # of no year
    write(ROWS.drop(columns="year"), tmp_path / f"parts/month=1/rows.{kind}")
    with pytest.raises(SourceError, match="Use the same columns in the names"):
        answers(tmp_path, "parts", types)


def test_a_key_that_is_a_column_too_is_refused(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "parts/year=2024/rows.parquet")
    with pytest.raises(SourceError, match=r"'year' is both in rows\.parquet and"):
        answers(tmp_path, "parts")


WHOLE = ROWS.assign(x=ROWS.x.round().astype(int))
DIFFERENT = {
    "a type, which would be that of the first file": (WHOLE, "has the type"),
    "a column less": (ROWS.drop(columns="x"), "has no column 'x'"),
    "a column more": (ROWS.assign(secret=1), "has no column 'secret'"),
    "another case": (ROWS.rename(columns={"x": "X"}), "has no column"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_files_that_differ_are_refused_by_their_metadata(tmp_path: Path, what: str) -> None:
    rows, why = DIFFERENT[what]
    for first, second in ((ROWS, rows), (rows, ROWS)):
        write(first, tmp_path / "parts/a.parquet")
        write(second, tmp_path / "parts/b.parquet")
        with pytest.raises(SourceError) as caught:
            answers(tmp_path, "parts")
        assert "All files of one source need" in str(caught.value)
        assert why in str(caught.value)


def test_decimals_of_other_digits_are_other_types(tmp_path: Path) -> None:
    for name, digits in (("a", "DECIMAL(10, 2)"), ("b", "DECIMAL(38, 10)")):
        with duckdb_engine.duckdb.connect() as connection:
            sql = f"SELECT 1 AS who, 2024 AS year, 2.5::{digits} AS x"
            connection.sql(sql).write_parquet(str(tmp_path / f"{name}.parquet"))
    with pytest.raises(SourceError, match=r"DECIMAL\(38,10\) in b\.parquet"):
        answers(tmp_path, ["a.parquet", "b.parquet"])


def test_no_file_counts_twice(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").hardlink_to(tmp_path / "a.parquet")
    for where in (["a.parquet", "a.parquet"], ["a.parquet", "*.parquet"], "*.parquet"):
        with pytest.raises(SourceError, match=r"twice"):
            answers(tmp_path, where)


def test_links_to_folders_are_not_followed(tmp_path: Path, whole: list[int]) -> None:
    written(tmp_path / "parts", "parquet")
    write(ROWS, tmp_path / "elsewhere/more.parquet")
    (tmp_path / "parts/link").symlink_to(tmp_path / "elsewhere")
    for where in ("parts", "parts/**/*.parquet"):
        assert answers(tmp_path, where) == whole


@pytest.mark.dense
def test_links_in_a_circle_are_looked_at_once(
    tmp_path: Path, whole: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them have 2^40 paths, which a pattern followed."""
    written(tmp_path / "parts", "parquet")
    for name in "pq":
        (tmp_path / "parts" / name).symlink_to(tmp_path / "parts")
    looked_at: list[object] = []

    def scandir(path: object) -> object:
        looked_at.append(path)
        assert len(looked_at) < 1000
        return once(path)

    once: Any = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    for where in ("parts/**/*.parquet", "parts/**", "**/**/part?.parquet"):
        looked_at.clear()
        assert answers(tmp_path, where) == whole
        assert len(looked_at) < 20


TREE = [
    "a.csv", "b.csv.gz", "x/a.csv", "x/y/a.csv", "x/y/z/[1].csv", "x.csv/c.csv", "[x]/A.CSV",
    "x/.h.csv", "x/_h.csv", "_x/a.csv", ".x/a.csv", "x/a.txt", "é/\udcff.csv", "x/y/-.csv"
]  # fmt: skip
PATTERNS = [
    "*.csv", "**/*.csv", "**", "**/", "*/", "x/**", "x/*/*.csv", "*/y/*.csv", "x/**/a.csv",
    "**/y/**", "**/[[]1].csv", "[[]x]/*", "[!x]*/*.csv", "./*.csv", "*/./a.csv", "*/../*.csv",
    "x/../*.csv", "*//a.csv", ".x/*.csv", "_*/*", ".*/*", "**/.h*", "x/[_.]h.csv", "?/?.csv",
    "**x/*.csv", "x**/a.csv", "*.csv/*", "x/y*/**/*.csv", "*", "[", "[/]*", "none/*",
    "*/*/*/*", "é/*", "x/*.csv/", "**/*.CSV", "*/**/z/*", "**/**/a.csv"
]  # fmt: skip


@pytest.mark.grid
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("absolute", [False, True])
def test_a_pattern_means_what_pythons_own_does(
    tmp_path: Path, pattern: str, *, absolute: bool
) -> None:
    """But for hidden names and links to folders, and each file once."""
    for name in TREE:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    (tmp_path / "linked").symlink_to(tmp_path / "x")
    (tmp_path / "file.csv").symlink_to(tmp_path / "x/y/-.csv")
    text = f"{tmp_path}/{pattern}" if absolute else pattern
    expected: set[Path] = set()
    for name in glob.glob(text, root_dir=tmp_path, recursive=True):
        inner = (tmp_path / name).relative_to(tmp_path)
        below = inner.parts[{".x/": 1, "x/.": 2}.get(pattern[:3], 0) :]  # the literal beginning
        hidden = any(part.startswith((".", "_")) for part in below)
        file = (tmp_path / name).is_file() and name.lower().endswith((".csv", ".csv.gz"))
        if file and not hidden and "linked" not in inner.parts:
            expected.add(tmp_path / name)
    try:
        paths = [path for path, _ in files._list_files(text, tmp_path)]
    except SourceError:
        paths = []
    assert paths == sorted(expected)


@pytest.mark.parametrize(
    "where", ["none", "none*.csv", "none.csv", ["none.parquet"], "empty", "none\0/*.csv"]
)
def test_a_source_without_files_is_named(tmp_path: Path, where: object) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"none|empty"):
        answers(tmp_path, where, TYPES)


def test_kinds_are_not_mixed(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "parts/a.parquet")
    write(ROWS, tmp_path / "parts/b.csv")
    with pytest.raises(SourceError, match=r"several kinds: \.csv, \.parquet"):
        answers(tmp_path, "parts", TYPES)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("rows.ods", "data.source: Expected a file ending in .csv, .csv.gz, .csv.zst, .tsv"),
        (["a.csv", "b.json"], r"data.source\[1\]: Expected a file"),
        ([], "data.source"),
        (7, "data.source"),
    ],
)
def test_what_can_not_be_a_source_is_refused_with_its_key(where: object, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        spec_file.parse(raw_spec(where, TYPES))


@pytest.mark.parametrize("damage", ["checksum", "cut short", "no gzip"])
def test_a_damaged_gzip_file_is_an_error_and_not_its_rows(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(ROWS.to_csv(index=False).encode() * 1))
    if damage == "checksum":
        packed[-6] ^= 0xFF
    elif damage == "cut short":
        del packed[-12:]
    else:
        packed[:2] = b"xx"
    (tmp_path / "rows.csv.gz").write_bytes(packed)
    with pytest.raises(SourceError, match=r"damaged|can't be read") as caught:
        answers(tmp_path, "rows.csv.gz", TYPES)
    assert "2024" not in str(caught.value)


def test_a_release_of_a_folder_is_charged_written_and_verified(tmp_path: Path) -> None:
    written(tmp_path / "parts", "csv.gz")
    ledger = ln.Ledger(tmp_path / "visits.ledger")
    ledger.open_account(
        "visits", unit="who", neighbours="add-remove", budget=ln.Budget(epsilon=2, delta="1e-5")
    )
    raw = raw_spec("parts", TYPES)
    raw["privacy"]["ledger"] = {"path": "visits.ledger"}
    raw["output"] = {"path": "out", "format": "csv"}
    del raw["version"]
    release = ln.Release(**raw, folder=tmp_path)
    release.run()
    assert ledger.accounts()["visits"].charges == 1
    assert ln.verify_directory(tmp_path / "out")
    listed = ["parts/part0.csv.gz", "parts/part1.csv.gz"]
    spec = spec_file.parse(raw_spec(listed, TYPES))
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    assert spec.data.source == tuple(listed)


@pytest.mark.dense
def test_a_zstandard_file_that_is_cut_short_is_an_error(tmp_path: Path) -> None:
    rows = pd.concat([ROWS] * 20_000)
    packed = zstandard.ZstdCompressor().compress(rows.to_csv(index=False).encode())
    for cut in (len(packed) // 2, len(packed) - 1, 5):
        (tmp_path / "rows.csv.zst").write_bytes(packed[:cut])
        with pytest.raises(SourceError, match=r"damaged|can't be read"):
            answers(tmp_path, "rows.csv.zst", TYPES)
    (tmp_path / "rows.csv.zst").write_bytes(packed[:100] + b"\0" * 50 + packed[150:])
    with pytest.raises(SourceError, match=r"damaged|can't be read"):
        answers(tmp_path, "rows.csv.zst", TYPES)


def test_frames_of_zstandard_one_after_the_other_are_one_file(
    tmp_path: Path, whole: list[int]
) -> None:
    text = ROWS.to_csv(index=False).encode()
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / "rows.csv.zst").write_bytes(pack(text[:70]) + pack(text[70:]))
    assert answers(tmp_path, "rows.csv.zst", TYPES) == whole


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_more_files_than_may_be_open_are_read_some_at_a_time(tmp_path: Path, kind: str) -> None:
    many = [ROWS.assign(who=ROWS.who + 10 * index) for index in range(120)]
    for index, rows in enumerate(many):
        write(rows, tmp_path / f"parts/half={index % 2}/{index}.{kind}")
    pd.concat(many).to_parquet(tmp_path / "all.parquet")
    types = {**TYPES, "half": "int"} if kind == "csv" else {"half": "int"}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        totals = answers(tmp_path, "parts", types)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert totals == answers(tmp_path, "all.parquet")


def test_what_is_no_file_is_not_read(tmp_path: Path, whole: list[int]) -> None:
    written(tmp_path / "parts", "parquet")
    (tmp_path / "parts/gone.parquet").symlink_to(tmp_path / "nowhere.parquet")
    os.mkfifo(tmp_path / "parts/pipe.parquet")
    for where in ("parts", "parts/*"):
        assert answers(tmp_path, where) == whole


def test_a_folder_that_says_a_key_twice_is_refused(tmp_path: Path) -> None:
    write(ROWS.drop(columns="year"), tmp_path / "parts/year=2024/year=2025/a.parquet")
    with pytest.raises(SourceError, match="names the column 'year' in two folders"):
        answers(tmp_path, "parts", {"year": "int"})


def test_a_folder_of_csvs_needs_types(tmp_path: Path) -> None:
    written(tmp_path / "parts", "csv")
    with pytest.raises(SpecError, match=r"data.types: Missing: parts needs"):
        answers(tmp_path, "parts")


def test_a_folder_said_twice_is_refused_without_who_it_is(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "rows" / "person=Ada" / "person=Bob" / "part.parquet")
    with pytest.raises(SourceError, match="'person'") as caught:
        answers(tmp_path, "rows")
    assert "Ada" not in str(caught.value)


@pytest.mark.dense
def test_one_file_more_refuses_no_release(tmp_path: Path) -> None:
    """A file, or a folder, may be a person."""
    (tmp_path / "rows").mkdir()
    for index in range(10_001):
        (tmp_path / "rows" / f"{index}.csv").write_text("who,year,x\n")
    source_files = files.find_files("rows", tmp_path)
    assert isinstance(source_files, SeveralFiles)
    assert len(source_files.parts) == 10_001


def test_a_name_that_stands_twice_in_a_second_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("who,year,x\n1,2024,1\n")
    (tmp_path / "2.csv").write_text("who,year,x,x\n1,2024,1,8\n")
    with pytest.raises(SourceError, match=r"header of 2\.csv names 'x' more than once"):
        answers(tmp_path, "*.csv", TYPES)
