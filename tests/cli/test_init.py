"""The first spec that `init` writes from a schema: refused until it is filled in, then it runs."""

from __future__ import annotations

import shutil
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.cli.program import run

_ROWS = (
    "SELECT i // 2 + {shift} AS person, ['oslo', 'rome'][i % 2 + 1] || {shift} AS town, "
    "(i % 7 + {shift})::DOUBLE AS visits FROM range({rows}) t(i)"
)
_SHIFTS = (918_000, 273_000)


def build(kind: str, folder: Path, *, shift: int = _SHIFTS[0], rows: int = 40) -> list[str]:
    """Make a source of this kind; return what `init` takes for it."""
    sql = _ROWS.format(shift=shift, rows=rows)
    folder.mkdir(exist_ok=True)
    if kind == "sqlite":
        with closing(sqlite3.connect(folder / "shop.sqlite")) as file:
            file.execute("CREATE TABLE visits (person, town, visits)")
            file.executemany(
                "INSERT INTO visits VALUES (?, ?, ?)", duckdb.connect().sql(sql).fetchall()
            )
            file.commit()
        return ["shop.sqlite", "--table", "visits"]
    if kind == "duckdb":
        with duckdb.connect(folder / "shop.duckdb") as file:
            file.execute(f"CREATE TABLE visits AS {sql}")
        return ["shop.duckdb", "--table", "visits"]
    if kind == "folder":
        (folder / "visits").mkdir()
        duckdb.connect().sql(sql).write_parquet(str(folder / "visits/a.parquet"))
        return ["visits"]
    name = f"visits.{'csv' if kind == 'csv' else 'parquet'}"
    relation = duckdb.connect().sql(sql)
    (relation.write_csv if kind == "csv" else relation.write_parquet)(str(folder / name))
    if kind == "list":
        shutil.copy(folder / name, folder / "more.parquet")
        return [name, "more.parquet"]
    return [name]


KINDS = ("parquet", "csv", "list", "folder", "duckdb", "sqlite")
_EDITS = (
    ('# unit = "COLUMN"', 'unit = "person"'),
    ("# epsilon", "epsilon"),
    ("# [contribution]", "[contribution]"),
    ("# max_rows", "max_rows"),
    ("# visits = {", "visits = {"),
    ('["count"]', '["count", "mean(visits)"]'),
    ("# group_by = { COLUMN = [1, 2, 3] }", 'group_by = { town = ["oslo", "rome"] }'),
)


