"""Small releases whose plans are cached, since the search for noise isn't attacked here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import leastnoise as ln
from leastnoise.tables.plan import least_epsilon as module

_make_plan = module.plan
_plans: dict[str, Any] = {}


def account(path: Path, epsilon: str, *, rule: str = "sums") -> ln.Ledger:
    """A new ledger with one account, whose unit is a person."""
    ledger = ln.Ledger(path)
    ledger.open_account(
        "a", unit="person", budget=ln.Budget(epsilon=epsilon, delta="0.001"), rule=rule
    )
    return ledger


def plan_once() -> None:
    """Cache plans: releases of this process with equal queries and limits share a plan.

    This replaces the function that plans a release; noise, charge and publication stay unchanged.
    """

    def planned(layout: Any, progress: Any = None) -> Any:
        spec = layout.spec
        asked = repr((spec.query, spec.privacy.epsilon, spec.contribution, spec.columns))
        if asked not in _plans:
            _plans[asked] = _make_plan(layout, progress=progress)
        elif progress:
            progress("Finding the plan again")
        return _plans[asked]

    module.plan = planned
