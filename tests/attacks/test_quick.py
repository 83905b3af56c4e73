"""A little of every kind, in two processes: importing the library takes as long as the attacks."""

from __future__ import annotations

import pytest

from tests.attacks.guard import Guard


@pytest.mark.dense
def test_a_little_of_each_kind(guard: Guard) -> None:
    guard.quick(
        arguments=150,
        edits=80,
        laws=30,
        calibrations=20,
        compositions=5,
        specs=25,
        neighbours=2,
        missing=3,
        files=5,
        texts=12,
        values=5,
        containers=1,
        models=2,
        regressions=10,
        limits=6,
    )


@pytest.mark.dense
def test_a_little_of_what_forks(guard: Guard) -> None:
    """Apart, since processes are forked there, which must not be with DuckDB's threads around."""
    guard.quick(kills=4, races=2)
