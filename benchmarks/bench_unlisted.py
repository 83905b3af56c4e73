"""Postcodes that nobody listed: how many are published, and how far off their counts are.

python -m benchmarks.bench_unlisted

200,000 persons in thousands of postcodes with a long tail. Beside it OpenDP's threshold on discrete
Laplace noise. Version 0.16 publishes counts that equal the threshold, and states the δ of those
above it (opendp/opendp, issue 2922): the δ that it states of one less is right, and is asked for.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.timing import print_rows
from leastnoise.tables.publish.release import Release

PERSONS, DELTA, RUNS = 200_000, "1e-6", 20


def postcodes() -> list[str]:
    """Return each person's; it is those of a made-up agency of 20 regions."""
    r = np.random.default_rng(20261123)
    r.choice(20, PERSONS, p=r.dirichlet(np.full(20, 4.0)))
    r.shuffle(np.sort(r.integers(0, PERSONS // 2, PERSONS)))
    r.gamma(4.5, 9.5, PERSONS)
    r.choice(["f", "m"], PERSONS)
    r.normal(10.2, 0.7, PERSONS)
    r.random(PERSONS)
    return [f"P{one:05d}" for one in (r.zipf(1.25, PERSONS) % 9_000).tolist()]


def ours(rows: pd.DataFrame, _: list[str]) -> dict[str, int]:
    """Return what one release publishes."""
    query = {"name": "n", "statistics": ["count"]}
    by = {"group_by": {"postcode": {"keys": "private", "longest": 8}}}
    made = Release(
        data={"source": rows},
        privacy={"unit": "row", "epsilon": 1, "delta": DELTA},
        query=[query | by],
    ).run()
    table = made.tables["n"].columns
    return dict(zip(table["postcode"], map(int, table["count"]), strict=True))


def theirs(_: pd.DataFrame, values: list[str]) -> dict[str, int]:
    """Return what OpenDP publishes: noise of scale 1 and the least threshold that meets δ."""
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = dp.t.make_count_by(*space)

    def at(threshold: int) -> Any:
        return counts >> dp.m.then_laplace_threshold(scale=1.0, threshold=threshold)

    least = next(one for one in range(1, 100) if at(one).map(1)[1] <= float(DELTA))
    return at(least + 1)(values)


def main() -> None:
    """Print both, of several releases."""
    values = postcodes()
    rows = pd.DataFrame({"postcode": values})
    true = rows["postcode"].value_counts()
    shown: list[tuple[str, ...]] = []
    for name, release in (("leastnoise", ours), ("OpenDP", theirs)):
        start = time.perf_counter()
        runs = [release(rows, values) for _ in range(RUNS)]
        seconds = (time.perf_counter() - start) / RUNS
        off = np.array([value - true[key] for run in runs for key, value in run.items()])
        published = np.mean([len(run) for run in runs])
        smallest = np.mean([min(run.values()) for run in runs])
        shown.append(
            (
                name,
                f"{published:.0f}",
                f"{smallest:.1f}",
                f"{np.sqrt(np.mean(off**2)):.2f}",
                f"{seconds:.1f} s",
            )
        )
    print_rows(
        f"Counts by {len(true):,} postcodes at ε = 1, δ = {DELTA}; mean of {RUNS} releases",
        ("library", "published", "smallest count", "root mean square error", "time"),
        shown,
    )


if __name__ == "__main__":
    main()
