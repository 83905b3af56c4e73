"""Bounds that a release finds, with their share of the budget and the planned certificate."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import OverBudget, Refused
from leastnoise.report.page import report
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout import found_bounds
from leastnoise.tables.parse import spec_file
from leastnoise.tables.statistics.registry import parse_query

CANDIDATES = {"from": 0, "to": 1000, "step": 10}
FIND: dict[str, Any] = {"find": True, "share": "0.02", "candidates": CANDIDATES}


def spec_of(**changes: Any) -> dict[str, Any]:
    built: dict[str, Any] = {
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "person", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 2},
        "columns": {"x": {"bounds": FIND}},
        "query": [
            {
                "name": "q",
                "importance": 3,
                "statistics": ["count", "mean(x)", "sum(x)", "var(x)"],
                "group_by": {"plan": [1, 2]},
            },
            {"name": "all", "statistics": ["count_units", "ratio(sum(x), count)"]},
        ],
    }
    return built | changes


def rows_of(persons: int = 3000) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "person": np.repeat(range(persons), 2),
            "plan": [1, 2] * persons,
            "x": generator.uniform(100, 500, 2 * persons),
        }
    )


def written(folder: Path, raw: dict[str, Any], rows: pd.DataFrame | None = None) -> ln.Release:
    (rows_of() if rows is None else rows).to_parquet(folder / "rows.parquet")
    return ln.Release(**raw, folder=folder)


def test_a_query_is_put_in_the_place_of_the_share() -> None:
    first = ln.Release(**spec_of())
    spec = first.spec
    assert [query.name for query in spec.query] == ["q", "all", "x_bounds"]
    assert spec.query[2].statistics == ("quantile(x, 0.01)", "quantile(x, 0.99)")
    shares = [spec.share(query) for query in spec.query]
    left = Fraction(98, 100)
    assert shares == [left * Fraction(3, 4), left * Fraction(1, 4), Fraction(2, 100)]
    again = spec_file.loads(first.to_toml())
    assert again == spec
    assert "share" not in first.to_toml()


def test_two_columns_have_exactly_their_shares() -> None:
    other = {"find": True, "share": "0.05", "low": 0, "candidates": [1, 2, 5], "levels": [0.1, 0.9]}
    raw = spec_of(columns={"x": {"bounds": FIND}, "y": {"bounds": other}})
    raw["query"][0]["statistics"] = ["mean(x)", "sum(y)"]
    spec = ln.Release(**raw).spec
    results = {query.name: (spec.share(query), query.statistics) for query in spec.query[2:]}
    assert results == {
        "x_bounds": (Fraction(2, 100), ("quantile(x, 0.01)", "quantile(x, 0.99)")),
        "y_bounds": (Fraction(5, 100), ("quantile(y, 0.9)",)),
    }
    assert sum(spec.share(query) for query in spec.query) == 1


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_release_finds_them_and_verifies(tmp_path: Path, kind: str) -> None:
    raw = spec_of(
        data={"source": "rows.parquet"},
        privacy={"unit": "person", "epsilon": 1000, "delta": "1e-6"},
        output={"path": "out", "format": kind},
    )
    rows = rows_of()
    rows.loc[0, "x"] = 1e9  # one person isn't followed
    release = written(tmp_path, raw, rows)
    planned, stages = release.plan(), list[str]()
    released = release.run(progress=stages.append)
    assert released.certificate == planned.certificate  # fixed before a row was read
    (low, high) = (released.tables["x_bounds"].columns[f"quantile_x_{p}"][0] for p in (0.01, 0.99))
    assert (low, high) == tuple(10 * round(rows["x"].quantile(p) / 10) for p in (0.01, 0.99))
    values = rows["x"].to_numpy().clip(low, high)
    limited = [values[rows["plan"].to_numpy() == plan] for plan in (1, 2)]
    columns = released.tables["q"].columns
    assert columns["mean_x"] == pytest.approx([computed.mean() for computed in limited], abs=0.1)
    assert columns["sum_x"] == pytest.approx([computed.sum() for computed in limited], rel=1e-3)
    assert columns["var_x"] == pytest.approx([computed.var() for computed in limited], rel=1e-2)
    bounds, others = (
        index for index, stage in enumerate(stages) if stage.startswith("Reading and bounding for")
    )
    assert bounds < stages.index("Choosing the quantiles of x_bounds") < others
    verified = ln.verify_directory(tmp_path / "out")
    assert verified.spec.columns["x"].limits == (low, high)
    assert verified.spec == released.plan.spec
    assert verified.plan.to_record() == released.plan.to_record()
    page = report(tmp_path / "out")
    assert f"Values of x below {low} count as {low}, and values above {high} as {high}." in page
    assert "These bounds of x were found between 0 and 1000, from quantile(x, 0.01)" in page
    assert (
        "assumes that all limits, except those that the release found itself, were chosen" in page
    )


@pytest.mark.dense
def test_noise_is_as_much_smaller_as_the_bounds_are_narrower(tmp_path: Path) -> None:
    release = written(tmp_path, spec_of(privacy={"unit": "person", "epsilon": 100}))
    wide, released = release.plan(), release.run()
    low, high = released.plan.spec.columns["x"].limits or (0, 0)
    assert 90 <= low < high <= 510
    (before,), (after,) = (
        [part.errors for part in plan.noisy_parts if part.name == "q"]
        for plan in (wide, released.plan)
    )
    ratios = {
        entry.statistic: entry.std / other.std for entry, other in zip(after, before, strict=True)
    }
    assert ratios["count"] == 1
    assert ratios["sum_x"] == pytest.approx(float(high / 1000))
    assert ratios["mean_x"] == pytest.approx(float((high - low) / 1000))
    assert ratios["var_x"] == pytest.approx(float((high - low) / 1000) ** 2)
    for item, part in ((released.tables["q"], released.plan.noisy_parts[0]),):
        (std,) = {*item.columns["sum_x_std"]}
        assert std == next(error.std for error in part.errors if error.statistic == "sum_x")


@pytest.mark.dense
def test_a_plan_says_that_errors_are_those_of_the_widest(tmp_path: Path) -> None:
    plan = written(tmp_path, spec_of()).plan()
    text = str(plan)
    assert "mean_x (1,000 values) (widest bounds)" in text
    assert (
        "The release first finds bounds of x between 0 and 1000, from quantile(x, 0.01) and" in text
    )
    assert "This search takes 2 % of the budget (table x_bounds)." in text
    assert "count (widest bounds)" not in text
    assert "Values of x below" not in text
    frame = plan.to_polars()
    message = dict(zip(frame["statistic"], frame["bounds"], strict=True))
    assert message["sum_x"] == "widest"
    assert {message["count"], message["quantile_x_0.01"]} == {None}
    record = plan.to_record()["found_bounds"]
    assert record == {"x": {"query": "x_bounds", "widest": ["0", "1000"], "found": None}}


_PAIRS = [Fraction(item) for item in ("-100", "-10", "-1", "0", "1", "10", "100", "101")]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_what_is_certified_is_the_same_for_all_bounds(neighbours: str) -> None:
    """Signs, merged numbers and bits: symmetric bounds, those at 0, and those on either side."""
    for least, statistics in itertools.product(
        (-100, 0, 1),
        (["sum(x)", "mean(x)"], ["count", "sum(x)", "var(x)"], ["ratio(sum(x), count(x))"]),
    ):
        ends = [pair for pair in _PAIRS if pair >= least]
        bounds = {"find": True, "share": "0.1", "candidates": ends}
        raw = spec_of(
            privacy={"unit": "person", "epsilon": 1, "neighbours": neighbours},
            columns={"x": {"bounds": bounds}},
            query=[{"name": "q", "statistics": statistics, "group_by": {"plan": [1, 2]}}],
        )
        spec = ln.Release(**raw).spec
        (wide,) = lay_out_query(parse_query(spec, spec.query[0]))
        for pair in itertools.combinations(ends, 2):
            result = found_bounds.set_found_bounds(spec, {"x": pair})
            (narrow,) = lay_out_query(parse_query(result, result.query[0]))
            for item, other in zip(wide, narrow, strict=True):
                assert item.sensitivities == other.sensitivities
                assert (item.numbers, item.bits, item.uses) == (
                    other.numbers,
                    other.bits,
                    other.uses,
                )
                values = [part for part in other.components if part.kind == "value"]
                # what a row adds is within [−1, 1], and not below 0 unless it says so
                for part, x in itertools.product(values, pair):
                    scaled = (x - part.centre) / part.radius
                    assert (-1 if part.lowers else 0) <= scaled <= 1


def test_equal_quantiles_make_bounds_that_are_apart() -> None:
    raw = spec_of(columns={"x": {"bounds": FIND | {"candidates": [0, 1, 5, 20]}}})
    column = ln.Release(**raw).spec.columns["x"]
    for pair, result in (
        ((0, 5), (0, 5)),
        ((0, 0), (0, 1)),
        ((5, 5), (5, 20)),
        ((20, 20), (5, 20)),
    ):
        assert found_bounds.pick_bounds(column, [*map(Fraction, pair)]) == result
    assert found_bounds.narrowest_bounds(column) == ((0, 1), (0, 1))
    for known, pair in (({"low": -7}, (-7, 5)), ({"high": 30}, (5, 30))):
        raw = spec_of(columns={"x": {"bounds": FIND | {"candidates": [0, 1, 5, 20]} | known}})
        column = ln.Release(**raw).spec.columns["x"]
        assert found_bounds.pick_bounds(column, [Fraction(5)]) == pair
        assert pair[0] < pair[1]


@pytest.mark.dense
@pytest.mark.parametrize("missing", ["skip", "none", 1001])
def test_missing_values_count_as_the_column_says(tmp_path: Path, missing: str | int) -> None:
    rows = rows_of()
    rows.loc[rows["plan"] == 1, "x"] = None
    known = {"high": 1001} if missing == 1001 else {}
    raw = spec_of(
        privacy={"unit": "person", "epsilon": 1000},
        columns={"x": {"bounds": FIND | {"levels": ["0.2", "0.9"]} | known, "missing": missing}},
        output={"path": "out"},
    )
    released = written(tmp_path, raw, rows).run()
    tables = released.tables
    (text,) = (quantile.layout.missing[0] for quantile in released.plan.quantiles)
    number = {"skip": "left out", "none": "counts as 500, the middle", 1001: "counts as 1001."}[
        missing
    ]
    assert number in text  # before anything was found
    low = tables["x_bounds"].columns["quantile_x_0.2"][0]
    assert low == pytest.approx({"skip": 180, "none": 260, 1001: 180 + 80}[missing], abs=31)
    ln.verify_directory(tmp_path / "out")


@pytest.mark.dense
@pytest.mark.parametrize(
    "rows",
    [
        rows_of(0),
        pd.DataFrame({"person": [1], "plan": [1], "x": [7.0]}),
        pd.DataFrame({"person": [1, 1], "plan": [9, 1], "x": [None, np.inf]}),
        pd.DataFrame({"person": [1] * 50, "plan": 1, "x": -1e300}),
    ],
)
def test_any_rows_are_answered(tmp_path: Path, rows: pd.DataFrame) -> None:
    rows = rows.astype({"person": "int64", "plan": "int64", "x": "float64"})
    released = written(tmp_path, spec_of(output={"path": "out"}), rows).run()
    assert list(map(len, released.tables.values())) == [2, 1, 1]
    ln.verify_directory(tmp_path / "out")


@pytest.mark.dense
def test_rows_as_units_and_groups_that_nobody_listed(tmp_path: Path) -> None:
    query = {"name": "q", "statistics": ["sum(x)"], "group_by": {"plan": {"keys": "private"}}}
    raw = spec_of(
        privacy={"unit": "row", "epsilon": 5, "delta": "1e-6"}, query=[query], output={"path": "o"}
    )
    del raw["contribution"]
    written(tmp_path, raw).run()
    assert ln.verify_directory(tmp_path / "o").rows == {"q": 2, "x_bounds": 1}


def _account(folder: Path, epsilon: int) -> ln.Ledger:
    ledger = ln.Ledger(folder / "budget.ledger")
    budget = ln.Budget(epsilon=epsilon, delta="1e-5")
    ledger.open_account("rows", unit="person", budget=budget, rule="sums")
    return ledger


@pytest.mark.dense
def test_the_ledger_is_charged_once_for_both(tmp_path: Path) -> None:
    ledger = _account(tmp_path, 1)
    privacy = {**spec_of()["privacy"], "ledger": {"path": "budget.ledger"}}
    release = written(tmp_path, spec_of(privacy=privacy, output={"path": "out"}))
    release.run()
    (account,) = ledger.accounts().values()
    assert (account.charges, account.spent.epsilon) == (1, 1)
    checked = ln.verify_directory(tmp_path / "out", ledger=tmp_path / "budget.ledger")
    assert checked.account is not None
    with pytest.raises(OverBudget):
        written(tmp_path, spec_of(privacy=privacy)).run()


@pytest.mark.dense
def test_each_release_of_a_series_finds_its_own(tmp_path: Path) -> None:
    _account(tmp_path, 20)
    privacy = {"unit": "person", "epsilon": 20, "ledger": {"path": "budget.ledger"}}
    raw = spec_of(privacy=privacy, series={"releases": 2}, output={"path": "out", "format": "csv"})
    written(tmp_path, raw).run()
    rows = rows_of()
    rows["x"] += 300
    written(tmp_path, raw, rows).run()
    ledger = tmp_path / "budget.ledger"
    mechanism, two = (ln.verify_directory(tmp_path / "out" / str(n), ledger=ledger) for n in (1, 2))
    assert mechanism.certificate == two.certificate
    (first, second) = (each.spec.columns["x"].limits for each in (mechanism, two))
    assert first != second


@pytest.mark.dense
def test_what_could_vanish_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = _account(tmp_path, 10**5)
    privacy = {"unit": "person", "epsilon": 10**5, "ledger": {"path": "budget.ledger"}}
    tiny = FIND | {"candidates": ["0", "1e-152", "1"]}
    raw = spec_of(privacy=privacy, columns={"x": {"bounds": tiny}}, output={"path": "out"})
    raw["query"] = [{"name": "q", "statistics": ["var(x)"]}]
    release = written(tmp_path, raw)
    why = r"could be out of the range of float64.*\[0, 1e-152\] of x\. Choose other candidates"
    for refused in (release.plan, release.run):  # the widest bounds do
        with pytest.raises(Refused, match=why):
            refused()
    assert ledger.accounts()["rows"].charges == 0
    assert not (tmp_path / "out").exists()
