"""Connections to an embedded DuckDB that downloads nothing and can't read Python variables.

They evaluate every condition for every row. By default DuckDB may decide a condition, and skip
rows, by the minimum and maximum of a column. In Parquet files these ignore NaN. They also depend on
other people's rows, so one row could change how others are read.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import duckdb

_BY_STATISTICS = (
    # optimiser rule: replaces a condition that holds between minimum and maximum
    "statistics_propagation",
    # optimiser rule: lets the reader of a file skip rows that a condition excludes
    "filter_pushdown",
    "join_filter_pushdown",  # optimiser rule: derives such conditions from the keys of a join
    "row_group_pruner",
    "partial_aggregate_pushdown",
)
"""DuckDB's optimisers that trust a file's statistics. DuckDB rejects unknown names."""
_BY_SELF_JOIN = ("window_self_join", "top_n_window_elimination")
"""DuckDB's optimisers that compute a window by a join of the rows with themselves.

Such a join reads the source twice. But a source may change in between, or be a pipe.
"""


def open_connection(database: str = ":memory:", **config: Any) -> duckdb.DuckDBPyConnection:
    """Open a connection, to be used in a `with`. It never installs an extension."""
    fixed = {
        "autoinstall_known_extensions": False,
        "python_enable_replacements": False,
        "disabled_optimizers": ",".join(_BY_STATISTICS + _BY_SELF_JOIN),
    }
    return duckdb.connect(database, config={**fixed, **config})


def open_cursor(**config: str) -> duckdb.DuckDBPyConnection:
    """Open a cursor of a connection that this process keeps, to be used in a `with`.

    A cursor opens in no time, a connection in some 10 ms. Cursors are for public tables and for the
    types of a frame. Private rows are never read with them, since DuckDB may keep parts of a file
    in memory. All cursors share tables and settings, so nothing may create a table or change a
    setting.
    """
    try:
        cursor = _keep_connection(os.getpid(), **config).cursor()
        cursor.execute("SELECT 1").fetchall()
    except duckdb.Error:  # an earlier statement failed so badly that DuckDB closed the database
        _keep_connection.cache_clear()
        return _keep_connection(os.getpid(), **config).cursor()
    return cursor


@cache
def _keep_connection(process: int, **config: str) -> duckdb.DuckDBPyConnection:
    del process  # a process that is forked opens another connection
    return open_connection(threads=1, **config)  # no thread waits in the background
