"""A release built by calls has the same spec as `Release` with the same sections."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument, SourceError, SpecError

ROWS = pd.DataFrame(
    {
        "who": range(600),
        "region": ["n", "s", "w"] * 200,
        "age": [i % 90 for i in range(600)],
        "income": [100.0 * (i % 50) for i in range(600)],
    }
)
REGIONS = {"region": ["n", "s"]}
GRID = {"from": 0, "to": 5000, "step": 100}


def begun(**changes: Any) -> ln.ReleaseBuilder:
    return ln.release(**{"data": ROWS, "unit": "who", "epsilon": 1, "max_rows": 1} | changes)


def test_what_it_builds_is_the_spec_of_the_same_sections(tmp_path: Any) -> None:
    built = (
        begun(ledger="a.ledger", output="out", max_groups=1, folder=tmp_path, delta="1e-6")
        .count(by="region", keys=REGIONS)
        .mean("income", by=["region"], bounds=(0, 5000), missing=0)
        .var("income", by="region")
        .std("income", by="region")
        .sum("income")
        .count("income")
        .count_units()
        .median("income", candidates=GRID)
        .quantile("income", 0.9)
        .count(by=["region", "age"], keys={"age": {"edges": [0, 18, 65]}})
        .query("rich", statistics=["count"], filter="income > 1000", min_count=5)
    )
    expected = ln.Release(
        data=ROWS,
        privacy={
            "unit": "who",
            "epsilon": 1,
            "delta": "1e-6",
            "ledger": {"path": "a.ledger"},
        },
        contribution={"max_rows": 1, "max_groups": 1},
        columns={
            "region": {"keys": ["n", "s"]},
            "income": {"bounds": [0, 5000], "missing": 0, "candidates": GRID},
            "age": {"edges": [0, 18, 65]},
        },
        query=[
            {
                "name": "by_region",
                "statistics": ["count", "mean(income)", "var(income)", "std(income)"],
                "group_by": ["region"],
            },
            {
                "name": "all",
                "statistics": [
                    "sum(income)",
                    "count(income)",
                    "count_units",
                    "median(income)",
                    "quantile(income, 0.9)",
                ],
            },
            {"name": "by_region_age", "statistics": ["count"], "group_by": ["region", "age"]},
            {
                "name": "rich",
                "statistics": ["count"],
                "filter": "income > 1000",
                "min_count": 5,
            },
        ],
        output={"path": "out"},
        folder=tmp_path,
    )
    assert built.spec == expected.spec
    assert built.to_toml() == expected.to_toml()
    assert built.build().spec == built.spec


@pytest.mark.dense
def test_its_tables_are_those_of_the_rows() -> None:
    builder = begun(epsilon=1000).count(by="region", keys=REGIONS)
    builder = builder.mean("income", by="region", bounds=(0, 5000)).median(
        "income", candidates=GRID
    )
    assert builder.plan().certificate.budget == ln.Budget(epsilon=1000)
    tables = builder.run().tables
    assert tables["by_region"].columns["count"] == pytest.approx([200, 200], abs=1)
    means = ROWS.groupby("region").income.mean()[["n", "s"]]
    assert tables["by_region"].columns["mean_income"] == pytest.approx([*means], abs=20)
    assert tables["all"].columns["median_income"][0] == pytest.approx(2450, abs=50)


def test_each_call_leaves_the_builder_as_it_is() -> None:
    first = begun().count()
    text = first.to_toml()
    second, third = first.count_units(), first.mean("income", bounds=(0, 9))
    assert first.to_toml() == text
    assert "mean" not in second.to_toml()
    assert "count_units" not in third.to_toml()
    columns: dict[str, Any] = {"income": {}}
    begun(columns=columns).sum("income", bounds=(0, 9))
    assert columns == {"income": {}}
    assert first.count().to_toml() == text  # once asked for is asked for


def test_groups_that_nobody_listed_stand_beside_those_that_are() -> None:
    builder = begun(delta="1e-6").count(by=["region", "age"], keys=REGIONS | {"age": "private"})
    groups = builder.spec.groupings(builder.spec.query[0])
    assert groups["region"] == ("n", "s")
    assert builder.to_toml().count("private") == 1
    short = {"region": {"keys": "private", "longest": 4}}
    assert "longest = 4" in begun(delta="1e-6").count(by="region", keys=short).to_toml()


def test_a_file_by_its_path_and_keys_from_a_file(tmp_path: Any) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "regions.txt").write_text("n\ns\n")
    data = {"source": "rows.parquet", "types": {"region": "text"}}
    builder = begun(data=data, folder=tmp_path, epsilon=1000)
    builder = builder.count(by="region", keys={"region": {"file": "regions.txt"}})
    assert builder.spec.columns["region"].keys == ("n", "s")
    assert builder.run().tables["by_region"].columns["count"] == pytest.approx([200, 200], abs=1)
    with pytest.raises(SourceError):
        begun(data=str(tmp_path / "none.parquet")).count().plan()


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda item: item.count(by="region"), r"keys=\{'region': \[\.\.\.\]\}.*\"private\""),
        (lambda item: item.mean("income"), r"public bounds of 'income'"),
        (lambda item: item.median("income"), r"public candidates of 'income'"),
        (lambda item: item.count(by=5), "by to be"),
        (lambda item: item.mean(5), "column"),
        (lambda item: item.quantile("income", "x", candidates=GRID), "level"),
        (lambda item: item.count(keys=5), "keys to be a dict"),
        (lambda item: item.build(), "a release with a table"),
        (lambda item: item.run(), "a release with a table"),
        (
            lambda item: item.sum("income", bounds=(0, 9)).mean("income", bounds=(0, 10)),
            "the value given before for the column 'income'",
        ),
        (
            lambda item: item.count(by="region", keys=REGIONS).count(keys={"region": ["n"]}),
            "the value given before for the column 'region'",
        ),
        (
            lambda item: item.count(keys=REGIONS).count(keys={"region": "private"}),
            "groups that are either public or private",
        ),
    ],
)
def test_what_is_missing_is_refused_by_the_call_that_lacks_it(ask: Any, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        ask(begun())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"max_rows": None}, "contribution: Missing: a limit on the rows of one person"),
        ({"epsilon": "much"}, r"privacy\.epsilon"),
        ({"data": 5}, "data: Expected"),
        ({"neighbours": "all"}, r"privacy\.neighbours"),
        ({"columns": {"income": {"bound": 1}}}, "Unknown key"),
    ],
)
def test_what_no_spec_can_have_is_refused_with_its_key(changes: Any, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        begun(**changes)


def test_what_is_given_again_alike_is_the_same() -> None:
    builder = begun(columns={"income": {"bounds": [0, 5000]}}).sum("income", bounds=("0", 5000.0))
    assert builder.mean("income", bounds=(0, "5e3")).spec.columns["income"].bounds == (0, 5000)
    with pytest.raises(InvalidArgument, match="given before"):
        begun(columns={"income": {"bounds": [0, 5000]}}).sum("income", bounds=(0, 9))


def test_names_of_columns_that_no_file_can_have() -> None:
    frame = pd.DataFrame({"Größe (cm)": [1, 2]})
    builder = ln.release(frame, unit="row", epsilon=1)
    builder = builder.count(by="Größe (cm)", keys={"Größe (cm)": [1, 2]})
    assert builder.spec.query[0].name == "by_Gr__e__cm_"
    assert "Gr" in repr(builder)


def test_the_least_epsilon_waits_for_a_query_with_an_accuracy() -> None:
    begun_least = begun(epsilon="least")
    assert repr(begun_least) == "<ReleaseBuilder: no table yet>"
    with pytest.raises(SpecError, match="accuracy"):
        begun_least.count()
    builder = begun_least.query("n", statistics=["count"], accuracy={"std": 5})
    assert builder.plan().certificate.budget.epsilon < 1


@pytest.mark.parametrize("limits", [{"unit": "row", "max_groups": 2}, {"max_groups": 2.5}])
def test_groups_alone_are_checked_at_once(limits: dict[str, Any]) -> None:
    """They bound no count of rows, so that persons are asked for."""
    rows = pd.DataFrame({"who": [1], "k": ["a"]})
    with pytest.raises(SpecError, match="contribution"):
        ln.release(rows, **({"unit": "who", "epsilon": 1} | limits))
