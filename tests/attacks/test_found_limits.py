"""Limits that a release finds: no unit moves a candidate's score by more than 1.

Each case compares a table with those that have one more person, or a person replaced; scores are
computed from rows as in a release.
"""

from __future__ import annotations

import csv
import tempfile
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from leastnoise.tables.layout import found_limits
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import source
from leastnoise.tables.rows.left_out import count_cut_off
from tests.attacks.guard import PARTS, Guard
from tests.tables.found_limits import claimed, finds

Case = dict[str, Any]
Row = dict[str, Any]

_FEWER = 3  # a case reads three tables
_TYPES = {"person": "int", "plan": "int", "town": "text"}
_MINE, _OTHER = 77, 78


def draw_case(random: Random) -> Case:
    candidates = sorted(random.sample(range(1, 30), random.randint(2, 5)))
    name = random.choice(("max_rows", "max_groups"))
    groups = random.choice(
        (
            {},
            {"plan": [1, 2, 3]},
            {"town": {"keys": "private"}},
            {"plan": [1, 2], "town": ["a", "b"]},
        )
    )
    query: dict[str, Any] = {"name": "q", "statistics": ["count_units"], "group_by": groups}
    spec: dict[str, Any] = {
        "version": 1,
        "data": {"source": "rows.csv", "types": _TYPES},
        "privacy": {"unit": "person", "epsilon": 1, "delta": "1e-6"},
        "query": [query],
    }
    if random.random() < 0.3:
        spec["data"]["filter"] = "plan <> 2"
    limit = {name: finds(candidates=candidates)}
    if name == "max_groups" or random.random() < 0.5:
        query["contribution"] = limit
    else:
        spec["contribution"] = limit
    if random.random() < 0.3:
        query |= {"statistics": ["median(plan)"], "quantiles_by": "permute-and-flip"}
        spec["columns"] = {"plan": {"candidates": [1, 2, 4]}}
        if name == "max_groups":
            limit["max_rows_per_group"] = 2  # without it, nothing bounds a person's rows
    return {
        "spec": spec,
        "noise": [random.randint(0, 60) for _ in candidates],
        "others": [_row(random) for _ in range(random.randint(0, 30))],
        "mine": _rows_of(random, _MINE),
        "another": _rows_of(random, _OTHER),
    }


def _rows_of(random: Random, person: int) -> list[Row]:
    return [_row(random) | {"person": person} for _ in range(random.choice((1, 3, 12, 60)))]


def _row(random: Random) -> Row:
    return {
        "person": random.choice((None, 0, 1, 2, 3)),
        "plan": random.choice((None, 1, 2, 3, 4)),
        "town": random.choice((None, "", "a", "b", "c", "ü" * 40)),
    }


def attack(case: Case) -> None:
    folder = Path(tempfile.mkdtemp())
    layouts = spec_file.lay_out(case["spec"])
    finder = found_limits.finder_of(layouts.spec)
    assert finder is not None
    claim = claimed(case["noise"], finder.finds.candidates)
    counted = found_limits.layout_of(layouts, finder)

    def scores(more: list[Row]) -> list[Fraction]:
        with (folder / "rows.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_TYPES)
            for row in [*case["others"], *more]:
                writer.writerow("" if row[name] is None else row[name] for name in _TYPES)
        rows = source.find_source(layouts.spec, folder)
        with source.open_engine(rows, threads=1) as engine:
            return claim.scores(count_cut_off(engine, layouts.spec, finder, counted))

    tables = [scores(more) for more in ([], case["mine"], case["another"])]
    for before in tables:
        for after in tables:
            moved = max(abs(a - b) for a, b in zip(before, after, strict=True))
            assert moved <= 1, f"a score moves by {float(moved)}"


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("found_limits", part, fewer=_FEWER)
