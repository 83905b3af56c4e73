"""Specs: round trips, the same spec in Python, and files that aren't specs."""

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
from leastnoise.tables.parse import spec_file, spec_text
from leastnoise.tables.publish.release import Release
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
        parsed = tomllib.loads(text)
        assert parsed == raw
        assert [list(query.get("group_by", ())) for query in parsed["query"]] == [
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
    result = problems(clamped.replace("bounds = [0, 0.1]", "bounds = [-1, 0.1]"))
    assert "sum(mdvis) can be negative" in result["query[0].clamp"]
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


def test_a_release_may_be_made_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(GOOD)
    built, read = Release(tmp_path / "spec.toml"), Release.from_toml(str(tmp_path / "spec.toml"))
    assert built.spec == read.spec
    assert built._folder == tmp_path
    assert Release(str(tmp_path / "spec.toml")).spec == read.spec
    with pytest.raises(SourceError, match="found none"):
        Release(tmp_path / "none.toml")
    beside: dict[str, Any]
    for beside in ({"privacy": {"unit": "row"}}, {"data": pd.DataFrame()}, {"folder": "a"}):
        with pytest.raises(InvalidInput, match="a path without sections"):
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


@pytest.mark.dense
@settings(max_examples=150, deadline=None, derandomize=True)
@given(section=st.sampled_from(SECTIONS), value=ANYTHING, inner=st.integers(0, 9))
def test_no_value_makes_anything_but_a_spec_error(section: str, value: Any, inner: int) -> None:
    raw = spec_file.to_dict(spec_file.loads(GOOD))
    section_values = raw[section][0] if section == "query" else raw[section]
    if isinstance(section_values, dict) and inner:
        section_values[sorted(section_values)[inner % len(section_values)]] = value
    else:
        raw[section] = value
    try:
        spec = spec_file.parse(raw)
    except InvalidInput as error:
        assert isinstance(error, SpecError)  # noqa: PT017
    else:
        assert spec_file.loads(spec_file.dumps(spec)) == spec


@pytest.mark.parametrize("code", [0x78, 0xDF, 0xD7FF, 0xD800, 0xDBFF, 0xDFFF, 0xE000])
def test_keys_are_texts_of_whole_letters(code: int) -> None:
    letter = chr(code)
    raw = tomllib.loads(GOOD)
    raw["query"][0]["group_by"] = {"note": ["a", f"b{letter}"]}
    if not 0xD800 <= code <= 0xDFFF:
        assert spec_file.parse(raw).query[0].group_by["note"] == ("a", f"b{letter}")
    else:
        with pytest.raises(SpecError, match="Expected a key"):
            spec_file.parse(raw)
