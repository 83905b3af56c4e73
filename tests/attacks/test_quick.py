"""Cases that once failed and a few of each kind of attack; `make test-attacks` tries more.

They run in two processes only, as importing the library takes as long as the attacks.
"""

from __future__ import annotations

import pytest

from tests.attacks.guard import Guard


@pytest.mark.dense
def test_a_little_of_each_kind(guard: Guard) -> None:
    guard.quick(
        arguments=20,
        edits=10,
        checker=20,
        laws=4,
        calibrations=2,
        compositions=1,
        specs=4,
        neighbours=1,
        histories=1,
        missing=1,
        files=1,
        texts=2,
        values=1,
        containers=1,
        models=1,
        regressions=1,
        limits=1,
        mixed=1,
        found_limits=1,
    )


@pytest.mark.dense
def test_a_little_of_what_forks(guard: Guard) -> None:
    """Apart, since processes are forked there, which must not be with DuckDB's threads around."""
    guard.quick(kills=1, races=1)
