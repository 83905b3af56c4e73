"""Standard deviations of tables with margins or levels, and of cumulative counts.

They are compared with other strategies and with proved bounds. Tables of synthetic sparse counts
show the effect of whole numbers >= 0.

python -m benchmarks.bench_margins
"""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.timing import print_rows
from leastnoise.calibration import find_gaussian
from leastnoise.guarantees.budget import Budget
from leastnoise.tables.answers.base import Totals
from leastnoise.tables.answers.sums.cumulative import Cumulative
from leastnoise.tables.answers.sums.levels import Levels
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.answers.sums.nested import NestedMargins
from leastnoise.tables.answers.sums.publish_sums import sum_exactly
from leastnoise.tables.answers.sums.publish_whole import sums_by
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.workloads.marginal import (
    Marginals,
    best_shares,
    gaussian_information,
    geometric_mean_std,
    log_variance,
    pure_information,
)
from leastnoise.workloads.marginal_bounds import bound, bound_of_largest, cheapest, gaussian_optimum

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAWS = 100

NAMES = {
    "20 × 2 × 10, all tables": Marginals(sizes=(20, 2, 10), tables=tuple(range(8))),
    "2 × 5 × 10 × 20, total, 1- and 2-way": Marginals(
        sizes=(2, 5, 10, 20), tables=tuple(index for index in range(16) if index.bit_count() < 3)
    ),
    "20 × 2 × 10 × 5, all tables": Marginals(sizes=(20, 2, 10, 5), tables=tuple(range(16))),
}
PURE, LITTLE = Budget(epsilon=1, delta=0), Budget(epsilon=1, delta="1e-8")


def figures(marginals: Marginals) -> list[str]:
    """The columns of a row in the first table, at ε = 1 for one added or removed row."""
    count, every = len(marginals.tables), len(marginals.every)
    weights, exact = [1.0] * count, [Fraction(1)] * count
    pure = pure_information(1.0, np.ones(every), whole=np.full(every, fill_value=True))
    sigma = float(find_gaussian(LITTLE).scale)
    gaussian = gaussian_information(sigma, np.ones(every))
    shares, spread = (best_shares(marginals, weights, item) for item in (pure, gaussian))
    optimum = marginals.variances(gaussian_optimum(marginals, weights))
    results = [
        geometric_mean_std(log_variance(marginals, computed, weights, information), count)
        for computed, information in (
            ({every - 1: Fraction(1)}, pure),
            (dict.fromkeys(marginals.tables, Fraction(1, count)), pure),
            (shares, pure),
            (spread, gaussian),
        )
    ]
    apart = 1 / (math.sqrt(2) * math.sinh(1 / count / 2))
    bounds = [
        geometric_mean_std(bound(marginals, exact, budget=item), count) for item in (PURE, LITTLE)
    ]
    best = sigma * math.exp(float(np.log(optimum).mean()) / 2)
    values = [results[0], apart, *results[1:], best, *bounds]
    return [f"{len(shares)}", *(f"{value:.2f}" for value in values)]


def largest_figures(marginals: Marginals) -> list[str]:
    """The columns of the largest standard deviation, at ε = 1 for one added or removed row."""
    count, every = len(marginals.tables), len(marginals.every)
    pure = pure_information(1.0, np.ones(every), whole=np.full(every, fill_value=True))
    ways = [
        {every - 1: Fraction(1)},
        *(best_shares(marginals, weights, pure) for weights in ([1.0] * count, None)),
    ]
    logs = [log_variance(marginals, route, None, pure) for route in ways]
    cells, mean, best, least = (
        math.exp(item / 2) for item in (*logs, bound_of_largest(marginals, budget=PURE))
    )
    apart = 1 / (math.sqrt(2) * math.sinh(1 / count / 2))
    return [f"{len(ways[-1])}", *(f"{item:.2f}" for item in (cells, apart, mean, best, least))]


