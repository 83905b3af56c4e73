"""CSV and Parquet on embedded DuckDB, as typed lazy frames.

A CSV is read as lines of text (`csv_lines`): no dialect and no type is sniffed, since what a
sniffer decides depends on the rows. What can't be read counts as a missing value, or is dropped
with its line; nothing raises.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import duckdb
import narwhals as nw

from leastnoise.errors import SourceError
from leastnoise.tables import csv_lines, parquet_rows
from leastnoise.tables.casts import by_use
from leastnoise.tables.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leastnoise.tables.casts import Use
    from leastnoise.tables.spec import ColumnType, Key

_MEMORY = "1200MB"


@contextmanager
def opened(
    path: Path, *, columns: Mapping[str, ColumnType], threads: int | None = None
) -> Iterator[DuckDB]:
    """Yield an engine over the `columns` (name to type) of the file; it is closed on leaving.

    Raises SourceError, which never quotes data, if DuckDB can't read the file.
    """
    with tempfile.TemporaryDirectory(prefix="leastnoise-") as spill:
        config: dict[str, Any] = {
            "memory_limit": _MEMORY,
            "temp_directory": spill,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,  # nothing is ever fetched
        }
        if threads is not None:
            config["threads"] = threads
        connection = duckdb.connect(config=config)
        try:
            readable = csv_lines.cleaned(path, Path(spill)) if _is_csv(path) else path
            yield DuckDB(connection, readable, columns)
        except duckdb.OutOfMemoryException:
            raise SourceError(f"{path.name} needs more memory or temporary disk space.") from None
        except (duckdb.Error, OSError):
            # DuckDB's messages quote the values that they complain about.
            raise SourceError(f"{path.name} can't be read: it may be damaged.") from None
        finally:
            connection.close()


def source_types(path: Path) -> dict[str, ColumnType | None]:
    """Return each column of the file with its type; for CSV, and for unusual ones, None.

    Reads the header or the metadata alone. Raises SourceError if there is no readable file.
    """
    # os.path, because a Path raises for a NUL or a name that is too long.
    if not os.path.isfile(path):
        raise SourceError(f"Expected a CSV or Parquet file, found none at {path}.")
    columns: list[tuple[str, ColumnType | None]]
    if _is_csv(path):
        columns = [(name, None) for name in csv_lines.header(path)]
    else:
        columns = [(name, held.type) for name, held in parquet_rows.columns(path)]
    names = [name for name, _ in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(f"The header of {path.name} names {twice[0]!r} more than once.")
    return dict(columns)


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


@final
class DuckDB(Engine):
    """See `Engine`; made by `opened`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, ColumnType]
    ) -> None:
        self._connection = connection
        self._tables = 0
        self._places = {name: place for place, name in enumerate(columns)}
        self._frame = nw.from_native(self._typed(path, columns))

    def _typed(self, path: Path, columns: Mapping[str, ColumnType]) -> duckdb.DuckDBPyRelation:
        """Return the file's rows, each column cast for each use; what doesn't cast is NULL.

        DuckDB computes only those that the query will use. Columns are called by their positions,
        since to DuckDB names that differ in capitals are one.
        """
        if _is_csv(path):
            rows = csv_lines.rows(path)
        else:
            rows = parquet_rows.rows(self._connection, path, columns)
        casts = [
            f"{sql} AS {use}{place}"
            for place, (name, kind) in enumerate(columns.items())
            for use, sql in by_use(rows.columns[name], kind).items()
        ]
        # A block that only counts rows uses no column.
        listed = ", ".join(casts) or "0 AS nothing"
        query = f"SELECT {listed} FROM {rows.sql}"  # noqa: S608  # positions, and the path is bound
        return self._connection.sql(query, params={"path": parquet_rows.one_file(path)})

    @property
    def frame(self) -> nw.LazyFrame[Any]:
        """See `Engine.frame`."""
        return self._frame

    def column(self, name: str, use: Use) -> str:
        """See `Engine.column`."""
        return f"{use}{self._places[name]}"

    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """See `Engine.materialise`."""
        name = self._new_name()
        frame.to_native().create(name)
        return nw.from_native(self._connection.table(name))

    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        """See `Engine.keys`."""
        kind = "BOOLEAN" if isinstance(values[0], bool) else "BIGINT"
        kind = "VARCHAR" if isinstance(values[0], str) else kind
        name = self._new_name()
        self._connection.execute(
            f"CREATE TABLE {name} AS SELECT unnest(?::{kind}[]) AS {key}, "
            f"unnest(?::BIGINT[]) AS {index}",
            [list(values), list(range(len(values)))],
        )
        return nw.from_native(self._connection.table(name))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        """See `Engine.rows`."""
        return frame.to_native().fetchall()

    def _new_name(self) -> str:
        self._tables += 1
        return f"made{self._tables}"
