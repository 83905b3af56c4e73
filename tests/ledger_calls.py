"""The ledger's public callables with valid arguments: a part of tests/public_calls.py."""

from __future__ import annotations

import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import leastnoise as ln
from leastnoise.ledger.preregistered import Preregistered
from tests.subjects import Subject, certificate, subject

CHARGED = {"release": ("object", certificate()), "unit": ("text", "person")}
NAMED = {"neighbours": ("text", "add-remove"), "dataset": ("text", "visits")}


@cache  # shared by all calls: a refused call writes nothing
def ledger() -> ln.Ledger:
    return ln.Ledger(Path(tempfile.mkdtemp()) / "visits.ledger")


@cache
def opened() -> ln.Ledger:
    budget = ln.Budget(epsilon=5, delta="0.5")
    ledger().open_account("visits", unit="person", budget=budget)
    return ledger()


def ledger_call(method: str, **arguments: Any) -> Any:
    return getattr(opened(), method)(**arguments)


LEDGER: dict[str, Subject] = {
    "Ledger": subject(ln.Ledger, path=("path", "x.ledger")),
    "open_account": subject(
        lambda **arguments: ledger().open_account(**arguments), dataset=("text", "visits"),
        unit=("text", "person"), budget=("object", ln.Budget(epsilon=1)),
        neighbours=("word", "add-remove"),
    ),
    "afford": subject(partial(ledger_call, "afford"), **CHARGED, **NAMED),
    "more_like": subject(
        ln.Account(
            dataset="a", unit="person", neighbours="add-remove", budget=ln.Budget(epsilon=9)
        ).more_like,
        release=("object", certificate()),
    ),
    "charge": subject(partial(ledger_call, "charge"), label=("text", ""), **CHARGED, **NAMED),
    "register": subject(
        partial(ledger_call, "register"), releases=("pairs", [(certificate(), 2)]),
        budget=("object", ln.Budget(epsilon=2, delta="0.2")), label=("text", ""),
        unit=("text", "person"), **NAMED,
    ),
    "use": subject(
        partial(ledger_call, "use"), plan=("whole", 9), label=("text", ""), **CHARGED, **NAMED
    ),
    "Preregistered": subject(
        lambda count: Preregistered(
            budget=ln.Budget(epsilon=1), releases=((certificate(), count),)
        ),
        count=("whole", 2),
    ),
    "check_ledger": subject(ln.check_ledger, path=("path", "none")),
}  # fmt: skip
