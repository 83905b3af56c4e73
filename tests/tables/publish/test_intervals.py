"""The numbers of a released table fit each other and the noise, whatever was drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise.tables.answers.columns import wrong_number
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse.spec_file import parse
from leastnoise.tables.results.table import table_of
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.tables.statistics.registry import parse_query

CELLS = 2_000
BOUNDS = [[0, 10], [-1, 1], [1e9, 1e9 + 1], [-1e-9, 3e9]]


SPREADS = ["count(x)", "mean(x)", "var(x)", "std(x)"]
RATIOS = ["ratio(sum(x), sum(y))", "ratio(sum(y), count)", "ratio(sum(y), count(x))", "sum(y)"]
ASKED = [
    *(["var(x)"], ["std(x)"], ["mean(x)", "std(x)"], ["count(x)", "var(x)"], SPREADS),
    *([text] for text in RATIOS[:3]),
    [*RATIOS, "count", "count(x)"],
]


def draw_values(
    statistics: list[str], bounds: list[float], form: dict[str, bool], seed: int
) -> tuple[Layout, list[NoiseError], dict[str, list[Any]]]:
    """A table of random numbers; in half of the cells, none is negative."""
    query = {
        "name": "q",
        "statistics": statistics,
        "group_by": {"k": list(range(CELLS))},
        **form,
    }
    spec = parse(
        {
            "version": 1,
            "data": {"source": "rows.parquet"},
            "privacy": {"unit": "row", "epsilon": 1},
            "columns": {"x": {"bounds": bounds}, "y": {"bounds": [0, 3]}},
            "query": [query],
        },
        folder=Path(),
    )
    ((layout,),) = lay_out_query(parse_query(spec, spec.query[0]))
    random = np.random.default_rng(seed)
    noise = [
        NoiseError(std=std, half95=2 * std, half975=2.3 * std, half983=2.5 * std)
        for std in random.uniform(0.5, 20, len(layout.components))
    ]
    sizes = 10.0 ** random.uniform(-3, 7, (CELLS, 1))
    vector = sizes * random.uniform(-1, 1, (CELLS, len(layout.components)))
    vector[: CELLS // 2] = np.abs(vector[: CELLS // 2])
    table = table_of(layout, vector.ravel(), noise)
    columns = {name: column for name, column in table.columns.items() if name != "k"}
    return layout, noise, columns


@pytest.mark.grid
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("form", [{}, {"round": True}, {"clamp": True, "round": True}])
def test_tables_of_any_draw_fit_their_noise(bounds: list[float], form: dict[str, bool]) -> None:
    asked = ["count", "count(x)", *([] if form else ["sum(x)"]), "mean(x)"]
    layout, noise, columns = draw_values(asked, bounds, form, seed=7)
    assert wrong_number(layout, columns, noise) is None
    again = {name: [float(f"{item:.17g}") for item in column] for name, column in columns.items()}
    assert wrong_number(layout, again, noise) is None
    again["mean_x_std"][0] *= 1.001
    assert wrong_number(layout, again, noise) is not None


@pytest.mark.dense
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("statistics", ASKED, ids=" ".join)
@pytest.mark.parametrize("seed", [1, 2])
def test_spreads_and_ratios_of_any_draw_fit_their_noise(
    statistics: list[str], bounds: list[float], seed: int
) -> None:
    if bounds[0] < 0 and any("sum(x), sum" in statistic for statistic in statistics):
        bounds = [0, 5]
    counted = any(statistic.startswith("count") for statistic in statistics)
    for form in ({}, {"round": True}) if counted else ({},):
        layout, noise, columns = draw_values(statistics, bounds, form, seed)
        assert wrong_number(layout, columns, noise) is None


CHANGES = [(SPREADS, label) for label in ("var_x", "std_x")]
CHANGES += [
    ([*RATIOS, "count", "count(x)"], f"ratio_sum_{label}")
    for label in ("x_by_sum_y", "y_by_count", "y_by_count_x")
]


@pytest.mark.grid
@pytest.mark.parametrize("suffix", ["", "_std", "_low", "_high"])
@pytest.mark.parametrize(("statistics", "label"), CHANGES)
@pytest.mark.parametrize("form", [{}, {"round": True}])
def test_changed_spreads_and_ratios_fit_nothing(
    statistics: list[str], label: str, suffix: str, form: dict[str, bool]
) -> None:
    """A value changes by a hundredth of its interval, in a cell with an interval within bounds."""
    layout, noise, columns = draw_values(statistics, [0, 10], form, seed=3)
    low, high, value = (np.array(columns[f"{label}{end}"]) for end in ("_low", "_high", ""))
    count = np.array(columns["count_x"])
    inside = np.isfinite(high - low) & (low > 0) & (count > 50) & (low < value) & (value < high)
    if label in {"var_x", "std_x"}:
        mean = np.array(columns["mean_x"])
        inside &= (high < (25 if label == "var_x" else 5)) & (abs(mean - 5) < 4.9)
    cell = int(np.flatnonzero(inside)[0])
    away = (high[cell] - low[cell]) / 100
    for moved in (away, -away):
        false = {name: list(column) for name, column in columns.items()}
        false[f"{label}{suffix}"][cell] += moved
        assert wrong_number(layout, false, noise) is not None


def test_a_variance_and_a_standard_deviation_of_two_laws_are_rejected() -> None:
    layout, noise, columns = draw_values(["var(x)", "std(x)"], [0, 10], {}, seed=3)
    other = draw_values(["var(x)", "std(x)"], [0, 10], {}, seed=4)[2]
    mixed = {name: (columns if "var" in name else other)[name] for name in columns}
    assert wrong_number(layout, mixed, noise) in {"var_x", "std_x"}
