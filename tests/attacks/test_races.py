"""Processes that charge one ledger at once never charge more than its budget together."""

from __future__ import annotations

import os
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from tests.attacks import releases
from tests.attacks.guard import PARTS, Guard

Case = tuple[str, int, tuple[tuple[int, ...], ...]]

IN_ONE = 50  # charges that a case tries
_COSTS = ("0.01", "0.03", "0.1")


def draw_case(random: Random) -> Case:
    rule = random.choice(("sums", "zcdp"))
    processes = random.randint(2, 5)
    tries: list[list[int]] = [[] for _ in range(processes)]
    for _ in range(IN_ONE):
        random.choice(tries).append(random.randrange(len(_COSTS)))
    return rule, random.randint(5, 60), tuple(map(tuple, tries))


@cache
def _certificates() -> list[Any]:
    return [
        ln.calibrate("laplace", epsilon=cost, sensitivity=ln.L1(1)).certificate for cost in _COSTS
    ]


def attack(case: Case) -> None:
    rule, hundredths, tries = case
    certificates = _certificates()
    path = Path(tempfile.mkdtemp()) / "a.ledger"
    ledger = releases.account(path, str(Fraction(hundredths, 100)), rule=rule)
    ready, go = os.pipe()
    children = [
        _charging(ready, go, path, [certificates[i] for i in computed]) for computed in tries
    ]
    os.close(ready)
    os.close(go)  # all of them start at once
    charged: dict[int, int] = {}
    for child, results in children:
        with os.fdopen(results, "rb") as file:
            text = file.read()
        assert os.waitpid(child, 0)[1] == 0, "a charge ended by another error than a refusal"
        charged[child] = text.count(b"y")
    account = ledger.accounts()["a"]
    assert account.charges == sum(charged.values()), "other charges than were told"
    checked = ln.check_ledger(path)
    assert checked.entries == account.charges + 1
    budget = Fraction(hundredths, 100)
    if rule == "zcdp":
        # a pure ε₀ costs ε₀²/2, and half of δ pays for what the sum is worth
        rho = float(sum((each**2 for each in _spent(ledger)), Fraction(0))) / 2
        assert _epsilon(rho, 0.001 / 2) <= float(budget) * (1 + 1e-6), "overspent"
        return
    spent = sum(_spent(ledger), Fraction(0))
    assert spent == account.spent.epsilon
    assert spent <= budget, "overspent"
    tried = sum(map(len, tries))
    assert account.charges == tried or budget - spent < max(map(Fraction, _COSTS)), "refused early"


def _spent(ledger: ln.Ledger) -> list[Fraction]:
    """Return the ε of each charge, from the ledger's own history."""
    bodies = [entry.body for entry in ledger.history()]
    return [Fraction(body["epsilon"]) for body in bodies if body["kind"] == "charge"]


def _epsilon(rho: float, delta: float) -> float:
    """Return the ε of ρ-zCDP at δ by Canonne, Kamath & Steinke (2020), over many orders."""
    a = 1 + np.geomspace(1e-3, 1e6, 20_000)
    gained = rho * a + np.log1p(-1 / a) - (np.log(a) + np.log(delta)) / (a - 1)
    return max(0.0, float(gained.min())) if rho else 0.0


def _charging(ready: int, go: int, path: Path, certificates: list[Any]) -> tuple[int, int]:
    """Start a process that charges all certificates; return its id, and a pipe with each result."""
    results, tells = os.pipe()
    child = os.fork()
    if child:
        os.close(tells)
        return child, results
    status = 1
    try:
        os.close(go)
        os.read(ready, 1)  # until the parent lets go
        for certificate in certificates:
            try:
                ln.Ledger(path).charge(certificate, unit="person")
                os.write(tells, b"y")
            except ln.errors.OverBudget:
                os.write(tells, b"n")
        status = 0
    finally:
        os._exit(status)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("races", part)
