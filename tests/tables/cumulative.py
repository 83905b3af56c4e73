"""Specs of histograms with cumulative counts."""

from __future__ import annotations

from typing import Any

from leastnoise.tables.answers.sums.cumulative import Cumulative
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from leastnoise.tables.plan.plan import Plan

EDGES = (0, 18, 40, 65, 100)
TYPES = {"who": "int", "region": "int", "age": "int"}


def spec_of(
    *,
    unit: str = "row",
    privacy: dict[str, Any] | None = None,
    edges: Any = EDGES,
    rows: int = 1,
    **part: Any,
) -> dict[str, Any]:
    """A spec whose only query is a histogram of ages; a person has at most `rows` rows."""
    histogram = {"column": "age", "edges": list(edges), "cumulative": True}
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "rows.csv", "types": TYPES},
        "privacy": {"unit": unit, "epsilon": "1", **(privacy or {})},
        "query": [{"name": "ages", "histogram": histogram, **part}],
    }
    if unit != "row":
        raw["contribution"] = {"max_rows": rows}
    return raw


def plan_of(raw: dict[str, Any]) -> Plan:
    """The plan of a spec; its source need not exist."""
    return find_plan(spec_file.lay_out(raw))[1]


def whole_of(plan: Plan) -> Cumulative:
    """The answer from which the tables of the plan's first query come."""
    answered = plan.noisy_parts[0].answered
    assert isinstance(answered, Cumulative)
    return answered
