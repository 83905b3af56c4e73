"""CSV and Parquet on embedded DuckDB, as typed lazy frames.

A CSV is read as lines of text (`csv_lines`): no dialect and no type is sniffed, since what a
sniffer decides depends on the rows. What can't be read counts as a missing value, or is dropped
with its line; nothing raises.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import duckdb
import narwhals as nw

from leastnoise.errors import SourceError
from leastnoise.tables import csv_lines
from leastnoise.tables.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    if not path.is_file():
        raise SourceError(f"Expected a CSV or Parquet file, found none at {path}.")
    return _csv_header(path) if _is_csv(path) else _parquet_types(path)


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _csv_header(path: Path) -> dict[str, ColumnType | None]:
    names = csv_lines.header(path)
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
            header = csv_lines.header(path)
            held = dict.fromkeys(header, "text")
            fields = ", ".join(
                f"{csv_lines.field_sql(header.index(name))} AS {_quoted(name)}" for name in columns
            )
            reader = f"(SELECT {fields or '0'} FROM ({csv_lines.FIELDS_SQL}))"  # noqa: S608  # positions alone
        else:
            held = _parquet_types(path)
            reader = _READ_PARQUET
        casts = [
            f"{_cast(_quoted(name), held[name], kind)} AS {_quoted(name)}"
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
