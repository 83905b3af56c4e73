"""Spark has the same counts as DuckDB in all releases of a series, with and without a unit."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.attacks.streams import (
    LIMITS,
    PLACES,
    Counters,
    Stream,
    draw_files,
    shift_of,
    spec_of,
    without,
)

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("unit", ["row", "person in one release"])
def test_late_and_edited_rows_of_a_series(session: Any, tmp_path: Path, unit: str) -> None:
    files = draw_files(Random(3))
    first = next(row for row in files[1] if row[2] == 2 and row[3] in PLACES)
    kept = slice(0, 1) if unit == "row" else slice(1, 3)
    streams: list[Stream] = []
    for some in (files, without(files, lambda row: row[kept] == first[kept])):
        for engine in ("duckdb", "spark"):
            raw = spec_of(unit, totals=True, engine=engine)
            with Counters(raw, tmp_path, some) as counters:
                streams.append(counters.count(some))
    before, on_spark, after, after_on_spark = streams
    assert on_spark == before
    assert after_on_spark == after
    ((release, size),) = shift_of(before, after).items()
    assert release == 2
    assert size == 1 if unit == "row" else 1 < size <= LIMITS["max_rows"]
