"""Specs: round trips, the Python twin, and every problem listed at once with its key."""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.errors import InvalidInput, SourceError, SpecError
from leastnoise.tables.publish.release import Release
from leastnoise.tables.read import spec_file, spec_text
from leastnoise.tables.spec.query import Bands

GOOD = """
version = 1
[data]
source = "visits.csv"
types = { zper = "int", plan = "int", mdvis = "float", note = "text" }
[privacy]
unit = "zper"
neighbours = "add-remove"
epsilon = "1"
delta = 1e-6
[contribution]
max_rows = 5
[columns.mdvis]
bounds = [0, 0.1]
missing = 0
[[query]]
name = "use_by_plan"
importance = 2
statistics = ["count", "mean(mdvis)", " sum( mdvis ) "]
group_by = { plan = [1, 2, 3] }
[[query]]
name = "visits"
histogram = { column = "mdvis", edges = [0, 1, 5.5, 30] }
[[query]]
name = "conditions"
max_conditions = 2
[query.conditions]
often = { mdvis = { min = "0.1", below = 3 }, plan = { among = [1, 2] } }
noted = { note = { among = ["x"] } }
[output]
path = "out"
format = "csv"
"""


def problems(raw: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        spec_file.loads(raw) if isinstance(raw, str) else spec_file.parse(raw)
    return dict(reversed(caught.value.problems))


def changed(old: str, new: str) -> dict[str, str]:
    assert old in GOOD
    return problems(GOOD.replace(old, new))


def test_numbers_are_the_decimals_that_print() -> None:
    spec = spec_file.loads(GOOD)
    assert spec.privacy.delta == Fraction(1, 10**6)
    assert spec.columns["mdvis"].bounds == (0, Fraction(1, 10))
    assert spec.share(spec.query[0]) == Fraction(2, 4)


def test_what_is_written_reads_back_equal() -> None:
    spec = spec_file.loads(GOOD)
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    assert spec_file.dumps(spec_file.loads(spec_file.dumps(spec))) == spec_file.dumps(spec)


def test_bands_read_back_equal_in_the_order_that_they_are_given() -> None:
    bands = 'plan = { edges = [0, "0.1", 5.5] }, note = ["b", "a"], mdvis = { edges = [-1, 30] }'
    spec = spec_file.loads(GOOD.replace("plan = [1, 2, 3]", bands))
    assert list(spec.query[0].group_by) == ["plan", "note", "mdvis"]
    assert spec.groupings(spec.query[0])["plan"] == Bands(
        edges=(Fraction(0), Fraction(1, 10), Fraction(11, 2))
    )
    again = spec_file.loads(spec_file.dumps(spec))
    assert again == spec
    assert list(again.query[0].group_by) == ["plan", "note", "mdvis"]
    raw = spec_file.to_dict(spec)
    raw["query"][0]["group_by"]["plan"] = {"edges": np.array([0, 0.1, 5.5])}
    assert spec_file.parse(raw) == spec


def test_tables_and_lists_of_any_names_keep_their_order_beside_other_sections() -> None:
    odd = ["a.b", '"', "[[query]]\n", "ü", "z"]
    spec = spec_file.loads(GOOD)
    raw = spec_file.to_dict(spec)
    raw["query"][0] |= {"accuracy": {"count": {"std": 3}}, "name": "[query.group_by]"}
    for first in range(len(odd)):
        names = odd[first:] + odd[:first]
        groups = [{"edges": [0, "1.5", "inf"]}, [1, 2], {"edges": [3, 4]}, ["[x", "\n[y]"], [True]]
        raw["query"][0]["group_by"] = dict(zip(names, groups, strict=True))
        raw["query"][1]["group_by"] = {"first": {"edges": [1, 2]}, "second": [1]}
        text = spec_text.write(raw)
        found = tomllib.loads(text)
        assert found == raw
        assert [list(one.get("group_by", ())) for one in found["query"]] == [
            names,
            ["first", "second"],
            [],
        ]


@pytest.mark.parametrize(
    "ends", [(-math.inf, math.inf), ("-inf", "inf"), np.array(["-inf", "inf"], np.float32)]
)
def test_open_ends_read_back_equal(ends: Any) -> None:
    spec = spec_file.loads(GOOD.replace("[0, 1, 5.5, 30]", "[-inf, 0, 1.5, inf]"))
    assert spec.query[1].histogram is not None
    assert spec.query[1].histogram.edges == (-math.inf, 0, Fraction(3, 2), math.inf)
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    raw = spec_file.to_dict(spec)
    raw["query"][1]["histogram"]["edges"] = [ends[0], 0, "1.5", ends[1]]
    assert spec_file.parse(raw) == spec


def test_sums_are_clamped_where_they_can_not_be_negative() -> None:
    clamped = GOOD.replace("importance = 2", "clamp = true\nround = true")
    spec = spec_file.loads(clamped.replace('name = "visits"', 'name = "visits"\nround = true'))
    assert [query.round for query in spec.query] == [True, True, False]
    assert [query.clamp for query in spec.query] == [True, False, False]
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    assert "clamp = false" not in spec_file.dumps(spec)
    found = problems(clamped.replace("bounds = [0, 0.1]", "bounds = [-1, 0.1]"))
    assert "sum(mdvis) can be negative" in found["query[0].clamp"]
    means = clamped.replace('"mean(mdvis)", " sum( mdvis ) "', '"mean(mdvis)"')
    assert spec_file.loads(means.replace("bounds = [0, 0.1]", "bounds = [-1, 0.1]"))


def test_the_python_twin_is_the_toml(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(GOOD)
    from_file = Release.from_toml(tmp_path / "spec.toml")
    twin = Release(
        data={
            "source": "visits.csv",
            "types": {"zper": "int", "plan": "int", "mdvis": "float", "note": "text"},
        },
        privacy={"unit": "zper", "neighbours": "add-remove", "epsilon": 1, "delta": "1e-6"},
        contribution={"max_rows": 5},
        columns={"mdvis": {"bounds": (0, "0.1"), "missing": 0}},
        query=[
            {
                "name": "use_by_plan",
                "importance": 2.0,
                "statistics": ["count", "mean(mdvis)", " sum( mdvis ) "],
                "group_by": {"plan": [1, 2, 3]},
            },
            {"name": "visits", "histogram": {"column": "mdvis", "edges": ["0", 1, "5.5", 30]}},
            {
                "name": "conditions",
                "max_conditions": 2,
                "conditions": {
                    "often": {"mdvis": {"min": 0.1, "below": 3}, "plan": {"among": [1, 2]}},
                    "noted": {"note": {"among": ("x",)}},
                },
            },
        ],
        output={"path": "out", "format": "csv"},
    )
    assert twin.spec == from_file.spec
    assert twin.to_toml() == from_file.to_toml()


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("epsilon =", "epsilonn =", "privacy.epsilonn", "Did you mean epsilon?"),
        ("[privacy]", "[privicy]", "privicy", "Did you mean privacy?"),
        ("edges =", "edgs =", "query[1].histogram.edgs", "Did you mean edges?"),
        ('epsilon = "1"', "epsilon = -1", "privacy.epsilon", "0 <= epsilon"),
        ('epsilon = "1"', "epsilon = nan", "privacy.epsilon", "finite"),
        ('epsilon = "1"', "epsilon = inf", "privacy.epsilon", "finite"),
        ('epsilon = "1"', 'epsilon = "one"', "privacy.epsilon", "decimal"),
        ("delta = 1e-6", "delta = 5", "privacy.delta", "Did you mean a percentage?"),
        ("add-remove", "change-one", "privacy.neighbours", 'write "replace-one"'),
        ('unit = "zper"', 'unit = "mdvis"', "privacy.unit", "float column"),
        ('zper = "int"', 'zper = "bool"', "privacy.unit", "bool column"),
        ('unit = "zper"', 'unit = "zpre"', "privacy.unit", "Did you mean zper?"),
        ('unit = "zper"', 'unit = "row"', "contribution", "Not used"),
        ("max_rows = 5", "max_rows = 0", "contribution.max_rows", "greater than"),
        ("max_rows = 5", "max_groups = 2", "query[0]", "bounds one person"),
        ("max_rows = 5", "l2 = 0", "contribution.l2", "> 0"),
        ("max_rows = 5", "max_rows = true", "contribution.max_rows", "a whole number"),
        ("max_rows = 5", "l2 = 10000000", "query[0]", "Split the query"),
        ("[contribution]\nmax_rows = 5", "", "contribution", "Missing"),
        ("bounds = [0, 0.1]", "bounds = [1, 0]", "columns.mdvis.bounds", "Reversed"),
        ("bounds = [0, 0.1]", "bounds = [1, 1]", "columns.mdvis.bounds", "low < high"),
        ("bounds = [0, 0.1]", "bounds = [0, inf]", "columns.mdvis.bounds[1]", "finite"),
        (
            "bounds = [0, 0.1]",
            "bounds = [0]",
            "columns.mdvis.bounds[1]",
            "Missing. Write it like bounds = [0, 30]",
        ),
        ("bounds = [0, 0.1]\n", "", "query[0].statistics[1]", "needs bounds"),
        ('"count", ', '"count", "count", ', "query[0].statistics[1]", "twice"),
        ('"count", ', '"cuont", ', "query[0].statistics[0]", "Did you mean count?"),
        ('"count", ', '"count_units(x)", ', "query[0].statistics[0]", "without a column"),
        ('"count", ', '"count()", ', "query[0].statistics[0]", "Name the column"),
        ('"count", ', '"count(x)", ', "query[0].statistics[0]", "is not in data.types"),
        ("missing = 0", "missing = 7", "columns.mdvis.missing", "within the bounds"),
        ("missing = 0", 'missing = "skpi"', "columns.mdvis.missing", '"skip", a number'),
        ('"count", ', '"sum", ', "query[0].statistics[0]", "sum(column)"),
        ('"count", ', '"sum(note)", ', "query[0].statistics[0]", "text column"),
        ('"count", ', '"sum(mdvsi)", ', "query[0].statistics[0]", "Did you mean mdvis?"),
        ("plan = [1, 2, 3]", "plan = [1, 2, 1]", "query[0].group_by.plan", "given 2 times"),
        ("plan = [1, 2, 3]", "plan = []", "query[0].group_by.plan", "at least one"),
        ("plan = [1, 2, 3]", 'plan = ["a"]', "query[0].group_by.plan[0]", "Expected int"),
        ("plan = [1, 2, 3]", "plan = [1.5]", "query[0].group_by.plan[0]", "Floats"),
        ("plan = [1, 2, 3]", "plan = [true]", "query[0].group_by.plan[0]", "Expected int"),
        ("plan = [1, 2, 3]", "mdvis = [1]", "query[0].group_by.mdvis", "Give edges"),
        ("plan = [1, 2, 3]", "plan = { edges = [3, 1] }", "query[0].group_by.plan.edges", "incr"),
        ("plan = [1, 2, 3]", "plan = { edges = [1] }", "query[0].group_by.plan.edges", "two or"),
        ("plan = [1, 2, 3]", "plan = { edges = [1, 1] }", "query[0].group_by.plan.edges", "twice"),
        ("plan = [1, 2, 3]", "plan = { edgs = [1] }", "query[0].group_by.plan.edges", "Missing"),
        (
            "plan = [1, 2, 3]",
            'plan = { edges = [1, "x"] }',
            "query[0].group_by.plan.edges[1]",
            "decimal",
        ),
        ("plan = [1, 2, 3]", "note = { edges = [1, 2] }", "query[0].group_by.note", "text column"),
        ("plan = [1, 2, 3]", "plna = { edges = [1, 2] }", "query[0].group_by.plna", "mean plan?"),
        ("plan = [1, 2, 3]", "plan = 3", "query[0].group_by.plan", "Expected a list"),
        ("[0, 1, 5.5, 30]", "[inf, 30]", "query[1].histogram.edges", "increasing"),
        ("[0, 1, 5.5, 30]", "[0, inf, 30]", "query[1].histogram.edges", "got inf before 30"),
        ("[0, 1, 5.5, 30]", "[0, -inf]", "query[1].histogram.edges", "got 0 before -inf"),
        ("[0, 1, 5.5, 30]", "[0, inf, inf]", "query[1].histogram.edges", "inf is given twice"),
        ("[0, 1, 5.5, 30]", "[0, nan]", "query[1].histogram.edges[1]", "finite"),
        ("[0, 1, 5.5, 30]", "[0, 5, 1, 30]", "query[1].histogram.edges", "increasing"),
        ("[0, 1, 5.5, 30]", "[0, 1, 1, 30]", "query[1].histogram.edges", "twice"),
        ("[0, 1, 5.5, 30]", "[0]", "query[1].histogram.edges", "two or more"),
        ('column = "mdvis"', 'column = "note"', "query[1].histogram.column", "text column"),
        ('name = "visits"', 'name = "use_by_PLAN"', "query[1].name", "twice"),
        ('name = "visits"', 'name = "../visits"', "query[1].name", "names a file"),
        ('name = "visits"', 'name = "plan"', "query[1].name", "file of the release"),
        ('name = "visits"', 'name = "v"\nstatistics = ["count"]', "query[1].statistics", "another"),
        ("max_conditions = 2", "max_conditions = 3", "query[2].max_conditions", "at most 2"),
        ("max_conditions = 2", "max_conditions = 0", "query[2].max_conditions", "greater than"),
        ("max_conditions = 2", 'statistics = ["count"]', "query[2].statistics", "another"),
        ("max_conditions = 2", "group_by = { plan = [1] }", "query[2].conditions", "another"),
        ('min = "0.1", ', "min = 0, max = 2, ", "query[2].conditions.often.mdvis", "not both"),
        ('min = "0.1", below = 3', "", "query[2].conditions.often.mdvis", "min, max or below"),
        (
            'min = "0.1", below',
            "least = 1, below",
            "query[2].conditions.often.mdvis.least",
            "Unknown key",
        ),
        (
            'min = "0.1", below = 3',
            "among = [1]",
            "query[2].conditions.often.mdvis.among",
            "min and max",
        ),
        (
            "plan = { among = [1, 2]",
            'plan = { among = ["a"]',
            "query[2].conditions.often.plan.among[0]",
            "Expected int",
        ),
        (
            "plan = { among = [1, 2]",
            "plna = { among = [1, 2]",
            "query[2].conditions.often.plna",
            "Did you mean plan?",
        ),
        (
            'note = { among = ["x"] }',
            "note = { min = 1 }",
            "query[2].conditions.noted.note",
            "text column",
        ),
        ('{ note = { among = ["x"] } }', "{}", "query[2].conditions.noted", "at least one"),
        ("importance = 2", "round = 1", "query[0].round", "true or false"),
        ("importance = 2", 'clamp = "yes"', "query[0].clamp", "true or false"),
        ("importance = 2", "rund = true", "query[0].rund", "Did you mean round?"),
        (
            'statistics = ["count", "mean(mdvis)", " sum( mdvis ) "]',
            'statistics = ["mean(mdvis)", "sum(mdvis)"]\nround = true',
            "query[0].round",
            "Expected a count",
        ),
        (
            'statistics = ["count", "mean(mdvis)", " sum( mdvis ) "]',
            'statistics = ["mean(mdvis)"]\nclamp = true',
            "query[0].clamp",
            "without a count or a sum",
        ),
        ("importance = 2", "importance = 1e-7", "query[0].importance", "millionth"),
        ("importance = 2", "importance = 0", "query[0].importance", "> 0"),
        ("visits.csv", "visits.xlsx", "data.source", "ending in .csv, .csv.gz"),
        ('"float", note', '"flaot", note', "data.types.mdvis", "Did you mean float?"),
        ("version = 1", "version = 2", "version", "1"),
        ('format = "csv"', 'format = "xls"', "output.format", "parquet"),
        ('path = "out"\n', "", "output.path", "Missing"),
        ("plan = [1, 2, 3]", "plan = [1, 2", "TOML", "line"),
        ('"int", mdvis', '"int", count = "int", mdvis', "", ""),
    ],
)
def test_each_problem_has_its_key_and_says_what_to_do(
    old: str, new: str, key: str, says: str
) -> None:
    if not key:
        assert spec_file.loads(GOOD.replace(old, new))
        return
    found = changed(old, new)
    assert key in found, found
    assert says in found[key], found[key]


