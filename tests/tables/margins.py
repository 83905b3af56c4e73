"""Specs of tables with margins, small enough to try every neighbouring table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from leastnoise.tables.answers.noisy import NoisyPart
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from leastnoise.tables.plan.plan import Plan

GROUP_BY = {"region": [0, 1, 2], "sex": ["f", "m"], "age": {"edges": [0, 30, 60]}}
TYPES = {"who": "int", "region": "int", "sex": "text", "age": "int"}


def spec_of(
    *, unit: str = "row", privacy: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """A spec whose only query has margins; a person has at most two rows."""
    query = {"name": "people", "statistics": ["count"], "group_by": GROUP_BY, "margins": True}
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "rows.csv", "types": TYPES},
        "privacy": {"unit": unit, "epsilon": "1", **(privacy or {})},
        "query": [query | changes],
    }
    if unit != "row":
        raw["contribution"] = {"max_rows": 2}
    return raw


def sums_of(
    *, bounds: tuple[float, float] = (0, 30), missing: str = "none", **given: Any
) -> dict[str, Any]:
    """A spec whose only query has the count, and the sum and mean of a column."""
    given.setdefault("statistics", ["count", "sum(x)", "mean(x)"])
    raw = spec_of(**given)
    raw["data"]["types"] = TYPES | {"x": "float"}
    return raw | {"columns": {"x": {"bounds": [*bounds], "missing": missing}}}


def plan_of(raw: dict[str, Any]) -> Plan:
    """The plan of a spec; its source need not exist."""
    return find_plan(spec_file.lay_out(raw))[1]


def whole_of(plan: Plan) -> Margins:
    """The answer from which the tables of the plan's first query come."""
    answered = plan.noisy_parts[0].answered
    assert isinstance(answered, Margins)
    return answered


def table_of(part: NoisyPart) -> int:
    """The bit mask of a published table: the columns by which it is grouped."""
    assert isinstance(part.answered, Margins)
    return part.answered.cells.margins[part.index]


def read(folder: Path, name: str, kind: str) -> pd.DataFrame:
    """A published table. Numbers of a CSV are read to the last bit, which pandas would round."""
    if kind == "parquet":
        return pd.read_parquet(folder / f"{name}.parquet")
    if kind == "json":
        return pd.DataFrame(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    texts = pd.read_csv(folder / f"{name}.csv", dtype=str)
    return texts.assign(
        **{label: texts[label].map(float) for label in texts if "_" in label or label == "count"}
    )