def cumulative_figures(bins: int, objective: str | None = None) -> list[str]:
    """The columns of cumulative counts, at ε = 1 for one added or removed row."""
    histogram = {"column": "x", "edges": [*range(bins + 1)], "cumulative": True}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "histogram": histogram, "objective": objective}],
    }
    (sums,) = plan(spec_file.lay_out(raw)).answered
    assert isinstance(sums, Cumulative)
    result = sums.to_record()
    cells = math.sqrt((bins + 1) / 2) / (math.sqrt(2) * math.sinh(1 / 2))
    numbers = (result["bin_std"], result["root_mean_square_std"], result["largest_std"], cells)
    return [" × ".join(map(str, result["branches"])), *(f"{number:.2f}" for number in numbers)]


def levels_figures(sizes: list[int]) -> list[str]:
    """The columns of a nation whose states have `sizes` counties, at ε = 1 for one row."""
    states = [f"{state}" for state, size in enumerate(sizes) for _ in range(size)]
    levels = {"state": states, "nation": ["all"] * len(states)}
    keys = {"keys": [*range(len(states))], "levels": levels}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "statistics": ["count"], "group_by": {"county": keys}}],
    }
    (tables,) = plan(spec_file.lay_out(raw)).answered
    assert isinstance(tables, Levels)
    whole = tables
    stds = [part.errors[0].std for part in tables.parts]
    numbers = (*stds, whole.geometric_mean, *whole.others.values())
    return [f"{number:.2f}" for number in numbers]


def nested_figures(sizes: list[int]) -> list[str]:
    """The columns of regions with `sizes` towns, × 10 × 2 with all tables, at ε = 1."""
    regions = [f"{region}" for region, size in enumerate(sizes) for _ in range(size)]
    groups = {
        "town": {"keys": [*range(len(regions))], "levels": {"region": regions}},
        "age": [*range(10)],
        "sex": ["f", "m"],
    }
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "statistics": ["count"], "group_by": groups, "margins": True}],
    }
    (tables,) = plan(spec_file.lay_out(raw)).answered
    assert isinstance(tables, NestedMargins)
    compared = tables.compared["count"]
    bound = "–" if compared.bound is None else f"{compared.bound:.2f}"
    stds = (compared.cells, compared.apart, compared.own)
    return [*(f"{std:.2f}" for std in stds), bound]


def whole_figures(grouped: dict[str, Any], truth: NDArray[np.int64]) -> list[list[str]]:
    """The columns of whole counts, a list per table, at ε = 1 for one added or removed row."""
    query = {"name": "q", "statistics": ["count"], **grouped}
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
    }
    ways = [
        plan(spec_file.lay_out(raw | {"query": [query | shown]})).noisy_parts[0].answered
        for shown in ({}, {"round": True, "clamp": True})
    ]
    tables = ways[-1]
    parts = tables.parts
    exact = Totals(cells=[truth << parts[0].layout.bits], groups=[])
    if isinstance(tables, Margins):
        whole = tables
        trues = [sum_exactly(whole, truth, margin) for margin in whole.cells.margins]
    else:
        assert isinstance(tables, Levels)
        whole_counts = tables.whole_counts
        assert whole_counts is not None
        trues = [
            sums_by(computed, truth, int(computed.max()) + 1)
            for computed in whole_counts.tree[::-1]
        ]
    errors = [
        [
            np.array([np.array(table.columns["count"]) - true for table in tables])
            for tables, true in zip(zip(*drawn, strict=True), trues, strict=True)
        ]
        for drawn in ([route.draw(exact) for _ in range(_DRAWS)] for route in ways)
    ]
    rows: list[list[str]] = []
    for part, true, before, after in zip(parts, trues, *errors, strict=True):
        off, most = after.mean(axis=0), np.quantile(true, 0.9)
        numbers = [np.abs(before).mean(), np.abs(after).mean(), off[true >= most].mean()]
        numbers += [off[true == 0].mean()] if (true == 0).any() else [math.nan]
        lines = ["–" if math.isnan(item) else f"{item:.2f}" for item in (*numbers, part.too_high)]
        rows.append([part.name, f"{len(true):,}", f"{np.mean(true == 0):.0%}", *lines])
    return rows


