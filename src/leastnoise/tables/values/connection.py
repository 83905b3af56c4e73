"""Connections to an embedded DuckDB that fetches nothing, and sees no variable of this program."""

from __future__ import annotations

from typing import Any

import duckdb


def open_connection(database: str = ":memory:", **config: Any) -> duckdb.DuckDBPyConnection:
    """Return a connection, to be used in a `with`; no extension is ever installed."""
    fixed = {"autoinstall_known_extensions": False, "python_enable_replacements": False}
    return duckdb.connect(database, config={**fixed, **config})
