"""diffprivlib: thirteen everyday questions. It has no private groups, and bounds no person's rows.

Its mean and standard deviation treat the number of rows as public. So they protect a person's
value, but not the person's presence, which is less than the benchmark asks. Therefore means and
rates use its mechanisms, with half of ε each for the sum and the count. The standard deviation is
diffprivlib's. Nine deciles have a ninth of ε each. Histograms and quantiles protect a person's
presence. Totals, cumulative counts and states are sums of a histogram's cells, and each week has
its share of ε.
"""

import itertools
import sys

import numpy as np
import pandas as pd
from diffprivlib import BudgetAccountant, mechanisms, tools

persons = pd.read_parquet(sys.argv[1])
top, middle = 150_000, 75_000
regions = dict(list(persons.groupby("region")))
halves, edges = [-0.5, 0.5, 1.5], [0, 18, 30, 45, 60, 75, 105]
of_sum = mechanisms.Laplace(epsilon=0.5, sensitivity=middle)
of_rate = mechanisms.Geometric(epsilon=0.5, sensitivity=1)
of_count = mechanisms.Geometric(epsilon=1, sensitivity=1)


def cells():
    names = list(regions)
    codes = persons["region"].map({name: k for k, name in enumerate(names)})
    bins = [np.arange(-0.5, 20), halves]
    table, _, _ = tools.histogram2d(codes, persons["sex"] == "m", epsilon=1, bins=bins)
    return {f"{names[r]} {'fm'[s]}": table[r, s] for r in range(20) for s in (0, 1)}


def mean(rows):
    clipped = rows["income"].dropna().clip(0, top)
    total = of_sum.randomise(float((clipped - middle).sum()))
    return middle + total / max(1, of_rate.randomise(len(clipped)))


def rate(rows):
    total = of_rate.randomise(int(rows["smoker"].sum()))
    return 1_000 * total / max(1, of_rate.randomise(len(rows)))


def quantile(rows, level, epsilon):
    stored = rows["income"].dropna().to_numpy()
    return tools.quantile(stored, level, epsilon=epsilon, bounds=(0, top))


def spread():
    return tools.std(persons["income"].dropna().to_numpy(), epsilon=1, bounds=(0, top))


def conditions():
    stored = [persons["age"] >= 65, persons["income"] < 20_000, persons["smoker"] == 1]
    table, _ = tools.histogramdd(np.column_stack(stored), epsilon=1, bins=[halves] * 3)
    counts = table[1].sum(), table[:, 1].sum(), table[:, :, 1].sum()
    return dict(zip(("retired", "low", "smoker"), counts, strict=True))


def ages():
    counts, _ = tools.histogram(persons["age"], epsilon=1, bins=edges, range=(0, 105))
    return {str(k): item for k, item in enumerate(counts)}


def sums_of(table, keys):
    """All sums of the cells; the names of answers are the columns, a bar, and the keys."""
    results = {}
    for by in (by for size in range(len(keys) + 1) for by in itertools.combinations(keys, size)):
        away = tuple(axis for axis, name in enumerate(keys) if name not in by)
        rows = itertools.product(*(keys[name] for name in by))
        for key, value in zip(rows, table.sum(axis=away).ravel(), strict=True):
            results[f"{' '.join(by)}|{' '.join(map(str, key))}"] = value
    return results


def margins():
    region = persons["region"].map({name: k for k, name in enumerate(regions)})
    stored = np.column_stack([region, persons["sex"] == "m", (persons["age"] // 10).clip(upper=9)])
    bins = [np.arange(-0.5, 20), halves, np.arange(-0.5, 10)]
    table, _ = tools.histogramdd(stored, epsilon=1, bins=bins)
    return sums_of(table, {"region": list(regions), "sex": ["f", "m"], "age": range(10)})


def levels():
    counties, _ = tools.histogram(persons["county"], epsilon=1, bins=np.arange(-0.5, 3_000))
    states = counties.reshape(50, 60).sum(axis=1)
    text = {"county": counties, "state": states}
    rows = {f"{by}|{key}": item for by, counts in text.items() for key, item in enumerate(counts)}
    return rows | {"nation|all": counties.sum()}


def cumulative():
    edges = np.linspace(0, top, 1_001)
    stored = persons["income"][persons["income"] <= top]
    counts, _ = tools.histogram(stored, epsilon=1, bins=edges, range=(0, top))
    return {str(k): item for k, item in enumerate(counts.cumsum())}


budget = BudgetAccountant(epsilon=1, delta=1e-6, slack=1e-6)
of_week = mechanisms.Geometric(epsilon=budget.remaining(52)[0], sensitivity=1)


def weeks():
    return {kind: of_week.randomise(int(n)) for kind, n in persons["work"].value_counts().items()}


questions = {
    "cells": cells,
    "means": lambda: {name: mean(rows) for name, rows in regions.items()},
    "medians": lambda: {name: quantile(rows, 0.5, 1) for name, rows in regions.items()},
    "deciles": lambda: {str(k): quantile(persons, k / 10, 1 / 9) for k in range(1, 10)},
    "spread": lambda: {"std": spread()},
    "rates": lambda: {name: rate(rows) for name, rows in regions.items()},
    "adults": lambda: {
        name: of_count.randomise(int((rows["age"] >= 18).sum())) for name, rows in regions.items()
    },
    "ages": ages,
    "conditions": conditions,
    "margins": margins,
    "cumulative": cumulative,
    "levels": levels,
    "weeks": weeks,
}

# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers


def answers(question: str) -> dict[str, float]:
    return {key: float(value) for key, value in questions[question]().items()}


report_answers("diffprivlib", questions, answers, runs=int(sys.argv[2]))
