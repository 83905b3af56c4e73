"""diffprivlib: its histograms, and its mechanisms for the means.

`tools.mean` and `tools.sum` treat the number of rows as public. So they protect a person's value,
but not the person's presence. The mechanisms give the guarantee of this benchmark. Sum and count
have two thirds and one third of their share (the best split at the true means is 0.63 to 0.37); the
conditions are sums of disjoint cells, which is less noise than three counts that share the budget.
δ buys nothing here.
"""

import sys

import numpy as np
import pandas as pd
from diffprivlib import BudgetAccountant, mechanisms, tools

census = pd.read_csv(sys.argv[1])
middle, share = 75_000, 1 / 4
conditions = [
    census["age"] >= 65,
    census["income"] < 20_000,
    census["tenure"] == "rent",
]
with BudgetAccountant(epsilon=1, delta=0) as accountant:
    halves = [-0.5, 0.5, 1.5]
    people, _, _ = tools.histogram2d(
        census["region"], census["sex"] == "m", epsilon=share, bins=[np.arange(0.5, 21), halves]
    )
    ages, _ = tools.histogram(
        census["age"], epsilon=share, bins=[18, 30, 45, 60, 75, 100], range=(18, 100)
    )
    cells, _ = tools.histogramdd(np.column_stack(conditions), epsilon=share, bins=[halves] * 3)
    held = [cells[1].sum(), cells[:, 1].sum(), cells[:, :, 1].sum()]
    total_noise = mechanisms.Geometric(epsilon=share * 2 / 3, sensitivity=middle)
    size_noise = mechanisms.Geometric(epsilon=share / 3, sensitivity=1)
    above = census["income"].clip(0, 2 * middle) - middle
    means = {}
    for region in range(1, 21):  # disjoint: together they cost as much as one
        rows = above[census["region"] == region]
        noisy_total = total_noise.randomise(int(rows.sum()))
        means[region] = middle + noisy_total / max(1, size_noise.randomise(len(rows)))
    accountant.spend(share, 0)

# What follows is the benchmark: it isn't counted as code of this release.

from benchmarks.side_by_side.report import Stds, report, seconds_since_start

seconds = seconds_since_start()
# The histograms draw this noise, truncated at 0 and at the largest integer, far from the counts.
cell_std = mechanisms.Geometric(epsilon=share, sensitivity=1).variance(0) ** 0.5
report(
    package="diffprivlib",
    delta="0",
    one_row="trusted",
    seconds=seconds,
    stds=Stds(
        count=cell_std,
        total=total_noise.variance(0) ** 0.5,
        size=size_noise.variance(0) ** 0.5,
        band=cell_std,
        condition=2 * cell_std,  # of four cells
    ),
)
