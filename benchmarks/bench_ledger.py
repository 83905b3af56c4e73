"""The time in which a ledger with many charges decides on one more charge."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import leastnoise as ln
from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.certificate.certificate import Certificate

CHARGED = 1000
KINDS = ("gaussian", "truncated-laplace", "tulap", "staircase", "flipped-huber")


def main() -> None:
    mixed = [_certificate(name, percent) for percent in range(1, 11) for name in KINDS]
    rows = []
    for rule in ("sums", "zcdp"):
        with tempfile.TemporaryDirectory() as folder:
            ledger = ln.Ledger(Path(folder) / "budget.ledger")
            budget = ln.Budget(epsilon=1000, delta="0.01")
            ledger.open_account("visits", unit="person", budget=budget, rule=rule)
            for number in range(CHARGED):
                ledger.charge(mixed[number % len(mixed)], unit="person")
            one_more = partial(ledger.charge, mixed[0], unit="person")
            charged = median_seconds(one_more)
            rows.append((rule, show(charged), "300 ms"))
    print_rows(
        f"One more charge after {CHARGED:,} of mixed noise", ("filter", "time", "target"), rows
    )


def _certificate(name: str, percent: int) -> Certificate:
    delta = "0" if name == "staircase" else f"{percent}e-9"
    return ln.calibrate(
        name, epsilon=f"{percent}e-2", delta=delta, sensitivity=ln.L2(1)
    ).certificate


if __name__ == "__main__":
    main()
