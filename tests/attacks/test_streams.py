"""A unit moves one release of a series, within its limits, however rows change over time.

The pre-noise counts of all releases are compared with and without the unit (theory/series.md,
Theorem 14₀).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.attacks.streams import (
    LIMITS,
    PERSONS,
    PLACES,
    WEEKS,
    Counters,
    Row,
    draw_files,
    shift_of,
    spec_of,
    without,
)

CASES = pytest.mark.parametrize(("totals", "seed"), [(False, 0), (True, 1)])


@pytest.mark.dense
@CASES
def test_a_row_moves_the_release_of_its_week_by_one(
    tmp_path: Path, *, totals: bool, seed: int
) -> None:
    raw, files = spec_of("row", totals=totals), draw_files(Random(seed))
    rows = {row[0]: row[2] for file in files for row in file}
    moved = 0
    with Counters(raw, tmp_path, files) as counters:
        stream = counters.count(files)
        for number in Random(seed).sample(sorted(rows), 6):
            week = rows[number]
            shown = files[week - 1] if week in {1, 2, 3, 4} else []
            counts = any(row[0] == number and row[3] in PLACES for row in shown)
            less = without(files, lambda row, number=number: row[0] == number)
            assert shift_of(stream, counters.count(less)) == ({week: 1} if counts else {})
            moved += counts
    assert moved >= 2


@pytest.mark.dense
@CASES
def test_a_person_moves_one_release_by_the_limit_at_most(
    tmp_path: Path, *, totals: bool, seed: int
) -> None:
    raw, files = spec_of("person in one release", totals=totals), draw_files(Random(seed))
    most = 0.0
    units = [(person, week) for person in range(PERSONS) for week in WEEKS]
    with Counters(raw, tmp_path, files) as counters:
        stream = counters.count(files)
        for unit in Random(seed).sample(units, 6):
            less = without(files, lambda row, unit=unit: (row[1], row[2]) == unit)
            shift = shift_of(stream, counters.count(less))
            assert shift.keys() <= {unit[1]}
            most = max([most, *shift.values()])
    assert LIMITS["max_rows"] - 1 <= most <= LIMITS["max_rows"]  # the limit is nearly reached


@pytest.mark.dense
def test_a_row_that_is_shown_with_two_weeks_moves_two_releases(tmp_path: Path) -> None:
    """The condition on the source that nobody can check: so this attack would find a fault."""
    raw, week = spec_of("row", totals=True), iter([1, 2, 2, 2])

    def files(shown: Iterator[int]) -> list[list[Row]]:
        return [[(0, 0, number, "north")] for number in shown]

    every = files(week)
    less = without(every, lambda row: row[0] == 0)
    with Counters(raw, tmp_path, every) as counters:
        assert shift_of(counters.count(every), counters.count(less)) == {1: 1, 2: 1}
