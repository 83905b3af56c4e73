"""Variances and standard deviations: exact where noise is small, and intervals that hold."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.tables.publish.release import Release
from leastnoise.tables.results.table import table_of
from tests.grids import thin
from tests.tables.statistics.laid import alone, grid, layout, normal, values

MISSING: list[Any] = ["skip", 12, "none"]


@pytest.mark.dense
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("unit", ["row", "who"])
def test_little_noise_gives_the_population_variance_of_clamped_values(
    tmp_path: Path, unit: str, missing: Any
) -> None:
    """Fractions, row by row, clamp values out of bounds and treat missing ones by the spec."""
    rng = np.random.default_rng(4)  # makes the table, no noise
    x = np.where(rng.random(3000) < 0.1, math.nan, rng.normal(22, 6, 3000).round(2))
    frame = pd.DataFrame({"who": np.arange(3000), "x": x, "g": np.arange(3000) % 2})
    frame.to_parquet(tmp_path / "rows.parquet")
    release = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": unit, "epsilon": 100_000},
        contribution=None if unit == "row" else {"max_rows": 1},
        columns={"x": {"bounds": [10, 30], "missing": missing}},
        query=[
            {
                "name": "q",
                "statistics": ["std(x)", "var(x)", "mean(x)", "count(x)"],
                "group_by": {"g": [0, 1]},
            }
        ],
        folder=tmp_path,
    )
    columns = release.run().tables["q"].columns
    stands_for = {"skip": None, 12: Fraction(12), "none": Fraction(20)}[missing]
    for group in (0, 1):
        known = [
            stands_for if math.isnan(item) else min(max(Fraction(item), Fraction(10)), Fraction(30))
            for item in x[group::2]
        ]
        there = [item for item in known if item is not None]
        mean = sum(there) / len(there)
        variance = sum((item - mean) ** 2 for item in there) / len(there)
        assert columns["count_x"][group] == pytest.approx(len(there), abs=0.01)
        assert columns["var_x"][group] == pytest.approx(float(variance), abs=1e-4)
        assert columns["std_x"][group] == pytest.approx(math.sqrt(variance), abs=1e-5)
        for label, true in (("var_x", variance), ("std_x", math.sqrt(variance))):
            # values are rounded by up to 2^−28 of the bounds, which no interval counts
            assert (
                columns[f"{label}_low"][group] - 1e-6
                <= true
                <= columns[f"{label}_high"][group] + 1e-6
            )
            assert columns[f"{label}_high"][group] - columns[f"{label}_low"][group] < 1e-2


def test_without_a_count_a_number_from_the_bounds_alone() -> None:
    asked = layout(["var(x)", "std(x)"], group_by={"k": [1, 2, 3]})
    vector = np.array([5.0, 3, 0, -9, 3, -1, 1e9, 1e9, -1e9])  # S, Q, n by cell
    columns = table_of(asked, vector, [normal(1)] * 3).columns
    for label, most in (("var_x", 100.0), ("std_x", 10.0)):
        middle = 50 if label == "var_x" else 10 / math.sqrt(2)
        assert columns[label] == [pytest.approx(middle)] * 3
        assert columns[f"{label}_std"] == [most / 2] * 3
        assert columns[f"{label}_low"] == [0] * 3
        assert columns[f"{label}_high"] == [most] * 3


@pytest.mark.dense
@pytest.mark.parametrize("text", ["var(x)", "std(x)"])
@pytest.mark.parametrize("n", [8, 20, 60, 1000])
@pytest.mark.parametrize("spread", [0.0, 0.05, 0.4, 1.0])
@pytest.mark.parametrize("at", [0.0, 0.5, -0.95])
def test_intervals_hold_at_95_percent(text: str, n: int, spread: float, at: float) -> None:
    """Values at two points, `spread` to either side of `at` as far as bounds allow."""
    draws = 4000
    low, high = max(at - spread, -1.0), min(at + spread, 1.0)
    mean, second = (low + high) / 2, (low * low + high * high) / 2
    variance = second - mean**2
    true = 100 * variance if text == "var(x)" else 10 * math.sqrt(variance)
    exact = np.tile([mean * n, (2 * second - 1) * n, n], draws)
    # a simulation of the arithmetic behind the noise, so a seeded float normal will do
    noise = np.random.default_rng(5).normal(size=3 * draws) * np.tile([1.0, 2.0, 0.5], draws)
    asked = layout([text], group_by={"k": list(range(draws))})
    columns = table_of(asked, exact + noise, [normal(1), normal(2), normal(0.5)]).columns
    label = asked.statistics[0].label
    ends = zip(columns[f"{label}_low"], columns[f"{label}_high"], strict=True)
    inside = np.mean([item <= true + 1e-9 and true - 1e-9 <= other for item, other in ends])
    assert inside >= 0.95
    if n == 1000 and spread == 0.4 and at >= 0:
        # where the delta method applies, its deviation is the one seen
        assert np.std(columns[label]) == pytest.approx(columns[f"{label}_std"][0], rel=0.05)
        assert np.mean(columns[label]) == pytest.approx(true, rel=0.02)
        assert inside < 0.9999


@pytest.mark.parametrize("stds", [(1, 1, 1), (0.3, 2, 1), (2, 0.3, 0.5)])
def test_an_interval_is_the_range_of_the_variance_over_its_box(
    stds: tuple[float, float, float],
) -> None:
    """Against many points of the box: none is outside, and both ends are nearly met."""
    asked, ingredients = alone("var(z)", *stds)  # bounds of [−1, 1]: V itself
    halves = [noise.half983 for noise in ingredients.noise]
    rng = np.random.default_rng(8)
    for _ in range(200):
        n = halves[2] + 10 ** rng.uniform(-1, 3)
        total, square = rng.uniform(-1.2, 1.2, 2) * n
        *_, low, high = (
            float(value[0])
            for value in values(asked, ingredients, [*np.array([[total], [square], [n]])])
        )
        box = [(item - t, item + t) for item, t in zip((total, square, n), halves, strict=True)]
        least = min(abs(box[0][0]), abs(box[0][1])) if box[0][0] * box[0][1] > 0 else 0.0
        s, q, n = np.meshgrid(
            [*box[0], total, least], [*box[1], square], np.geomspace(*box[2], 2000)
        )
        clipped = np.clip(np.minimum((1 + q / n) / 2, 1) - (s / n) ** 2, 0, 1)
        assert low - 1e-12 <= clipped.min()
        assert clipped.max() <= high + 1e-12
        assert clipped.min() - low < 0.01 * (high - low) + 1e-9
        assert high - clipped.max() < 0.01 * (high - low) + 1e-9


def test_the_largest_variance_may_lie_between_the_ends_of_the_count() -> None:
    """n* = 4S²/Q: to look at both ends of n alone would be too narrow."""
    asked, ingredients = alone("var(z)", 0.01, 0.01, 30)
    numbers = np.array([[100.0], [100.0], [400.0]])
    *_, high = (float(value[0]) for value in values(asked, ingredients, [*numbers]))
    ends = [
        0.5 + 100 / 2 / n - (100 / n) ** 2
        for n in (400 - ingredients.noise[2].half983, 400 + ingredients.noise[2].half983)
    ]
    assert high > max(ends) + 1e-3
    assert high == pytest.approx(0.5 + 100 / 800 - 1 / 16, abs=1e-3)


def test_the_delta_method_is_that_of_numeric_derivatives() -> None:
    stds = (1.0, 2.0, 3.0)
    asked, ingredients = alone("var(z)", *stds)

    def variance(numbers: np.ndarray) -> float:
        return float(values(asked, ingredients, [*numbers[:, None]])[0][0])

    for at in ([300.0, 200, 1000], [-50, -600, 700], [10, -100, 400]):
        numbers = np.array(at, dtype=float)
        slopes = [
            (variance(numbers + step) - variance(numbers - step)) / 2e-3
            for step in np.eye(3) * 1e-3
        ]
        wanted = math.hypot(*(slope * std for slope, std in zip(slopes, stds, strict=True)))
        assert values(asked, ingredients, [*numbers[:, None]])[1][0] == pytest.approx(
            wanted, rel=1e-5
        )


@pytest.mark.parametrize("text", ["var(z)", "std(z)"])
@pytest.mark.parametrize("n", thin([5, 30, 100, 1000, 100_000], 2))
@pytest.mark.parametrize("stds", [(1, 1, 1), (0.3, 2, 1), (2, 0.3, 0.5)])
def test_what_a_plan_expects_is_the_most_that_is_published(
    text: str, n: int, stds: tuple[float, float, float]
) -> None:
    """Beside a noisy count of n: of all S and Q, and not far above the most of these."""
    asked, ingredients = alone(text, *stds)
    s, q = grid((-n, n), (-n, n), points=301)
    near = [n - np.geomspace(1e-3, n, 200), -n + np.geomspace(1e-3, 2 * n, 400)]  # at the bounds
    more = np.meshgrid(near[0], np.concatenate([near[1], n - np.geomspace(1e-3, n, 200)]))
    s, q = (np.concatenate([item, other.ravel()]) for item, other in zip((s, q), more, strict=True))
    _, std, low, high = values(asked, ingredients, [s, q, np.full_like(s, n)])
    deviation = asked.expected_std(ingredients, [noise.std for noise in ingredients.noise], n)
    assert std.max() <= deviation * (1 + 1e-12)
    assert std.max() >= deviation * 0.98
    half = asked.expected_half_width(ingredients, n)
    assert ((high - low) / 2).max() <= half
    assert ((high - low) / 2).max() >= 0.7 * half


def noise_of(statistics: list[str]) -> tuple[list[float], float]:
    """The stds of the numbers that a row adds to, at ε = 1, and of Laplace noise at that ε."""
    release = Release(
        data={"source": "r.csv", "types": {"x": "float"}},
        privacy={"unit": "row", "epsilon": 1},
        columns={"x": {"bounds": [0, 1]}},
        query=[{"name": "q", "statistics": statistics}],
    )
    (part,) = release._find_plan(None)[1].noisy_parts
    laplace = part.baselines.laplace
    assert laplace is not None
    return [error.std for error in part.noise_errors], math.sqrt(laplace.variance)


def test_count_mean_var_and_std_share_three_numbers_and_beat_thirds_of_the_budget() -> None:
    """The error at mean 0 is √(20/3), 39 % less than √18 with ε/3 for each of three numbers.

    That of a variance is √(¼ + (½ − V)²)·std/n there: 1.65, 1.39 and 1.29 at V = .1, .3 and .5.
    """
    result, thirds = noise_of(["count(x)", "mean(x)", "var(x)", "std(x)"])
    assert len(result) == 3
    assert thirds == pytest.approx(math.sqrt(18))
    assert max(result) <= math.sqrt(20 / 3) * (1 + 1e-6)
    asked, ingredients = alone("var(z)", *[math.sqrt(20 / 3)] * 3)
    _, peers = alone("var(z)", *[thirds] * 3)
    for variance, error, others in ((0.1, 1.65, 2.72), (0.3, 1.39, 2.28), (0.5, 1.29, 2.12)):
        n = 1e4
        numbers = [np.array([item]) for item in (0.0, (2 * variance - 1) * n, n)]
        mine, theirs = (
            float(values(asked, item, numbers)[1][0]) * n for item in (ingredients, peers)
        )
        assert mine == pytest.approx(error, abs=0.006)
        assert theirs == pytest.approx(others, abs=0.006)
        assert 1 - mine / theirs == pytest.approx(0.39, abs=0.005)


def test_a_square_costs_what_a_third_number_does() -> None:
    without, _ = noise_of(["count(x)", "mean(x)"])
    with_it, _ = noise_of(["count(x)", "mean(x)", "var(x)"])
    assert with_it[0] / without[0] == pytest.approx(1.29, abs=0.02)


@pytest.mark.parametrize("text", ["var(x)", "std(x)"])
def test_a_spread_of_0_of_a_tiny_group_says_how_unsure_it_is(text: str) -> None:
    """Any spread is possible where the count may be noise alone, whatever the value is."""
    asked, ingredients = alone(text, 3.0, 3.0, 3.0)
    reach = ingredients.noise[2].half983
    s, q, n = grid((-20, 20), (-20, 20), (-reach, reach), points=21)
    value, std, low, high = values(asked, ingredients, [s, q, n])
    most = 100.0 if text == "var(x)" else 10.0
    at_zero = value == 0
    assert at_zero.sum() > 500
    assert (low[at_zero] == 0).all()
    assert (high[at_zero] == most).all()
    assert std[at_zero].min() > most / 5
