"""Intervals of means and ratios from the joint noise of both numbers: they hold with 95 %."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.noise.draw import make_sampler
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import NoisyPart
from leastnoise.tables.statistics import quotients
from leastnoise.tables.statistics.base import Ingredients, Statistic
from leastnoise.tables.statistics.fieller import QuotientTests, find_tests
from tests.tables.statistics.laid import alone, values

GROUPS = 1000
WIDTHS = {17: tuple(2 + k / 16 for k in range(17)), 41: tuple(2 + k / 16 for k in range(41))}


def planned(
    statistics: list[str], *, groups: int = GROUPS, bounds: Any = (10, 30), **privacy: Any
) -> NoisyPart:
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, **privacy},
        "columns": {"x": {"bounds": list(bounds)}, "y": {"bounds": [0, 8]}},
        "query": [{"name": "q", "statistics": statistics, "group_by": {"g": list(range(groups))}}],
    }
    return plan(spec_file.lay_out(raw)).noisy_parts[0]


def drawn(
    part: NoisyPart, index: int, seed: int, groups: int = GROUPS
) -> tuple[Statistic, Ingredients, np.ndarray]:
    """A statistic, its ingredients, and noise of its two numbers per group, shape (2, groups)."""
    layout = part.layout
    claim = part.certificate
    grid = claim.grid or Fraction(1)
    sampler = make_sampler(claim.noise, grid=grid, entropy=InsecureSeededEntropy(seed))
    noise = sampler.draw(claim.dimension).estimates * float(grid)
    each = noise.reshape(groups, -1).T[list(layout.uses[index])]
    return layout.statistics[index], layout.ingredients(part.noise_errors)[index], each


CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "k-staircase": (["mean(x)", "ratio(sum(y), count(y))"], {}),
    "open": (["ratio(sum(x), sum(y))"], {}),
    "truncated": (["mean(x)"], {"delta": "1e-3"}),
    "replace-one": (["mean(x)"], {"neighbours": "replace-one"}),
}


@pytest.mark.dense
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("n", "quotient"), [(3, 0.1), (60, 0.0), (60, 0.8), (400, 0.3), (400, 1.0)]
)
def test_intervals_of_real_noise_hold_with_95_percent_and_little_more(
    name: str, n: int, quotient: float
) -> None:
    statistics, privacy = CASES[name]
    part = planned(statistics, **privacy)
    for index in range(len(statistics)):
        runs = [drawn(part, index, seed) for seed in range(8)]
        asked, ingredients, _ = runs[0]
        assert find_tests(ingredients.noise, most=1.0) is not None
        noise = np.concatenate([each for *_, each in runs], axis=1)
        value, _, low, high = asked.values(ingredients, [quotient * n + noise[0], n + noise[1]])
        assert (low <= value).all()
        assert (value <= high).all()
        true = ingredients.middle * (asked.kind == "mean") + asked.unit(ingredients) * quotient
        share = float(((low <= true) & (true <= high)).mean())
        error = (0.05 * 0.95 / noise.shape[1]) ** 0.5
        assert share > 0.95 - 4 * error
        if n > 3 and 0 < quotient < 1:
            assert share < 0.965 + 4 * error


@pytest.mark.parametrize("most", [1.0, np.inf])
@pytest.mark.parametrize("least", [0.0, -1.0])
def test_the_ends_are_those_of_all_quotients_that_no_test_rejects(
    least: float, most: float
) -> None:
    widths = WIDTHS[17 if most == 1 else 41]
    rng = np.random.default_rng(3)
    numerator, count = rng.normal(size=200) * 12, rng.exponential(size=200) * 8 + 1e-3
    low, high = QuotientTests(widths).accept(numerator, count, between=(least, most))
    ratios = [k / 16 for k in range(17)] + [2 ** (k / 8) for k in range(1, 25)]
    tried = np.concatenate([np.linspace(least, 8, 20_001), np.geomspace(8, 1e4, 2001)])
    for s, n, first, last in zip(numerator, count, low, high, strict=True):
        computed = tried[(tried <= most) & (tried >= least)]
        index = np.searchsorted(ratios[: len(widths)], np.abs(computed))
        beyond = np.abs(computed) / ratios[len(widths) - 1] * widths[-1]
        c = np.where(index < len(widths), np.array([*widths, 0.0])[index], beyond)
        kept = computed[np.abs(s - computed * n) <= c]
        if not len(kept):
            assert last - first < 2e-3 or first > last  # too short to be met
            continue
        assert first <= kept[0] + 1e-9
        assert last >= kept[-1] - 1e-9
        assert first >= kept[0] - 1e-2 * (1 + abs(kept[0]))
        assert min(last, 1e4) <= kept[-1] + 1e-2 * (1 + abs(kept[-1]))


@pytest.mark.parametrize(
    "more",
    [
        {"group_by": {"g": {"keys": "private", "longest": 8}}},
        {"group_by": {"g": [1, 2, 3]}, "min_count": 10},
        {"group_by": {"g": [1, 2, 3]}, "top": 2},
    ],
)
def test_numbers_of_groups_that_noise_chose_have_no_such_tests(more: dict[str, Any]) -> None:
    """Given that a group is published its noise has another law."""
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-6"},
        "columns": {"x": {"bounds": [10, 30]}},
        "query": [{"name": "q", "statistics": ["count", "mean(x)"], **more}],
    }
    (part,) = plan(spec_file.lay_out(raw)).noisy_parts
    ingredients = part.layout.ingredients(part.noise_errors)[1]
    assert find_tests(ingredients.noise, most=1.0) is None


@pytest.mark.dense
def test_of_two_draws_nothing_is_known_together() -> None:
    first, second = planned(["mean(x)"]), planned(["mean(x)"], delta="1e-3")
    (error,) = first.layout.ingredients(first.noise_errors)
    (other,) = second.layout.ingredients(second.noise_errors)
    assert find_tests((error.noise[0], other.noise[1]), most=1.0) is None


def test_a_quotient_that_is_accepted_alone_is_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotients, "find_tests", lambda noise, most: QuotientTests((2.0,) * 17))
    asked, ingredients = alone("mean(x)", 1.0, 1.0)
    _, _, low, high = values(asked, ingredients, [np.array([10.0]), np.array([8.0])])
    assert (low.item(), high.item()) == (30.0, 30.0)  # (10 − 2)/8 = 1: of all means the largest
