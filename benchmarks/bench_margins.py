"""Tables with margins or levels, and cumulative counts: standard deviations, others', a bound.

python -m benchmarks.bench_margins
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from benchmarks.timing import print_rows
from leastnoise.calibration.several import find_gaussian
from leastnoise.design.marginals import (
    Marginals,
    best_shares,
    bound,
    gaussian_information,
    gaussian_optimum,
    geometric_mean_std,
    log_variance,
    pure_information,
)
from leastnoise.guarantees.budget import Budget
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan

NAMES = {
    "20 × 2 × 10, all tables": Marginals(sizes=(20, 2, 10), tables=tuple(range(8))),
    "2 × 5 × 10 × 20, total, 1- and 2-way": Marginals(
        sizes=(2, 5, 10, 20), tables=tuple(one for one in range(16) if one.bit_count() < 3)
    ),
    "20 × 2 × 10 × 5, all tables": Marginals(sizes=(20, 2, 10, 5), tables=tuple(range(16))),
}
PURE, LITTLE = Budget(epsilon=1, delta=0), Budget(epsilon=1, delta="1e-8")


def figures(marginals: Marginals) -> list[str]:
    """The columns below, at ε = 1 for one row that is there or not."""
    count, every = len(marginals.tables), len(marginals.every)
    weights, exact = [1.0] * count, [Fraction(1)] * count
    pure = pure_information(1.0, np.ones(every), whole=np.full(every, fill_value=True))
    sigma = float(find_gaussian(LITTLE).scale)
    gaussian = gaussian_information(sigma, np.ones(every))
    shares, spread = (best_shares(marginals, weights, one) for one in (pure, gaussian))
    optimum = marginals.variances(gaussian_optimum(marginals, weights))
    found = [
        geometric_mean_std(log_variance(marginals, own, weights, information), count)
        for own, information in (
            ({every - 1: Fraction(1)}, pure),
            (dict.fromkeys(marginals.tables, Fraction(1, count)), pure),
            (shares, pure),
            (spread, gaussian),
        )
    ]
    apart = 1 / (math.sqrt(2) * math.sinh(1 / count / 2))
    bounds = [
        geometric_mean_std(bound(marginals, exact, budget=one), count) for one in (PURE, LITTLE)
    ]
    best = sigma * math.exp(float(np.log(optimum).mean()) / 2)
    values = [found[0], apart, *found[1:], best, *bounds]
    return [f"{len(shares)}", *(f"{value:.2f}" for value in values)]


def cumulative_figures(bins: int) -> list[str]:
    """The columns of cumulative counts, at ε = 1 for one row that is there or not."""
    histogram = {"column": "x", "edges": [*range(bins + 1)], "cumulative": True}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "histogram": histogram}],
    }
    _, sums = plan(spec_file.lay_out(raw)).blocks
    assert sums.running is not None
    found = sums.running.whole.to_record()
    cells = math.sqrt((bins + 1) / 2) / (math.sqrt(2) * math.sinh(1 / 2))
    numbers = (found["bin_std"], found["root_mean_square_std"], found["largest_std"], cells)
    return [" × ".join(map(str, found["branches"])), *(f"{one:.2f}" for one in numbers)]


def levels_figures(sizes: list[int]) -> list[str]:
    """The columns of a nation whose states have so many counties each, at ε = 1 for one row."""
    states = [f"{state}" for state, size in enumerate(sizes) for _ in range(size)]
    levels = {"state": states, "nation": ["all"] * len(states)}
    keys = {"keys": [*range(len(states))], "levels": levels}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "statistics": ["count"], "group_by": {"county": keys}}],
    }
    blocks = plan(spec_file.lay_out(raw)).blocks
    assert blocks[0].level is not None
    whole = blocks[0].level.whole
    stds = [block.errors[0].std for block in blocks]
    numbers = (*stds, whole.geometric_mean, *whole.others.values())
    return [f"{one:.2f}" for one in numbers]


def main() -> None:
    heads = (
        "tables", "measured", "cells, summed", "a share each", "and least squares", "best shares",
        "Gaussian, tables", "Gaussian, best", "bound, δ = 0", "bound, δ = 1e-8",
    )  # fmt: skip
    title = "Tables with margins: geometric mean of the standard deviations"
    print_rows(title, heads, [(name, *figures(marginals)) for name, marginals in NAMES.items()])
    heads = ("bins", "tree", "bin", "cumulative, rms", "largest", "cells, summed, rms")
    rows = [(f"{bins:,}", *cumulative_figures(bins)) for bins in (4, 10, 100, 1_000)]
    print_rows("Cumulative counts: standard deviations", heads, rows)
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


if __name__ == "__main__":
    main()
