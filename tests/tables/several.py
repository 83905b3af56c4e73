"""Rows in several files, and the exact answers to a query of them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import zstandard

from tests.tables.integers import integers

ROWS = pd.DataFrame(
    {
        "who": [1, 1, 2, 3, 3, 4, 5, 6],
        "year": [2024, 2025, 2024, 2025, 2025, 2026, 2026, 2024],
        "x": [0.5, 2.0, 3.5, 8.0, 1.0, 2.5, 3.5, 7.0],
    }
)
YEARS = [2024, 2025, 2026]
TYPES = {"who": "int", "year": "int", "x": "float"}


def raw_spec(where: object, types: dict[str, str] | None = None) -> dict[str, Any]:
    query = {
        "name": "q",
        "statistics": ["count", "sum(x)"],
        "group_by": {"year": [2024, 2025, 2026]},
    }
    return {
        "version": 1,
        "data": {"source": where, **({"types": types} if types else {})},
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 2},
        "columns": {"x": {"bounds": [0, 8]}},
        "query": [query],
    }


def answers(folder: Path, where: object, types: dict[str, str] | None = None) -> list[int]:
    """The exact integers of the query, before noise."""
    (result,) = integers(raw_spec(where, types), folder).values()
    return result


def write(rows: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        rows.to_parquet(path, index=False)
        return
    text = rows.to_csv(index=False).encode()
    packed = {".csv": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
    path.write_bytes(packed[path.suffix](text))
