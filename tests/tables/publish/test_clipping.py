"""A query may spend a part of its budget on counts of what limits and bounds cut off."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastnoise import _words
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.report.page import report
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.summary import list_sentences
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed

PERSONS, OVER, OUTSIDE = 500, 120, 300


def raw_of(**query: Any) -> dict[str, Any]:
    part = {
        "name": "q",
        "statistics": ["count", "mean(x)"],
        "group_by": {"k": ["a", "b"]},
        "clipping": "0.2",
    }
    return {
        "version": 1,
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "who", "epsilon": 50},
        "contribution": {"max_rows": 2},
        "columns": {"x": {"bounds": [0, 8]}},
        "query": [{name: value for name, value in (part | query).items() if value is not None}],
        "output": {"path": "out", "format": "json"},
    }


def released(folder: Path, raw: dict[str, Any]) -> Path:
    """A release of a table with 500 persons: 120 have four rows, and 300 values are above 8."""
    rows = [(who, "ab"[who % 2], 1.0) for who in range(PERSONS)]
    rows += [(who, "a", 2.0) for who in range(OVER) for _ in range(3)]
    rows += [(PERSONS + number, "b", 9.0) for number in range(OUTSIDE)]
    rows += [(PERSONS + number, "elsewhere", 99.0) for number in range(OUTSIDE)]
    pd.DataFrame(rows, columns=["who", "k", "x"]).to_parquet(folder / "rows.parquet")
    Release(**raw, folder=folder).run()
    return folder / "out"


def problems(raw: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        spec_file.parse(raw)
    return dict(caught.value.problems)


@pytest.mark.dense
def test_the_counts_are_published_proved_and_close_to_the_truth(tmp_path: Path) -> None:
    out = released(tmp_path, raw_of())
    verified = verify_directory(out)
    assert [query.name for query in verified.spec.query] == ["q", "q_clipping"]
    assert [label for label, _ in verified.certificate.draws] == [
        "q",
        "q_clipping.persons",
        "q_clipping.rows",
    ]
    (row,) = json.loads((out / "q_clipping.json").read_text())
    assert abs(row["count_over_limits"] - OVER) < 20
    assert abs(row["count_outside_x"] - OUTSIDE) < 40
    page = report(out)
    assert "The query q_clipping publishes noisy counts of the persons or values beyond" in page
    assert "isn't known" not in page
    for sentence in (
        "count_over_limits counts each who with more than 2 rows",
        "values below 0 or",
    ):
        assert sentence in (out / "plan.json").read_text()


@pytest.mark.dense
def test_a_plan_says_what_a_share_will_show() -> None:
    """Before it is bought: a count below its ± looks like none."""
    halves: list[list[float]] = []
    for share in ("0.05", "0.1"):
        privacy = {"unit": "who", "epsilon": 1}
        plans = plan(spec_file.lay_out(raw_of(clipping=share) | {"privacy": privacy}))
        errors = [
            error for part in plans.noisy_parts if part.layout.clipped for error in part.errors
        ]
        assert [error.statistic for error in errors] == ["count_over_limits", "count_outside_x"]
        for error in errors:
            sentence = (
                f"With probability 95 %, {error.statistic} is off by at most "
                f"{_words.number(error.half_width_95)}."
            )
            assert any(text.startswith(sentence) for text in plans.notes)
            assert any(text.startswith(sentence) for text in list_sentences(plans))
        halves.append([error.half_width_95 for error in errors])
    assert halves[0] == pytest.approx([2 * half for half in halves[1]], rel=0.1)
    plain = plan(spec_file.lay_out(raw_of(clipping=None)))
    assert not any("is off by at most" in text for text in plain.notes)


def test_two_queries_have_the_budget_that_one_had() -> None:
    spec = spec_file.parse(raw_of(importance="0.3"))
    assert [query.importance for query in spec.query] == [Fraction(24, 100), Fraction(6, 100)]
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    assert spec.query[1].statistics == ("count_over_limits", "count_outside(x)")


def test_a_histogram_and_rows_that_are_units_are_counted_with_their_own_rows() -> None:
    raw = raw_of(statistics=None, histogram={"column": "x", "edges": [0, 2, 8]})
    _, added = spec_file.parse(raw).query
    assert added.statistics == ("count_over_limits",)
    assert isinstance(added.group_by, dict)
    assert [*added.group_by] == ["k", "x"]
    raw = raw_of(filter="x > 1")
    raw["privacy"]["unit"] = "row"
    del raw["contribution"]
    _, added = spec_file.parse(raw).query
    assert (added.statistics, added.filter) == (("count_outside(x)",), "x > 1")


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        ({"clipping": 1}, "query[0].clipping", "a share below 1"),
        ({"clipping": 0}, "query[0].clipping", "a number > 0"),
        ({"conditions": {"c": {"x": {"min": 1}}}, "statistics": None, "group_by": None},
         "query[0].clipping", "Not allowed beside conditions"),
        ({"statistics": ["count", "count_over_limits"]}, "query[0].statistics", "separate query"),
        ({"name": "q" * 60}, "query[0].clipping", "1 to 64 letters"),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_is_refused(changes: dict[str, Any], key: str, why: str) -> None:
    assert why in problems(raw_of(**changes))[key]


def test_limits_and_epsilon_that_cannot_serve_are_refused() -> None:
    raw = raw_of(statistics=["count"])
    raw["contribution"] = {"l2": 2}
    assert "Nothing to count" in problems(raw)["query[0].clipping"]
    raw = raw_of(statistics=["count_over_limits"], clipping=None)
    raw["contribution"] = {"l2": 2}
    assert "Expected max_rows" in problems(raw)["query[0].statistics[0]"]
    raw = raw_of(accuracy={"std": 3, "statistic": "count"})
    raw["privacy"]["epsilon"] = "least"
    assert "least" in problems(raw)["query[0].clipping"]


@pytest.mark.grid
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max_rows = 2", "max_rows = 3"),
        ("    8,", "    9,"),
        ('    "b",', '    "c",'),
        ("importance = 1", "importance = 2"),
        ("epsilon = 50", "epsilon = 49"),
    ],
)
def test_what_is_counted_cannot_be_edited(tmp_path: Path, old: str, new: str) -> None:
    # a query of its own: nothing else of the release says what its limits and its keys are
    asked = ["count_over_limits", "count_outside(x)"]
    raw = raw_of(statistics=asked, clipping=None)
    raw["query"].append({"name": "other", "statistics": ["count_units"]})
    out = released(tmp_path, raw)
    verify_directory(out)
    text = (out / "spec.toml").read_text()
    assert old in text
    (out / "spec.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(CertificateRejected):
        verify_resealed(out)


def test_rows_in_no_group_are_counted_beside_a_query(tmp_path: Path) -> None:
    """Other capitals, a key that isn't listed and one that is missing: 300 of 500 persons."""
    codes = ["a", "b", "A", "c", None] * 100
    pd.DataFrame({"who": range(500), "k": codes}).to_parquet(tmp_path / "rows.parquet")
    raw = raw_of(statistics=["count"], clipping=None, rest="0.3", importance=2)
    raw["columns"] = {}
    out = Release(**raw, folder=tmp_path).run()
    assert [query.importance for query in out.plan.spec.query] == [
        Fraction(14, 10),
        Fraction(6, 10),
    ]
    (row,) = json.loads((tmp_path / "out" / "q_rest.json").read_text())
    assert abs(row["count_in_no_group"] - 300) < 10  # fails by chance once in e^150
    verified = verify_directory(tmp_path / "out")
    assert [query.name for query in verified.spec.query] == ["q", "q_rest"]
    page = report(tmp_path / "out")
    for sentence in (
        "key differs from the listed keys in capitals, spaces or the format of a date",
        "The query q_rest publishes the noisy number of persons in no group.",
        "count_in_no_group counts each who with a row in no group",
    ):
        assert sentence in page
        assert sentence in str(out.plan)


