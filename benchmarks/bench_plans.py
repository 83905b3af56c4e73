"""The noise of tables, from closed forms, and the time of their plans.

python -m benchmarks.bench_plans, or only the plans of trees and of the least ε: python -c "from
benchmarks import bench_plans; bench_plans.print_trees()"
"""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.timing import print_rows, show
from leastnoise.cli.demo import SPEC
from leastnoise.errors import Refused
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.plan.summary import list_rows, list_sentences

REGIONS = {"region": list(range(50))}
COUNT = {"name": "n", "statistics": ["count"], "group_by": REGIONS}
BOTH = {"name": "n", "statistics": ["count", "sum(x)"], "group_by": REGIONS}
CONDITIONS = [{"name": f"c{i}", "conditions": {"it": {"x": {"min": i}}}} for i in range(3)]
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

PERSONS = {
    "name": "persons",
    "statistics": ["count_units"],
    "group_by": {"region": list(range(16)), "sex": ["f", "m"]},
}
DRUGS = PERSONS | {"name": "drugs", "group_by": {"drug": list(range(400))}}
ONE_GROUP = PERSONS | {"contribution": {"max_groups": 1}}
FIND = {"max_rows": {"find": True, "share": "0.1", "candidates": [1, 2, 5, 10, 20, 50]}}

# name, (ε, δ), [contribution], queries, and the target for the first query's first count.
# docs/howto/limits.md has the figures of "persons beside medicines" at δ = 1e-6.
SETTINGS: list[tuple[str, tuple[str, str], dict[str, Any], list[dict[str, Any]], str]] = [
    ("50 regions, one row a person: count", ("1", "1e-8"), {"max_rows": 1}, [COUNT], "≤ 1.42"),
    ("the same: count and sum", ("1", "1e-8"), {"max_rows": 1}, [BOTH], "≤ 2.0"),
    ("the same, five rows a person", ("1", "1e-8"), {"max_rows": 5}, [BOTH], "≤ 10.0"),
    ("three parts of one condition", ("1", "1e-5"), {"max_rows": 5}, CONDITIONS, "≤ 2.161"),
    ("ten mixed parts", ("1", "1e-6"), {"max_rows": 3}, MIXED, ""),
    ("persons beside medicines", ("1", "0"), {"max_groups": 10}, [PERSONS, DRUGS], ""),
    ("the same, limits by query", ("1", "0"), {"max_groups": 10}, [ONE_GROUP, DRUGS], ""),
    ("the same two at δ = 1e-6", ("1", "1e-6"), {"max_groups": 10}, [PERSONS, DRUGS], ""),
    ("the same, limits by query", ("1", "1e-6"), {"max_groups": 10}, [ONE_GROUP, DRUGS], ""),
    (
        "the same, medicines of importance 2",
        ("1", "1e-6"),
        {"max_groups": 10},
        [ONE_GROUP, DRUGS | {"importance": 2}],
        "",
    ),
    ("max_rows found, six candidates", ("1", "1e-8"), FIND, [COUNT], ""),
]


def rows(name: str, cells: int, numbers: int = 1, weight: int = 1) -> dict[str, Any]:
    """A query of rows: a count and sums, `numbers` in all, in each of `cells` cells."""
    sums = [f"sum(x{i})" for i in range(numbers - 1)]
    part = {"name": name, "importance": weight, "statistics": ["count", *sums]}
    return part | {"group_by": {"region": list(range(cells))}}


def conditions(name: str, count: int) -> dict[str, Any]:
    return {"name": name, "conditions": {f"c{i}": {"x": {"min": i}} for i in range(count)}}


# the last field is the target for each query's count: the plan of a prototype in floats
# (theory/bodies.md §7)
PLANS: list[tuple[str, tuple[str, str], int, list[dict[str, Any]], str]] = [
    ("18×2, 6×1", ("1", "1e-6"), 5, [rows("a", 18, 2), rows("b", 6)], "20, 14.1"),
    ("3 × (1×1)", ("1", "0"), 1, [rows(f"a{i}", 1) for i in range(3)], "2.23 each"),
    (
        "10 conditions, 20×2, 4×1",
        ("1", "1e-6"),
        3,
        [conditions("a", 10), rows("b", 20, 2), rows("c", 4)],
        "9.35, 18, 16.2 (c worse than alone)",
    ),
    ("10 × (200×1)", ("1", "1e-6"), 1, [rows(f"a{i}", 200) for i in range(10)], "13.4 each"),
    (
        "1×2, 5×2, 50×1; weights 3, 1, 1",
        (".5", "1e-6"),
        10,
        [rows("a", 1, 2, 3), rows("b", 5, 2), rows("c", 50)],
        "66.7, 200, 141",
    ),
    (
        "20 and 4 conditions",
        (".5", "1e-9"),
        1,
        [conditions("a", 20), conditions("b", 4)],
        "30.7, 10.1",
    ),
    (
        "4 × (30×1), 4 × (3×2)",
        ("2", "1e-6"),
        4,
        [rows(f"a{i}", 30) for i in range(4)] + [rows(f"b{i}", 3, 2) for i in range(4)],
        "21.2, 27.3",
    ),
    ("6 × (2×1)", ("3", "0"), 1, [rows(f"a{i}", 2) for i in range(6)], "1.47 (geometric mean)"),
    (
        "5 conditions, 10×1",
        ("1", "0"),
        1,
        [conditions("a", 5), rows("b", 10)],
        "3.55 (geometric mean, one worse than alone)",
    ),
]


