"""Copy rows that Python reads into a table of DuckDB, some at a time; the table may spill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise.tables.values.casts import FileRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leastnoise.tables.rows.duckdb.inputs import RowReading
    from leastnoise.tables.values.casts import StoredColumn


def copy_chunks(
    reading: RowReading,
    columns: Mapping[str, tuple[str, StoredColumn]],
    chunks: Iterable[Sequence[tuple[Any, ...]]],
) -> FileRows:
    """Copy the rows of `chunks` into a new table of the reading's connection, and return it.

    `columns` are in the order of a row's values. Each name has the DuckDB type that stores the
    value, and the `StoredColumn` that reads it. The table is in memory or in the private folder for
    temporary files, and is dropped with the connection.
    """
    cursor = reading.connection
    (count,) = cursor.execute("SELECT count(*) FROM duckdb_tables()").fetchone() or (0,)
    table = f"copied{count}"  # a unique name, since several files may be open together
    kinds = [kind for kind, _ in columns.values()]
    listed = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds)) or "nothing VARCHAR"
    cursor.execute(f"CREATE TEMP TABLE {table} ({listed})")
    with cursor.appender(table) as appender:
        for chunk in chunks:
            appender.append_rows(chunk if kinds else [(None,)] * len(chunk))
    return FileRows(sql=table, columns={name: column for name, (_, column) in columns.items()})
