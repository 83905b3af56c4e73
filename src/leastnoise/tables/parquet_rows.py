"""The rows of a Parquet file, whatever its texts hold.

A text that isn't UTF-8 is an error to DuckDB, and an error is an output. DuckDB can write a
question mark for each wrong byte, or leave them out: what both leave alone is right, the rest NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from leastnoise.errors import SourceError
from leastnoise.tables.casts import Held, Rows

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


def one_file(path: Path) -> str:
    """Return a pattern that matches `path` alone: DuckDB takes paths for patterns."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def columns(path: Path) -> list[tuple[str, Held]]:
    """Return the names and the columns, from the metadata alone; names may stand twice.

    Raises SourceError if `path` isn't a readable Parquet file.
    """
    bound = {"path": one_file(path)}
    with duckdb.connect() as connection:
        try:
            found = connection.sql(f"FROM {_reader()}", params=bound).types
            tree = connection.sql(
                "SELECT name, num_children FROM parquet_schema($path)", params=bound
            )
            names = _top_names(tree.fetchall())
        except duckdb.Error:
            raise SourceError(f"{path.name} is not a readable Parquet file.") from None
    kinds = [str(kind).split("(", maxsplit=1)[0] for kind in found]
    return [
        (name, Held(sql=f"c{place}", kind=kind))
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]


def _top_names(tree: list[tuple[str, int | None]]) -> list[str]:
    """Return the columns' names as the file has them; DuckDB renames those that it finds alike."""
    names: list[str] = []
    inner = 0  # how many elements are still to come of the column before
    for name, children in tree[1:]:
        if inner == 0:
            names.append(name)
            inner = 1
        inner += (children or 0) - 1
    return names


def rows(connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str]) -> Rows:
    """Return the rows of the file and the `used` columns of it."""
    found = columns(path)
    listed = ", ".join([held.sql for _, held in found])
    held = {name: column for name, column in found if name in used}
    texts = [column.sql for column in held.values() if column.kind in {"VARCHAR", "JSON"}]
    if not (texts and _can_mend(connection)):
        return Rows(sql=f"{_reader()} AS t({listed})", columns=held)
    mended = f"{_reader(wrong='replace')} AS t({listed})"
    marked = " OR ".join(f"contains({text}, '?')" for text in texts)
    query = f"SELECT bool_or({marked}) FROM {mended}"  # noqa: S608  # columns are called by place
    bound = {"path": one_file(path)}
    if not connection.sql(query, params=bound).fetchall()[0][0]:
        return Rows(sql=mended, columns=held)
    # Of the same row, read in the other way.
    second = ", ".join(f"{text} AS {text}_short" for text in texts)
    short = f"{_reader(wrong='ignore', numbered=True)} AS t({listed}, n)"
    short = f"(SELECT n AS n_short, {second} FROM {short})"  # noqa: S608  # by place, as above
    long = f"{_reader(wrong='replace', numbered=True)} AS t({listed}, n)"
    sql = f"{long} LEFT JOIN {short} ON n = n_short"
    exact = {
        name: Held(
            sql=f"CASE WHEN {column.sql} = {column.sql}_short THEN {column.sql} END", kind="VARCHAR"
        )
        if column.sql in texts
        else column
        for name, column in held.items()
    }
    return Rows(sql=sql, columns=exact)


def _reader(*, wrong: str = "", numbered: bool = False) -> str:
    mend = f", utf8_validation = '{wrong}'" if wrong else ""
    number = ", file_row_number = true" if numbered else ""
    return f"read_parquet($path, hive_partitioning = false{mend}{number})"


def _can_mend(connection: duckdb.DuckDBPyConnection) -> bool:
    """Say whether this DuckDB has the option (2.0 does); before, such a text is a SourceError."""
    query = (
        "SELECT bool_or(list_contains(parameters, 'utf8_validation')) FROM duckdb_functions() "
        "WHERE function_name = 'read_parquet'"
    )
    return bool(connection.sql(query).fetchall()[0][0])
