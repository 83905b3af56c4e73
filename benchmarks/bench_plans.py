"""How much noise a table gets, from closed forms, and how long it takes to plan it.

python -m benchmarks.bench_plans
"""

from __future__ import annotations

import math
import time
from typing import Any

from benchmarks.timing import print_rows, show
from leastnoise.cli.demo import SPEC
from leastnoise.tables import spec_file
from leastnoise.tables.plan import Plan, plan

REGIONS = {"region": list(range(50))}
COUNT = {"name": "n", "statistics": ["count"], "group_by": REGIONS}
BOTH = {"name": "n", "statistics": ["count", "sum(x)"], "group_by": REGIONS}
CONDITIONS = [{"name": f"c{i}", "where": {"it": {"x": {"min": i}}}} for i in range(3)]
MIXED = [
    COUNT,
    BOTH | {"name": "both"},
    {"name": "mean", "statistics": ["mean(x)"], "group_by": {"sex": ["f", "m"]}},
    {"name": "bins", "histogram": {"column": "x", "edges": [0, 1, 2, 5, 10]}},
    *CONDITIONS,
    {"name": "persons", "statistics": ["count_units"]},
    {"name": "people", "statistics": ["count_units"], "group_by": {"sex": ["f", "m"]}},
    {"name": "total", "statistics": ["sum(x)"]},
]

# name, (ε, δ), [contribution], blocks, and what is asked of the first block's first count
SETTINGS: list[tuple[str, tuple[str, str], dict[str, Any], list[dict[str, Any]], str]] = [
    ("50 regions, one row a person: count", ("1", "1e-8"), {"max_rows": 1}, [COUNT], "≤ 1.42"),
    ("the same: count and sum", ("1", "1e-8"), {"max_rows": 1}, [BOTH], "≤ 2.0"),
    ("the same, five rows a person", ("1", "1e-8"), {"max_rows": 5}, [BOTH], "≤ 10.0"),
    ("three blocks of one condition", ("1", "1e-5"), {"max_rows": 5}, CONDITIONS, "≤ 2.161"),
    ("ten mixed blocks", ("1", "1e-6"), {"max_rows": 3}, MIXED, ""),
]


def planned(
    budget: tuple[str, str], contribution: dict[str, Any], query: list[dict[str, Any]]
) -> Plan:
    epsilon, delta = budget
    return plan(
        spec_file.parse(
            {
                "version": 1,
                "data": {"source": "x.parquet"},
                "privacy": {"unit": "person", "epsilon": epsilon, "delta": delta},
                "contribution": contribution,
                "columns": {"x": {"bounds": [0, 1]}},
                "query": query,
            }
        )
    )


def main() -> None:
    rows: list[tuple[str, ...]] = []
    for name, budget, contribution, query, asked in SETTINGS:
        start = time.perf_counter()
        found = planned(budget, contribution, query)
        seconds = time.perf_counter() - start
        rows.append(_row(name, found, asked, seconds))
    start = time.perf_counter()
    demo = plan(spec_file.loads(SPEC))
    seconds = time.perf_counter() - start
    counts = [block.errors[0].std for block in demo.blocks]
    rows.append(_row("`leastnoise demo`, its first block", demo, "", seconds))
    print_rows(
        "Standard deviation of a table's counts, and the time to plan it",
        ("table", "noise", "std", "asked", "Laplace (l1)", "Gaussian (l2)", "plan"),
        rows,
    )
    print(
        f"\nThe demo's counts: {', '.join(f'{std:.4g}' for std in counts)}, "
        f"product {math.prod(counts):,.0f} (asked: at most 8,000)."
    )


def _row(name: str, found: Plan, asked: str, seconds: float) -> tuple[str, ...]:
    block = found.blocks[0]
    error = block.errors[0]
    plain = [
        "–" if std is None else f"{std:.4g}"
        for std in (error.plain_laplace_std, error.plain_gaussian_std)
    ]
    return (
        name,
        block.mechanism.noise.name,
        f"{error.std:.4g}",
        asked,
        *plain,
        show(seconds),
    )


if __name__ == "__main__":
    main()