def cumulative(bins: int) -> dict[str, Any]:
    """A query of cumulative counts over `bins` bins."""
    return {"histogram": {"column": "x", "edges": [*range(bins + 1)], "cumulative": True}}


def named_sums(cells: int) -> dict[str, Any]:
    """A query of the running sums over `cells` bands, written as named sums."""
    lines = ["sum,x_to", *(f"below {end},{end}" for end in range(1, cells + 1))]
    bands = {"x": {"edges": [*range(cells + 1)]}}
    return {"statistics": ["count"], "group_by": bands, "sums": "\n".join(lines)}


def by_levels(*branches: int) -> dict[str, Any]:
    """A query of counts by keys with levels: a nation with branches[0] states, each with …"""
    cells = range(math.prod(branches))
    sizes = [math.prod(branches[depth:]) for depth in range(len(branches))]
    levels = {
        f"above{depth}": [f"{cell // sizes[depth]}" for cell in cells]
        for depth in reversed(range(len(branches)))
    }
    return {"statistics": ["count"], "group_by": {"key": {"keys": [*cells], "levels": levels}}}


MARGINS: dict[str, Any] = {
    "statistics": ["count"],
    "group_by": {"a": [*range(20)], "b": ["f", "m"], "c": [*range(10)]},
    "margins": True,
}
NESTED: dict[str, Any] = {
    "statistics": ["count"],
    "group_by": {
        "town": {
            "keys": [*range(3_000)],
            "levels": {"region": [f"{i // 150}" for i in range(3_000)]},
        },
        "age": [*range(10)],
        "sex": ["f", "m"],
    },
    "margins": True,
}
QUANTILES: dict[str, Any] = {
    "statistics": ["median(y)"],
    "group_by": {"g": [*range(30)]},
    "quantiles_by": "tree",
}
MEANS: dict[str, Any] = {
    "statistics": ["count", "mean(x)"],
    "group_by": {"g": [*range(10)]},
    "accuracy": {"std": 5, "statistic": "count"},
}
WITHIN_10: dict[str, Any] = {"accuracy": {"half_width_95": 10}}
WITHIN_30: dict[str, Any] = {"accuracy": {"half_width_95": 30}}

# name, ε, queries, target in CPU seconds. A unit is a row, but with several queries a person with
# up to three rows.
TREES: list[tuple[str, str, list[dict[str, Any]], str]] = [
    ("cumulative, 100 bins", "1", [cumulative(100)], "1.5 s"),
    ("cumulative, 1,000 bins", "1", [cumulative(1_000)], "2 s"),
    ("cumulative, 5,000 bins", "1", [cumulative(5_000)], "6 s"),
    ("cumulative, 30,000 bins", "1e-4", [cumulative(30_000)], "1 s"),
    ("margins, 20 × 2 × 10", "1", [MARGINS], "1.5 s"),
    ("margins, 20 × 2 × 10, for the largest", "1", [MARGINS | {"objective": "largest"}], "4 s"),
    ("levels, 50 × 20 × 30 keys", "1", [by_levels(50, 20, 30)], "4 s"),
    ("levels, 10 × 10 × 10 × 10 × 3 keys", ".002", [by_levels(10, 10, 10, 10, 3)], ""),
    ("levels with margins, 20 × 150 keys, × 10 × 2", "1", [NESTED], ""),
    ("quantiles by a tree, 1,000 × 30 groups", "1", [QUANTILES], "2 s"),
    ("100 named sums of 100 cells", "1", [named_sums(100)], ""),
    ("300 named sums of 300 cells", "1", [named_sums(300)], ""),
    ("3 × (count, mean)", "least", [MEANS, MEANS, MEANS], "3 s"),
    ("cumulative, 100 bins", "least", [cumulative(100) | WITHIN_30], "5 s"),
    ("margins, 20 × 2 × 10", "least", [MARGINS | WITHIN_10], "5 s"),
    ("levels, 50 × 60 keys", "least", [by_levels(50, 60) | WITHIN_10], "5 s"),
]


