"""Comparisons and plans that once were slow, for `bench_search` and `beside`.

It imports little, so that `beside` can run it with the source of an earlier state.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.bench_plans import MIXED
from leastnoise.guarantees.sensitivity import L2
from leastnoise.guarantees.structured import Linf
from leastnoise.selection.public import compare
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan

COMPARED: list[tuple[str, dict[str, Any], str]] = [
    ("one number, (1, 1e-6)", {"epsilon": "1", "delta": "1e-6"}, "1.5 s"),
    ("one number, (1e-4, 1e-12)", {"epsilon": "1e-4", "delta": "1e-12"}, "3 s"),
    ("one number, (50, 1e-12)", {"epsilon": "50", "delta": "1e-12"}, "3 s"),
    (
        "10 releases, (1e-4, 1e-6)",
        {"epsilon": "1e-4", "delta": "1e-6", "compositions": 10},
        "5 s, 300 MB",
    ),
    (
        "1,000 releases, d = 7",
        {"epsilon": "1", "delta": "1e-6", "compositions": 1000, "dimension": 7},
        "5 s",
    ),
    ("10 releases, (50, 1e-12)", {"epsilon": "50", "delta": "1e-12", "compositions": 10}, "5 s"),
    (
        "10 releases, (1, 1e-6), d = 1,000",
        {"epsilon": "1", "delta": "1e-6", "compositions": 10, "dimension": 1000},
        "5 s",
    ),
    (
        "Linf(1, l0=3), d = 1,000",
        {"epsilon": "1", "delta": "1e-6", "sensitivity": Linf(1, l0=3), "dimension": 1000},
        "3 s",
    ),
    (
        "Linf(1, l0=50), d = 2,000",
        {"epsilon": "1", "delta": "1e-6", "sensitivity": Linf(1, l0=50), "dimension": 2000},
        "10 s",
    ),
]


def compared(place: int) -> tuple[float, str]:
    """Compare every family in a setting. Return the CPU seconds, and the least noise as text."""
    started = time.process_time()
    best = compare(**({"sensitivity": L2(1)} | COMPARED[place][1])).candidates[0]
    return time.process_time() - started, f"{best.label}, mse {best.mechanism.mse:.6g}"


def count_units(name: str, groups: int) -> dict[str, Any]:
    """A query of persons in `groups` groups; in 1 group it counts all of them."""
    query: dict[str, Any] = {"name": name, "statistics": ["count_units"]}
    return query | ({"group_by": {"region": list(range(groups))}} if groups > 1 else {})


PERSONS = [count_units(f"q{index}", 20) for index in range(3)]
TOTALS = [count_units(f"q{index}", 1) for index in range(3)]
HUNDRED = [MIXED[index % len(MIXED)] | {"name": f"q{index}"} for index in range(100)]
OPPOSITE = {"epsilon": "60", "neighbours": "replace-one"}
# name, queries, [privacy], max_rows, and the target for the CPU time
PLANNED: list[tuple[str, list[dict[str, Any]], dict[str, str], int, str]] = [
    ("persons by 20 groups", PERSONS[:1], {"epsilon": "1"}, 5, "1 s"),
    ("3 × persons by 20 groups, replace-one, ε = 60", PERSONS, OPPOSITE, 5, "3 s"),
    ("3 × persons, replace-one, ε = 60", TOTALS, OPPOSITE, 5, "3 s"),
    ("10 queries of ten kinds", MIXED, {"epsilon": "1"}, 3, "3 s"),
    ("100 mixed queries", HUNDRED, {"epsilon": "1"}, 3, "6 s"),
]


def planned(place: int) -> tuple[float, str]:
    """Plan a release. Return the CPU seconds, and the noise of its first query as text."""
    _, queries, privacy, most, _ = PLANNED[place]
    spec = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "person", "delta": "1e-6"} | privacy,
        "contribution": {"max_rows": most},
        "columns": {"x": {"bounds": [0, 1]}},
        "query": queries,
    }
    started = time.process_time()
    first = plan(spec_file.lay_out(spec)).noisy_parts[0]
    seconds = time.process_time() - started
    return seconds, f"{first.mechanism.noise.name}, std {first.errors[0].std:.6g}"
