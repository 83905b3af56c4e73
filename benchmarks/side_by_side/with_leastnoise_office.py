"""leastnoise: ten questions of an office; persons and medicines come from one release.

Medians have two thirds of ε, as with OpenDP, and the keys of their groups have the rest.
"""

import math
import sys
from pathlib import Path
from typing import Any

import leastnoise as ln

folder = Path(sys.argv[1]).parent
regions, sexes = list(range(1, 21)), ["f", "m"]
cells = {"region": regions, "sex": sexes}

find = {"find": True, "share": "0.1", "candidates": [1, 2, 3, 4, 6, 8, 12]}


def release(table: str, *queries: dict[str, Any], **spec: Any) -> ln.Release:
    return ln.Release(
        data={"source": str(folder / f"{table}.parquet")},
        privacy={"unit": "person", "epsilon": 1} | spec.pop("privacy", {}),
        query=[{"statistics": ["count_units"]} | query for query in queries],
        **spec,
    )


together = release(
    "medicines",
    {"name": "persons", "group_by": cells, "contribution": {"max_groups": 1}},
    {"name": "medicines", "group_by": {"medicine": list(range(400))}},
    contribution={"max_groups": 10},
)
releases = {
    "persons": together,
    "medicines": together,
    "months": release(
        "visits",
        {
            "name": "months",
            "group_by": {"month": list(range(1, 13))},
            "contribution": {"max_groups": find},
        },
    ),
    "again": release(
        "visits",
        {"name": "again", "filter": "emergencies >= 2"},
        derive={"emergencies": "sum(emergency) over person"},
        contribution={"max_rows": 12},
    ),
    "top": release(
        "items",
        {"name": "top", "group_by": {"item": list(range(2_000))}, "top": 10, "by": "selection"},
    ),
    "medians": release(
        "costs",
        {
            "name": "medians",
            "statistics": ["median(cost)"],
            "group_by": {"code": {"keys": "private", "longest": 4}},
            "quantiles_by": "permute-and-flip",
            "quantiles_share": "0.667",
        },
        privacy={"unit": "row", "delta": "1e-6"},
        columns={"cost": {"candidates": {"from": 0, "to": 1_000, "step": 10}}},
    ),
    "logs": release(
        "costs",
        {"name": "logs", "statistics": ["mean(log_cost)"]},
        privacy={"unit": "row"},
        derive={"log_cost": "ln(cost)"},
        columns={"log_cost": {"bounds": [0, 7]}},
    ),
    "hours": release(
        "costs",
        {"name": "hours", "statistics": ["count"], "group_by": {"hour": list(range(24))}},
        privacy={"unit": "row"},
        derive={"hour": "hour(seen)"},
    ),
    "running": ln.Release(
        data={"source": str(folder / "visits.parquet")},
        privacy={"unit": "person", "epsilon": 1},
        contribution={"max_rows": 12},
        query=[
            {
                "name": "running",
                "histogram": {"column": "day", "edges": list(range(366)), "cumulative": True},
            }
        ],
    ),
    "rho": ln.Release(
        data={"source": str(folder / "persons.parquet")},
        privacy={"unit": "row", "rho": "0.1", "delta": "1e-6"},
        query=[{"name": "rho", "statistics": ["count"], "group_by": cells}],
    ),
}

# What follows is the benchmark's own.

from benchmarks.side_by_side.report import report_answers


def answers(question: str) -> dict[str, float]:
    tables = releases[question].run().tables
    columns = tables["running_cumulative" if question == "running" else question].columns
    if question == "logs":
        return {"mean": math.exp(columns["mean_log_cost"][0])}
    if question == "running":
        return {str(day): value for day, value in enumerate(columns["count"])}
    parts = ("region", "sex", "medicine", "month", "item", "code", "hour")
    keys = [key for key in parts if key in columns]
    value = next(name for name in ("count_units", "median_cost", "count") if name in columns)
    if not keys:
        return {"n": columns[value][0]}
    names = [" ".join(map(str, key)) for key in zip(*(columns[key] for key in keys), strict=True)]
    return dict(zip(names, columns[value], strict=True))


report_answers("leastnoise", releases, answers, runs=int(sys.argv[2]))