def measure(index: int) -> tuple[float, str]:
    """Make a plan and its text. Return its CPU seconds, and ε or the reason for a refusal."""
    _, epsilon, queries, _ = TREES[index]
    persons = len(queries) > 1
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "person" if persons else "row", "epsilon": epsilon},
        "columns": {
            "x": {"bounds": [0, 100]},
            "y": {"bounds": [0, 1_000], "candidates": [*range(1, 1_001)]},
        },
        "query": [item | {"name": f"q{index}"} for index, item in enumerate(queries)],
    }
    if persons:
        raw["privacy"]["delta"] = "1e-6"
        raw["contribution"] = {"max_rows": 3}
    start = time.process_time()
    try:
        _, result = find_plan(spec_file.lay_out(raw))
        list_rows(result)
        list_sentences(result)
        result.to_record()
        text = f"{float(result.budget.epsilon):.6g}"
    except Refused as error:
        text = str(error)
    return time.process_time() - start, text


def measured() -> Iterator[tuple[str, ...]]:
    """Yield the row of each plan. Each is made in a separate process, without caches of others."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for index, (name, epsilon, _, target) in enumerate(TREES):
            seconds, text = pool.apply(measure, (index,))
            yield name, epsilon, text, target, f"{seconds:.2f} s"


def print_trees() -> None:
    """Print the times of plans of tables that add up, and of searches for the least ε."""
    heads = ("plan", "ε", "found", "target", "CPU")
    print_rows("Plans of trees, and of the least ε: CPU seconds", heads, [*measured()])


def planned(
    budget: tuple[str, str], contribution: dict[str, Any], query: list[dict[str, Any]]
) -> Plan:
    epsilon, delta = budget
    return plan(
        spec_file.lay_out(
            {
                "version": 1,
                "data": {"source": "x.parquet"},
                "privacy": {"unit": "person", "epsilon": epsilon, "delta": delta},
                "contribution": contribution,
                "columns": {name: {"bounds": [0, 1]} for name in ("x", "x0", "x1")},
                "query": query,
            }
        )
    )


def main() -> None:
    rows: list[tuple[str, ...]] = []
    for name, budget, contribution, query, asked in SETTINGS:
        start = time.perf_counter()
        result = planned(budget, contribution, query)
        seconds = time.perf_counter() - start
        rows.append(_row(name, result, asked, seconds))
    start = time.perf_counter()
    demo = plan(spec_file.lay_out(spec_file.parse_toml(SPEC)))
    seconds = time.perf_counter() - start
    counts = [part.errors[0].std for part in demo.noisy_parts]
    rows.append(_row("`leastnoise demo`, its first part", demo, "", seconds))
    print_rows(
        "Standard deviation of a table's counts (of two tables at most), and the time to plan it",
        ("table", "noise", "std", "asked", "Laplace (l1)", "Gaussian (l2)", "plan"),
        rows,
    )
    print(
        f"\nThe demo's counts: {', '.join(f'{std:.4g}' for std in counts)}, "
        f"product {math.prod(counts):,.0f} (asked: at most 8,000)."
    )
    print_whole_plans()
    print_trees()


def print_whole_plans() -> None:
    """Print plans of several queries (cells × numbers per cell), and a prototype's plans."""
    shown: list[tuple[str, ...]] = []
    for name, budget, most, query, asked in PLANS:
        start = time.perf_counter()
        plan = planned(budget, {"max_rows": most}, query)
        seconds = time.perf_counter() - start
        stds = [part.errors[0].std for part in plan.noisy_parts]
        plain = [part.errors[0].plain_laplace_std or math.inf for part in plan.noisy_parts]
        draws = dict.fromkeys("+".join(part.group) for part in plan.noisy_parts)
        shown.append(
            (
                name,
                f"({budget[0]}, {budget[1]}), {most}",
                ", ".join(draws),
                ", ".join(dict.fromkeys(f"{std:.4g}" for std in stds)),
                asked,
                f"{math.exp(sum(map(math.log, plain)) / len(plain)) / _mean(stds):.3g}",
                show(seconds),
            )
        )
    print_rows(
        "Plans of several parts: standard deviations of their counts",
        (
            "queries",
            "(ε, δ), rows a person",
            "draws",
            "std",
            "prototype",
            "Laplace's over it",
            "plan",
        ),
        shown,
    )


def _mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def _row(name: str, found: Plan, asked: str, seconds: float) -> tuple[str, ...]:
    part = found.noisy_parts[0]
    error = part.errors[0]
    plain = [
        "–" if std is None else f"{std:.4g}"
        for std in (error.plain_laplace_std, error.plain_gaussian_std)
    ]
    return (
        name,
        part.mechanism.noise.name,
        ", ".join(f"{first.errors[0].std:.4g}" for first in found.noisy_parts[:2]),
        asked,
        *plain,
        show(seconds),
    )


if __name__ == "__main__":
    main()