def sparse_tables() -> dict[str, tuple[dict[str, Any], NDArray[np.int64]]]:
    """Grouping columns and synthetic counts, by title: many counts are 0, and few are large."""
    random = np.random.default_rng(1)
    people = random.poisson(0.3 * random.pareto(1.0, 400).clip(max=600))
    bands = {"edges": [*range(0, 101, 10)]}
    group_by = {"region": [*range(20)], "sex": ["f", "m"], "age": bands}
    states = [f"{state}" for state in range(50) for _ in range(11 + 2 * state)]
    levels = {"state": states, "nation": ["all"] * len(states)}
    counties = {"keys": [*range(len(states))], "levels": levels}
    cases = random.poisson(random.pareto(1.0, len(states)).clip(max=1_000))
    return {
        "20 × 2 × 10, all tables": ({"group_by": group_by, "margins": True}, people),
        "3,000, 11 to 109 a state": ({"group_by": {"county": counties}}, cases),
    }


def chosen_figures(sizes: tuple[int, ...], margins: object) -> list[str]:
    """The columns of a plan's own choice for counts, at ε = 1 for one added or removed row."""
    by = {f"c{index}": [*range(size)] for index, size in enumerate(sizes)}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "group_by": by, "statistics": ["count"], "margins": margins}],
    }
    (tables,) = plan(spec_file.lay_out(raw)).answered
    assert isinstance(tables, Margins)
    whole, computed = tables, tables.compared["count"]
    route = "a tree" if whole.chain else f"{len(whole.measured)} tables"
    return [
        route,
        *(f"{item:.2f}" for item in (computed.cells, computed.apart, computed.own, computed.bound)),
    ]


def pairs_figures() -> list[tuple[str, ...]]:
    """The rows of all 91 tables by two of 14 columns, at ε = 1, δ = 1e-9 for one row."""
    sizes = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)  # columns of Adult, as in papers
    tables = tuple((1 << i) + (1 << j) for i in range(14) for j in range(i))
    marginals = Marginals(sizes=sizes, tables=tables)
    sigma = float(find_gaussian(Budget(epsilon=1, delta="1e-9")).scale)
    optimum = sigma * np.sqrt(marginals.variances(cheapest(marginals, np.ones(len(tables)), None)))
    by = {f"c{index}": [*range(size)] for index, size in enumerate(sizes)}
    query = {"name": "q", "group_by": by, "statistics": ["count"]}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-9"},
    }
    margins = [list(pair) for pair in itertools.combinations(by, 2)]
    ways = [("a share for each", np.full(91, sigma * math.sqrt(91)), 0.0)]
    ways.append(("ResidualPlanner, equal weights", optimum, 0.0))
    for name, more in {"chosen": {}, "chosen, largest": {"objective": "largest"}}.items():
        begin = time.process_time()
        parts = plan(
            spec_file.lay_out(raw | {"query": [query | more | {"margins": margins}]})
        ).noisy_parts
        seconds = time.process_time() - begin
        ways.append((name, np.array([part.errors[0].std for part in parts]), seconds))
    return [
        (
            name,
            *(
                f"{number:.2f}"
                for number in (
                    stds.min(),
                    np.exp(np.log(stds).mean()),
                    np.sqrt((stds**2).mean()),
                    stds.max(),
                )
            ),
            f"{seconds:.1f}" if seconds else "",
        )
        for name, stds, seconds in ways
    ]


def sums_figures() -> list[tuple[str, ...]]:
    """The rows of a count and a sum in 20 × 2 × 10 cells with all totals, at ε = 1 for one row."""
    by = {"a": [*range(20)], "b": [1, 2], "c": [*range(10)]}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "columns": {"x": {"bounds": [0, 30], "missing": "none"}},
    }
    asked = {"statistics": ["count", "sum(x)", "mean(x)"]}
    query = asked | {"name": "q", "group_by": by, "margins": True}
    (margin,) = plan(spec_file.lay_out(raw | {"query": [query]})).answered
    assert isinstance(margin, Margins)
    tables = [combination for size in range(4) for combination in itertools.combinations(by, size)]
    queries = [
        asked | {"name": f"q{position}", "group_by": {name: by[name] for name in expected_value}}
        for position, expected_value in enumerate(tables)
    ]
    parts = plan(spec_file.lay_out(raw | {"query": queries})).noisy_parts
    results: list[tuple[str, ...]] = []
    for index, (label, computed) in enumerate(margin.compared.items()):
        logs = [math.log(part.errors[index].std) for part in parts]
        values = (
            math.exp(math.fsum(logs) / len(logs)),
            computed.apart,
            computed.cells,
            computed.own,
            computed.bound,
        )
        results.append((label, *(f"{value:.2f}" for value in values)))
    return results


