"""The guard reports a case that ends its process, in any way, and tries all other cases.

This module is also a kind of attack, with cases that end in these ways; long runs skip it.
"""

from __future__ import annotations

import os
import signal
import sys
from random import Random

import pytest

from tests.attacks.guard import case_of, failed

_TOLD = {
    "withstood": None,
    "raises": "ValueError at test_guard.py",
    "exits": "SystemExit at test_guard.py",
    "stops": "GeneratorExit at test_guard.py",
    "ends": "ended the process: exit 0",
    "ends with 3": "ended the process: exit 3",
    "is killed": "ended the process: SIGKILL",
}
_CASES = 30


def draw_case(random: Random) -> str:
    return random.choice(sorted(_TOLD))


def attack(case: str) -> None:
    if case == "raises":
        raise ValueError
    if case == "exits":
        sys.exit(0)
    if case == "stops":
        raise GeneratorExit
    if case.startswith("ends"):
        os._exit(3 if case.endswith("3") else 0)
    if case == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.dense
def test_every_case_that_is_not_withstood_is_told() -> None:
    cases = {number: case_of("guard", "1", number) for number in range(_CASES)}
    assert set(cases.values()) == set(_TOLD)
    text = {item.again: item.why for item in failed([("guard", "1", range(_CASES))])}
    wanted = {f"guard 1 {number}": _TOLD[case] for number, case in cases.items() if _TOLD[case]}
    assert text.keys() == wanted.keys()
    for again, why in text.items():
        assert why.startswith(wanted[again] or ""), again


@pytest.mark.parametrize("case", ["ends", "exits"])
def test_the_last_case_of_a_batch_is_told_too(case: str) -> None:
    number = next(n for n in range(_CASES) if case_of("guard", "1", n) == case)
    item = next(n for n in range(_CASES) if case_of("guard", "1", n) == "withstood")
    batches = [("guard", "1", range(n, n + 1)) for n in (item, number)]
    assert [result.again for result in failed(batches)] == [f"guard 1 {number}"]
