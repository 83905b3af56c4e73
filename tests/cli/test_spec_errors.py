"""Errors in a spec are printed with the file's name and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from leastnoise.cli.spec import locate_problems
from leastnoise.errors import SpecError
from leastnoise.tables.publish.release import Release
from tests.cli.program import run

SPEC = """\
version = 1
data = { source = "rows.csv", types = { who = "int", size = "float" } }

[privacy]
unit = "who"
epsilon = true

[[query]]
name = "sizes"
statistics = [
    "count",
    "mean(siz)",
]
importence = 2
"""
_NUMBER = (
    "Expected a decimal number, got epsilon=True. Write epsilon as a decimal number, such as 0.5 "
    "or "
    "1e-5."
)
_LIMIT = "a limit on the rows of one person. Write, for example, max_rows = 5 in [contribution]."
_COLUMN = (
    "The column 'siz' has no type in data.types. Did you mean size? If both names mean "
    "the same column, correct one of them."
)


def test_each_problem_starts_with_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    done = run("release", "spec.toml", cwd=tmp_path)
    assert done.returncode == 2
    header, *problems = done.stderr.splitlines()
    assert header == "leastnoise: The spec has 5 problems:"
    assert [problem.partition(": ")[::2] for problem in problems] == [
        ("spec.toml:6", f"privacy.epsilon: {_NUMBER}"),
        ("spec.toml:14", "query[0].importence: Unknown key. Did you mean importance?"),
        ("  contribution", f"Missing: {_LIMIT}"),
        ("spec.toml:12", f"query[0].statistics[1]: {_COLUMN}"),
        ("  output", 'Missing: the directory of the release. Write [output] with path = "out"'),
    ]


def test_so_do_those_that_the_source_shows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("who,length\n1,2\n")
    fixed = SPEC.replace("true", '"1"').replace("siz)", "size)").replace("importence", "importance")
    fixed += "[columns.size]\nbounds = [0, 1]\n[contribution]\nmax_rows = 1\n"
    (tmp_path / "spec.toml").write_text(fixed)
    done = run("release", "spec.toml", "--plan", cwd=tmp_path)
    keys = [line.split(": ")[:2] for line in done.stderr.splitlines()[1:]]
    assert keys == [
        ["spec.toml:2", "data.types.size"],
        ["spec.toml:15", "columns.size"],
        ["spec.toml:12", "query[0].statistics[1]"],
    ]
    path = tmp_path / "spec.toml"
    assert run("ledger", "init", "a", "--dataset", "d", "--unit", "who", "--epsilon", "9",
               cwd=tmp_path).returncode == 0  # fmt: skip
    planned = run("ledger", "register", "a", str(path), "--epsilon", "1", cwd=tmp_path)
    assert planned.returncode == 2
    assert f"\n{path}:2: data.types.size: " in planned.stderr


def test_an_option_is_on_no_line(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(
        'version = 1\ndata.source = "a.parquet"\ndata.engine = "duckdb"\n'
        'privacy = { unit = "row", epsilon = 1 }\n'
        'query = [{ name = "n", statistics = ["count"] }]\n'
    )
    done = run("release", "spec.toml", "--engine", "oracle", cwd=tmp_path)
    assert done.returncode == 2
    assert '\n  data.engine: Expected "duckdb", ' in done.stderr


def test_what_is_no_toml_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text("version = 1\n[data\n")
    done = run("release", "spec.toml", cwd=tmp_path)
    assert "\nspec.toml:2: TOML: " in done.stderr
    assert 'Quote texts with ", ' in done.stderr


def test_a_csv_in_place_of_a_spec_is_answered_with_init(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("who,size\n1,2\n")
    done = run("release", "rows.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "got the CSV rows.csv. To start a spec: leastnoise init rows.csv\n" in done.stderr


def test_a_query_of_sql_is_the_commands_and_on_no_line(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("who,size\n1,2\n")
    text, _, _ = SPEC.replace("true", '"1"').partition("[[query]]")
    (tmp_path / "spec.toml").write_text(f"{text}[contribution]\nmax_rows = 1\n")
    sql = "select count(*) from data where size > 1"
    done = run("release", "--plan", "--sql", sql, "spec.toml", cwd=tmp_path)
    assert "only rows where size > 1 count." in done.stdout
    done = run("release", "--sql", f"{sql} limit 3", "spec.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[1].startswith("  query[0].sql: A query can't have limit")


SOUND = """\
version = 1
data = { source = "rows.csv", types = { who = "int", size = "float" } }
privacy = { unit = "who", epsilon = "1" }
contribution = { max_rows = 1 }
columns = { size = { bounds = [0, 1] } }
query = [{ name = "sizes", statistics = ["count", "mean(size)"] }]
output = { path = "out", format = "csv" }
"""


def test_a_header_that_was_meant_otherwise_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("who;size\n1;2\n")
    (tmp_path / "spec.toml").write_text(SOUND)
    done = run("release", "spec.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.partition("\n")[2] == (
        "spec.toml:2: data.source: rows.csv lacks all columns that the spec names. If another "
        'sign separates its fields, name it in [data]: delimiter = ";".\n'
    )


def test_a_missing_output_is_listed_with_other_problems(tmp_path: Path) -> None:
    spec = 'data = { source = "rows.csv" }\nprivacy = { unit = "row", epsilon = 1 }\n'
    spec += 'query = [{ name = "n", statistics = ["count"], group_by = { k = ["a"] } }]\n'
    path = tmp_path / "spec.toml"
    keys = []
    for more in ("", 'output = { path = "out" }\n'):
        path.write_text(spec + more)
        with pytest.raises(SpecError) as caught, locate_problems(path, publishes=True):
            Release.from_toml(path)
        keys.append([key for key, _ in caught.value.problems])
        assert '"int", "float", "text" or "bool".' in str(caught.value)
    assert keys == [["version", "data.types", "output"], ["version", "data.types"]]
    for wrong in ("[", spec):  # no TOML, and a plan
        path.write_text(wrong)
        with pytest.raises(SpecError) as caught, locate_problems(path, publishes=wrong == "["):
            Release.from_toml(path)
        assert "output" not in dict(caught.value.problems)
