"""What was found once and mended, and a little of every kind; `make test-attacks` tries more.

In two processes: importing the library takes as long as the attacks.
"""

from __future__ import annotations

import pytest

from tests.attacks.guard import Guard


@pytest.mark.dense
def test_a_little_of_each_kind(guard: Guard) -> None:
    guard.quick(
        arguments=40,
        edits=20,
        laws=8,
        calibrations=4,
        compositions=2,
        specs=8,
        neighbours=1,
        missing=1,
        files=2,
        texts=4,
        values=2,
        containers=1,
        models=1,
        regressions=2,
        limits=2,
    )


@pytest.mark.dense
def test_a_little_of_what_forks(guard: Guard) -> None:
    """Apart, since processes are forked there, which must not be with DuckDB's threads around."""
    guard.quick(kills=1, races=1)
