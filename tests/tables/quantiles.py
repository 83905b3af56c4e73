"""Specs with quantiles, and edits of their releases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastnoise.tables.layout.quantile_layout import QuantileLayout
from leastnoise.tables.parse import spec_file

CANDIDATES = {"from": 0, "to": 100, "step": 10}
ROWS = pd.DataFrame(
    {
        "person": pd.array([1, 1, 1, 1, 2, 3, 3, 4, 5, 6, 6, 6, None, 7], dtype="Int64"),
        "plan": [1, 1, 2, 2, 1, 2, 2, 1, 2, 1, 1, 3, 1, 2],
        "x": [0, 44.9, 45, 55, 1000, -7, np.nan, 50, 95, 95, 95, 1, 3, np.inf],
    }
)


def spec_of(**changes: Any) -> dict[str, Any]:
    by_row = changes.pop("by_row", False)
    person = {"contribution": {"max_rows": 2}}
    built: dict[str, Any] = {
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "row" if by_row else "person", "epsilon": 1},
        "columns": {"x": {"candidates": CANDIDATES}},
        "query": [
            {
                "name": "q",
                "statistics": ["quantile(x, 0.9)", "count", "median(x)"],
                "group_by": {"plan": [1, 2]},
            },
            {"name": "alone", "statistics": ["quantile(x, 0.25)"]},
        ],
    }
    built |= {} if by_row else person
    return built | changes


def ranks_of(raw: dict[str, Any], place: int = 0) -> QuantileLayout:
    return spec_file.lay_out({"version": 1} | raw).quantiles[place][0]


def edit_of(name: str, change: Callable[[Any], object]) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        record = json.loads((folder / name).read_text())
        change(record)
        (folder / name).write_text(json.dumps(record))

    return edit


def claim_in(record: Any) -> Any:
    (result,) = (item["certificate"] for item in record["draws"] if item["name"] == "q.quantiles")
    return result


def restored(published: dict[str, bytes], folder: Path) -> Path:
    for name, content in published.items():
        (folder / name).write_bytes(content)
    return folder
