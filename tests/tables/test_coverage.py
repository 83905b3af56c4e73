"""Intervals contain the true value as often as stated, in many releases of one table."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from leastnoise.tables.publish.release import Release

CELLS = 4
MADE = ["mean(x)", "var(x)", "std(x)", "ratio(sum(x), count)"]
PERSONS = 4000


def build(folder: Path, **changes: Any) -> tuple[Release, pd.DataFrame]:
    rng = np.random.default_rng(1)  # makes the table, no noise
    frame = pd.DataFrame(
        {
            "who": np.arange(PERSONS),
            "group": rng.integers(0, CELLS, PERSONS),
            "x": rng.uniform(0, 1, PERSONS),
        }
    )
    frame.to_parquet(folder / "rows.parquet")
    groups = {"group": list(range(CELLS))}
    release = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "who", "epsilon": "0.5", "delta": "1e-5"},
        contribution={"max_rows": 1},
        columns={"x": {"bounds": [0, 1]}},
        query=[
            {"name": "numbers", "statistics": ["count", "sum(x)"], "group_by": groups} | changes,
            {"name": "means", "statistics": MADE, "group_by": groups},
            {
                "name": "high",
                "conditions": {"high": {"x": {"min": 0.5}}, "low": {"x": {"max": 0.1}}},
            },
        ],
        folder=folder,
    )
    return release, frame


def truths(frame: pd.DataFrame) -> dict[tuple[str, str], list[float]]:
    groups, x = frame["group"].to_numpy(), frame["x"].to_numpy(dtype=float)
    parts = [x[groups == group] for group in range(CELLS)]
    return {
        ("numbers", "count"): [float(part.size) for part in parts],
        ("numbers", "sum_x"): [float(part.sum()) for part in parts],
        ("means", "mean_x"): [float(part.mean()) for part in parts],
        ("means", "var_x"): [float(part.var()) for part in parts],
        ("means", "std_x"): [float(part.std()) for part in parts],
        ("means", "ratio_sum_x_by_count"): [float(part.mean()) for part in parts],
        ("high", "count_units"): [float((x >= 0.5).sum()), float((x <= 0.1).sum())],
    }


def covered(release: Release, frame: pd.DataFrame, times: int) -> dict[str, float]:
    """For each statistic the fraction of intervals that contain the true value."""
    counts: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for _ in range(times):
        tables = release.run().tables
        for (table, label), true in truths(frame).items():
            columns = tables[table].columns
            lows, highs = columns[f"{label}_low"], columns[f"{label}_high"]
            counts[label] += sum(a <= t <= b for a, t, b in zip(lows, true, highs, strict=True))
            tried[label] += len(true)
    return {label: counts[label] / tried[label] for label in tried}


def least_held(intervals: int) -> float:
    """The least number of `intervals` 95 % intervals that hold, except with probability 1e-7."""
    return float(binom.ppf(1e-7, intervals, 0.95)) - 1


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"round": True, "clamp": True}], ids=["plain", "rounded"])
def test_intervals_hold_the_truth_as_often_as_they_say(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Those of means say that they hold it more often."""
    times = 120
    release, frame = build(tmp_path, **changes)
    result = covered(release, frame, times)
    for label, share in result.items():
        cells = 2 if label == "count_units" else CELLS
        assert share * times * cells > least_held(times * cells), result
    assert result["count"] < 1  # or the intervals would be too wide to say anything


GAPS = 0.04


@pytest.mark.dense
@pytest.mark.parametrize("unit", ["who", "row"])
def test_means_of_values_are_held_where_some_are_missing(tmp_path: Path, unit: str) -> None:
    """4 % of the values are missing: as 0 they would take 4 % off every mean."""
    rng = np.random.default_rng(2)  # makes the table, no noise
    x, y = rng.uniform(20_000, 90_000, PERSONS), rng.normal(40, 5, PERSONS)
    x[rng.random(PERSONS) < GAPS], y[rng.random(PERSONS) < GAPS] = math.nan, math.inf
    frame = pd.DataFrame({"who": np.arange(PERSONS), "x": x, "y": y})
    frame["group"] = np.arange(PERSONS) % 2
    frame.to_parquet(tmp_path / "rows.parquet")
    release = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": unit, "epsilon": 5, "delta": "1e-5"},
        contribution={"max_rows": 1} if unit == "who" else None,
        columns={"x": {"bounds": [0, 100_000]}, "y": {"bounds": [-10, 100]}},
        query=[
            {
                "name": "means",
                "statistics": ["count", "mean(x)", "mean(y)", "count(x)", "sum(y)"],
                "group_by": {"group": [0, 1]},
            }
        ],
        folder=tmp_path,
    )
    halves = [(x[group::2], y[group::2]) for group in (0, 1)]
    there = [(a[np.isfinite(a)], b[np.isfinite(b)]) for a, b in halves]
    true = {
        "count": [float(a.size) for a, _ in halves],
        "count_x": [float(a.size) for a, _ in there],
        "mean_x": [float(a.mean()) for a, _ in there],
        "mean_y": [float(b.mean()) for _, b in there],
        "sum_y": [float(b.sum()) for _, b in there],
    }
    times, stored = 20, Counter[str]()
    for _ in range(times):
        columns = release.run().tables["means"].columns
        for label, values in true.items():
            ends = zip(columns[f"{label}_low"], values, columns[f"{label}_high"], strict=True)
            stored[label] += sum(low <= value <= high for low, value, high in ends)
    assert min(stored.values()) > least_held(times * 2), stored
