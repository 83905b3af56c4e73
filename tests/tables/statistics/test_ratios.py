"""Ratios of sums and counts: their syntax, their rules, and intervals that hold."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import SpecError
from leastnoise.tables.results.table import table_of
from leastnoise.tables.statistics.fieller import _RATIOS, UP_TO_1, QuotientTests
from leastnoise.tables.statistics.quotients import Ratio
from leastnoise.tables.statistics.registry import parse
from leastnoise.tables.statistics.totals import Count, Sum
from tests.tables.statistics.laid import alone, grid, layout, normal, values


@pytest.mark.parametrize(
    ("text", "above", "below", "label"),
    [
        ("ratio(sum(a), sum(b))", Sum(column="a"), Sum(column="b"), "ratio_sum_a_by_sum_b"),
        (" ratio ( sum( a ),count ) ", Sum(column="a"), Count(), "ratio_sum_a_by_count"),
        ("ratio(sum(a),\ncount(b))", Sum(column="a"), Count(column="b"), "ratio_sum_a_by_count_b"),
        ("ratio(sum(a,b), sum(c))", Sum(column="a,b"), Sum(column="c"), "ratio_sum_a,b_by_sum_c"),
    ],
)  # fmt: skip
def test_how_a_ratio_is_spelled(text: str, above: Sum, below: Sum | Count, label: str) -> None:
    statistic = parse(text)
    assert statistic == Ratio(above=above, below=below)
    assert statistic.label == label


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "ratio",
            "Expected ratio(sum(column), sum(column)), where count or count(column) may replace",
        ),
        ("ratio(a, b)", "Expected ratio(sum(column)"),
        ("ratio(sum(a))", "Expected ratio(sum(column)"),
        ("ratio(mean(a), count)", "Expected ratio(sum(column)"),
        ("ratio(count, sum(a))", "Expected ratio(sum(column)"),
        ("ratio(sum(a), count_units)", "Expected ratio(sum(column)"),
        ("ratio(sum(a), sum(b), sum(c))", "can be read in 2 ways. Rename the column"),
        ("ration(sum(a), count)", "ratio"),
    ],
)
def test_what_is_no_ratio(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"Expected|Rename") as caught:
        parse(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ratio(sum(x), sum(z))", "never negative, but columns.z.bounds begin below 0"),
        ("ratio(sum(x), sum(x))", "the ratio of a sum to itself is always 1"),
        ("ratio(sum(x), sum(w))", "The column 'w' needs bounds"),
        ("ratio(sum(w), count)", "The column 'w' needs bounds"),
        ("var(w)", "The column 'w' needs bounds"),
    ],
)
def test_what_the_columns_do_not_allow(text: str, says: str) -> None:
    with pytest.raises(SpecError) as caught:
        layout([text])
    ((key, why),) = caught.value.problems
    assert key == "query[0].statistics[0]"
    assert says in why


@pytest.mark.parametrize("form", ["clamp", "round"])
def test_nothing_of_a_spread_or_ratio_is_rounded_or_clamped(form: str) -> None:
    for text in ("var(x)", "std(x)", "ratio(sum(x), sum(y))"):
        asked: dict[str, Any] = {form: True}
        with pytest.raises(SpecError):
            layout([text], **asked)


@pytest.mark.dense
@pytest.mark.parametrize("missing", ["skip", 3])
def test_little_noise_gives_the_ratio_of_clamped_sums(tmp_path: Path, missing: Any) -> None:
    rng = np.random.default_rng(4)  # makes the table, no noise
    cases = np.where(rng.random(2000) < 0.1, math.nan, rng.poisson(3, 2000))
    persons = np.where(rng.random(2000) < 0.1, math.nan, rng.uniform(-5, 120, 2000))
    frame = pd.DataFrame({"cases": cases, "persons": persons})
    frame.to_parquet(tmp_path / "rows.parquet")
    texts = ["ratio(sum(cases), sum(persons))", "ratio(sum(cases), count)"]
    texts += ["ratio(sum(cases), count(persons))", "ratio(sum(cases), count(cases))"]
    release = ln.Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": 100_000},
        columns={
            "cases": {"bounds": [-1, 6], "missing": missing},
            "persons": {"bounds": [0, 100], "missing": missing},
        },
        query=[{"name": "q", "statistics": texts}],
        folder=tmp_path,
    )
    columns = release.run().tables["q"].columns
    if missing != "skip":
        cases, persons = (np.where(np.isnan(entry), missing, entry) for entry in (cases, persons))
    cases, persons = np.clip(cases, -1, 6), np.clip(persons, 0, 100)
    both = np.isfinite(cases) & np.isfinite(persons)
    total = cases[both].sum()
    expected = [
        total / persons[both].sum(),
        np.nansum(cases) / 2000,
        total / both.sum(),
        np.nanmean(cases),
    ]
    for text, item in zip(texts, expected, strict=True):
        label = parse(text).label
        assert columns[label][0] == pytest.approx(item, rel=1e-5)
        # values are rounded by up to 2^−28 of the largest, which no interval counts
        low, high = columns[f"{label}_low"][0], columns[f"{label}_high"][0]
        assert low - 1e-6 <= item <= high + 1e-6
        assert high - low < 0.01


@pytest.mark.dense
def test_missing_values_leave_a_weighted_mean_as_it_is() -> None:
    """With the weights of missing values it would be 4 % too low, and outside its interval."""
    rng = np.random.default_rng(5)  # makes the table, no noise
    weight, value = rng.uniform(1, 3, 5000), rng.uniform(2, 6, 5000)
    value[rng.random(5000) < 0.04] = math.nan
    there = np.isfinite(value)
    computed = np.average(value[there], weights=weight[there])
    every = np.nansum(weight * value) / weight.sum()
    assert every < 0.97 * computed
    text = "ratio(sum(weighted), sum(weight))"
    for missing, true in (("skip", computed), (0, every)):
        release = ln.Release(
            data=pd.DataFrame({"weight": weight, "value": value}),
            privacy={"unit": "row", "epsilon": 10_000},
            derive={"weighted": "weight * value"},
            columns={
                "weighted": {"bounds": [0, 18], "missing": missing},
                "weight": {"bounds": [0, 3], "missing": missing},
            },
            query=[{"name": "q", "statistics": [text]}],
        )
        (part,) = release.plan().noisy_parts
        sentence = (
            "uses only rows with a value of weight and weighted. Other rows add to neither part."
        )
        assert (missing == "skip") is any(sentence in item for item in part.layout.missing)
        assert release.run().tables["q"].columns[parse(text).label][0] == pytest.approx(
            true, rel=1e-4
        )


@pytest.mark.parametrize(
    ("text", "needed", "says"),
    [
        ("ratio(sum(x), sum(y))", {"x", "y"}, "uses only rows with a value of x and y"),
        ("ratio(sum(y), sum(x))", {"x", "y"}, "uses only rows with a value of x and y"),
        ("ratio(sum(x), count(y))", {"x", "y"}, "uses only rows with a value of x and y"),
        ("ratio(sum(x), count(x))", {"x"}, "uses only rows with a value of x."),
        ("ratio(sum(x), sum(full))", {"x"}, "uses only rows with a value of x."),
        ("ratio(sum(full), count(x))", {"x"}, "uses only rows with a value of x."),
        ("ratio(sum(x), count(full))", {"x"}, "uses only rows with a value of x."),
        ("ratio(sum(x), count)", {"x"}, "counts all rows. A row without a value of x adds 0"),
    ],
)
def test_a_ratio_says_which_rows_it_is_of(text: str, needed: set[str], says: str) -> None:
    asked = layout([text], columns={"full": {"bounds": [0, 1], "missing": 0}})
    above, below = asked.components
    assert above.needed - {"full"} == needed
    assert below.needed - {"full"} == (needed if ", count)" not in text else set())
    assert any(says in item for item in asked.missing)


def test_a_denominator_that_may_be_0_leaves_no_bound_but_what_is_public() -> None:
    """Cells: a sure denominator, one whose interval reaches 0, and one below 0."""
    vector = np.array([12.0, 100, -3, 1, 9, -5])
    cases: dict[str, tuple[float, float, float]] = {  # scale, and where it lies
        "ratio(sum(z), sum(y))": (1 / 8, -math.inf, math.inf),
        "ratio(sum(x), sum(y))": (30 / 8, 0.0, math.inf),
        "ratio(sum(z), count(y))": (1.0, -1.0, 1.0),
        "ratio(sum(z), count(z))": (1.0, -1.0, 1.0),
        "ratio(sum(x), count(x))": (30.0, 0.0, 30.0),
    }
    for text, (scale, least, most) in cases.items():
        asked = layout([text], group_by={"k": [1, 2, 3]})
        label = asked.statistics[0].label
        columns = table_of(asked, vector, [normal(1)] * 2).columns
        assert columns[label] == [
            pytest.approx(0.12 * scale),
            max(-3 * scale, least),
            0,
        ]
        assert columns[f"{label}_std"][0] == pytest.approx(scale * math.hypot(1, 0.12) / 100)
        assert columns[f"{label}_std"][2] == most
        assert columns[f"{label}_low"][1:] == [least] * 2
        assert columns[f"{label}_high"][1:] == [most] * 2


@pytest.mark.parametrize("text", ["ratio(sum(z), sum(y))", "ratio(sum(z), count(z))"])
@pytest.mark.parametrize(("n", "share"), [(3, 0.4), (12, -0.9), (60, 0.0), (1000, 0.7)])
def test_intervals_hold_at_95_percent(text: str, n: int, share: float) -> None:
    draws = 4000
    asked = layout([text], group_by={"k": list(range(draws))})
    scale = asked.components[0].radius / asked.components[1].radius
    exact = np.tile([share * n, n], draws)
    # a simulation of the arithmetic behind the noise, so a seeded float normal will do
    noisy = exact + np.random.default_rng(5).normal(size=2 * draws)
    columns = table_of(asked, noisy, [normal(1)] * 2).columns
    label, true = asked.statistics[0].label, float(scale) * share
    ends = zip(columns[f"{label}_low"], columns[f"{label}_high"], strict=True)
    inside = np.mean([low <= true <= high for low, high in ends])
    assert inside >= 0.95
    if n == 1000:
        assert np.std(columns[label]) == pytest.approx(columns[f"{label}_std"][0], rel=0.05)
        assert inside < 0.9999


@pytest.mark.dense
@pytest.mark.parametrize("text", ["ratio(sum(z), count)", "ratio(sum(y), count)", "mean(z)"])
@pytest.mark.parametrize("n", [2, 5, 30, 1000])
def test_what_a_plan_expects_of_a_share_is_the_most_that_is_published(text: str, n: int) -> None:
    asked, ingredients = alone(text, 1.0, 2.0)
    s, count = grid((-n, n), (n, n), points=2001)
    _, std, low, high = values(asked, ingredients, [s, count])
    assert std.max() == pytest.approx(asked.expected_std(ingredients, [1.0, 2.0], n))
    half = asked.expected_half_width(ingredients, n)
    assert ((high - low) / 2).max() <= half * (1 + 1e-12)
    assert ((high - low) / 2).max() >= half * 0.99 if n != 5 else True


@pytest.mark.parametrize("text", ["ratio(sum(z), sum(y))", "ratio(sum(y), sum(x))"])
def test_what_a_plan_expects_of_an_open_ratio(text: str) -> None:
    """Every row adds the most above, and, to a sum below, half of the most: as the note says."""
    asked, ingredients = alone(text, 1.0, 2.0)
    for rows in (4, 40, 4000):
        n = rows / 2
        s, count = grid((0, rows), (n, n), points=201)
        _, std, low, high = values(asked, ingredients, [s, count])
        assert std.max() == pytest.approx(asked.expected_std(ingredients, [1.0, 2.0], rows))
        assert ((high - low) / 2).max() == pytest.approx(
            asked.expected_half_width(ingredients, rows)
        )
    assert math.isinf(asked.expected_half_width(ingredients, 4))


@pytest.mark.dense
@pytest.mark.parametrize(
    "kind", ["csv", *(pytest.param(kind, marks=pytest.mark.dense) for kind in ("json", "parquet"))]
)
def test_a_release_without_bounds_on_a_ratio_verifies(tmp_path: Path, kind: str) -> None:
    """No row has a value: denominators are noise around 0. In JSON an end at ∞ is null."""
    pd.DataFrame({"a": [1.0], "b": [2.0], "g": [99]}).to_parquet(tmp_path / "rows.parquet")
    release = ln.Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": "0.5"},
        columns={"a": {"bounds": [-1, 1]}, "b": {"bounds": [0, 2]}},
        query=[
            {
                "name": "q",
                "statistics": ["ratio(sum(a), sum(b))", "std(a)", "ratio(sum(b), count)"],
                "group_by": {"g": list(range(20))},
                "accuracy": {"half_width_95": 1, "statistic": "ratio(sum(a), sum(b))"},
                "assume": {"n": 2},
            }
        ],
        output={"path": "out", "format": kind},
        folder=tmp_path,
    )
    ((wish,),) = (part.wishes for part in release.plan().noisy_parts)
    assert "not met, nothing bounds it" in wish.in_words()
    release.run()
    verified = ln.verify_directory(tmp_path / "out")
    assert verified.delta.upper == 0
    if kind == "json":
        records = json.loads((tmp_path / "out" / "q.json").read_text())
        assert any(record["ratio_sum_a_by_sum_b_high"] is None for record in records)
        errors = json.loads((tmp_path / "out" / "plan.json").read_text())["noisy_parts"][0][
            "errors"
        ]
        assert errors[0]["half_width_95"] is None


@pytest.mark.parametrize("nearly", [-5e-5, 5e-5])
def test_a_ratio_whose_interval_just_has_no_end_is_nothing_wrong(nearly: float) -> None:
    asked, ingredients = alone("ratio(sum(z), sum(y))", 1.0, 1.0)
    n = np.array([ingredients.noise[1].half975 * (1 + nearly)])
    columns = values(asked, ingredients, [np.array([3.0]), n])
    with np.errstate(all="ignore"):
        assert asked.find_wrong_suffix(ingredients, columns, {}) is None


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("ratio(sum(y), count)", 1),
        ("ratio(sum(z), count)", 1),
        ("ratio(sum(y), sum(x))", math.inf),
        ("ratio(sum(z), sum(x))", math.inf),
    ],
)
def test_parts_that_a_ratio_and_its_std_determine(text: str, most: float) -> None:
    """Both parts where nothing is clamped; elsewhere parts whose tests accept as much or more."""
    asked, ingredients = alone(text, 3.0, 2.0)
    assert isinstance(asked, Ratio)
    numerator, count = grid((-40.3, 40.1), (-20.7, 40.9), points=41)
    value, std, *_ = values(asked, ingredients, [numerator, count])
    recovered = asked.recover(ingredients, value, std)
    least = asked.scale_of(ingredients).least
    clear = np.hypot(3.0, np.clip(numerator / np.where(count > 0, count, 1), least, most) * 2)
    clear = (count > 0) & (clear < most * 0.999 * count)
    assert recovered[1][clear] == pytest.approx(count[clear])
    inside = clear & (numerator >= least * count if least else numerator >= 0)
    inside &= numerator <= most * count
    assert recovered[0][inside] == pytest.approx(numerator[inside])
    assert (recovered[1][count <= 0] == 0).all()
    tests = QuotientTests(tuple(6 + 3 * ratio for ratio in (UP_TO_1 if most == 1 else _RATIOS)))
    between = (least, most)
    low, high = tests.accept(numerator[clear], count[clear], between=between)
    lower, upper = tests.accept(recovered[0][clear], recovered[1][clear], between=between)
    slack = 1e-9
    assert (lower <= low + slack).all()
    assert (upper >= high - slack).all()