def test_a_single_cause_is_told_once() -> None:
    assert len(changed("epsilon =", "epsilonn =")) == 2  # unknown, and missing
    assert len(changed('"count", ', '"sum(note)", ')) == 1
    assert len(changed("delta = 1e-6", "delta = 5")) == 1
    found = problems("")
    assert list(reversed(found)) == ["version", "data", "privacy", "query"]
    assert all(why.startswith("Missing: ") and " Write " in why for why in found.values())


def test_result_columns_that_clash() -> None:
    found = problems(GOOD.replace("plan", "count_std"))
    assert "count_std" in found["query[0]"]
    bands = "plan = { edges = [0, 1] }, plan_to = [1]"
    types = GOOD.replace('zper = "int"', 'zper = "int", plan_to = "int"')
    assert "plan_to" in problems(types.replace("plan = [1, 2, 3]", bands))["query[0]"]
    bands = 'group_by = { mdvis = { edges = [0, 1] } }\nhistogram = { column = "mdvis"'
    assert (
        "mdvis_from" in problems(GOOD.replace('histogram = { column = "mdvis"', bands))["query[1]"]
    )


def test_all_problems_are_listed_at_once() -> None:
    raw = GOOD.replace('epsilon = "1"', "epsilon = -1").replace("delta = 1e-6", "delta = 2")
    raw = raw.replace("max_rows = 5", "max_row = 5").replace("bounds = [0, 0.1]", "bounds = [3, 1]")
    raw = raw.replace('"count", ', '"cuont", ').replace("plan = [1, 2, 3]", "plan = [1, 1]")
    raw = raw.replace("[0, 1, 5.5, 30]", "[3, 1]").replace('format = "csv"', 'fromat = "csv"')
    keys = {"privacy.epsilon", "privacy.delta", "contribution.max_row", "columns.mdvis.bounds"}
    keys |= {"query[0].statistics[0]", "query[0].group_by.plan", "query[1].histogram.edges"}
    assert set(problems(raw)) == {*keys, "output.fromat"}


