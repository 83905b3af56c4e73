"""Hostile rows give the same integers as in plain Python, in every container."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.attacks.guard import PARTS, Guard
from tests.tables.containers import compare
from tests.tables.statistical_files import compare_statistical

Case = dict[str, Any]


def draw_case(random: Random) -> Case:
    return {"seed": random.getrandbits(64)}


def attack(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        compare(case["seed"], Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        compare_statistical(case["seed"], Path(folder))


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("containers", part, fewer=100)  # 13 s of processor time each
