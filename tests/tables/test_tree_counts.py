"""The total of a tree's counts decides which groups have quantiles, and nothing is charged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, Refused, SpecError
from leastnoise.report.page import report
from leastnoise.tables.answers.base import Totals
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import Plan
from tests.tables.quantiles import edit_of, restored, spec_of
from tests.tables.resealed import verify_resealed


def counted_spec(*, kind: str = "json", epsilon: float = 20, **changes: Any) -> dict[str, Any]:
    query = {
        "name": "q",
        "statistics": ["quantile(x, 0.9)", "median(x)"],
        "group_by": {"plan": [1, 2, 3]},
        "quantiles_by": "tree",
        "min_count": 100,
    }
    return spec_of(
        privacy={"unit": "row", "epsilon": epsilon},
        contribution=None,
        query=[query | changes],
        output={"path": "out", "format": kind},
    )


def plan_of(**changes: Any) -> Plan:
    return plan(spec_file.lay_out({"version": 1} | counted_spec(**changes)))


def write_rows(folder: Path) -> None:
    """Write 400 rows of plan 1 with a value x and 50 without, 2 of plan 2 and 600 of plan 3."""
    frame = pd.DataFrame(
        {
            "plan": [1] * 450 + [2] * 2 + [3] * 600,
            "x": [10.0 * (index % 11) for index in range(400)] + [np.nan] * 50 + [83.0] * 602,
            "y": [50.0] * 1052,
        }
    )
    frame.to_parquet(folder / "rows.parquet")


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_tiny_group_has_no_quantiles(tmp_path: Path, kind: str) -> None:
    write_rows(tmp_path)
    released = ln.Release(**counted_spec(kind=kind), folder=tmp_path).run()
    columns = released.tables["q"].columns
    assert list(columns)[-4:] == ["count_x", "count_x_std", "count_x_low", "count_x_high"]
    assert columns["plan"] == [1, 3]
    assert columns["median_x"] == [50, 80]
    assert columns["count_x"] == columns["count_x_low"] == columns["count_x_high"] == [400, 600]
    assert 0 < columns["count_x_std"][0] < 0.01
    assert ln.verify_directory(tmp_path / "out").rows == {"q": 2}
    page = report(tmp_path / "out")
    assert (
        "In each group, the count of rows where x is known is the sum of the noisy counts" in page
    )
    assert "Groups are left out if their published count_x is below 100." in page


def test_all_groups_may_be_left_out(tmp_path: Path) -> None:
    write_rows(tmp_path)
    released = ln.Release(**counted_spec(min_count=10_000), folder=tmp_path).run()
    assert len(released.tables["q"]) == 0
    assert ln.verify_directory(tmp_path / "out").rows == {"q": 0}


def test_the_first_columns_tree_decides_for_all_statistics(tmp_path: Path) -> None:
    write_rows(tmp_path)
    raw = counted_spec(statistics=["sum(x)", "median(y)", "median(x)"], min_count=None, top=2)
    for name in ("x", "y"):
        raw["columns"][name] = {"candidates": [0, 50, 80, 100], "bounds": [0, 100]}
    columns = ln.Release(**raw, folder=tmp_path).run().tables["q"].columns
    assert columns["plan"] == [3, 1]
    assert columns["count_y"] == [600, 450]
    assert "count_x" not in columns
    assert ln.verify_directory(tmp_path / "out").rows == {"q": 2}


def test_a_total_costs_nothing_and_the_plan_says_how_far_off_it_is() -> None:
    counted, plain = plan_of(epsilon=1), plan_of(epsilon=1, min_count=None)
    assert counted.certificate == plain.certificate
    assert counted.quantiles[0].errors == plain.quantiles[0].errors
    frame = counted.to_polars().filter(statistic="count_x").to_dicts()
    (error,) = (part.count_error for part in counted.quantiles)
    assert error is not None
    assert [(item["std"], item["half_width_95"]) for item in frame] == [
        (error.std, error.half_width_95)
    ]
    record = counted.to_record()["quantiles"][0]
    assert record["count"]["std"] == error.std
    assert record["published"] == ["Groups are left out if their published count_x is below 100."]
    assert "Groups are left out if their published count_x is below 100." in str(counted)
    assert "count" not in plain.to_record()["quantiles"][0]
    assert any("a noisy number of rows decides which groups" in note for note in counted.notes)


def test_a_count_that_is_asked_for_decides_in_its_place() -> None:
    counted = plan_of(statistics=["median(x)", "count"])
    assert not counted.quantiles[0].noisy
    assert counted.noisy_parts[0].layout.decides == "count"


def test_a_total_has_the_law_that_its_columns_state() -> None:
    """Totals of 2,900 groups without rows; by chance it fails with 1e-7 at most."""
    groups = {"plan": list(range(2900))}
    (part,) = plan_of(epsilon=1, group_by=groups, top=2900, min_count=None).quantiles
    counts = np.zeros(part.layout.histogram.dimension, dtype=np.int64)
    (table,) = part.draw(Totals(cells=[counts], groups=[]))
    totals, std = np.array(table.columns["count_x"]), table.columns["count_x_std"][0]
    assert (totals == np.rint(totals)).all()
    # the kurtosis is below 6, so that a mean square has a variance of at most 5 std^4/n
    assert abs(totals.var() / std**2 - 1) < 5.4 * np.sqrt(5 / 2900)
    assert abs(totals.mean()) < 5.4 * std / np.sqrt(2900)
    low, high = (np.array(table.columns[f"count_x{end}"]) for end in ("_low", "_high"))
    stored = ((low <= 0) & (high >= 0)).mean()
    assert stored > 0.95 - 5.4 * np.sqrt(0.95 * 0.05 / 2900)
    assert stored < 0.99  # not wider than a whole number more


def _first(**changes: Any) -> Any:
    return edit_of("q.json", lambda rows: rows[0].update(changes))


_COUNT_EDITS = {
    "below min_count": _first(count_x=99.0, count_x_low=99.0, count_x_high=99.0),
    "another count": _first(count_x=401.0),
    "another std": _first(count_x_std=1.0),
    "no number": _first(count_x=None),
    "an interval of its own": _first(count_x_low=300.0),
    "no column": edit_of("q.json", lambda rows: [row.pop("count_x") for row in rows]),
    "too many groups": edit_of("q.json", lambda rows: rows.extend([dict(rows[1]) for _ in "ab"])),
    "another plan": edit_of(
        "plan.json", lambda item: item["quantiles"][0]["count"].update(std=1.0)
    ),
    "no plan": edit_of("plan.json", lambda item: item["quantiles"][0].pop("count")),
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("counted")
    write_rows(folder)
    ln.Release(**counted_spec(), folder=folder).run()
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


@pytest.mark.parametrize("edit", _COUNT_EDITS)
def test_attack_an_edited_total_is_rejected(
    counted: dict[str, bytes], tmp_path: Path, edit: str
) -> None:
    verify_resealed(restored(counted, tmp_path))
    _COUNT_EDITS[edit](tmp_path)
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path)


def test_a_group_that_is_taken_out_of_a_table_leaves_a_table_that_may_be(
    counted: dict[str, bytes], tmp_path: Path
) -> None:
    """Counts of groups that aren't there are in no table, as the page says."""
    restored(counted, tmp_path)
    rows = json.loads((tmp_path / "q.json").read_text())
    (tmp_path / "q.json").write_text(json.dumps(rows[1:]))
    verify_resealed(tmp_path)