def test_the_rest_is_one_of_the_spec_as_it_is_stored() -> None:
    raw = raw_of(rest="0.3")
    spec = spec_file.parse(raw)
    assert [query.name for query in spec.query] == ["q", "q_clipping", "q_rest"]
    assert sum(query.importance for query in spec.query) == 1
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    for groups, more in (
        ({"k": {"keys": ["a", "b"], "levels": {"part": ["x", "x"]}}}, {}),
        (
            {"k": ["a", "b"]},
            {"margins": True, "group_by": {"k": ["a", "b"], "x": {"edges": [0, 8]}}},
        ),
        ({}, {"histogram": {"column": "x", "edges": [0, 2, 8]}, "statistics": None}),
    ):
        asked = {"statistics": ["count"], "group_by": groups, "clipping": None, "rest": "0.5"}
        raw = raw_of(**(asked | more))
        raw["contribution"] = {"max_rows": 1}
        _, added = spec_file.parse(raw).query
        assert added.statistics == ("count_in_no_group",)


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        ({"group_by": None, "rest": "0.1"}, "query[0].rest", "without groups"),
        ({"group_by": {"k": {"keys": "private"}}, "rest": "0.1"}, "query[0].rest", "unlisted keys"),
        ({"clipping": "0.5", "rest": "0.5"}, "query[0].rest", "nothing is left"),
        ({"statistics": ["count_in_no_group", "count_over_limits"], "clipping": None},
         "query[0].statistics", "in a separate query"),
        ({"statistics": ["count_in_no_group"], "clipping": None, "group_by": None},
         "query[0].statistics", "without groups"),
        ({"conditions": {"c": {"x": {"min": 1}}}, "statistics": None, "group_by": None,
          "clipping": None, "rest": "0.1"}, "query[0].rest", "Not allowed beside conditions"),
    ],
)  # fmt: skip
def test_a_rest_that_cannot_be_counted_is_refused(
    changes: dict[str, Any], key: str, why: str
) -> None:
    assert why in problems(raw_of(**changes))[key]
