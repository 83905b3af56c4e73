"""Runs in calls, forks, threads and processes: which of them repeat outputs, and which fail."""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.audit.claim import Subject
from leastnoise.audit.twice import run_twice
from tests.audit import seeded_module
from tests.audit.scenarios import Fresh


def _ways(draw: Any, together: Any = None) -> dict[str, bool]:
    """Each way to run a program twice, and whether both runs had the same outputs."""
    zeros = np.zeros((2, 1))
    subject = Subject(
        claim=ln.Claim(epsilon=1), inputs=(0.0, 1.0), outputs=(zeros, zeros), draw=draw,
        error=Fraction(1, 10), draw_pair=together,
    )  # fmt: skip
    return {name: np.array_equal(item, other) for name, (item, other) in run_twice(subject, 50)}


EVERY = ("two calls", "two threads", "a fork and its parent", "two forks")


@pytest.mark.dense
def test_fresh_noise_is_never_the_same() -> None:
    fresh = Fresh(99)
    assert _ways(lambda value, count: fresh.numpy().normal(size=count)) == dict.fromkeys(
        EVERY, False
    )
    assert _ways(seeded_module.fresh) == dict.fromkeys([*EVERY, "two processes"], False)


@pytest.mark.dense
def test_a_state_is_forked_and_imported_twice() -> None:
    result = _ways(seeded_module.seeded)
    assert [name for name, same in result.items() if same] == [
        "a fork and its parent", "two forks", "two processes",
    ]  # fmt: skip


def test_a_command_is_run_twice_at_once() -> None:
    pair = (np.zeros((5, 1)), np.ones((5, 1)))
    assert _ways(None, together=lambda value, count: pair) == {"two processes": False}


def test_threads_of_one_seed() -> None:
    def draw(value: float, count: int) -> Any:
        main = threading.current_thread() is threading.main_thread()
        return np.random.default_rng(None if main else 4).normal(size=count)

    assert _ways(draw)["two threads"]


def test_a_child_that_fails_is_left_out() -> None:
    parent = os.getpid()

    def draw(value: float, count: int) -> Any:
        if os.getpid() != parent:
            raise RuntimeError
        return np.random.default_rng().normal(size=count)

    assert list(_ways(draw)) == ["two calls", "two threads"]
