"""CSV and Parquet on embedded DuckDB, as typed lazy frames.

A CSV is read as lines of text (`csv_lines`): no dialect and no type is sniffed, since what a
sniffer decides depends on the rows. What can't be read counts as a missing value, or is dropped
with its line; nothing raises.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import duckdb
import narwhals as nw

from leastnoise.errors import SourceError
from leastnoise.tables import csv_lines, parquet_rows, pipe, spill
from leastnoise.tables.casts import Held, by_use
from leastnoise.tables.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.casts import Use
    from leastnoise.tables.spec import ColumnType, Key


@contextmanager
def opened(
    path: Path, *, columns: Mapping[str, ColumnType], threads: int | None = None
) -> Iterator[DuckDB]:
    """Yield an engine over the `columns` (name to type) of the file; it is closed on leaving.

    It takes as much memory as DuckDB does by default, which is 80 % of the machine's or of the
    control group's, and then a private folder for temporary files. Raises SourceError, which never
    quotes data, if DuckDB can't read the file.
    """
    try:
        # The connection is closed first: nothing reads from the pipe or spills any more.
        with (
            spill.folder() as folder,
            _readable(path, folder, columns) as readable,
            _connected(folder, threads) as connection,
        ):
            yield DuckDB(connection, path, columns, readable=readable)
    except duckdb.OutOfMemoryException:
        raise SourceError(f"{path.name} needs more memory or temporary disk space.") from None
    except (duckdb.Error, OSError, UnicodeDecodeError):
        # DuckDB's messages quote the values that they complain about, UTF-8 or not.
        raise SourceError(f"{path.name} can't be read: it may be damaged.") from None


@contextmanager
def _connected(folder: Path, threads: int | None) -> Iterator[duckdb.DuckDBPyConnection]:
    config: dict[str, Any] = {
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,  # nothing is ever fetched
    }
    if threads is not None:
        config["threads"] = threads
    with duckdb.connect(config=config) as connection:
        yield connection


@contextmanager
def _readable(path: Path, folder: Path, used: Collection[str]) -> Iterator[Path]:
    if _is_csv(path):
        with csv_lines.readable(path, folder, used) as readable:
            yield readable
    else:
        yield path


def source_columns(path: Path) -> dict[str, Held]:
    """Return each column of the file by name; reads the header or the metadata alone.

    Raises SourceError if there is no readable file, or no room for temporary files.
    """
    # os.path, because a Path raises for a NUL or a name that is too long.
    if not os.path.isfile(path):
        raise SourceError(f"Expected a CSV or Parquet file, found none at {path}.")
    _rehearse(path)
    if _is_csv(path):
        columns = [(name, Held(sql="", kind="VARCHAR")) for name in csv_lines.header(path)]
    else:
        columns = parquet_rows.columns(path)
    twice = sorted(
        name for name, times in Counter(name for name, _ in columns).items() if times > 1
    )
    if twice:
        raise SourceError(f"The header of {path.name} names {twice[0]!r} more than once.")
    return dict(columns)


def _rehearse(path: Path) -> None:
    """Make what `opened` will need in the temporary folder, now that failing costs nothing."""
    try:
        with spill.folder() as folder:
            if _is_csv(path):
                pipe.make(folder / "rehearsal")
    except OSError as error:
        raise SourceError(
            f"{path.name} can't be read: a private folder for temporary files can't be made, or no "
            f"named pipe in it ({error.strerror or error}). Let TMPDIR be a folder on a local disk."
        ) from None


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


@final
class DuckDB(Engine):
    """See `Engine`; made by `opened`."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        path: Path,
        columns: Mapping[str, ColumnType],
        *,
        readable: Path,
    ) -> None:
        self._connection = connection
        self._tables = 0
        self._places = {name: place for place, name in enumerate(columns)}
        self._frame = nw.from_native(self._typed(path, columns, readable))

    def _typed(
        self, path: Path, columns: Mapping[str, ColumnType], readable: Path
    ) -> duckdb.DuckDBPyRelation:
        """Return the rows of `path`, each column cast for each use; what doesn't cast is NULL.

        DuckDB reads and casts only what the query will use. Columns are called by their positions,
        since to DuckDB names that differ in capitals are one.
        """
        if _is_csv(path):
            rows = csv_lines.rows(path, columns)
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
        return self._connection.sql(query, params={"path": parquet_rows.one_file(readable)})

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

    def counted(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """See `Engine.counted`: a binary search, in one list beside every row."""
        name = self._new_name()
        self._connection.execute(f"CREATE TABLE {name} AS SELECT ?::DOUBLE[] AS edges", [edges])
        query = f"SELECT *, 0::BIGINT AS {count} FROM rows, {name}"  # noqa: S608  # own names alone
        for step in (2**power for power in reversed(range(len(edges).bit_length()))):
            # The first edge has place 1, and past the last one there is NULL.
            at_least = f"CASE WHEN edges[{count} + {step}] <= {value} THEN {step} ELSE 0 END"
            query = f"SELECT * REPLACE ({count} + {at_least} AS {count}) FROM ({query})"  # noqa: S608
        found = frame.to_native().query("rows", f"SELECT * EXCLUDE (edges) FROM ({query})")  # noqa: S608
        return nw.from_native(found)

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        """See `Engine.rows`."""
        return frame.to_native().fetchall()

    def _new_name(self) -> str:
        self._tables += 1
        return f"made{self._tables}"
