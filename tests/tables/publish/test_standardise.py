"""Standardised rates: sums of the published ratios, and how often their intervals hold."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import leastnoise as ln
from leastnoise.cli.standardise import command
from leastnoise.errors import InvalidArgument, Refused
from tests.cli.program import run

EDGES, SHARES = [0, 18, 65, 100], [0.22, 0.61, 0.17]
ASKED = ["count", "sum(case)", "ratio(sum(case), count)"]


def people(number: int, regions: int) -> pd.DataFrame:
    draws = np.random.default_rng(3)
    ages = draws.integers(0, 100, number)
    cases = (draws.random(number) < 0.02 + 0.001 * ages).astype(int)
    return pd.DataFrame({"region": draws.integers(0, regions, number), "age": ages, "case": cases})


def release(
    folder: Path, rows: pd.DataFrame, *, columns: dict[str, Any] | None = None, **query: Any
) -> Path:
    groups = {"region": sorted(rows["region"].unique().tolist()), "age": {"edges": EDGES}}
    ln.Release(
        data={"source": rows},
        privacy={"unit": "row", "epsilon": 1},
        columns=columns or {"case": {"bounds": [0, 1], "missing": "none"}},
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
@pytest.mark.parametrize(
    ("number", "statistics"), [(2500, ASKED), (2500, ASKED[2:]), (100_000, ASKED)]
)
def test_intervals_hold(tmp_path: Path, number: int, statistics: list[str]) -> None:
    """A mean of at most 5 % of 360 rates miss: more than 50 do with probability below 1e-7."""
    rows = people(number, 60)
    bands = pd.cut(rows["age"], EDGES, right=False)
    means = rows.groupby(["region", bands], observed=False)["case"].mean().unstack()
    truth = means.to_numpy() @ SHARES
    missed, widths = 0, []
    for index in range(6):
        columns = standardise(release(tmp_path / str(index), rows, statistics=statistics))
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
        ({"weights": {"age": [1, 2]}}, "3 numbers, one for each group of age"),
        ({"weights": {"age": [1, 2, -1]}}, "0 <= weight"),
        ({"weights": {"age": [1, 2, 1e200]}}, "weight <= 10"),
        ({"weights": {"age": [1, 2, math.nan]}}, "a finite weight"),
        ({"weights": {"age": ["1", "2", "inf"]}}, "a finite weight"),
        ({"weights": {"age": [0, "0", 0.0]}}, "at least one weight > 0"),
        ({"weights": {"age": 5}}, "numbers, such as"),
    ],
)
def test_wrong_arguments(build: Path, changes: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        standardise(build, **changes)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("query", "match"),
    [
        ({"clamp": True}, "clamped"),
        ({"round_to": 5}, "rounded"),
        ({"min_count": 5}, "lists all groups"),
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


BOTH = ("sum(case)", "sum(years)", "ratio(sum(case), sum(years))")


@pytest.mark.grid
@pytest.mark.parametrize(
    ("statistics", "missing"),
    [(BOTH, "none"), (BOTH, "skip"), (BOTH[2:], "none"), (("ratio(sum(case), count)",), "skip")],
)
def test_rates_without_columns_of_both_parts(
    tmp_path: Path, statistics: tuple[str, ...], missing: str
) -> None:
    """The sums of a ratio are those of rows with both values, which no other column publishes."""
    rows = people(4000, 2).assign(years=np.linspace(0, 10, 4000))
    bounds = {"case": [0, 1], "years": [0, 10]}
    columns = {name: {"bounds": ends, "missing": missing} for name, ends in bounds.items()}
    folder = release(tmp_path / "out", rows, columns=columns, statistics=[*statistics])
    rates = standardise(folder)
    read = pd.read_csv(folder / "rates.csv").filter(like="ratio")
    value, std, low, high = (read.to_numpy()[:, index].reshape(2, 3) for index in range(4))
    assert rates["rate"] == pytest.approx(value @ SHARES)
    assert (np.array(rates["rate_low"]) < low @ SHARES).all()
    assert (np.array(rates["rate_high"]) > high @ SHARES).all()
    assert (np.subtract(rates["rate_high"], rates["rate_low"]) < 12 * (std @ SHARES)).all()


def test_weights_at_the_bound_do_not_overflow(
    build: Path, recwarn: pytest.WarningsRecorder
) -> None:
    large = standardise(build, weights={"age": [10**15] * 3})["rate_std"]
    assert large == pytest.approx(
        [1e15 * std for std in standardise(build, weights={"age": [1, 1, 1]})["rate_std"]]
    )
    assert not recwarn.list


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ("age", "Expected COLUMN=WEIGHTS, such as age=0.22,0.61,0.17, got --weights='age'."),
        ("age=", "Expected COLUMN=WEIGHTS"),
        ("=1,2,3", "Expected COLUMN=WEIGHTS"),
        ("age=1,1,1,", "Weight 4 is empty"),
        ("age=1,,1", "Weight 2 is empty"),
        ("age=0,0,0", "Expected at least one weight > 0, got --weights=[0.0, 0.0, 0.0]."),
    ],
)
def test_weights_that_the_command_refuses(build: Path, weights: str, says: str) -> None:
    done = CliRunner().invoke(
        command, [str(build), "--query", "rates", "--weights", weights], standalone_mode=False
    )
    assert isinstance(done.exception, InvalidArgument)
    assert says in str(done.exception)


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        ("0.22,0.61,0.17", ""),
        ("1/3,1/3,1/3", ""),
        ("22000,61000,17000", ""),
        ("1,1,1", "3"),
        ("0.22,0.61,0.18", "1.01"),
    ],
)
def test_the_command_notes_an_unusual_sum_of_weights(build: Path, weights: str, total: str) -> None:
    asked = [str(build), "--query", "rates", "--weights", f"age={weights}"]
    printed = " ".join(CliRunner().invoke(command, asked).stdout.split())
    note = f"The weights sum to {total}, so each rate is {total} times a weighted mean."
    assert (note in printed) == bool(total)
    assert ("weights sum" in printed) == bool(total)


@pytest.mark.dense
def test_the_command_prints_the_same_rates(build: Path) -> None:
    command = ["standardise", str(build), "--query", "rates", "--weights"]
    printed = json.loads(run(*command, "age=0.22,0.61,0.17", "--json").stdout)
    assert printed["name"] == "rates_standardised"
    assert [row["rate"] for row in printed["rows"]] == standardise(build)["rate"]
    refused = run(*command, "age=0.22,0.61")
    assert refused.returncode == 2
    assert "Expected 3 numbers, one for each group of age" in " ".join(refused.stderr.split())