def main() -> None:
    heads = (
        "tables", "measured", "cells, summed", "a share each", "and least squares", "best shares",
        "Gaussian, tables", "Gaussian, best", "bound, δ = 0", "bound, δ = 1e-8",
    )  # fmt: skip
    title = "Tables with margins: geometric mean of the standard deviations"
    print_rows(title, heads, [(name, *figures(marginals)) for name, marginals in NAMES.items()])
    heads = (
        "tables", "measured", "cells, summed", "a share each", "shares for the mean",
        "shares for the largest", "bound",
    )  # fmt: skip
    rows = [(name, *largest_figures(marginals)) for name, marginals in NAMES.items()]
    print_rows("Tables with margins: the largest of the standard deviations", heads, rows)
    nested: list[list[str]] = [[], ["c0"], ["c0", "c1"], ["c0", "c1", "c2"]]
    columns = ("c0", "c1", "c2", "c3")
    up_to_2 = [list(by) for size in range(3) for by in itertools.combinations(columns, size)]
    asked = {
        "20 × 2 × 10, all tables": ((20, 2, 10), True),
        "2 × 5 × 10 × 20, total, 1- and 2-way": ((2, 5, 10, 20), up_to_2),
        "total, 20, × 2, × 10": ((20, 2, 10), nested),
        "total, 20, × 2, × 5, × 4": ((20, 2, 5, 4), [*nested, ["c0", "c1", "c2", "c3"]]),
    }
    heads = ("tables", "noise in", "cells, summed", "a share each", "chosen", "bound")
    rows = [(name, *chosen_figures(*item)) for name, item in asked.items()]
    print_rows("Tables with margins, what a plan chooses: geometric mean", heads, rows)
    heads = ("91 tables by two of 14 columns", "least", "mean", "rms", "largest", "CPU s")
    print_rows("All tables by two columns, δ = 1e-9: standard deviations", heads, pairs_figures())
    heads = ("statistic", "a query each", "a share each", "cells, summed", "best shares", "bound")
    title = "20 × 2 × 10 with count, sum and mean, all tables: geometric mean"
    print_rows(title, heads, sums_figures())
    heads = ("bins", "tree", "bin", "cumulative, rms", "largest", "cells, summed, rms")
    for objective in (None, "largest"):
        rows = [(f"{bins:,}", *cumulative_figures(bins, objective)) for bins in (4, 10, 100, 1_000)]
        title = f"Cumulative counts{' for the largest' if objective else ''}: standard deviations"
        print_rows(title, heads, rows)
    trees = {
        "3,000, 60 a state": [60] * 50,
        "3,000, 11 to 109 a state": [11 + 2 * state for state in range(50)],
        "100, 10 a state": [10] * 10,
    }
    heads = (
        "counties", "county", "state", "nation", "geometric mean", "counties summed",
        "a share each", "bound",
    )  # fmt: skip
    rows = [(name, *levels_figures(sizes)) for name, sizes in trees.items()]
    print_rows("Keys with levels: standard deviations, root mean square", heads, rows)
    trees = {"150 each": [150] * 20, "55 to 245 each": [55 + 10 * index for index in range(20)]}
    heads = ("3,000 towns in 20 regions", "cells, summed", "a share each", "chosen", "bound")
    rows = [(name, *nested_figures(sizes)) for name, sizes in trees.items()]
    print_rows("Levels beside 10 × 2, all 12 tables: geometric mean", heads, rows)
    heads = (
        "table", "numbers", "true 0", "mean error, noisy", "whole", "largest tenth too high by",
        "true 0 too high by", "at most",
    )  # fmt: skip
    for name, (grouped, truth) in sparse_tables().items():
        title = f"Whole counts, none below 0, {name}: means of {_DRAWS} draws"
        print_rows(title, heads, [tuple(row) for row in whole_figures(grouped, truth)])


if __name__ == "__main__":
    main()
