"""Random specs: one more limit makes no standard deviation larger.

A spec has one number per cell: if several draws share a budget, the best split may give one of them
a little more noise, and the others much less.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]

_FEWER = 20  # a case is two plans, of up to a second each
_SAME = 1 + 1e-6  # of a standard deviation: scales are found to nine digits
_STATISTICS = (["count"], ["count_units"], ["sum(x)"], ["mean(x)"])


def draw_case(random: Random) -> Case:
    """Draw limits that bound a person, and one more on rows or groups."""
    limits = {name: random.choice([1, 2, 3, 5, 20]) for name in ("max_rows", "max_rows_per_group")}
    limits["max_groups"] = random.choice([1, 2, 3, 5, 10])
    more = random.choice([*limits])
    kept = {name: item for name, item in limits.items() if name != more and random.random() < 0.7}
    if not kept.keys() & {"max_rows", "max_rows_per_group"}:
        more, kept = "max_groups", {"max_rows_per_group": limits["max_rows_per_group"]}
    return {
        "limits": kept,
        "more": {more: limits[more]},
        "cells": random.choice([1, 2, 3, 6, 12, 20]),
        "statistics": random.choice(_STATISTICS),
        "privacy": {
            "epsilon": random.choice(["0.1", "1", "4"]),
            "delta": random.choice(["0", "1e-6"]),
            "neighbours": random.choice(["add-remove", "add-remove", "replace-one"]),
        },
    }


def stds(case: Case, limits: dict[str, int]) -> list[float]:
    keys = {"region": [*range(case["cells"])]}
    raw = {
        "version": 1,
        "data": {"source": "rows.csv", "types": {"who": "int", "region": "int", "x": "float"}},
        "privacy": {"unit": "who", **case["privacy"]},
        "contribution": limits,
        "columns": {"x": {"bounds": [0, 10], "missing": 0}},
        "query": [{"name": "q", "statistics": case["statistics"], "group_by": keys}],
    }
    plan = find_plan(spec_file.lay_out(raw))[1]
    return [error.std for block in plan.noisy_parts for error in block.errors]


def attack(case: Case) -> None:
    before = stds(case, case["limits"])
    after = stds(case, case["limits"] | case["more"])
    assert all(new <= old * _SAME for new, old in zip(after, before, strict=True)), (before, after)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("limits", part, fewer=_FEWER)