def test_a_total_without_noise_as_a_float_is_refused() -> None:
    with pytest.raises(Refused, match=r"total is 0 as a float\. Lower epsilon"):
        plan_of(epsilon=2000)


@pytest.mark.parametrize("key", ["min_count", "top"])
@pytest.mark.parametrize("unit", ["row", "person"])
def test_quantiles_by_chance_need_a_count_that_decides(unit: str, key: str) -> None:
    changes: dict[str, Any] = {"quantiles_by": None, "min_count": None, key: 10}
    raw: dict[str, Any] = {"version": 1} | counted_spec(**changes)
    raw["privacy"]["unit"] = unit
    raw["contribution"] = {"max_rows": 1} if unit == "person" else None
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw)
    ((where, why),) = caught.value.problems
    assert where == f"query[0].{key}"
    assert 'Write statistics = ["count", "quantile(x, 0.9)", …].' in why
    assert ('quantiles_by = "tree"' in why) == (unit == "row")


def test_what_is_not_a_quantile_has_no_other_advice() -> None:
    raw: dict[str, Any] = {"version": 1} | counted_spec(statistics=["sum(x)"], quantiles_by=None)
    raw["columns"]["x"] = {"bounds": [0, 100]}
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw)
    ((_, why),) = caught.value.problems
    assert why == "Expected count or count_units among the statistics, to choose the groups."
