"""Keys from a file give the same release as listed keys; all other files are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.tables.parse import key_files, named_files, spec_file
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed

TYPES = {"region": "text", "code": "int", "old": "bool", "size": "float"}
KEY = "query[0].group_by.{}.file"


def raw_of(entry: Any, column: str = "region", types: Any = TYPES) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"source": "rows.csv", "types": types},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "statistics": ["count"], "group_by": {column: entry}}],
        "output": {"path": "out", "format": "csv"},
    }


def keys(folder: Path, name: str, column: str = "region", types: Any = TYPES) -> Any:
    """The grouping that a spec has if its keys are in this file."""
    raw = raw_of({"file": name}, column, types)
    spec = spec_file.parse(raw, folder=folder)
    return spec.groupings(spec.query[0])[column]


def why_not(folder: Path, name: Any, column: str = "region", types: Any = TYPES) -> str:
    with pytest.raises(SpecError) as caught:
        keys(folder, name, column, types)
    ((key, why),) = caught.value.problems
    assert key == KEY.format(column)
    return why


@pytest.mark.parametrize(
    ("column", "name", "content", "wanted"),
    [
        ("region", "a.txt", "n\ns\n", ("n", "s")),
        ("region", "a.txt", '\ufeffn \r\n"s",x', ("n ", '"s",x')),
        ("region", "a.csv", 'region\nn\n"s ""x"", y"\n""\na"b\n', ("n", 's "x", y', "", 'a"b')),
        ("region", "a.CSV", '\ufeff"region"\r\nn\r\ns', ("n", "s")),
        ("region", "a.csv", "region\nregion\n1\n", ("region", "1")),
        ("code", "a.txt", "3\n-1\n+7\n007\n".replace("007", "08"), (3, -1, 7, 8)),
        ("code", "a.csv", "code\n9223372036854775807\n0", (2**63 - 1, 0)),
        ("old", "a.txt", "true\nFalse", (True, False)),
    ],
)
def test_lines_are_keys_of_the_type_that_is_declared(
    *, tmp_path: Path, column: str, name: str, content: str, wanted: tuple[Any, ...]
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    result = keys(tmp_path, name, column)
    assert result == wanted
    assert list(map(type, result)) == list(map(type, wanted))


@pytest.mark.parametrize("types", [TYPES, {}])
@pytest.mark.parametrize(
    ("column", "sql", "wanted"),
    [
        ("region", "SELECT unnest(['n', '', 's']) AS any", ("n", "", "s")),
        ("region", "SELECT DATE '2020-01-02' AS region", ("2020-01-02",)),
        ("code", "SELECT unnest([3, -1])::TINYINT AS code", (3, -1)),
        ("code", "SELECT unnest([3, 1])::UBIGINT AS code", (3, 1)),
        ("old", "SELECT unnest([false, true]) AS old", (False, True)),
    ],
)
def test_a_parquet_file_has_types_of_its_own(
    *, tmp_path: Path, column: str, sql: str, wanted: tuple[Any, ...], types: Any
) -> None:
    duckdb.sql(f"COPY ({sql}) TO '{tmp_path}/a.parquet' (FORMAT parquet)")
    raw = raw_of({"file": "a.parquet"}, column, types)
    raw["data"]["source"] = "rows.parquet"
    spec = spec_file.parse(raw, folder=tmp_path)
    result: Any = spec.groupings(spec.query[0])[column]
    assert result == wanted
    assert list(map(type, result)) == list(map(type, wanted))


@pytest.mark.dense
@pytest.mark.parametrize(
    ("column", "name", "content", "why"),
    [
        ("region", "a.txt", b"n\n\ns", "Line 2 is empty"),
        ("region", "a.txt", b"n\nsecret\nn", "Line 3 gives a key a second time"),
        ("region", "a.txt", b"\xff", "UTF-8"),
        ("region", "a.txt", b"x" * 4097, "Line 1 has more than 4,096 bytes"),
        ("region", "a.csv", b"", "first line is the column's name"),
        ("region", "a.csv", b"n\ns\n", "first line is the column's name"),
        ("region", "a.csv", b"region,size\nn,1\n", "first line is the column's name"),
        ("region", "a.csv", b"region\nn,secret\n", "Line 2 has several fields"),
        ("region", "a.csv", b"region\nn\n\ns", "Line 3 is empty"),
        ("region", "a.csv", b"region\nn\ns\nn", "Line 4 gives a key a second time"),
        ("code", "a.txt", b"1\nsecret\n", "The key in line 2 isn't of type int"),
        ("code", "a.txt", b"1\n1.0\n", "The key in line 2 isn't of type int"),
        ("code", "a.txt", b"1\n 2\n", "The key in line 2 isn't of type int"),
        ("code", "a.txt", "1\n\u0662\n".encode(), "The key in line 2 isn't of type int"),
        ("code", "a.txt", b"1\n01\n", "Line 2 gives a key a second time"),
        ("old", "a.txt", b"true\n1\n", "The key in line 2 isn't of type bool"),
        ("size", "a.txt", b"1\n", '"int", "text" or "bool"'),
        ("region", "a.parquet", b"secret", "can't be read as a Parquet file"),
        ("region", "a.xlsx", b"", "ending in .csv, .txt, .parquet"),
        ("region", "a", b"", "ending in .csv, .txt, .parquet"),
    ],
)
def test_a_file_that_holds_no_keys_is_told_without_being_quoted(
    *, tmp_path: Path, column: str, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    message = why_not(tmp_path, name, column)
    assert why in message
    assert "secret" not in message


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT 1 AS a, 2 AS b", "one column"),
        ("SELECT 1.5::DOUBLE AS region", "Expected keys of type text, got a column of type DOUBLE"),
        ("SELECT 1 AS region", "Expected keys of type text, got a column of type INTEGER"),
        ("SELECT ['n'] AS region", "Expected keys of type text, got a column of type VARCHAR[]"),
        ("SELECT unnest(['n', NULL]) AS region", "Row 2 is NULL"),
        ("SELECT unnest(['n', 'n']) AS region", "Row 2 gives a key a second time"),
        ("SELECT repeat('x', 9_000_000) AS region FROM range(2)", "at most 10,000,000 bytes"),
    ],
)
def test_a_parquet_file_that_holds_no_keys(tmp_path: Path, sql: str, why: str) -> None:
    duckdb.sql(f"COPY ({sql}) TO '{tmp_path}/a.parquet' (FORMAT parquet)")
    assert why in why_not(tmp_path, "a.parquet")


@pytest.mark.parametrize("name", ["a.txt", "a.parquet"])
def test_more_keys_than_a_release_can_hold(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_files, "MOST_KEYS", 3)  # of 1,000,000, which take seconds
    frame = pd.DataFrame({"region": ["a", "b", "c", "d"]})
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.txt").write_text("a\nb\nc\nd\n")
    assert "at most 3 keys" in why_not(tmp_path, name)


def test_a_column_of_no_declared_type_has_none_in_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("n\n")
    assert "data.types" in why_not(tmp_path, "a.txt", types={"code": "int"})


@pytest.mark.grid
@pytest.mark.parametrize("source", ["ro'[ws].parquet", ["ro'[ws].parquet", "none.parquet"]])
@pytest.mark.parametrize(
    ("column", "lines", "wanted"),
    [("region", "1\nb\n", ("1", "b")), ("code", "1\n2\n", (1, 2)), ("old", "true\n", (True,))],
)
def test_a_parquet_source_says_of_which_type_the_lines_are(
    tmp_path: Path, *, source: Any, column: str, lines: str, wanted: tuple[Any, ...]
) -> None:
    rows = pd.DataFrame({"region": ["a"], "code": [1], "old": [True], "size": [0.5]})
    rows.to_parquet(tmp_path / "ro'[ws].parquet")
    (tmp_path / "a.txt").write_text(lines)
    raw = raw_of({"file": "a.txt"}, column)
    raw["data"] = {"source": source}
    spec = spec_file.parse(raw, folder=tmp_path)
    assert spec.groupings(spec.query[0])[column] == wanted
    raw["query"][0]["group_by"] = {"size": {"file": "a.txt"}}
    with pytest.raises(SpecError, match="Neither the text file nor the source states the type"):
        spec_file.parse(raw, folder=tmp_path)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.parquet"])
@pytest.mark.parametrize("what", ["none", "folder", "pipe", "device", "huge"])
def test_hostile_files_are_refused_at_once(tmp_path: Path, name: str, what: str) -> None:
    path = tmp_path / name
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "huge":
        with path.open("wb") as sparse:
            sparse.truncate(2**41)
    messages = {
        "none": "found none", "folder": "it is a folder", "huge": "more than 10,000,000 bytes",
    }  # fmt: skip
    assert messages.get(what, "a pipe or device") in why_not(tmp_path, name)


@pytest.mark.parametrize(
    "name", [5, None, [], {}, True, "", "a\0.txt", "\ud800.txt", "x" * 5000 + ".txt"]
)
def test_what_is_no_path(tmp_path: Path, name: Any) -> None:
    assert why_not(tmp_path, name)


def test_a_file_beside_edges_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n")
    with pytest.raises(SpecError, match=r"No entry may stand beside file"):
        spec_file.parse(raw_of({"file": "a.txt", "edges": [0, 1]}), folder=tmp_path)


def test_every_problem_is_listed_once(tmp_path: Path) -> None:
    raw = raw_of({"file": "none.txt"})
    raw["query"].append({"name": "q", "statistics": ["cuont"], "group_by": {"code": {"file": 1}}})
    with pytest.raises(SpecError) as caught:
        spec_file.parse(raw, folder=tmp_path)
    assert {key for key, _ in caught.value.problems} == {
        "query[0].group_by.region.file",
        "query[1].group_by.code.file",
        "query[1].statistics[0]",
        "query[1].name",
    }


def test_the_release_holds_the_keys_and_needs_the_file_no_more(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "rows.csv").write_text("region,code\ns,1\nn,1\nn,2\nother,3\n")
    (folder / "keys.csv").write_text("region\nn\ns\n")
    raw = raw_of({"file": "keys.csv"}, types={"region": "text"})
    listed = Release(**raw_of(["n", "s"], types={"region": "text"}), folder=folder)
    given = Release(**raw, folder=folder)
    assert given.spec == listed.spec
    (folder / "spec.toml").write_text(
        listed.to_toml()
        .replace("[query.group_by]", "")
        .replace(
            'region = [\n    "n",\n    "s",\n]', 'group_by = { region = { file = "keys.csv" } }'
        )
    )
    from_file = Release.from_toml(folder / "spec.toml")
    assert from_file.spec == listed.spec
    assert from_file.to_toml() == listed.to_toml()
    (folder / "keys.csv").unlink()
    result = from_file.run()
    assert result.tables["q"].columns["region"] == ["n", "s"]
    assert verify_directory(folder / "out").spec == listed.spec
    spec = folder / "out" / "spec.toml"
    text = spec.read_text()
    assert "keys.csv" not in text
    # what verifies is all in the directory: no file that it names is read
    (folder / "out" / "keys.txt").write_text("n\ns\n")
    for path in ("keys.txt", str(folder / "out" / "keys.txt"), "/dev/zero.txt"):
        spec.write_text(text.replace('[\n    "n",\n    "s",\n]', f'{{ file = "{path}" }}'))
        assert "file = " in spec.read_text()
        with pytest.raises(CertificateRejected, match="List the keys in the spec"):
            verify_resealed(folder / "out")


@pytest.mark.dense
@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    texts=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=9),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
def test_any_keys_are_read_as_they_stand(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "a.txt").write_bytes("\n".join(texts).encode())
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    (folder / "a.csv").write_bytes("\n".join(["region", *quoted, ""]).encode())
    pd.DataFrame({"region": texts}).to_parquet(folder / "a.parquet")
    first = (texts[0].removeprefix("\ufeff"), *texts[1:])  # which editors put there
    if all(first):
        assert keys(folder, "a.txt") == first
    assert keys(folder, "a.csv") == keys(folder, "a.parquet") == tuple(texts)


def test_nothing_is_read_where_no_file_is_named() -> None:
    for raw in ({}, {"query": 5}, {"query": [5, {"group_by": 5}, {"group_by": {1: {"file": 2}}}]}):
        assert named_files.read_named_files(raw, None, []) == raw
