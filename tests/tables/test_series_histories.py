"""A series with running totals that is killed, copied or restored: no period has two values."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leastnoise.errors import Refused
from leastnoise.ledger.ledger import Ledger
from leastnoise.tables.publish import running_totals
from leastnoise.tables.publish.verify_series import verify_series
from tests.grids import thin
from tests.tables.register import (
    KILLED,
    PLACES,
    REFUSED,
    in_child,
    killed,
    make,
    release,
    release_in_child,
    values,
)
from tests.tables.series_histories import History


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "where",
    [pytest.param(name, marks=() if name == "commit" else pytest.mark.dense) for name in PLACES],
)
@pytest.mark.parametrize("after", thin([False, True], 1))
def test_a_killed_release_is_drawn_once(folder: Path, where: str, after: bool) -> None:
    before = 3 if where == "delete" else 0
    for _ in range(before):
        assert release_in_child(folder) == 0
    assert release_in_child(folder, killed(where, after=after)) == KILLED
    committed = [e for e in Ledger(folder / "v.ledger").history() if e.body["kind"] == "use"]
    seen = values(folder)
    while release_in_child(folder) == 0:
        pass
    assert values(folder).keys() == {"1", "2", "3", "4"}
    assert values(folder).items() >= seen.items()
    uses = [e.body for e in Ledger(folder / "v.ledger").history() if e.body["kind"] == "use"]
    assert [body["release"] for body in uses] == [1, 2, 3, 4]
    assert [body["digest"] for body in uses][: len(committed)] == [
        entry.body["digest"] for entry in committed
    ]
    verify_series(folder / "weekly", ledger=folder / "v.ledger")


@pytest.mark.parametrize("seed", [pytest.param(n, marks=pytest.mark.dense) for n in range(3)])
def test_no_history_gives_a_period_two_values(tmp_path: Path, seed: int) -> None:
    History(tmp_path, seed).run(14)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_no_long_history_gives_a_period_two_values(tmp_path: Path, seed: int) -> None:
    """`python -m benchmarks.series_histories 10000` runs more of them."""
    History(tmp_path, seed).run(25)


@pytest.mark.dense
def test_of_two_processes_with_copies_of_the_state_one_publishes(folder: Path) -> None:
    release(folder).run()
    shutil.copy(folder / "weekly.state", folder / "copy.state")
    (folder / "copy.toml").write_text(release(folder, series={"state": "copy.state"}).to_toml())

    def work() -> None:
        usual = running_totals.draw_tables

        def draw_values(*args: Any, **named: Any) -> Any:
            tables = usual(*args, **named)
            faster = [sys.executable, "-m", "leastnoise", "release", folder / "copy.toml"]
            if subprocess.run(faster, check=False, capture_output=True).returncode:
                os._exit(3)
            return tables

        running_totals.draw_tables = draw_values
        release(folder).run()

    assert in_child(work) == REFUSED
    assert values(folder).keys() == {"1", "2"}
    assert len(verify_series(folder / "weekly", ledger=folder / "v.ledger")) == 2
    # what is left of the slower one is older than the ledger
    with pytest.raises(Refused, match="older than the ledger"):
        release(folder).run()
