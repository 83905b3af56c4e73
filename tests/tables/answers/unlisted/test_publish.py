"""Groups that nobody listed: how often they are published, and with which noise."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.tables.answers.noisy import NoisyPart
from leastnoise.tables.answers.unlisted.publish import publish_groups, publish_keys
from leastnoise.tables.plan.plan import Plan
from tests.tables.unlisted import groups_of, planned


def publish(part: NoisyPart, found: list[tuple[Any, ...]], *, seed: int) -> dict[str, list[Any]]:
    claim, entropy = groups_of(part).claim, InsecureSeededEntropy(seed)
    return publish_groups(part.layout, claim, found, part.noise_errors, entropy=entropy).columns


def table(built: Plan, counts: dict[str, int], *, seed: int) -> dict[str, list[Any]]:
    (part,) = built.noisy_parts
    value = 2**part.layout.bits
    results = [(0, key, count * value) for key, count in counts.items()]
    return publish(part, results, seed=seed)


@pytest.mark.dense
@pytest.mark.parametrize("limits", [{"max_groups": 1}, {"max_groups": 3}, {"max_groups": 10}])
def test_how_often_groups_are_published(limits: dict[str, int]) -> None:
    plan = planned(statistics=["count_units"], contribution=limits)
    groups = groups_of(plan.noisy_parts[0])
    half, nearly = groups.chosen.half, groups.chosen.nearly
    times = 4000
    wanted = {half: (0.5, 0.75), half - 1: (0.0, 0.5), nearly: (0.95, 1.0), nearly - 1: (0.5, 0.95)}
    room = 4 * math.sqrt(0.25 / times)
    for size, (least, most) in wanted.items():
        counts = {f"{number:05d}": size for number in range(times)}
        share = len(table(plan, counts, seed=size)["code"]) / times
        assert least - room <= share <= most + room, size


def test_noise_is_that_of_the_plan_and_each_group_has_its_own() -> None:
    plan = planned(contribution={"max_groups": 3, "max_rows_per_group": 1})
    part = plan.noisy_parts[0]
    counts = {f"{number:05d}": 500 for number in range(3000)}
    errors = np.array(table(plan, counts, seed=3)["count"]) - 500
    std = part.noise_errors[0].std
    assert np.std(errors) == pytest.approx(std, rel=0.06)
    assert abs(np.mean(errors)) < 5 * std / math.sqrt(3000)
    assert abs(np.corrcoef(errors[:-1], errors[1:])[0, 1]) < 0.08
    again = np.array(table(plan, counts, seed=4)["count"]) - 500
    assert (again != errors).any()


@pytest.mark.dense
def test_rows_of_several_numbers_have_the_noise_of_one_body() -> None:
    plan = planned(
        statistics=["count", "sum(x)"], contribution={"max_groups": 1, "max_rows_per_group": 1}
    )
    (part,) = plan.noisy_parts
    item = 2**part.layout.bits
    results = [(0, f"{number:04d}", 300 * item, 100 * item) for number in range(1500)]
    columns = publish(part, results, seed=1)
    for label, value in (("count", 300), ("sum_x", 800)):
        errors = np.array(columns[label]) - value
        assert np.std(errors) == pytest.approx(columns[f"{label}_std"][0], rel=0.1)
    assert len(set(columns["count"])) > 1400


def test_rows_are_sorted_by_the_bytes_of_their_keys() -> None:
    plan = planned(contribution={"max_groups": 1, "max_rows_per_group": 1})
    keys = ["\u00e9", "Z", "a", "e\u0301", "", "\U0001f600", "\ufb00", "10", "9"]
    for seed in range(3):
        random.Random(seed).shuffle(keys)
        result = table(plan, dict.fromkeys(keys, 100), seed=seed)["code"]
        assert result == sorted(keys, key=str.encode)


def test_values_of_no_group_are_none() -> None:
    plan = planned()
    columns = table(plan, {}, seed=1)
    assert columns == {
        name: [] for name in ("code", "count", "count_std", "count_low", "count_high")
    }


@pytest.mark.dense
@pytest.mark.parametrize("limits", [{"max_groups": 1}, {"max_groups": 10}])
def test_how_often_keys_alone_are_published(limits: dict[str, int]) -> None:
    (part,) = planned(statistics=[], contribution=limits).keys
    times, value = 4000, 2**part.layout.bits
    for size in (part.half - 1, part.half, part.nearly, len(part.claim.chances) + 7, 2**33):
        results = [(0, f"{number:05d}", size * value) for number in range(times)]
        random.Random(size).shuffle(results)
        built = publish_keys(
            part.layout, part.claim, results, entropy=InsecureSeededEntropy(size % 1000)
        )
        keys, chance = built.columns["code"], float(part.claim.chance(size))
        assert list(built.columns) == ["code"]
        assert keys == sorted(keys)
        room = 4 * math.sqrt(chance * (1 - chance) / times)
        assert abs(len(keys) / times - chance) <= room, size
    results = [(0, "a", part.half * value)] * 64
    again = [publish_keys(part.layout, part.claim, results) for _ in range(2)]
    assert 0 < sum(map(len, again)) < 128
