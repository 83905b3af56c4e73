"""Before noise Spark has the integers that DuckDB has: whatever the bounds and the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tables.integers import integers
from tests.tables.test_bounding import LIMITS, by_row, rows, spec_of

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

WAYS_IN: dict[str, Callable[[Any, Path], Any]] = {
    "a file": lambda session, path: None,
    "a frame": lambda session, path: session.read.parquet(str(path)),
    "a frame in two parts": lambda session, path: session.read.parquet(str(path)).repartition(7),
}


@pytest.fixture(params=["true", "false"], ids=["ANSI", "not ANSI"])
def ansi(request: pytest.FixtureRequest, session: Any) -> Any:
    session.conf.set("spark.sql.ansi.enabled", request.param)
    yield session
    session.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.parametrize("limits", range(len(LIMITS) + 1))
def test_every_block_and_every_limit(session: Any, tmp_path: Path, limits: int) -> None:
    rows(400, seed=limits).to_parquet(tmp_path / "rows.parquet")
    raw = by_row() if limits == len(LIMITS) else spec_of(contribution=LIMITS[limits])
    expected = integers(raw, tmp_path)
    assert any(any(vector) for vector in expected.values())
    assert integers(raw, tmp_path, engine="spark") == expected
