"""Which groups are drawn and published that nobody listed: how often, with which noise."""

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


def table(made: Plan, counts: dict[str, int], *, seed: int) -> dict[str, list[Any]]:
    (part,) = made.noisy_parts
    one = 2**part.layout.bits
    found = [(0, key, count * one) for key, count in counts.items()]
    return publish(part, found, seed=seed)


@pytest.mark.dense
@pytest.mark.parametrize("limits", [{"max_groups": 1}, {"max_groups": 3}, {"max_groups": 10}])
def test_how_often_groups_are_published(limits: dict[str, int]) -> None:
    made = planned(statistics=["count_units"], contribution=limits)
    groups = groups_of(made.noisy_parts[0])
    half, nearly = groups.chosen.half, groups.chosen.nearly
    times = 4000
    wanted = {half: (0.5, 0.75), half - 1: (0.0, 0.5), nearly: (0.95, 1.0), nearly - 1: (0.5, 0.95)}
    room = 4 * math.sqrt(0.25 / times)
    for size, (least, most) in wanted.items():
        counts = {f"{number:05d}": size for number in range(times)}
        share = len(table(made, counts, seed=size)["code"]) / times
        assert least - room <= share <= most + room, size


def test_noise_is_that_of_the_plan_and_each_group_has_its_own() -> None:
    made = planned(contribution={"max_groups": 3, "max_rows_per_group": 1})
    part = made.noisy_parts[0]
    counts = {f"{number:05d}": 500 for number in range(3000)}
    errors = np.array(table(made, counts, seed=3)["count"]) - 500
    std = part.noise_errors[0].std
    assert np.std(errors) == pytest.approx(std, rel=0.06)
    assert abs(np.mean(errors)) < 5 * std / math.sqrt(3000)
    assert abs(np.corrcoef(errors[:-1], errors[1:])[0, 1]) < 0.08
    again = np.array(table(made, counts, seed=4)["count"]) - 500
    assert (again != errors).any()


@pytest.mark.dense
def test_rows_of_several_numbers_have_the_noise_of_one_body() -> None:
    made = planned(
        statistics=["count", "sum(x)"], contribution={"max_groups": 1, "max_rows_per_group": 1}
    )
    (part,) = made.noisy_parts
    one = 2**part.layout.bits
    found = [(0, f"{number:04d}", 300 * one, 100 * one) for number in range(1500)]
    columns = publish(part, found, seed=1)
    for label, value in (("count", 300), ("sum_x", 800)):
        errors = np.array(columns[label]) - value
        assert np.std(errors) == pytest.approx(columns[f"{label}_std"][0], rel=0.1)
    assert len(set(columns["count"])) > 1400


def test_rows_are_sorted_by_the_bytes_of_their_keys() -> None:
    made = planned(contribution={"max_groups": 1, "max_rows_per_group": 1})
    keys = ["\u00e9", "Z", "a", "e\u0301", "", "\U0001f600", "\ufb00", "10", "9"]
    for seed in range(3):
        random.Random(seed).shuffle(keys)
        found = table(made, dict.fromkeys(keys, 100), seed=seed)["code"]
        assert found == sorted(keys, key=str.encode)


def test_values_of_no_group_are_none() -> None:
    made = planned()
    columns = table(made, {}, seed=1)
    assert columns == {
        name: [] for name in ("code", "count", "count_std", "count_low", "count_high")
    }


@pytest.mark.dense
@pytest.mark.parametrize("limits", [{"max_groups": 1}, {"max_groups": 10}])
def test_how_often_keys_alone_are_published(limits: dict[str, int]) -> None:
    (part,) = planned(statistics=[], contribution=limits).keys
    times, one = 4000, 2**part.layout.bits
    for size in (part.half - 1, part.half, part.nearly, len(part.claim.chances) + 7, 2**33):
        found = [(0, f"{number:05d}", size * one) for number in range(times)]
        random.Random(size).shuffle(found)
        made = publish_keys(
            part.layout, part.claim, found, entropy=InsecureSeededEntropy(size % 1000)
        )
        keys, chance = made.columns["code"], float(part.claim.chance(size))
        assert list(made.columns) == ["code"]
        assert keys == sorted(keys)
        room = 4 * math.sqrt(chance * (1 - chance) / times)
        assert abs(len(keys) / times - chance) <= room, size
    found = [(0, "a", part.half * one)] * 64
    again = [publish_keys(part.layout, part.claim, found) for _ in range(2)]
    assert 0 < sum(map(len, again)) < 128
