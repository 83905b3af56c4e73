"""The same hostile rows in every Parquet file: Spark reads each row as plain Python does."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.tables.containers import (
    PARQUET,
    compare,
    compare_filters,
    containers,
    hostile_rows,
)

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
_QUICK = ("polars_groups", "hive")  # several row groups, and keys in the names of folders


def _few(count: int, fast: int) -> list[Any]:
    return [pytest.param(n, marks=() if n < fast else pytest.mark.slow) for n in range(count)]


def _containers(seed: int) -> tuple[str, ...]:
    """A third of the containers; three seeds in a row have all of them. The first seed has two."""
    return PARQUET[seed % 3 :: 3] if seed else _QUICK


@pytest.mark.parametrize("seed", _few(4, 1))
def test_random_specs(session: Any, engine: str, tmp_path: Path, seed: int) -> None:
    compare(seed, tmp_path, only=_containers(seed), engine=engine)


@pytest.mark.parametrize("seed", _few(40, 1))
def test_fifty_random_filters(session: Any, engine: str, tmp_path: Path, seed: int) -> None:
    compare_filters(seed, tmp_path, 50, only=_containers(seed), engine=engine)


def test_three_seeds_have_all_containers(tmp_path: Path) -> None:
    each = [item.name for item in containers(hostile_rows(Random("1")), tmp_path) if item.parquet]
    assert sorted(each) == sorted(PARQUET)
    assert {name for seed in (1, 2, 3) for name in _containers(seed)} == set(each)
