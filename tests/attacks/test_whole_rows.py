"""Persons over their limits move counts with whole-number noise by no more than the limit.

Three cells with two rows each of every person are 5/3 rows each within max_rows = 5. If fractions
were added up and then cut, a second person would move the cells from (1, 1, 1) to (3, 3, 3).
"""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import leastnoise as ln
from leastnoise.guarantees.units import RowCounts
from leastnoise.tables.rows import integer_vectors, source

_TABLES = 3
_PERSONS = 3
_REGIONS = ["north", "south", "west"]
_OF_ALL = {"max_rows": 5}
_OF_GROUPS = {"max_rows": 4, "max_rows_per_group": 2}


def _cumulative(neighbours: str) -> dict[str, Any]:
    return {
        "privacy": {"unit": "person", "epsilon": 1, "neighbours": neighbours},
        "query": [
            {
                "name": "q",
                "group_by": {"region": _REGIONS},
                "histogram": {"column": "day", "edges": [0, 2, 4, 6], "cumulative": True},
            }
        ],
    }


def _series(neighbours: str) -> dict[str, Any]:
    return {
        "privacy": {
            "unit": "person",
            "epsilon": 1,
            "neighbours": neighbours,
            "ledger": {"path": "a.ledger"},
        },
        "series": {
            "releases": 4,
            "each": "person in one release",
            "report": "week",
            "totals": True,
            "branches": [2, 2],
        },
        "query": [{"name": "q", "statistics": ["count"], "group_by": {"region": _REGIONS}}],
        "output": {"path": "out", "format": "csv"},
    }


def _rows_of(random: Random) -> list[tuple[str, int]]:
    """The rows of a person: often the same in all cells, so that fractions add up."""
    if random.random() < 0.5:
        return [(region, day) for region in _REGIONS for day in (1, 1, 3)]
    return [(random.choice(_REGIONS), random.randrange(7)) for _ in range(random.randrange(12))]


@pytest.mark.parametrize(
    ("spec", "neighbours", "limits"),
    [
        pytest.param(_cumulative, "replace-one", _OF_GROUPS, marks=pytest.mark.dense),
        (_series, "add-remove", _OF_ALL),
        pytest.param(_cumulative, "add-remove", _OF_ALL, marks=pytest.mark.dense),
        pytest.param(_cumulative, "add-remove", _OF_GROUPS, marks=pytest.mark.dense),
        pytest.param(_cumulative, "replace-one", _OF_ALL, marks=pytest.mark.dense),
        pytest.param(_series, "add-remove", _OF_GROUPS, marks=pytest.mark.dense),
    ],
)
def test_a_person_moves_whole_rows_within_the_limit(
    tmp_path: Path, spec: Any, neighbours: str, limits: dict[str, int]
) -> None:
    random, file = Random(52), tmp_path / "rows.parquet"

    def write(persons: dict[int, list[tuple[str, int]]]) -> None:
        rows = [(p, region, day, 1) for p, several in persons.items() for region, day in several]
        frame = pd.DataFrame(rows, columns=["person", "region", "day", "week"])
        frame.astype({"person": "int64", "day": "int64", "week": "int64"}).to_parquet(file)

    write({1: [("north", 1)]})
    release = ln.Release(
        data={"source": "rows.parquet"}, contribution=limits, folder=tmp_path, **spec(neighbours)
    )
    (part, *_) = release.plan().noisy_parts
    cells, moves = part.answered.cells, part.answered.certificate.sensitivity
    assert isinstance(moves, RowCounts)
    assert moves.neighbours == neighbours
    result = source.find_source(release.spec, tmp_path)

    def count(persons: dict[int, list[tuple[str, int]]]) -> NDArray[np.int64]:
        write(persons)
        with source.open_engine(result, threads=1) as engine:
            return integer_vectors.query_vector(engine, release.spec, cells, salt="") >> cells.bits

    most = 0
    for _ in range(_TABLES):
        persons = {p: _rows_of(random) for p in range(_PERSONS)}
        tables = [count(persons)]
        others = [{p: persons[p] for p in persons if p != gone} for gone in persons]
        tables += map(count, others)
        if neighbours == "replace-one":
            tables += [count(persons | {p: _rows_of(random)}) for p in persons]
        pairs = itertools.product(tables[:1], tables[1:])
        for before, after in pairs:
            shift = after - before
            rows = max(shift[shift > 0].sum(), -shift[shift < 0].sum())
            if neighbours == "add-remove":
                rows = np.abs(shift).sum()
            most = max(most, int(rows))
            assert rows <= moves.bound
    assert most >= moves.bound - 1  # the limit is nearly reached
