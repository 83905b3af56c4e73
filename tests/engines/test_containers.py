"""The same hostile rows in every Parquet file: Spark reads each row as plain Python does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tables.containers import compare, compare_filters

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


def _few(count: int, fast: int) -> list[Any]:
    return [pytest.param(n, marks=() if n < fast else pytest.mark.slow) for n in range(count)]


@pytest.mark.parametrize("seed", _few(4, 1))
def test_random_specs(session: Any, engine: str, tmp_path: Path, seed: int) -> None:
    compare(seed, tmp_path, only=() if seed else ("polars_groups", "hive"), engine=engine)


@pytest.mark.parametrize("seed", _few(40, 1))
def test_fifty_random_filters(session: Any, engine: str, tmp_path: Path, seed: int) -> None:
    compare_filters(seed, tmp_path, 50, engine=engine)
