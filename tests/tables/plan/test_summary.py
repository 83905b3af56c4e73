"""The text of a plan: its shares add up, and the cost of standard noise is right."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise.tables.plan import summary
from leastnoise.tables.publish.release import Release


def planned(folder: Path, queries: list[dict[str, Any]], **privacy: Any) -> Any:
    (folder / "rows.csv").write_text("who,x,town\n1,2,a\n")
    return Release(
        data={"source": "rows.csv", "types": {"who": "int", "x": "float", "town": "text"}},
        privacy={"unit": "who", "epsilon": 1, "delta": "1e-6", **privacy},
        contribution={"max_rows": 4},
        columns={"x": {"bounds": [0, 10]}},
        query=queries,
        folder=folder,
    ).plan()


TOWNS = {"town": ["a", "b", "c"]}
COUNTS = {"name": "counts", "statistics": ["count", "count_units"], "group_by": TOWNS}
MEANS = {"name": "means", "statistics": ["mean(x)"], "group_by": TOWNS}
ALL = {"name": "all", "statistics": ["count_units"], "filter": "x > 1"}


@pytest.mark.dense
def test_a_plan_prints_one_table(tmp_path: Path) -> None:
    plan = planned(tmp_path, [COUNTS, MEANS, ALL])
    rows = summary.list_rows(plan)
    assert [row[0] for row in rows] == ["counts", "", "means", "all"]
    assert [row[1] for row in rows] == [
        "count",
        "count_units",
        "mean_x (1,000 values)",
        "count_units",
    ]
    assert sum(float(row[2].rstrip(" %") or 0) for row in rows) == pytest.approx(100, abs=1e-9)
    shown = str(plan)
    for row in rows:
        assert any(all(cell in line for cell in row) for line in shown.splitlines())
    assert "Protected: the presence or absence of any one who." in shown
    assert "In all, only rows where" in shown
    assert "In each of counts and means, each who counts for at most 4 rows." in shown
    for word in ("draw", "part", "unit ", "scale"):
        assert word not in shown


@pytest.mark.dense
def test_plain_noise_is_the_better_of_the_two(tmp_path: Path) -> None:
    wide = {
        "name": "wide",
        "statistics": ["count_units"],
        "group_by": {"x": {"edges": [*range(31)]}},
    }
    plan = planned(tmp_path, [wide], delta="1e-4", epsilon="0.5")
    (error,) = plan.noisy_parts[0].errors
    # 30 cells of which a person may be in 4: the l1 norm is 4, the l2 norm 2
    laplace = 2**0.5 * 4 / 0.5
    assert error.plain_laplace_std == pytest.approx(laplace)
    both = {"Laplace": laplace, "Gaussian": error.plain_gaussian_std}
    better = min(both, key=lambda name: both[name])
    (row,) = summary.list_rows(plan)
    assert row[4] == f"{better} {both[better] / error.std:.2f}×"
    assert row[3] == f"{error.half_width_95:,.4g}"


@pytest.mark.dense
def test_gaussian_noise_is_named_where_it_errs_less(tmp_path: Path) -> None:
    many = {"name": "many", "statistics": ["count"], "group_by": {"x": {"edges": [*range(101)]}}}
    plan = Release(
        data={"source": "rows.csv", "types": {"who": "int", "x": "float"}},
        privacy={"unit": "who", "epsilon": 1, "delta": "1e-2"},
        contribution={"max_rows_per_group": 1},
        query=[many],
        folder=tmp_path,
    )
    (tmp_path / "rows.csv").write_text("who,x\n1,2\n")
    (row,) = summary.list_rows(plan.plan())
    assert row[4].startswith("Gaussian ")


@pytest.mark.dense
def test_without_delta_only_epsilon_is_shared(tmp_path: Path) -> None:
    plan = planned(tmp_path, [COUNTS, ALL], delta=0)
    assert [row[2] for row in summary.list_rows(plan)] == ["25 %", "25 %", "50 %"]
    only_delta = planned(tmp_path, [COUNTS, ALL], epsilon=0)
    assert [row[2] for row in summary.list_rows(only_delta)] == ["25 %", "25 %", "50 %"]


def test_replaced_records_protect_no_number_of_them(tmp_path: Path) -> None:
    plan = planned(tmp_path, [ALL], neighbours="replace-one")
    assert "Protected: all data of any one who, but not the total number of such units." in str(
        plan
    )


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40))
def test_shares_add_up_to_the_whole(weights: list[int]) -> None:
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    shown = summary._percentages(shares)
    assert sum(Fraction(weight.removesuffix(" %")) for weight in shown) == 100
    for share, text in zip(shares, shown, strict=True):
        assert abs(100 * share - Fraction(text.removesuffix(" %"))) < Fraction(1, 10)


@pytest.mark.dense
@pytest.mark.parametrize("keys", ["private", [f"town {number}" for number in range(40)]])
@pytest.mark.parametrize("most", [1, 2])
def test_groups_that_chance_leaves_out_may_be_far_too_low(
    tmp_path: Path, keys: Any, most: int
) -> None:
    (tmp_path / "rows.csv").write_text("who,town\n1,a\n")
    plan = Release(
        data={"source": "rows.csv", "types": {"who": "int", "town": "text"}},
        privacy={"unit": "who", "epsilon": 1, "delta": "1e-6"},
        contribution={"max_groups": most, "max_rows_per_group": 1},
        query=[
            {"name": "towns", "statistics": ["count"], "group_by": {"town": {"keys": keys}}}
            if keys == "private"
            else {"name": "towns", "statistics": ["count"], "group_by": {"town": keys}}
        ],
        folder=tmp_path,
    ).plan()
    sentence = "in only some of these cells. So counts may be far too low in the table towns."
    assert (sentence in " ".join(str(plan).split())) is (most > 1)


@pytest.mark.parametrize(
    ("limits", "advised"),
    [
        ({"max_rows": 2}, True),
        ({"max_rows": 1}, False),
        ({"max_rows": 2, "max_groups": 2}, False),
    ],
)
def test_max_groups_is_advised_where_max_rows_limits_unlisted_groups(
    tmp_path: Path, limits: dict[str, int], advised: bool
) -> None:
    (tmp_path / "rows.csv").write_text("who,town\n1,a\n")
    grouped = {"group_by": {"town": {"keys": "private"}}}
    plan = Release(
        data={"source": "rows.csv", "types": {"who": "int", "town": "text"}},
        privacy={"unit": "who", "epsilon": 1, "delta": "1e-6"},
        contribution=limits,
        query=[{"name": "towns", "statistics": ["count_units"], **grouped}],
        folder=tmp_path,
    ).plan()
    sentence = "Without max_groups, max_rows limits also the groups of one who, in towns."
    assert (sentence in " ".join(str(plan).split())) is advised


def test_a_plan_says_which_rows_a_join_and_a_spelling_leave_out(tmp_path: Path) -> None:
    (tmp_path / "homes.csv").write_text("who,home\n1,a\n1,a\n")
    (tmp_path / "rows.csv").write_text("who,x,town\n1,2,a\n")
    raw: dict[str, Any] = {
        "data": {
            "source": "rows.csv",
            "types": {"who": "int", "x": "float", "home": "text"},
            "join": {"homes": {"source": "homes.csv", "on": "who"}},
        },
        "privacy": {"unit": "who", "epsilon": 1},
        "contribution": {"max_rows": 1},
        "query": [
            {"name": "homes", "statistics": ["count"], "group_by": {"home": ["a"]}},
            {"name": "bands", "statistics": ["count"], "group_by": {"x": {"edges": [0, 1]}}},
        ],
    }
    shown = str(Release(**raw, folder=tmp_path).plan())
    assert (
        "If the who of a row matches no row of homes, or several, its columns of homes are missing"
        in shown
    )
    assert "the format of a date, the row is in no group of the query homes.\n" in shown


@pytest.mark.parametrize(("epsilon", "warned"), [(0, True), ("0.001", False)])
def test_a_plan_without_epsilon_says_that_it_is_noise(
    tmp_path: Path, epsilon: Any, warned: bool
) -> None:
    plan = planned(tmp_path, [ALL], epsilon=epsilon, delta="1e-6")
    assert ("hardly more than noise" in str(plan)) == warned
