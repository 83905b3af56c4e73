"""leastnoise: sixteen everyday questions, each in one release; every week has a release."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import leastnoise as ln

persons = Path(sys.argv[1])
visits = persons.with_name("visits.parquet")
regions = {"region": [f"R{index:02d}" for index in range(1, 21)]}
bounds = {"income": {"bounds": [0, 150_000]}, "smoker": {"bounds": [0, 1]}}
grid = {"income": {"candidates": {"from": 0, "to": 150_000, "step": 10}}}
deciles = [f"quantile(income, 0.{k})" for k in range(1, 10)]
levels = {"state": [county // 60 for county in range(3_000)], "nation": ["all"] * 3_000}
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
    "margins": of_persons(
        "count",
        group_by=regions | {"sex": ["f", "m"], "age": {"edges": [*range(0, 100, 10), 105]}},
        margins=True,
    ),
    "cumulative": of_persons(
        histogram={"column": "income", "edges": [150 * k for k in range(1_001)], "cumulative": True}
    ),
    "levels": of_persons("count", group_by={"county": {"keys": [*range(3_000)], "levels": levels}}),
    "weeks": None,
}


def begin_weeks(folder: Path) -> ln.Release:
    ledger = ln.Ledger(folder / "weeks.ledger")
    ledger.open_account("work", unit="person", budget=ln.Budget(epsilon=1, delta="1e-6"))
    return ln.Release(
        data={"source": str(persons)},
        privacy={
            "unit": "person",
            "epsilon": 1,
            "delta": "1e-6",
            "ledger": {"path": folder / "weeks.ledger"},
        },
        contribution={"max_rows": 1},
        series={"releases": 52},
        output={"path": folder / "out", "format": "csv"},
        query=[
            {"name": "q", "statistics": ["count"], "group_by": {"work": ["none", "part", "full"]}}
        ],
    )


# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers


def named(columns: Any, keys: list[str], value: str) -> dict[str, float]:
    names = [" ".join(map(str, key)) for key in zip(*(columns[k] for k in keys), strict=True)]
    return dict(zip(names, columns[value], strict=True))


def of_table(columns: Any) -> list[tuple[str, float]]:
    parts = ("region", "sex", "age_from", "county", "state", "nation")
    keys = [part for part in parts if part in columns]
    if "age_from" in keys:
        columns = {**columns, "age_from": [int(column) // 10 for column in columns["age_from"]]}
    by = " ".join(key.removesuffix("_from") for key in keys)
    rows = named(columns, keys, "count") if keys else {"": columns["count"][0]}
    return [(f"{by}|{key}", value) for key, value in rows.items()]


def numbered(columns: Any) -> dict[str, float]:
    return {str(k): value for k, value in enumerate(columns["count"])}


def rates(columns: Any) -> dict[str, float]:
    ratios = columns["ratio_sum_smoker_by_count"]
    return {key: 1_000 * item for key, item in zip(columns["region"], ratios, strict=True)}


read = {
    "deciles": lambda columns: {
        str(k): columns[name][0]
        for k, name in enumerate((n for n in columns if not n.endswith("_rows_95")), start=1)
    },
    "spread": lambda columns: {"std": columns["std_income"][0]},
    "patients": lambda columns: {"n": columns["count_units"][0]},
    "ages": numbered,
    "cumulative": numbered,
    "rates": rates,
}


def answers(question: str) -> dict[str, float]:
    tables = (releases[question] or weekly).run().tables
    if question in ("margins", "levels"):
        return dict(line for table in tables.values() for line in of_table(table.columns))
    columns = tables["q_cumulative" if question == "cumulative" else "q"].columns
    if question in read:
        return read[question](columns)
    keys = ("condition", "region", "sex", "postcode", "month", "work")
    value = {"means": "mean_income", "medians": "median_income"}.get(question, "count")
    return named(columns, [key for key in keys if key in columns], value)


with tempfile.TemporaryDirectory() as folder:
    weekly = begin_weeks(Path(folder))
    report_answers("leastnoise", releases, answers, runs=int(sys.argv[2]))