def test_a_release_may_be_made_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(GOOD)
    made, read = Release(tmp_path / "spec.toml"), Release.from_toml(str(tmp_path / "spec.toml"))
    assert made.spec == read.spec
    assert made._folder == tmp_path
    assert Release(str(tmp_path / "spec.toml")).spec == read.spec
    with pytest.raises(SourceError, match="found none"):
        Release(tmp_path / "none.toml")
    beside: dict[str, Any]
    for beside in ({"privacy": {"unit": "row"}}, {"data": pd.DataFrame()}, {"folder": "a"}):
        with pytest.raises(InvalidInput, match="a path alone"):
            Release(tmp_path / "spec.toml", **beside)
    with pytest.raises(SpecError, match="privacy: Missing"):
        Release(data={"source": "a.csv"}, query=[])  # pyright: ignore[reportCallIssue]


def test_files_that_are_no_specs(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="found none"):
        Release.from_toml(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="UTF-8"):
        Release.from_toml(tmp_path / "bytes.toml")
    with pytest.raises(SourceError, match="can't be read"):
        Release.from_toml(tmp_path)


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)
SECTIONS = ("version", "data", "privacy", "contribution", "columns", "query", "output")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(section=st.sampled_from(SECTIONS), value=ANYTHING, inner=st.integers(0, 9))
def test_no_value_makes_anything_but_a_spec_error(section: str, value: Any, inner: int) -> None:
    raw = spec_file.to_dict(spec_file.loads(GOOD))
    place = raw[section][0] if section == "query" else raw[section]
    if isinstance(place, dict) and inner:
        place[sorted(place)[inner % len(place)]] = value
    else:
        raw[section] = value
    try:
        spec = spec_file.parse(raw)
    except InvalidInput as error:
        assert isinstance(error, SpecError)  # noqa: PT017
    else:
        assert spec_file.loads(spec_file.dumps(spec)) == spec
