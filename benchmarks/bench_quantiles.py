"""Errors of quantiles of incomes, in rows, and their times.

python -m benchmarks.bench_quantiles
"""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise

import numpy as np

from benchmarks.timing import print_rows, show
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.permute_and_flip import choose_quantiles
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.answers.quantiles.by_chance import ByChance
from leastnoise.tables.answers.quantiles.by_tree import ByTree
from leastnoise.tables.answers.quantiles.plan import QuantilePlan
from leastnoise.tables.answers.quantiles.publish import read_places
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.spec.column import list_candidates
from leastnoise.tables.spec.query import FLIP, TREE

ENDS = ((100, 10_000_000), (1_000, 1_000_000))  # the second grid is finer: fewer rows per candidate
MEDIAN = (Fraction(1, 2),)
_HEADS = (
    *("candidates", "quantiles", "rows", "by", "mean", "mean of the worst"),
    *("missed by intervals", "time", "runs"),
)
NINE = tuple(Fraction(k, 10) for k in range(1, 10))
NINETY_NINE = tuple(Fraction(k, 100) for k in range(1, 100))
_CASES = (
    (MEDIAN, 1_000, FLIP, 400),
    (MEDIAN, 10_000, FLIP, 400),
    *((NINE, rows, route, 60) for rows in (1_000, 10_000) for route in (FLIP, TREE)),
    *((NINETY_NINE, rows, route, 20) for rows in (1_000, 10_000) for route in (FLIP, TREE)),
)


def _off(counts: list[int], level: Fraction, place: int) -> float:
    """The number of rows by which a candidate misses a level a: max(0, L − an, an − L − E).

    L rows are below the candidate, E rows at it, n in all.
    """
    below, wanted = sum(counts[:place]), level * sum(counts)
    return float(max(0, below - wanted, wanted - below - counts[place]))


def _find(part: QuantilePlan, counts: list[int]) -> list[tuple[int, int, int]]:
    """The indices of each quantile and of its interval's ends, as a release computes them."""
    if isinstance(part, ByChance):
        return [
            (choose_quantile, choose_quantile, choose_quantile)
            for choose_quantile in choose_quantiles(part.certificate, counts)
        ]
    assert isinstance(part, ByTree)
    padded = np.zeros(part.tree.noise.dimension, dtype=np.int64)
    padded[: len(counts)] = counts
    noisy = Mechanism(part.certificate).release(ScaledIntegers(numerators=padded, bits=0)).values
    return read_places(part.tree, part.layout, noisy[None, :])[0]


def _row(
    ends: tuple[int, int], levels: tuple[Fraction, ...], n: int, *, way: str, runs: int
) -> tuple[str, ...]:
    grid = {"from": ends[0], "to": ends[1], "number": 1_000, "scale": "log"}
    raw = {
        "version": 1,
        "data": {"source": "incomes.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "columns": {"income": {"candidates": grid}},
        "query": [
            {
                "name": "q",
                "statistics": [f"quantile(income, {float(level)})" for level in levels],
                "quantiles_by": way,
            }
        ],
    }
    layout = spec_file.lay_out(raw)
    part = plan(layout).quantiles[0]
    values = [
        float(list_candidate)
        for list_candidate in list_candidates(layout.spec.columns["income"].candidates)
    ]
    edges = [-np.inf, *((a + b) / 2 for a, b in pairwise(values)), np.inf]
    generator = np.random.default_rng(1)
    off: list[list[float]] = []
    missed: list[bool] = []
    seconds = 0.0
    for _ in range(runs):
        incomes = generator.lognormal(10.3, 0.8, n)
        counts = np.histogram(incomes, edges)[0].tolist()
        start = time.perf_counter()
        chosen = _find(part, counts)
        seconds += time.perf_counter() - start
        places = [index for index, _, _ in chosen]
        off.append([_off(counts, *item) for item in zip(levels, places, strict=True)])
        missed += [
            all(_off(counts, level, index) for index in range(low, high + 1))
            for level, (_, low, high) in zip(levels, chosen, strict=True)
        ]
    return (
        f"{ends[0]:,} to {ends[1]:,}",
        str(len(levels)),
        f"{n:,}",
        way,
        f"{np.mean(off):.2f}",
        f"{np.mean(np.max(off, axis=1)):.1f}",
        "" if isinstance(part, ByChance) else f"{100 * np.mean(missed):.1f} %",
        show(seconds / runs),
        str(runs),
    )


def main() -> None:
    print_rows(
        "Quantiles: rows from the true rank, lognormal incomes, 1,000 candidates, ε = 1",
        _HEADS,
        [
            _row(ends, levels, n, way=route, runs=runs)
            for ends in ENDS
            for levels, n, route, runs in _CASES
        ],
    )


if __name__ == "__main__":
    main()
