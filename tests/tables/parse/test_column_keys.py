"""Keys and bands listed once for a column give the same release as if each query lists them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.tables.parse import spec_file, spec_text
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory

SPEC = """\
version = 1
[data]
source = "rows.csv"
types = { region = "text", sex = "int", age = "float" }
[privacy]
unit = "row"
epsilon = 1
[columns.region]
keys = ["n", "s"]
[columns.sex]
keys = [0, 1]
[columns.age]
bounds = [0, 100]
edges = [0, 18, 65]
[[query]]
name = "all"
statistics = ["count", "mean(age)"]
group_by = ["region", "age"]
[[query]]
name = "sexes"
statistics = ["count"]
group_by = ["sex"]
[output]
path = "out"
format = "csv"
"""
_LISTED = {"region": ["n", "s"], "age": {"edges": [0, 18, 65]}}


def where(text: str, folder: Path | None = None) -> dict[str, tuple[str, int | None]]:
    """The problems of a spec: for each key, the message and its line."""
    with pytest.raises(SpecError) as caught:
        spec_file.loads(text, folder=folder)
    problems = caught.value.problems
    lines = spec_text.lines(text, problems)
    return {key: (why, line) for (key, why), line in zip(problems, lines, strict=True)}


def test_it_is_the_release_of_listed_keys() -> None:
    listed = tomllib.loads(SPEC)
    listed["query"][0]["group_by"] = _LISTED
    listed["query"][1]["group_by"] = {"sex": [0, 1]}
    by_name = spec_file.lay_out(tomllib.loads(SPEC))
    assert by_name.queries == spec_file.lay_out(listed).queries
    assert spec_file.loads(spec_file.dumps(by_name.spec)) == by_name.spec
    assert 'keys = [\n    "n",\n    "s",\n]' in spec_file.dumps(by_name.spec)


def test_it_verifies_and_a_query_may_list_others(tmp_path: Path) -> None:
    text = SPEC.replace('group_by = ["sex"]', "group_by = { sex = [1] }")
    text = text.replace('keys = ["n", "s"]', 'keys = { file = "regions.txt" }')
    (tmp_path / "regions.txt").write_text("n\ns\n")
    (tmp_path / "rows.csv").write_text("region,sex,age\n" + "n,1,20\ns,0,70\n" * 9)
    (tmp_path / "spec.toml").write_text(text)
    tables = Release.from_toml(tmp_path / "spec.toml").run().tables
    assert tables["all"].columns["region"] == ["n", "n", "s", "s"]
    assert tables["all"].columns["age_to"] == [18, 65, 18, 65]
    assert tables["sexes"].columns["sex"] == [1]
    verified = verify_directory(tmp_path / "out")
    assert verified.spec.columns["region"].keys == ("n", "s")
    assert verified.rows == {"all": 4, "sexes": 1}
    stored = tmp_path / "out/spec.toml"
    stored.write_text(stored.read_text().replace('"n"', '"m"'))
    with pytest.raises(CertificateRejected, match="other keys"):
        verify_directory(tmp_path / "out")


@pytest.mark.parametrize(
    ("old", "new", "key", "why", "line"),
    [
        ('["n", "s"]', '["n", "n"]', "columns.region.keys", "given 2 times", 9),
        ('["n", "s"]', '["n", 1]', "columns.region.keys[1]", "Expected text", 9),
        ('["n", "s"]', '["n", 1.5]', "columns.region.keys[1]", "Floats", 9),
        ('["n", "s"]', "[]", "columns.region", "Missing: public keys", 8),
        ('["n", "s"]', '"private"', "columns.region.keys", "Expected a list", 9),
        (
            '["n", "s"]',
            '{ file = "a.txt" }',
            "columns.region.keys.file",
            "only if the spec is a file",
            9,
        ),
        ('keys = ["n", "s"]', "edges = [0, 1]", "columns.region", "no bounds", 8),
        ('keys = ["n", "s"]', "", "columns.region", "Missing: public keys", 8),
        ("edges = [0, 18, 65]", "edges = [0, 18, 18]", "columns.age.edges", "given twice", 14),
        ("edges = [0, 18, 65]", "keys = [1]", "columns.age.keys", "Give edges", 14),
        ("keys = [0, 1]", "keys = [0, 1]\nedges = [0, 1]", "columns.sex.edges", "one of them", 12),
        ("keys = [0, 1]", "", "columns.sex", "query[1].group_by gives only its name", 10),
        ('["sex"]', '["sex", "sex"]', "query[1].group_by[1]", "given twice", 22),
        ('["sex"]', '["sx"]', "query[1].group_by[0]", "Did you mean sex?", 22),
        ('["sex"]', "[3]", "query[1].group_by[0]", "Expected a text", 22),
        ('["sex"]', "[]", "query[1].group_by", "Expected 1 or more", 22),
        ('["sex"]', "3", "query[1].group_by", "Expected a table", 22),
    ],
)
def test_what_is_wrong_is_told_on_the_line_that_says_it(
    *, old: str, new: str, key: str, why: str, line: int
) -> None:
    assert SPEC.count(old) == 1
    problems = where(SPEC.replace(old, new))
    assert key in problems, problems
    message, position = problems[key]
    assert why in message
    assert position == line


def test_a_key_of_another_type_is_told_once_whatever_groups_by_it() -> None:
    text = SPEC.replace("keys = [0, 1]", 'keys = ["m"]').replace('"region", ', '"region", "sex", ')
    assert list(where(text)) == ["columns.sex.keys[0]"]


def test_a_type_that_only_the_source_knows_is_told_there_too(tmp_path: Path) -> None:

    rows = "SELECT 'n' AS region, 'm' AS sex, 1.5 AS age"
    duckdb.connect().sql(rows).write_parquet(str(tmp_path / "rows.parquet"))
    raw: dict[str, Any] = tomllib.loads(SPEC)
    raw["data"] = {"source": "rows.parquet"}
    with pytest.raises(SpecError) as caught:
        Release(**raw, folder=tmp_path).plan()
    assert [key for key, _ in caught.value.problems] == [
        "columns.sex.keys[0]",
        "columns.sex.keys[1]",
    ]
