"""A spec with unlisted groups, its rows and its plan."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd

from leastnoise.tables.answers.noisy import NoisyPart
from leastnoise.tables.answers.unlisted.groups import ByThreshold
from leastnoise.tables.answers.unlisted.search import UnlistedPlan
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import Plan

CODES = ["a", "b", "B", "\u00e9", "e\u0301", "", " ", "a b", "12", "x" * 8, "x" * 9, "a\x07"]
CODES += ["\u00e9" * 4, "\u202ea"]
"""Texts that are keys, apart by their bytes alone, and some that are none: too long, or unseen."""
NONE = {"x" * 9, "a\x07", "\u202ea"}
TYPES = {"person": "int", "code": "text", "x": "float", "sex": "int"}


def rows(count: int, *, seed: int) -> pd.DataFrame:
    drawn = random.Random(seed)
    return pd.DataFrame(
        {
            "person": [drawn.choice([None, *range(25)]) for _ in range(count)],
            "code": [drawn.choice([None, *CODES]) for _ in range(count)],
            "x": [drawn.choice([None, -3.0, 0.25, 1.0, 7.5, 99.0]) for _ in range(count)],
            "sex": [drawn.choice([1, 2, 3]) for _ in range(count)],
        }
    ).astype({"person": "Int64"})


def spec_of(**changes: Any) -> dict[str, Any]:
    """The spec of a release with one query grouped by `by`; other arguments change its sections.

    Its delta is so small that no test sees one of a thousand tiny groups published by chance.
    """
    part = {
        "name": "groups",
        "statistics": changes.pop("statistics", ["count"]),
        "group_by": changes.pop("by", {"code": {"keys": "private", "longest": 8}}),
        **changes.pop("part", {}),
    }
    privacy = {"unit": "person", "epsilon": 1, "delta": "1e-12"} | changes.pop("privacy", {})
    raw = {
        "version": 1,
        "data": {"source": "rows.parquet", "types": TYPES},
        "privacy": privacy,
        "columns": {"x": {"bounds": [0, 8]}},
        "query": [part],
        "contribution": {"max_groups": 2, "max_rows_per_group": 1},
        "output": {"path": "out", "format": "csv"},
    } | changes
    if raw["privacy"]["unit"] == "row":
        del raw["contribution"]
    return raw


def planned(**changes: Any) -> Plan:
    """The plan of a release with unlisted groups, at δ = 1e-5 unless changed."""
    privacy = {"delta": "1e-5"} | changes.pop("privacy", {})
    return plan(spec_file.lay_out(spec_of(privacy=privacy, **changes)))


def groups_of(part: NoisyPart) -> UnlistedPlan:
    """The plan of the unlisted groups of a query."""
    assert isinstance(part.answered, ByThreshold)
    return part.answered.groups
