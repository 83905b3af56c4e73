"""A certificate of each kind of noise for which a ledger has a separate rule."""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from functools import cache
from pathlib import Path

from leastnoise.certificate.certificate import Certificate
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.ledger.ledger import Ledger
from leastnoise.selection.public import calibrate


@cache
def certificate(name: str, epsilon: str, delta: str = "0", dimension: int = 1) -> Certificate:
    """A calibrated release of `name`, proved in this process."""
    sensitivity = L1(1) if name == "laplace" else L2(1)
    return calibrate(
        name, epsilon=epsilon, delta=delta, sensitivity=sensitivity, dimension=dimension
    ).certificate


def account(path: Path, epsilon: str, delta: str = "0", rule: str | None = None) -> Ledger:
    """A ledger with one account, "visits" by person."""
    ledger = Ledger(path / "budget.ledger")
    budget = Budget(epsilon=epsilon, delta=delta)
    ledger.open_account("visits", unit="person", budget=budget, rule=rule)
    return ledger


def sampled(name: str, epsilon: str, delta: str) -> Certificate:
    """The certificate with a sampling rate of 1/20.

    It isn't proved, and serves only for its cost.
    """
    result = copy(certificate(name, epsilon, delta))
    object.__setattr__(result, "sampling_rate", Fraction(1, 20))
    return result
