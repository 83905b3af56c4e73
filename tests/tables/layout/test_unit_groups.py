"""Limits of single queries, and the number of groups that a person is in by construction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import SpecError
from leastnoise.tables.layout.unit_groups import has_one_value, limits_of
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from tests.tables.integers import integers

DRUGS: dict[str, Any] = {
    "name": "drugs",
    "statistics": ["count_units"],
    "group_by": {"drug": [*range(12)]},
}
PERSONS: dict[str, Any] = {
    "name": "persons",
    "statistics": ["count_units"],
    "group_by": {"region": [*range(6)], "sex": [1, 2]},
}
JOIN = {"persons": {"source": "persons.csv", "on": "who", "columns": ["region", "sex"]}}


def raw(*queries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    names = ("who", "drug", "region", "sex", "month", "born")
    data = {"source": "rows.csv", "types": dict.fromkeys(names, "int")}
    data |= {"join": changes.pop("join", {})}
    return {
        "version": 1,
        "data": data,
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_groups": 6},
        "query": [*queries],
    } | changes


def stds(spec: dict[str, Any]) -> dict[str, float]:
    plan = find_plan(spec_file.lay_out(spec))[1]
    return {part.label: part.errors[0].std for part in plan.noisy_parts}


def problems(spec: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        spec_file.parse(spec)
    return dict(caught.value.problems)


@pytest.mark.dense
def test_persons_beside_medicines_have_the_noise_of_one_group() -> None:
    computed = PERSONS | {"contribution": {"max_groups": 1}}
    alone = stds(raw(PERSONS, contribution={"max_groups": 1}))["persons"]
    assert alone < 2
    assert stds(raw(PERSONS))["persons"] > 3.5 * alone
    assert stds(raw(computed))["persons"] == alone
    assert stds(raw(PERSONS, join=JOIN))["persons"] == alone
    mixed, medicines = stds(raw(DRUGS, computed)), stds(raw(DRUGS, PERSONS))
    assert mixed["persons"] < medicines["persons"] / 3
    assert mixed["drugs"] < 1.25 * medicines["drugs"]  # which shared its noise


@pytest.mark.grid
@pytest.mark.parametrize(
    ("derived", "groups"),
    [
        ("min(month) over who", 1),
        ("first(month, by = born) over who", 1),
        ("count() over who", 1),
        ("row_number(by = month) over who", 6),
    ],
)
def test_a_value_over_a_persons_rows_has_one_group(derived: str, groups: int) -> None:
    query = PERSONS | {"group_by": {"derived": [*range(1, 13)]}}
    asked = raw(query, derive={"derived": derived})
    known = raw(query, derive={"derived": "month"}, contribution={"max_groups": groups})
    assert stds(asked)["persons"] == stds(known)["persons"]


@pytest.mark.dense
def test_the_plan_says_which_limit_each_query_used() -> None:
    computed = PERSONS | {"contribution": {"max_groups": 2}}
    text = str(find_plan(spec_file.lay_out(raw(DRUGS, computed)))[1])
    assert "In drugs, each who is counted in at most 6 cells, which chance chooses." in text
    assert "In persons, each who is counted in at most 2 cells, which chance chooses." in text


def test_the_limits_of_a_query_replace_those_of_the_same_name() -> None:
    computed = PERSONS | {"contribution": {"max_groups": 1, "l2": 2}}
    spec = spec_file.parse(raw(computed, contribution={"max_rows": 3, "max_groups": 5}))
    limits = spec.limits(spec.query[0])
    assert limits is not None
    assert limits.given == {"max_rows": 3, "max_groups": 1, "l2": 2}
    assert spec_file.loads(spec_file.dumps(spec)) == spec


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ({"sex": [1, 2]}, 1),
        ({"sex": [1, 2], "month": [1, 2, 3]}, 3),
        ({"old": [True, False], "sex": [1, 2]}, 1),
        ({"older": [True, False]}, 6),
        ({"month": [1, 2, 3]}, 6),
        ({"first": [1, 2, 3]}, 1),
        ({"number": [1, 2, 3]}, 6),
        ({"sex": [1, 2], "number": [1, 2, 3]}, 3),
        ({"who": [7, 8]}, 1),
        ({"sex": {"keys": "private"}}, 1),
        ({"sex": {"keys": "private"}, "month": {"keys": "private"}}, 6),
        ({"born": {"edges": [0, 5, 9]}}, 1),
    ],
)
def test_a_person_is_in_few_groups_by_construction(by: dict[str, Any], groups: int) -> None:
    query = {"name": "q", "statistics": ["count_units"], "group_by": by}
    join = {"p": {"source": "p.csv", "on": "who", "columns": ["sex", "born"]}}
    derive = {
        "old": "born < 5 or sex = 1",
        "older": "old and month = 1",
        "first": "min(month) over who",
        "number": "row_number(by = month) over who",
    }
    layouts = spec_file.lay_out(raw(query, join=join, derive=derive))
    (layout,) = [route for part in layouts.queries for ways in part for route in ways][:1]
    limits = limits_of(layouts.spec, layouts.spec.query[0], layout.axes)
    assert limits.max_groups == groups
    assert not (groups < 6 and layout.leaves_out)
    assert (groups < 6) == (layout.groups_of_unit is not None)


def test_a_unit_that_is_a_row_has_no_columns_of_one_value() -> None:
    spec = spec_file.parse(raw(DRUGS))
    assert has_one_value(spec, "who")
    assert not has_one_value(spec, "drug")
    privacy = {"unit": "row", "epsilon": 1}
    by_row = raw(DRUGS | {"statistics": ["count"]}, privacy=privacy, contribution=None)
    assert not has_one_value(spec_file.parse(by_row), "who")


def test_groups_by_construction_need_no_limit() -> None:
    assert stds(raw(PERSONS, join=JOIN, contribution=None)) == stds(raw(PERSONS, join=JOIN))
    counted = PERSONS | {"statistics": ["count"]}
    why = problems(raw(counted, join=JOIN, contribution=None))["query[0]"]
    assert why.startswith(
        "Nothing in [contribution] limits how much one person can change this query."
    )
    assert "contribution" in problems(raw(DRUGS, contribution=None))


def test_impossible_limits_are_problems_of_their_key() -> None:
    by_row = raw(
        DRUGS | {"statistics": ["count"], "contribution": {"max_rows": 1}},
        privacy={"unit": "row", "epsilon": 1},
        contribution=None,
    )
    assert "Not used with unit" in problems(by_row)["query[0].contribution"]
    empty = raw(DRUGS | {"contribution": {}})
    assert "Expected a limit" in problems(empty)["query[0].contribution"]
    conditions = {"often": {"drug": {"min": 3}}}
    overlapping = {"name": "q", "conditions": conditions, "contribution": {"max_groups": 1}}
    assert "max_conditions" in problems(raw(overlapping))["query[0].contribution"]
    places = {"places": {"source": "p.csv", "on": "region", "public": True, "columns": ["sex"]}}
    assert "Leave it out" in problems(raw(DRUGS, join=places))["data.join.places.columns"]


def test_what_is_clipped_is_counted_by_the_limits_of_the_query() -> None:
    computed = PERSONS | {"contribution": {"max_groups": 1}, "clipping": "0.1"}
    spec = spec_file.lay_out(raw(DRUGS, computed))
    (layout,) = spec.queries[2][0]
    assert layout.clipped == ("count_over_limits counts each who with rows in more than 1 groups.",)


def visits() -> Any:
    rows = [(who, (who * 7 + step) % 12) for who in range(60) for step in range(who % 13)]
    table = pd.DataFrame(rows, columns=["who", "drug"])
    persons = pd.DataFrame({"who": range(60), "region": [who % 6 for who in range(60)]})
    persons["sex"] = persons["who"] % 2 + 1
    return table, persons


@pytest.mark.dense
def test_each_query_is_bounded_by_its_limits_in_one_scan(tmp_path: Path) -> None:
    table, persons = visits()
    table.merge(persons).to_parquet(tmp_path / "rows.parquet")
    counted = DRUGS | {"statistics": ["count", "count_units"]}
    queries = [
        counted | {"name": f"drugs{most}", "contribution": {"max_rows": 40, "max_groups": most}}
        for most in (1, 4, 20)
    ]
    spec = raw(*queries) | {"data": {"source": "rows.parquet"}}
    together = integers(spec, tmp_path, together=True)
    assert together == integers(spec, tmp_path)
    for most in (1, 4, 20):
        (persons_counted,) = [
            sum(vector)
            for label, vector in together.items()
            if label.startswith(f"drugs{most}.persons")
        ][:1]
        sizes = table.groupby("who")["drug"].nunique().clip(upper=most)
        assert persons_counted == sizes.sum()


@pytest.mark.dense
def test_a_release_with_limits_of_queries_verifies_and_has_a_difference(tmp_path: Path) -> None:
    table, persons = visits()
    table.to_parquet(tmp_path / "rows.parquet")
    persons.to_parquet(tmp_path / "persons.parquet")
    join = {"persons": JOIN["persons"] | {"source": "persons.parquet"}}
    for most in (1, 2):
        spec = raw(DRUGS | {"contribution": {"max_groups": most}}, PERSONS)
        spec["data"] = {"source": "rows.parquet", "join": join}
        spec["output"] = {"path": f"out{most}", "format": "csv"}
        del spec["version"]
        ln.Release(**spec, folder=tmp_path).run()
        verified = ln.verify_directory(tmp_path / f"out{most}")
        assert verified.spec.data.join["persons"].columns == ("region", "sex")
    difference = ln.subtract_releases(tmp_path / "out1", tmp_path / "out2")
    why = "a part of its differences is due to that limit."
    assert difference.notes == (f"In drugs, max_groups is 1 before and 2 after: {why}",)


def test_columns_that_the_joined_table_lacks_are_refused(tmp_path: Path) -> None:
    table, persons = visits()
    table.to_parquet(tmp_path / "rows.parquet")
    persons.drop(columns="sex").to_parquet(tmp_path / "persons.parquet")
    spec = raw(DRUGS)
    join = {"persons": JOIN["persons"] | {"source": "persons.parquet"}}
    spec["data"] = {"source": "rows.parquet", "join": join}
    del spec["version"]
    with pytest.raises(SpecError, match=r"persons.columns: persons.parquet has no column 'sex'"):
        ln.Release(**spec, folder=tmp_path).plan()


def test_a_derived_column_that_cannot_be_read_is_the_only_problem() -> None:
    derive = {"bad": 5, "first": "min(month) over who", "more": "first + bad"}
    for column in ("bad", "first", "more"):
        query = PERSONS | {"group_by": {column: [1, 2]}}
        assert [*problems(raw(query, derive=derive))] == ["derive.bad"]
