"""CSV and Parquet on embedded DuckDB, as typed lazy frames.

A CSV is read as text: no dialect and no type is sniffed, since what a sniffer decides depends on
the rows. A line that can't be read counts as missing values or is dropped; none raises.
"""

from __future__ import annotations

import csv
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import duckdb
import narwhals as nw

from leastnoise.errors import SourceError
from leastnoise.tables.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.spec import ColumnType, Key

_SQL_TYPES: dict[str, str] = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
}
_PARQUET_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "int"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID", "DATE"), "text"),
    "BOOLEAN": "bool",
}
# Scanned in one thread: in parallel, each thread guesses where a line begins, which quotes in the
# data can mislead. ignore_errors drops lines that aren't UTF-8 or longer than a line may be.
_READ_CSV = (
    "read_csv(?, header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', "
    "columns = {columns}, ignore_errors = true, null_padding = true, strict_mode = false, "
    "allow_quoted_nulls = false, parallel = false, max_line_size = 2097152)"
)
_READ_PARQUET = "read_parquet(?, hive_partitioning = false)"
_MEMORY = "1200MB"
_WHOLE = r"\s*[+-]?[0-9]+(\.0*)?\s*"  # pandas writes whole numbers beside a gap as 1.0


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
            yield DuckDB(connection, path, columns)
        except duckdb.OutOfMemoryException:
            raise SourceError(f"{path.name} needs more memory or temporary disk space.") from None
        except duckdb.Error:
            # DuckDB's messages quote the values that they complain about.
            raise SourceError(f"{path.name} can't be read: it may be damaged.") from None
        finally:
            connection.close()


def source_types(path: Path) -> dict[str, ColumnType | None]:
    """Return each column of the file with its type; for CSV, and for unusual ones, None.

    Reads the header or the metadata alone. Raises SourceError if there is no readable file.
    """
    if not path.is_file():
        raise SourceError(f"Expected a CSV or Parquet file, found none at {path}.")
    return _csv_header(path) if _is_csv(path) else _parquet_types(path)


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _csv_names(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            names = next(csv.reader(lines), [])
    except (OSError, csv.Error):
        raise SourceError(f"The header of {path.name} can't be read.") from None
    if not names:
        raise SourceError(f"{path.name} has no header line.")
    return names


def _csv_header(path: Path) -> dict[str, ColumnType | None]:
    names = _csv_names(path)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(f"The header of {path.name} names {twice[0]!r} more than once.")
    return dict.fromkeys(names)


def _parquet_types(path: Path) -> dict[str, ColumnType | None]:
    connection = duckdb.connect()
    try:
        found = connection.sql(f"FROM {_READ_PARQUET}", params=[_one_file(path)])
        kinds = [str(kind).split("(", maxsplit=1)[0] for kind in found.types]
        return {
            name: _PARQUET_TYPES.get(kind) for name, kind in zip(found.columns, kinds, strict=True)
        }
    except duckdb.Error:
        raise SourceError(f"{path.name} is not a readable Parquet file.") from None
    finally:
        connection.close()


def _one_file(path: Path) -> str:
    """Return a pattern that matches `path` alone: DuckDB takes paths for patterns."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cast(column: str, held: ColumnType | None, wanted: ColumnType) -> str:
    """Return SQL for `column`, which holds `held`, as `wanted`; NULL where it can't be.

    A cast alone would round 3.7 to 4, and make one person of two.
    """
    cast = f"TRY_CAST({column} AS {_SQL_TYPES[wanted]})"
    if wanted != "int" or held in {"int", "bool"}:
        return cast
    if held == "float":
        return f"CASE WHEN {column} = trunc({column}) THEN {cast} END"
    return f"CASE WHEN regexp_full_match({column}::VARCHAR, '{_WHOLE}') THEN {cast} END"


@final
class DuckDB(Engine):
    """See `Engine`; made by `opened`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, ColumnType]
    ) -> None:
        self._connection = connection
        self._tables = 0
        self._frame = nw.from_native(self._typed(path, columns))

    def _typed(self, path: Path, columns: Mapping[str, ColumnType]) -> duckdb.DuckDBPyRelation:
        """Return the file's rows with each column cast to its type; what doesn't cast is NULL."""
        held: Mapping[str, ColumnType | None]
        if _is_csv(path):
            # Positions, and not names, so that no header can clash with anything.
            names = {name: f"c{index}" for index, name in enumerate(_csv_names(path))}
            listed = ", ".join(f"'{inner}': 'VARCHAR'" for inner in names.values())
            reader = _READ_CSV.replace("{columns}", f"{{{listed}}}")
            held = dict.fromkeys(names, "text")
        else:
            names = {name: name for name in columns}
            reader = _READ_PARQUET
            held = _parquet_types(path)
        casts = [
            f"{_cast(_quoted(names[name]), held[name], kind)} AS {_quoted(name)}"
            for name, kind in columns.items()
        ]
        # A block that only counts rows uses no column.
        listed = ", ".join(casts) or "0 AS nothing"
        query = f"SELECT {listed} FROM {reader}"  # noqa: S608  # names are quoted, the path is bound
        return self._connection.sql(query, params=[_one_file(path)])

    @property
    def frame(self) -> nw.LazyFrame[Any]:
        """See `Engine.frame`."""
        return self._frame

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
