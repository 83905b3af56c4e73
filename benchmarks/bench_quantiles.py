"""By how many rows quantiles of incomes are off, and how long they take.

python -m benchmarks.bench_quantiles
"""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise

import numpy as np

from benchmarks.timing import print_rows, show
from leastnoise.mechanism.quantiles import choose_quantiles
from leastnoise.tables.plan.planning import plan
from leastnoise.tables.read import spec_file
from leastnoise.tables.spec.candidates import list_candidates

ENDS = ((100, 10_000_000), (1_000, 1_000_000))  # the second grid is finer: fewer rows a candidate
MEDIAN = (Fraction(1, 2),)
NINE = tuple(Fraction(k, 10) for k in range(1, 10))
_CASES = ((MEDIAN, 1_000, 400), (MEDIAN, 10_000, 400), (NINE, 1_000, 60), (NINE, 10_000, 60))


def _off(counts: list[int], level: Fraction, place: int) -> float:
    """By how many rows a candidate misses a level: max(0, L − an, an − L − E)."""
    below, wanted = sum(counts[:place]), level * sum(counts)
    return float(max(0, below - wanted, wanted - below - counts[place]))


def _row(ends: tuple[int, int], levels: tuple[Fraction, ...], n: int, runs: int) -> tuple[str, ...]:
    grid = {"from": ends[0], "to": ends[1], "number": 1_000, "scale": "log"}
    raw = {
        "version": 1,
        "data": {"source": "incomes.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "columns": {"income": {"candidates": grid}},
        "query": [
            {"name": "q", "statistics": [f"quantile(income, {float(one)})" for one in levels]}
        ],
    }
    laid = spec_file.lay_out(raw)
    claim = plan(laid).quantiles[0].certificate
    values = [float(one) for one in list_candidates(laid.spec.columns["income"].candidates)]
    edges = [-np.inf, *((a + b) / 2 for a, b in pairwise(values)), np.inf]
    generator = np.random.default_rng(1)
    off: list[list[float]] = []
    seconds = 0.0
    for _ in range(runs):
        incomes = generator.lognormal(10.3, 0.8, n)
        counts = np.histogram(incomes, edges)[0].tolist()
        start = time.perf_counter()
        chosen = choose_quantiles(claim, counts)
        seconds += time.perf_counter() - start
        off.append([_off(counts, *one) for one in zip(levels, chosen, strict=True)])
    return (
        f"{ends[0]:,} to {ends[1]:,}",
        str(len(levels)),
        f"{n:,}",
        f"{np.mean(off):.2f}",
        f"{np.mean(np.max(off, axis=1)):.1f}",
        show(seconds / runs),
        str(runs),
    )


def main() -> None:
    print_rows(
        "Quantiles: rows from the true rank, lognormal incomes, 1,000 candidates, ε = 1",
        ("candidates", "quantiles", "rows", "mean", "mean of the worst", "time", "runs"),
        [_row(ends, *case) for ends in ENDS for case in _CASES],
    )


if __name__ == "__main__":
    main()
