"""Standardised rates: sums of the published ratios, and how often their intervals hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument, Refused
from tests.cli.program import run

EDGES, SHARES = [0, 18, 65, 100], [0.22, 0.61, 0.17]
ASKED = ["count", "sum(case)", "ratio(sum(case), count)"]


def people(number: int, regions: int) -> pd.DataFrame:
    draws = np.random.default_rng(3)
    ages = draws.integers(0, 100, number)
    cases = (draws.random(number) < 0.02 + 0.001 * ages).astype(int)
    return pd.DataFrame({"region": draws.integers(0, regions, number), "age": ages, "case": cases})


def release(folder: Path, rows: pd.DataFrame, **query: Any) -> Path:
    groups = {"region": sorted(rows["region"].unique().tolist()), "age": {"edges": EDGES}}
    ln.Release(
        data={"source": rows},
        privacy={"unit": "row", "epsilon": 1},
        columns={"case": {"bounds": [0, 1], "missing": "none"}},
        query=[{"name": "rates", "statistics": ASKED, "group_by": groups} | query],
        output={"path": str(folder), "format": "csv"},
    ).run()
    return folder


def standardise(folder: Path, **changes: Any) -> dict[str, list[Any]]:
    asked: dict[str, Any] = {"query": "rates", "weights": {"age": SHARES}} | changes
    return ln.standardise_rates(folder, **asked).columns


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("rates") / "out", people(6000, 4))


def test_rates_are_weighted_sums_of_the_published_ratios(build: Path) -> None:
    columns = standardise(build)
    assert list(columns) == ["region", "rate", "rate_std", "rate_low", "rate_high"]
    assert columns["region"] == [0, 1, 2, 3]
    read = pd.read_csv(build / "rates.csv")
    ratio = read["ratio_sum_case_by_count"].to_numpy().reshape(4, 3)
    std = read["ratio_sum_case_by_count_std"].to_numpy().reshape(4, 3)
    assert columns["rate"] == pytest.approx(ratio @ SHARES)
    assert columns["rate_std"] == pytest.approx(np.sqrt(std**2 @ np.square(SHARES)))
    for label in ("low", "high"):  # wider than the sum of the 95 % intervals of the bands
        ends = read[f"ratio_sum_case_by_count_{label}"].to_numpy().reshape(4, 3) @ SHARES
        assert ((np.array(columns[f"rate_{label}"]) > ends) == (label == "high")).all()


def test_other_columns_and_units_of_weights(build: Path) -> None:
    by_region = standardise(build, weights={"region": ["100000", 0, 0, 0]})
    assert list(by_region)[:2] == ["age_from", "age_to"]
    read = pd.read_csv(build / "rates.csv")
    assert by_region["rate"] == pytest.approx(1e5 * read["ratio_sum_case_by_count"][:3].to_numpy())
    assert by_region["age_from"] == [0, 18, 65]


@pytest.mark.slow
@pytest.mark.parametrize("number", [2500, 100_000])
def test_intervals_hold(tmp_path: Path, number: int) -> None:
    """At most 5 % of 360 rates miss on average: more than 50 do with probability below 1e-7."""
    rows = people(number, 60)
    bands = pd.cut(rows["age"], EDGES, right=False)
    means = rows.groupby(["region", bands], observed=False)["case"].mean().unstack()
    truth = means.to_numpy() @ SHARES
    missed, widths = 0, []
    for index in range(6):
        columns = standardise(release(tmp_path / str(index), rows))
        low, high = np.array(columns["rate_low"]), np.array(columns["rate_high"])
        missed += int(((truth < low) | (truth > high)).sum())
        widths.append(float(np.mean((high - low) / columns["rate_std"])))
    assert missed <= 50
    assert number < 10_000 or max(widths) < 10


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"query": "rate"}, r"Did you mean|rates"),
        ({"weights": {"sex": [1]}}, "one of the columns region, age"),
        ({"weights": {"age": [1, 2]}}, "3 numbers >= 0"),
        ({"weights": {"age": [1, 2, -1]}}, "3 numbers >= 0"),
        ({"weights": {"age": 5}}, "numbers, such as"),
    ],
)
def test_wrong_arguments(build: Path, changes: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        standardise(build, **changes)


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ({"statistics": ["count", "ratio(sum(case), count)"]}, "sum_case"),
        ({"clamp": True}, "clamped"),
        ({"round_to": 5}, "rounded"),
        ({"min_count": 5}, "listed groups"),
    ],
)
def test_releases_that_do_not_determine_the_rates(
    tmp_path: Path, query: dict[str, Any], match: str
) -> None:
    folder = release(tmp_path / "out", people(2000, 2), **query)
    with pytest.raises(Refused, match=match):
        standardise(folder)


def test_a_query_without_a_ratio(tmp_path: Path) -> None:
    folder = release(tmp_path / "out", people(500, 2), statistics=["count"])
    with pytest.raises(InvalidArgument, match="a query with one ratio"):
        standardise(folder)


@pytest.mark.dense
def test_the_command_prints_the_same_rates(build: Path) -> None:
    command = ["standardise", str(build), "--query", "rates", "--weights"]
    printed = json.loads(run(*command, "age=0.22,0.61,0.17", "--json").stdout)
    assert printed["name"] == "rates_standardised"
    assert [row["rate"] for row in printed["rows"]] == standardise(build)["rate"]
    refused = run(*command, "age=0.22,0.61")
    assert refused.returncode == 2
    assert "Expected 3 numbers >= 0" in " ".join(refused.stderr.split())
