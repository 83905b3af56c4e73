"""Problems of a spec are reported all at once, each with its key and a remedy."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.errors import SpecError
from leastnoise.tables.answers import kinds
from leastnoise.tables.parse import checks, spec_file
from leastnoise.tables.statistics.registry import ParsedQuery
from tests.tables.spec.test_spec import GOOD, problems


def changed(old: str, new: str) -> dict[str, str]:
    assert old in GOOD
    return problems(GOOD.replace(old, new))


@pytest.mark.grid
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
        ("max_rows = 5", "max_groups = 2", "query[0]", "limits how much one person"),
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
        ("bounds = [0, 0.1]\n", "", "query[0].statistics[1]", "to columns.mdvis"),
        ('"count", ', '"count", "count", ', "query[0].statistics[1]", "twice"),
        ('"count", ', '"cuont", ', "query[0].statistics[0]", "Did you mean count?"),
        ('"count", ', '"count_units(x)", ', "query[0].statistics[0]", "without a column"),
        ('"count", ', '"count()", ', "query[0].statistics[0]", "Name the column"),
        ('"count", ', '"count(x)", ', "query[0].statistics[0]", "has no type in data.types"),
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
        ("plan = [1, 2, 3]", 'plan = "private"', "query[0].group_by.plan", '{ keys = "private" }'),
        ("plan = [1, 2, 3]", "plan = { from = 0 }", "query[0].group_by.plan", "{ edges = [0, 18"),
        (
            "plan = [1, 2, 3]",
            "plan = { keys = [1, 2] }",
            "query[0].group_by.plan.keys",
            'leave out "keys ="',
        ),
        ("bounds = [0, 0.1]", "bounds = { low = 0 }", "columns.mdvis.bounds", "a pair [0, 30], or"),
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
        ('name = "visits"', 'name = "plan"', "query[1].name", "file of every release"),
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
            "Expected count",
        ),
        (
            'statistics = ["count", "mean(mdvis)", " sum( mdvis ) "]',
            'statistics = ["mean(mdvis)"]\nclamp = true',
            "query[0].clamp",
            "without a count or a sum",
        ),
        ("importance = 2", "importance = 1e-7", "query[0].importance", "millionth"),
        ("importance = 2", "importance = 0", "query[0].importance", "> 0"),
        ("visits.csv", "visits.ods", "data.source", "ending in .csv, .csv.gz"),
        ('"float", note', '"flaot", note', "data.types.mdvis", "Did you mean float?"),
        ('"float", note', '"Number", note', "data.types.mdvis", "Did you mean float?"),
        ('"float", note', '"string", note', "data.types.mdvis", "Did you mean text?"),
        ('"float", note', '"str", note', "data.types.mdvis", "Did you mean text?"),
        ('"float", note', '"varchar", note', "data.types.mdvis", "Did you mean text?"),
        ('"float", note', '"integer", note', "data.types.mdvis", "Did you mean int?"),
        ('"float", note', '"double", note', "data.types.mdvis", "Did you mean float?"),
        ('"float", note', '"BOOLEAN", note', "data.types.mdvis", "Did you mean bool?"),
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
    problems = changed(old, new)
    assert key in problems, problems
    assert says in problems[key], problems[key]


def test_a_single_cause_is_told_once() -> None:
    assert len(changed("epsilon =", "epsilonn =")) == 2  # unknown, and missing
    assert len(changed('"count", ', '"sum(note)", ')) == 1
    assert len(changed("delta = 1e-6", "delta = 5")) == 1
    result = problems("")
    assert list(reversed(result)) == ["version", "data", "privacy", "query"]
    assert all(why.startswith("Missing: ") and " Write " in why for why in result.values())


def test_a_mistyped_column_causes_no_other_problem_of_its_query() -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.loads(GOOD.replace('"count", ', '"count", "median(mdvsi)", '))
    [(key, why)] = caught.value.problems
    assert key == "query[0].statistics[1]"
    assert "Did you mean mdvis?" in why


def test_result_columns_that_clash() -> None:
    result = problems(GOOD.replace("plan", "count_std"))
    assert "count_std" in result["query[0]"]
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


ONE_PROBLEM = [
    ("data.source", 5, "data.source", "a text in quotes such as"),
    ("query.0.margins", 3, "query[0].margins", "Expected true, or a list of tables"),
    ("contribution.max_rows", "two", "contribution.max_rows", "or { find = true, share"),
    ("contribution.max_rows", {"most": 2}, "contribution.max_rows", "Expected a whole number"),
    ("data.join", {"p": 3}, "data.join.p", "Expected a table of source, on,"),
    ("data.types.zper", 3, "data.types.zper", "Expected 'int', 'float'"),
    ("data.types.zper", "date", "data.types.zper", "in [derive], date(COLUMN) reads it"),
    ("query.0.max_rows", 3, "query[0].max_rows", "Write contribution = { max_rows = 3 }"),
    ("query.0.group_by.plan", [1, 1], "query[0].group_by.plan", "The key 1 is given 2 times."),
    (
        "query.0.group_by.plan",
        {"file": "a.txt"},
        "query[0].group_by.plan.file",
        "only if the spec is a file",
    ),
    ("query.0.name", "\ud800", "query[0].name", "Expected a text that UTF-8 can hold."),
    ("query.2.conditions.often", 3, "query[2].conditions.often", "Expected a table of keys."),
    ("columns", {1: {}}, "columns.1", "Expected a text as the name"),
]


@pytest.mark.parametrize(("path", "value", "key", "why"), ONE_PROBLEM)
def test_one_bad_value_is_one_problem(path: str, value: Any, key: str, why: str) -> None:
    """Nor does it hide another one."""
    raw = tomllib.loads(GOOD) | {"extra": 1}
    *above, last = path.split(".")
    inner: Any = raw
    for part in above:
        inner = inner[int(part) if isinstance(inner, list) else part]
    inner[last] = value
    with pytest.raises(SpecError) as caught:
        spec_file.parse(raw)
    problems = dict(caught.value.problems)
    assert why in problems[key]
    assert problems["extra"].startswith("Unknown key.")
    without_bounds = {"query[0].statistics[1]", "query[0].statistics[2]"}  # if no column has any
    assert {*problems} - (without_bounds if path == "columns" else set()) == {key, "extra"}
    assert len(caught.value.problems) == len(problems)


def test_keys_within_bounds_have_words_of_their_own() -> None:
    problems = changed("bounds = [0, 0.1]", "bounds = { fnd = true }")
    assert problems["columns.mdvis.bounds.fnd"] == "Unknown key. Did you mean find?"
    assert problems["columns.mdvis.bounds.find"].startswith(
        "Missing: the flag that lets the release find the bounds."
    )


ASKING = GOOD.replace("bounds = [0, 0.1]", 'bounds = { find = true, share = "0.1" }').replace(
    "missing = 0", "candidates = { from = 0, to = 10, step = 1 }"
)


def test_a_spec_is_checked_once_with_the_queries_that_it_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []

    def lay_out_query(parsed: ParsedQuery) -> Any:
        texts.append(parsed.query.name)
        return kinds.lay_out_query(parsed)

    monkeypatch.setattr(checks, "lay_out_query", lay_out_query)
    text = ASKING.replace('name = "use_by_plan"', 'name = "use_by_plan"\nclipping = "0.1"')
    spec = spec_file.loads(text)
    added = ["use_by_plan_clipping", "mdvis_bounds"]
    assert texts == [query.name for query in spec.query]
    assert texts == ["use_by_plan", "visits", "conditions", *added]
    assert sum(spec.share(query) for query in spec.query if query.name == "mdvis_bounds") == (
        Fraction(1, 10)
    )


def test_what_is_wrong_with_a_query_that_is_asked_for_is_told_at_the_key_that_asks() -> None:
    named = ASKING.replace('name = "visits"', 'name = "mdvis_bounds"')
    assert list(problems(named)) == ["columns.mdvis.bounds"]
    both = problems(named.replace("edges = [0, 1, 5.5, 30]", "edges = [0]"))
    assert list(both) == ["query[1].histogram.edges"]  # that first
