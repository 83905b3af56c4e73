"""From a noisy vector to a table's numbers: units, rules of means, and intervals that hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.axes import Bins
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.results.table import Table, table_of
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.reference import published

NOISE = [NoiseError(std=1.0, half95=1.96, half975=2.2414, half983=2.3940)] * 9


def layout(*, columns: dict[str, Any] | None = None, **query: Any) -> Layout:
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-6"},
        "columns": {"x": {"bounds": [10, 30]}, **(columns or {})},
        "query": [{"name": "q", **query}],
    }
    spec = spec_file.parse(raw)
    return lay_out_query(parse_query(spec, spec.query[0]))[0][0]


def test_counts_and_sums_are_in_their_own_units() -> None:
    table = table_of(
        layout(statistics=["count", "sum(x)"], group_by={"k": ["u", "v"], "b": [True, False]}),
        np.array([5.0, 4, 6, 5, 7, 6, 8, 7]),
        NOISE,
    )
    assert list(table.columns) == [
        *("k", "b", "count", "count_std", "count_low", "count_high"),
        *("sum_x", "sum_x_std", "sum_x_low", "sum_x_high"),
    ]
    rows = list(table.rows)
    assert len(rows) == len(table) == 4
    assert rows[1][:6] == ("u", False, 6, 1, 6 - 1.96, 6 + 1.96)
    # missing values are 0: of 6 rows about 15, in units of 15; where the law isn't known both hold
    total, half = 15 * 6 + 15 * 5, 2 * 15 * 2.2414
    assert rows[1][6:] == pytest.approx((total, 15 * math.sqrt(2), total - half, total + half))
    assert [row[:2] for row in rows] == [("u", True), ("u", False), ("v", True), ("v", False)]


def test_histograms_show_their_edges() -> None:
    part = layout(histogram={"column": "x", "edges": [0, "0.5", 3]}, group_by={"k": [4, 2]})
    table = table_of(part, np.arange(4.0), NOISE)
    assert table.columns["k"] == [4, 4, 2, 2]
    assert table.columns["x_from"] == [0, 0.5, 0, 0.5]
    assert table.columns["x_to"] == [0.5, 3, 0.5, 3]
    assert table.columns["count"] == [0, 1, 2, 3]


def test_bands_show_their_edges_where_they_stand() -> None:
    keys = {"y": {"edges": [0, 18, 65]}, "k": ["a", "b"], "z": {"edges": [1, "1.5"]}}
    part = layout(histogram={"column": "x", "edges": [0, 1, 2]}, group_by=keys)
    table = table_of(part, np.arange(8.0), NOISE)
    names = ["y_from", "y_to", "k", "z_from", "z_to", "x_from", "x_to"]
    assert list(table.columns)[:7] == names
    rows = [row[:8] for row in table.rows]
    assert rows[:3] == [
        (0, 18, "a", 1, 1.5, 0, 1, 0),
        (0, 18, "a", 1, 1.5, 1, 2, 1),
        (0, 18, "b", 1, 1.5, 0, 1, 2),
    ]
    assert rows[7] == (18, 65, "b", 1, 1.5, 1, 2, 7)


@pytest.mark.parametrize(
    ("edges", "missing", "dropped"),
    [
        ([0, 1.5], None, "below 0, above 1.5 or missing"),
        (["-inf", 0], None, "above 0 or missing"),
        ([0, "inf"], 5, "below 0"),
        (["-inf", "inf"], None, "missing"),
        (["-inf", "inf"], 5, ""),
    ],
)
def test_which_rows_are_in_no_bin(edges: list[Any], missing: int | None, dropped: str) -> None:
    known = {"y": {} if missing is None else {"missing": missing}}
    (axis,) = layout(histogram={"column": "y", "edges": edges}, columns=known).axes
    assert isinstance(axis, Bins)
    assert axis.dropped == dropped


def test_a_mean_stays_in_bounds_and_has_an_answer_without_a_count() -> None:
    part = layout(statistics=["mean(x)"], group_by={"k": [1, 2, 3, 4]})
    vector = np.array([50.0, 100, 9, 3, 1, 0, -5, -1e9])  # (numerator, count) by cell
    columns = table_of(part, vector, NOISE).columns
    assert columns["mean_x"] == [25, 30, 20, 20]
    assert columns["mean_x_std"][0] == pytest.approx(10 * math.sqrt(1.25) / 100)
    assert columns["mean_x_std"][2:] == [10, 10]
    assert columns["mean_x_low"][2:] == [10, 10]
    assert columns["mean_x_high"][2:] == [30, 30]


ANY_VALUE = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 1.5, -0.5, 2.0**53, 2.0**60, -(2.0**60), 1e112, -1e112]),
    st.floats(-20, 20, width=32),
    st.integers(-9, 9).map(float),
)


@pytest.mark.dense
@example(values=[1e112, 1.0, -(2.0**60), 1.0], half95=1.96, whole=True, clamp=False)
@example(values=[-0.0, -0.0, 0.5, -1.0], half95=1.0, whole=False, clamp=True)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    values=st.lists(ANY_VALUE, min_size=4, max_size=4),
    half95=st.sampled_from([0.25, 1.0, 1.96, 40.0, 1e100]),
    whole=st.booleans(),
    clamp=st.booleans(),
)
def test_what_is_published_is_that_of_an_independent_computation(
    *, values: list[float], half95: float, whole: bool, clamp: bool
) -> None:
    noise = [NoiseError(std=1.0, half95=half95, half975=1.2 * half95, half983=1.3 * half95)] * 9
    asked: dict[str, Any] = {
        "statistics": ["count", "sum(x)", "mean(x)", "count(x)"],
        "group_by": {"k": [1, 2]},
    }
    vector = np.array([*values, *reversed(values)])[:6]  # three numbers a cell
    drawn = table_of(layout(**asked), vector, noise).columns
    table = table_of(layout(**asked, round=whole, clamp=clamp), vector, noise).columns
    assert list(table) == list(drawn)
    for name in ("count", "sum_x", "mean_x", "count_x"):
        columns = [name, f"{name}_low", f"{name}_high"]
        for cell in range(2):
            numbers = [drawn[column][cell] for column in columns]
            wanted = published(name.split("_")[0], numbers, whole=whole, clamp=clamp)
            shown = tuple(table[column][cell] for column in columns)
            assert shown == wanted
            kinds = {type(item) for item in shown}
            assert kinds == ({int} if whole and name in {"count", "count_x"} else {float})
            assert not any(str(item) == "-0.0" for item in shown if clamp and name != "mean_x")
        assert table[f"{name}_std"] == drawn[f"{name}_std"]


@pytest.mark.parametrize("truth", [0, 1, 3, 40])
@pytest.mark.parametrize("form", [{"round": True}, {"clamp": True}, {"round": True, "clamp": True}])
def test_intervals_of_rounded_and_clamped_counts_hold_at_95_percent(
    truth: int, form: dict[str, bool]
) -> None:
    draws = 4000
    asked: dict[str, Any] = {"statistics": ["count"], "group_by": {"k": list(range(draws))}}
    # a simulation of the arithmetic behind the noise, so a seeded float normal will do
    noisy = truth + np.random.default_rng(5).normal(size=draws)
    drawn, shown = (
        table_of(layout(**{**asked, **item}), noisy, NOISE).columns for item in ({}, form)
    )
    stored = [
        [
            low <= truth <= high
            for low, high in zip(item["count_low"], item["count_high"], strict=True)
        ]
        for item in (drawn, shown)
    ]
    assert all(after >= before for before, after in zip(*stored, strict=True))
    assert 0.94 < np.mean(stored[0]) < 0.96  # else this would say nothing of what is shown


@pytest.mark.parametrize(
    "query",
    [
        {"histogram": {"column": "x", "edges": [0, 1, 2]}},
        {"conditions": {"a": {"x": {"min": 1}}, "b": {"x": {"max": 1}}}},
        {"statistics": ["count_units"], "group_by": {"k": [1, 2]}},
    ],
)
def test_all_counts_are_rounded(query: dict[str, Any]) -> None:
    table = table_of(layout(**query, round=True, clamp=True), np.array([-3.2, 2.7]), NOISE).columns
    counts = [table[name] for name in table if name.startswith("count")]
    assert counts == [[0, 3], [1.0, 1.0], [0, 0], [0, 5]]


@pytest.mark.parametrize(("count", "mean"), [(500, 12.0), (40, 29.9), (12, 20.0), (0, 20.0)])
def test_intervals_of_a_mean_hold_at_95_percent(count: int, mean: float) -> None:
    draws = 4000
    part = layout(statistics=["mean(x)"], group_by={"k": list(range(draws))})
    exact = np.tile([(mean - 20) / 10 * count, count], draws)
    # a simulation of the arithmetic behind the noise, so a seeded float normal will do
    noisy = exact + np.random.default_rng(5).normal(size=2 * draws)
    columns = table_of(part, noisy, NOISE).columns
    inside = [
        low <= mean <= high
        for low, high in zip(columns["mean_x_low"], columns["mean_x_high"], strict=True)
    ]
    assert np.mean(inside) >= 0.95
    if count == 500:  # and where the delta method applies, its deviation is the one seen
        assert np.std(columns["mean_x"]) == pytest.approx(columns["mean_x_std"][0], rel=0.05)
        assert np.mean(inside) < 0.9999


def test_a_printed_table_shows_numbers() -> None:
    columns = {
        "town": ["a", "b\x1b"],
        "count": [1234.56, -0.5],
        "count_std": [1.0, 1.0],
        "count_low": [1232.56, -2.5],
        "count_high": [1236.56, 1.5],
        "n": [1, 2],
    }
    shown = str(Table(name="t", columns=columns)).splitlines()
    assert shown[0] == "<Table: 2 rows, 6 columns; t>"
    assert shown[2].split() == ["town", "count", "95", "%", "of", "noise", "n"]
    assert shown[3].split() == ["a", "1234.6", "1232.6", "to", "1236.6", "1"]
    assert shown[4].split() == ["b?", "-0.5", "-2.5", "to", "1.5", "2"]
    long = str(Table(name="t", columns={"n": [*range(60)]}))
    assert long.endswith("… and 10 more rows")
