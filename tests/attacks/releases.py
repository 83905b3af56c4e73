"""Small releases whose plans are made once, since finding noise is not what is attacked here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import leastnoise as ln
from leastnoise.tables.plan import least_epsilon as module

_make_plan = module.plan
_plans: dict[str, Any] = {}


def account(path: Path, epsilon: str, *, rule: str = "sums") -> ln.Ledger:
    """Return a new ledger with one account, of persons."""
    ledger = ln.Ledger(path)
    ledger.open_account(
        "a", unit="person", budget=ln.Budget(epsilon=epsilon, delta="0.001"), rule=rule
    )
    return ledger


def plan_once() -> None:
    """Make a plan once for all releases of this process that ask for the same.

    This wraps what a release calls; noise, charge and publication stay as they are.
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
