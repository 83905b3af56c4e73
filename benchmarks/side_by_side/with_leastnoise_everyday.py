"""leastnoise: twelve everyday questions, a release each."""

import sys
from pathlib import Path
from typing import Any

import leastnoise as ln

persons = Path(sys.argv[1])
visits = persons.with_name("visits.parquet")
regions = {"region": [f"R{one:02d}" for one in range(1, 21)]}
bounds = {"income": {"bounds": [0, 150_000]}, "smoker": {"bounds": [0, 1]}}
grid = {"income": {"candidates": {"from": 0, "to": 150_000, "step": 10}}}
deciles = [f"quantile(income, 0.{k})" for k in range(1, 10)]
conditions = {
    "retired": {"age": {"min": 65}},
    "low": {"income": {"below": 20_000}},
    "smoker": {"smoker": {"min": 1}},
}


def of_persons(
    *statistics: str, delta: str = "0", columns: dict[str, Any] | None = None, **query: Any
) -> ln.Release:
    if statistics:
        query["statistics"] = statistics
    return ln.Release(
        data={"source": str(persons)},
        privacy={"unit": "row", "epsilon": 1, "delta": delta},
        columns=columns or {},
        query=[{"name": "q"} | query],
    )


def of_visits(statistic: str, rows: int, **query: Any) -> ln.Release:
    return ln.Release(
        data={"source": str(visits)},
        privacy={"unit": "person", "epsilon": 1},
        contribution={"max_rows": rows},
        query=[{"name": "q", "statistics": [statistic]} | query],
    )


releases = {
    "cells": of_persons("count", group_by=regions | {"sex": ["f", "m"]}),
    "means": of_persons("mean(income)", columns=bounds, group_by=regions),
    "medians": of_persons("median(income)", columns=grid, group_by=regions),
    "deciles": of_persons(*deciles, columns=grid),
    "spread": of_persons("std(income)", columns=bounds),
    "rates": of_persons("ratio(sum(smoker), count)", columns=bounds, group_by=regions),
    "postcodes": of_persons(
        "count", delta="1e-6", group_by={"postcode": {"keys": "private", "longest": 8}}
    ),
    "adults": of_persons("count", filter="age >= 18", group_by=regions),
    "ages": of_persons(histogram={"column": "age", "edges": [0, 18, 30, 45, 60, 75, 105]}),
    "conditions": of_persons(conditions=conditions),
    "months": of_visits("count", 20, group_by={"month": list(range(1, 13))}),
    "patients": of_visits("count_units", 60, filter="emergency = 1"),
}

# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers


def answers(question: str) -> dict[str, float]:
    columns = releases[question].run().tables["q"].columns
    if question == "deciles":
        return {str(k): chosen[0] for k, chosen in enumerate(columns.values(), start=1)}
    if question == "spread":
        return {"std": columns["std_income"][0]}
    if question == "patients":
        return {"n": columns["count_units"][0]}
    if question == "ages":
        return {str(k): value for k, value in enumerate(columns["count"])}
    if question == "rates":
        rates = [1_000 * one for one in columns["ratio_sum_smoker_by_count"]]
        return dict(zip(columns["region"], rates, strict=True))
    keys = [one for one in ("condition", "region", "sex", "postcode", "month") if one in columns]
    value = {"means": "mean_income", "medians": "median_income"}.get(question, "count")
    names = [" ".join(map(str, key)) for key in zip(*(columns[k] for k in keys), strict=True)]
    return dict(zip(names, columns[value], strict=True))


report_answers("leastnoise", releases, answers, runs=int(sys.argv[2]))
