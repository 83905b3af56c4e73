"""Intervals of variances from the noise of all three numbers: they hold with about 95 %."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leastnoise.mechanism.accuracy import half_width_of_quotient, half_width_of_three
from leastnoise.tables.answers.columns import wrong_number
from leastnoise.tables.results.table import table_of
from leastnoise.tables.statistics import spreads
from leastnoise.tables.statistics.spread_tests import find_spread_tests
from tests.tables.statistics.test_fieller import drawn, planned

CASES: dict[str, dict[str, Any]] = {
    "k-norm": {},
    "truncated": {"delta": "1e-3"},
    "replace-one": {"neighbours": "replace-one"},
}
GROUPS = 120
SPREADS = [(0.0, 0.0), (0.0, 0.08), (0.5, 0.02), (0.9, 0.01), (0.3, 0.5), (0.0, 1.0), (1.0, 0.0)]


@pytest.mark.dense
@pytest.mark.parametrize("name", CASES)
def test_intervals_of_real_noise_hold_with_95_percent_and_are_half_as_wide_as_a_box(
    name: str,
) -> None:
    """The box, of an interval of each number, was what was published before."""
    part = planned(["std(x)", "var(x)"], groups=GROUPS, **CASES[name])
    runs = [drawn(part, 0, seed, GROUPS) for seed in range(24)]
    asked, ingredients, _ = runs[0]
    assert isinstance(asked, spreads.Spread)
    noise = np.concatenate([each for *_, each in runs], axis=1)
    error = (0.05 * 0.95 / noise.shape[1]) ** 0.5
    for n in (12, 150, 3000):
        for mean, variance in SPREADS:
            exact = np.array([mean, 2 * (variance + mean**2) - 1, 1])[:, None] * n
            numbers = [*(exact + noise)]
            value, _, low, high = asked.values(ingredients, numbers)
            assert (low <= value).all()
            assert (value <= high).all()
            true = ingredients.unit * variance**0.5
            share = float(((low <= true + 1e-9) & (true - 1e-9 <= high)).mean())
            assert share > 0.95 - 4 * error
            half = float((high - low).max()) / 2
            fewest = max(1, int(n + noise[2].min()))
            assert half <= asked.expected_half_width(ingredients, fewest) * (1 + 1e-9)
            if n == 3000:
                first, last = (asked.to_variance(ingredients, end) for end in (low, high))
                with np.errstate(divide="ignore"):
                    least, most = spreads._in_box(ingredients, *numbers)
                assert (last - first).mean() < 0.7 * (most - least).mean()
                if 0 < variance < 1 - mean**2:
                    assert share < 0.975 + 4 * error


@pytest.mark.dense
def test_the_ends_are_those_of_all_pairs_that_no_test_rejects() -> None:
    """On a grid of means and variances, each tested by the law of its own noise."""
    part = planned(["var(x)"], groups=2, epsilon="0.5")
    (ingredients,) = part.layout.ingredients(part.noise_errors)
    tests = find_spread_tests(ingredients.noise)
    assert tests is not None
    certificate, places = tests.certificate, tests.positions
    rng = np.random.default_rng(2)
    n = np.array([25.0, 80, 300, 2000])
    mean, variance = rng.uniform(0, 0.9, 4), rng.uniform(0, 1, 4)
    variance *= 1 - mean**2
    total, square = mean * n, (2 * (variance + mean**2) - 1) * n
    low, high = tests.accept(total, square, n)
    for k in range(4):
        kept: list[float] = []
        for a in np.linspace(-1, 1, 25):
            of_mean = half_width_of_quotient(certificate, 0.995, (places[0], places[2]), abs(a))
            assert of_mean is not None
            if abs(total[k] - a * n[k]) > of_mean:
                continue
            for v in np.linspace(0, 1 - a**2, 15):
                shift = n[k] * (variance[k] - v + (a - mean[k]) ** 2)
                weights = (2 * abs(a), 0.5, abs(0.5 + a**2 - v))
                width = half_width_of_three(certificate, 0.955, places, weights)
                assert width is not None
                if abs(shift) <= width:
                    kept.append(v)
        assert low[k] <= min(kept, default=1.0)
        assert high[k] >= max(kept, default=0.0)
        assert low[k] <= variance[k] <= high[k]


@pytest.mark.dense
def test_the_largest_half_width_is_reached_with_all_values_at_one_bound() -> None:
    """There the mean is 1 and the variance 0; no other mean and variance have a wider test."""
    part = planned(["var(x)"], groups=2)
    (ingredients,) = part.layout.ingredients(part.noise_errors)
    tests = find_spread_tests(ingredients.noise)
    assert tests is not None
    widths = {
        (a, v): half_width_of_three(
            tests.certificate, 0.955, tests.positions, (2 * a, 0.5, abs(0.5 + a**2 - v))
        )
        for a in (0.0, 0.5, 1.0)
        for v in (0.0, (1 - a**2) / 2, 1 - a**2)
    }
    assert tests.largest == widths[1.0, 0.0]
    assert all(width is not None and width <= tests.largest for width in widths.values())


def test_without_the_law_of_all_three_nothing_is_tested() -> None:
    part = planned(["var(x)"], groups=2)
    (ingredients,) = part.layout.ingredients(part.noise_errors)
    other = planned(["var(x)"], groups=2, delta="1e-3").noise_errors
    assert find_spread_tests(ingredients.noise) is not None
    assert find_spread_tests((ingredients.noise[0], other[1], ingredients.noise[2])) is None


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["var(x)", "std(x)"])
@pytest.mark.parametrize("with_mean", [False, True])
def test_what_is_drawn_fits_its_noise_and_another_interval_does_not(
    kind: str, with_mean: bool
) -> None:
    part = planned([kind, "mean(x)", "count(x)"], groups=GROUPS)
    asked, ingredients, noise = drawn(part, 0, 5, GROUPS)
    mean, of_mean, _ = drawn(part, 1, 5, GROUPS)
    rng = np.random.default_rng(6)
    n = 10.0 ** rng.uniform(0, 4, GROUPS)
    at = rng.uniform(-1, 1, GROUPS)
    spread = rng.uniform(0, 1, GROUPS) * (1 - at**2)
    numbers = [at * n + noise[0], (2 * (spread + at**2) - 1) * n + noise[1], n + noise[2]]
    columns = asked.values(ingredients, numbers)
    beside: dict[Any, Any] = {}
    if with_mean:
        value = mean.values(of_mean, [numbers[0], numbers[2]])[0]
        beside[of_mean.components] = [mean.in_common_unit(of_mean, value)]
    assert isinstance(asked, spreads.Spread)
    assert asked.find_wrong_suffix(ingredients, columns, beside) is None
    for index, suffix in ((2, "_low"), (3, "_high")):
        wrong = [*columns]
        middle = int(np.argmax((n > 300) & (spread > 0.2) & (spread < 0.5)))
        factor = np.ones(GROUPS)
        factor[middle] = 0.98 if index == 2 else 1.02
        wrong[index] = columns[index] * factor
        if with_mean:
            assert asked.find_wrong_suffix(ingredients, wrong, beside) == suffix
        wrong[index] = columns[index].copy()
        wrong[index][middle] = 0.0 if index == 2 else float(asked.from_variance(ingredients, 1.0))
        assert asked.find_wrong_suffix(ingredients, wrong, beside) == suffix


@pytest.mark.dense
@pytest.mark.parametrize("low", [10**15, -(10**15), 10**12, 10**9, 0])
@pytest.mark.parametrize("other", ["sum(x)", "count(x)"])
def test_a_mean_far_from_0_tells_no_more_of_a_variance_than_its_digits(
    low: int, other: str
) -> None:
    """Around 10^15 floats are 1/8 apart, a quarter of the radius of these bounds."""
    kinds = ["var(x)", "mean(x)", other]
    part = planned(kinds, groups=GROUPS, bounds=[low, low + 1])
    layout, noise = part.layout, part.noise_errors
    rng = np.random.default_rng(7)
    for seed in range(3):
        _, _, drawn_noise = drawn(part, 0, seed, GROUPS)
        n = np.floor(10.0 ** rng.uniform(0, 4, GROUPS))
        at = rng.choice([0, 1, 0.9, -0.5, -1, 0.2], GROUPS)
        spread = rng.choice([0, 0.01, 0.3, 1], GROUPS) * (1 - at**2)
        exact = np.stack([at * n, (2 * (spread + at**2) - 1) * n, n])
        vector = (exact + drawn_noise).T[:, np.argsort(layout.uses[0])].ravel()
        columns = dict(table_of(layout, vector, noise).columns)
        del columns["g"]
        assert wrong_number(layout, columns, noise) is None
        number = int(np.argmax((n > 1000) & (spread > 0.2) & (spread < 0.9 - at**2)))
        value, high = (columns[f"var_x{suffix}"][number] for suffix in ("", "_high"))
        columns["var_x_high"] = [*columns["var_x_high"]]
        columns["var_x_high"][number] = high + 9 * (high - value)
        assert wrong_number(layout, columns, noise) == "var_x_high"