@pytest.mark.dense
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_refused_until_it_is_filled_in(tmp_path: Path, kind: str) -> None:
    done = run("init", *build(kind, tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / "spec.toml"
    text = path.read_text()
    early = run("release", "spec.toml", cwd=tmp_path)
    line = text.splitlines().index("[privacy]") + 1
    assert early.returncode == 2
    _, *problems = early.stderr.splitlines()
    assert [problem.split(" Missing")[0] for problem in problems] == [
        f"spec.toml:{line}: privacy.unit:",
        f"spec.toml:{line}: privacy.epsilon:",
    ]
    assert 'Write unit = "person"' in problems[0]

    for old, new in _EDITS:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    if kind in {"csv", "sqlite"}:
        path.write_text(text)
        undeclared = run("release", "spec.toml", "--plan", cwd=tmp_path)
        assert "query[0].statistics[1]: Expected a number column" in undeclared.stderr
        text = text.replace('visits = "text"', 'visits = "float"')
    path.write_text(text)
    commands = [splitline.split("    (")[0].split() for splitline in done.stdout.splitlines()]
    lines = [words[2:] for words in commands if words[1:2] == ["leastnoise"]]
    assert lines == [
        ["release", "spec.toml", "--plan"],
        ["release", "spec.toml"],
        ["verify", "out"],
        ["report", "out"],
    ]
    for words in lines if kind == "csv" else lines[:1]:  # to plan is to look at the source
        ran = run(*words, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
def test_no_row_has_a_say_in_it(tmp_path: Path, kind: str) -> None:
    """Another table of the same columns gives the same file, to the letter."""
    texts: list[str] = []
    for shift, rows in ((_SHIFTS[0], 40), (_SHIFTS[1], 90)):
        folder = tmp_path / str(shift)
        done = run("init", *build(kind, folder, shift=shift, rows=rows), cwd=tmp_path / str(shift))
        assert done.returncode == 0, done.stderr
        texts.append((folder / "spec.toml").read_text())
    assert texts[0] == texts[1]
    assert not any(word in texts[0] for word in ("oslo", "918", "273"))


def test_types_are_those_of_the_schema(tmp_path: Path) -> None:
    columns = "1 AS n, 'x' AS t, true AS b, [1] AS l, now() AS w, 'x'::BLOB AS raw"
    duckdb.connect().sql(f"SELECT {columns}").write_parquet(str(tmp_path / "a.parquet"))
    run("init", "a.parquet", cwd=tmp_path)
    text = (tmp_path / "spec.toml").read_text()
    assert "#   n: int\n#   t: text\n#   b: bool\n#   l: INTEGER[], which can't be used\n" in text
    assert '#   raw: BLOB; declare it under types, as "text"\n' in text
    assert "# n = { bounds = [0, 10] }  # TODO" in text
    assert "# b = { bounds = [0, 1] }\n" in text
    assert "# t =" not in text


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    source = build("csv", tmp_path)
    (tmp_path / "spec.toml").write_text("mine")
    done = run("init", *source, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--output" in done.stderr
    assert (tmp_path / "spec.toml").read_text() == "mine"
    assert run("init", *source, "--output", "other.toml", cwd=tmp_path).returncode == 0


def test_a_spec_in_another_folder_finds_its_source(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    done = run("init", *build("csv", tmp_path), "--output", "specs/a.toml", cwd=tmp_path)
    assert "leastnoise verify specs/out\n" in done.stdout
    assert tomllib.loads((tmp_path / "specs/a.toml").read_text())["data"]["source"] == (
        "../visits.csv"
    )


def test_odd_names_of_columns_are_names_in_toml(tmp_path: Path) -> None:
    odd = 'a "b" = 1\n[privacy]'
    with duckdb.connect(tmp_path / "odd.duckdb") as file:
        name = odd.replace('"', '""')
        file.execute(f'CREATE TABLE t ("{name}" INTEGER)')
    assert run("init", "odd.duckdb", "--table", "t", cwd=tmp_path).returncode == 0
    text = (tmp_path / "spec.toml").read_text()
    uncommented = text.replace("# " + r'"a \"b\"', r'"a \"b\"')
    assert tomllib.loads(uncommented)["columns"] == {odd: {"bounds": [0, 10]}}


@pytest.mark.dense
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv"], "found none at nowhere.csv"),
        ([""], "Expected names of 1 to 4,096 letters"),
        (["shop.duckdb", "--table", "a" * 5000], "Expected names of 1 to 4,096 letters"),
        (["notes.txt"], "SOURCE: Expected a file ending in"),
        (["shop.duckdb"], "--table: Missing"),
        (["visits.csv", "--table", "t"], "--table: Only a database has tables"),
        (["postgresql://me:hidden@host/shop", "--table", "t"], "Leave passwords"),
        (["visits.csv", "--output", "no/folder.toml"], "--output no/folder.toml can't be written"),
        ([], "SOURCE"),
    ],
)
def test_what_cannot_be_started_from_exits_2(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    build("csv", tmp_path)
    done = run("init", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "hidden" not in done.stderr
    assert not (tmp_path / "spec.toml").exists()


@pytest.mark.parametrize("between", [";", "|", "\t"])
def test_what_seems_to_stand_between_the_names_of_a_csv_is_proposed(
    tmp_path: Path, between: str
) -> None:
    (tmp_path / "rows.csv").write_text(between.join(["person", "town"]) + "\n")
    done = run("init", "rows.csv", cwd=tmp_path)
    assert done.returncode == 0
    spec = tomllib.loads((tmp_path / "spec.toml").read_text())
    assert spec["data"]["delimiter"] == between
    assert list(spec["data"]["types"]) == ["person", "town"]
