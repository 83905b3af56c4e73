"""The noise and bias of each value of a limit, against pandas on the same rows."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import InvalidArgument, Refused, SourceError, SpecError
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.try_limits import Trial, Trials, try_limits
from leastnoise.tables.rows import exact
from tests.tables.reference import SALT, rank

SPEC = """
version = 1
[data]
source = "not-here.parquet"
[privacy]
unit = "who"
epsilon = 2
[contribution]
max_rows = 2
[columns.x]
bounds = [0, 10]
[[query]]
name = "q"
statistics = ["count", "sum(x)", "mean(x)", "count_units"]
{more}
"""
GROUPED = 'group_by = { k = ["a", "b"] }\nclipping = "0.1"'


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(5)  # makes the table, no noise
    who = np.repeat(np.arange(300), rng.integers(1, 7, 300))
    x = rng.exponential(6.0, who.size).round(2)
    x[::17] = math.nan
    return pd.DataFrame({"who": who, "k": rng.choice(["a", "b", "c"], who.size), "x": x})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows().to_parquet(tmp_path / "sample.parquet")
    return tmp_path


def tried(folder: Path, name: str, *values: str, more: str = "", spec: str = SPEC) -> Trials:
    (folder / "spec.toml").write_text(spec.replace("{more}", more))
    return try_limits(
        folder / "spec.toml",
        name=name,
        values=values,
        sample=folder / "sample.parquet",
        progress=lambda _: None,
    )


def of(trials: Trials, statistic: str) -> dict[str, Trial]:
    return {trial.value: trial for trial in trials.trials if trial.statistic == statistic}


@pytest.mark.dense
def test_bias_of_row_limits_is_what_pandas_finds(folder: Path) -> None:
    trials = tried(folder, "max_rows", "1", "3", "6")
    sizes = rows().groupby("who").size()
    for value, trial in of(trials, "count").items():
        away = sizes.sum() - np.minimum(sizes, int(value)).sum()
        assert trial.bias == pytest.approx(away, abs=1e-3)
    assert of(trials, "count")["6"].bias == 0
    assert of(trials, "count_units")["1"].bias == 0


@pytest.mark.dense
def test_bias_of_bounds_is_what_pandas_finds(folder: Path) -> None:
    spec = SPEC.replace("max_rows = 2", "max_rows = 6")
    trials = tried(folder, "bounds.x", "0..5", "0..20", "-1..1000", spec=spec)
    x = rows()["x"].dropna()
    for value, trial in of(trials, "sum_x").items():
        low, high = map(float, value.split(".."))
        assert trial.bias == pytest.approx(x.sum() - x.clip(low, high).sum(), abs=1e-3)
    for value, trial in of(trials, "mean_x").items():
        low, high = map(float, value.split(".."))
        assert trial.bias == pytest.approx(x.mean() - x.clip(low, high).mean(), abs=1e-6)
    assert {trial.bias for trial in of(trials, "count").values()} == {0}


@pytest.mark.dense
def test_groups_are_squared_and_averaged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "new_salt", lambda _: SALT)
    trials = tried(folder, "max_groups", "1", "2", more=GROUPED)
    stored = {
        key: Counter(expected_value["who"].tolist())
        for key, expected_value in rows().groupby("k")
        if key != "c"
    }
    away: dict[str, list[float]] = {"1": [], "2": []}
    for key in "ab":
        less = {"1": 0.0, "2": 0.0}
        for who, n in stored[key].items():
            kept = min(n, 2)
            both = sum(min(stored[entry][who], 2) for entry in "ab")
            computed = [entry for entry in "ab" if stored[entry][who]]
            chosen = min(computed, key=lambda entry, who=who: rank(who, "ab".index(entry)))
            less["1"] += n - (kept if key == chosen else 0)
            less["2"] += n - kept * min(1, 2 / both)  # all rows are shrunk to two
        for value, item in less.items():
            away[value].append(item)
    for value, (a, b) in away.items():
        expected = math.sqrt((a**2 + b**2) / 2)
        assert of(trials, "count")[value].bias == pytest.approx(expected, rel=1e-3)
    assert not trials.not_compared


@pytest.mark.dense
def test_noise_is_that_of_the_plan_and_the_least_total_is_marked(folder: Path) -> None:
    trials = tried(folder, "max_rows", "1", "2", "6")
    for value, trial in of(trials, "count").items():
        text = (folder / "spec.toml").read_text().replace("max_rows = 2", f"max_rows = {value}")
        (folder / "other.toml").write_text(text.replace("not-here", "sample"))
        plan = Release.from_toml(folder / "other.toml").plan()
        (expected,) = (e.std for b in plan.noisy_parts for e in b.errors if e.statistic == "count")
        assert trial.noise == pytest.approx(expected)
        assert trial.total == pytest.approx(math.hypot(trial.noise, trial.bias))
    for statistic in ("count", "sum_x", "mean_x"):
        computed = of(trials, statistic)
        least = min(computed.values(), key=lambda item: item.total)
        assert [trial.value for trial in computed.values() if trial.least] == [least.value]


@pytest.mark.dense
def test_values_that_are_all_alike_are_not_marked(folder: Path) -> None:
    trials = tried(folder, "bounds.x", "0..5", "0..20")
    assert not any(trial.least for trial in of(trials, "count").values())


@pytest.mark.dense
def test_what_cannot_be_compared_is_said(folder: Path) -> None:
    more = '[[query]]\nname = "r"\nstatistics = ["count"]\ngroup_by = { k = { keys = "private" } }'
    spec = SPEC.replace("max_rows = 2", "max_rows = 2\nmax_groups = 1")
    spec = spec.replace("epsilon = 2", 'epsilon = 2\ndelta = "1e-6"')
    assert tried(folder, "max_rows", "2", more=more, spec=spec).not_compared == ("count of r",)
    alone = spec.replace('statistics = ["count", "sum(x)", "mean(x)", "count_units"]\n', "")
    more = 'statistics = ["count"]\ngroup_by = { k = { keys = "private" } }'
    with pytest.raises(Refused, match="no statistic whose errors can be compared"):
        tried(folder, "max_rows", "2", more=more, spec=alone)


@pytest.mark.parametrize(
    ("name", "values", "refused"),
    [
        ("max_row", ["1"], (InvalidArgument, "one of max_rows")),
        ("bounds.", ["0..1"], (InvalidArgument, "bounds.COLUMN")),
        ("bounds.y", ["0..1"], (InvalidArgument, "a column under")),
        ("bounds.x", ["0-1"], (InvalidArgument, "bounds like 0..100")),
        ("bounds.x", ["1..0"], (SpecError, "columns.x.bounds")),
        ("max_rows", ["x"], (InvalidArgument, "whole numbers")),
        ("max_rows", ["0"], (SpecError, "contribution.max_rows")),
        ("max_rows", ["1"] * 21, (InvalidArgument, "1 to 20 values")),
    ],
)
def test_what_is_no_limit_is_refused(
    folder: Path, name: str, values: list[str], refused: tuple[type[Exception], str]
) -> None:
    with pytest.raises(refused[0], match=refused[1]):
        tried(folder, name, *values)


def test_a_sample_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="found none at"):
        tried(tmp_path, "max_rows", "1")
