"""Composition beside other accountants: dp-accounting (Google) and prv-accountant (Microsoft).

    python experiments/accounting/run.py

writes epsilons.csv, tails.csv and README.md beside itself, in a few minutes. It needs dp-accounting
and prv-accountant. The numbers depend on the code alone, but for the times, which are of this
machine: CPU seconds, everything imported.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from cases import CASES, IN_THE_TAIL, Case
from peers import PRV_ERROR, google, google_epsilons, microsoft_epsilons

HERE = Path(__file__).parent
DELTA = 1e-5
TAIL_DELTAS = ("1e-8", "1e-10", "1e-12", "1e-13")

Row = list[str]
Ends = tuple[float, float] | None


def our_epsilons(case: Case, delta: float) -> tuple[float, float]:
    interval = case.ours.epsilon(delta=Fraction(str(delta)), accuracy=0)
    return interval.lower, interval.upper


def timed(answer: Callable[[Case, float], Ends], case: Case) -> Row:
    """Return (ε at least, ε at most, seconds), or blanks."""
    start = time.process_time()
    result = answer(case, DELTA)
    seconds = time.process_time() - start
    return ["", "", ""] if result is None else [*(f"{end:.9g}" for end in result), f"{seconds:.2g}"]


def epsilons(case: Case) -> Row:
    """(noise, scale, k, q, then of each accountant: ε at least, ε at most, seconds)."""
    row = [case.noise, f"{case.scale:.9g}", str(case.count), case.rate]
    for answer in (our_epsilons, google_epsilons, microsoft_epsilons):
        row += timed(answer, case)
    return row


def tail(delta: str) -> Row:
    """(δ, the ε that dp-accounting says is enough, between what the true δ there is, over δ)."""
    enough = google(IN_THE_TAIL, pessimistic=True).get_epsilon_for_delta(float(delta))
    true = IN_THE_TAIL.ours.delta(epsilon=Fraction(enough))
    ratio = true.lower / float(delta)
    return [delta, repr(float(enough)), f"{true.lower:.6g}", f"{true.upper:.6g}", f"{ratio:.5g}"]


def save(name: str, header: Row, rows: list[Row]) -> None:
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def table(header: Row, rows: list[Row]) -> list[str]:
    return [
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(header)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def epsilon_section() -> list[str]:
    rows = [epsilons(case) for case in CASES]
    names = ("ours", "dp_accounting", "prv_accountant")
    ends = [f"{name}_{part}" for name in names for part in ("lower", "upper", "seconds")]
    save("epsilons.csv", ["noise", "scale", "k", "q", *ends], rows)
    shown = [
        [
            f"{row[0]}, {float(row[1]):.6g}",
            *row[2:4],
            *(cell(row[at : at + 3]) for at in (4, 7, 10)),
        ]
        for row in rows
    ]
    return [
        f"## ε at δ = {DELTA:g} after k releases",
        "",
        "The first three are Gaussians whose exact answer is 1, composed here in closed form; the",
        "next three Laplace noise as wide; the last two are of Poisson samples with rate q.",
        "dp-accounting with what it does by default, once pessimistic and once optimistic;",
        f"prv-accountant asked for ε ± {PRV_ERROR:g}. Seconds in brackets.",
        "",
        *table(["noise, scale", "k", "q", "leastnoise", "dp-accounting", "prv-accountant"], shown),
        "",
        "Our two ends are proved. The others' are bounds of the mathematics that their floats",
        "follow; an optimistic ε of 0 says nothing.",
        "",
    ]


def cell(answer: Row) -> str:
    low, high, seconds = answer
    return f"{low} … {high} ({seconds} s)" if high else "not offered"


def tail_section() -> list[str]:
    rows = [tail(delta) for delta in TAIL_DELTAS]
    save("tails.csv", ["delta", "epsilon", "true_lower", "true_upper", "over_delta"], rows)
    return [
        f"## Small δ: σ = {IN_THE_TAIL.scale:g}, k = {IN_THE_TAIL.count:,}",
        "",
        "dp-accounting's pessimistic ε for a δ, and the δ that the releases really have at that ε,",
        "enclosed. Discretised one way only, it would be a bound, but the rounding of an FFT is no",
        "smaller in the tail than in the middle: below about 1e-10 its answers are too small.",
        "",
        *table(["δ", "its ε", "true δ, at least", "at most", "over what was claimed"], rows),
        "",
        "Ours convolves a tilted law, whose tail is its middle, and adds a proved allowance for",
        "every rounding ([theory](../../docs/theory/accounting.md), §2 and §6).",
        "",
    ]


def main() -> None:
    page = [
        "# Accountants compared",
        "",
        "Computed by `python experiments/accounting/run.py`; the numbers are in the CSV files.",
        "",
        *epsilon_section(),
        *tail_section(),
    ]
    (HERE / "README.md").write_text("\n".join(page).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
