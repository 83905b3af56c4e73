"""Rows on embedded DuckDB, as typed lazy frames.

Neither dialect nor types are sniffed, since a sniffer's decision would depend on the rows. A value
that can't be read is missing, or its line is dropped. No row raises an error, except in a damaged
file or in the query of a view.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, final

import duckdb
import narwhals as nw

from leastnoise.errors import SourceError
from leastnoise.tables.expressions.computed import NOTHING, Computed
from leastnoise.tables.expressions.duckdb_sql import SqlColumns, from_casts, to_casts
from leastnoise.tables.rows.duckdb.even_edges import guess_of
from leastnoise.tables.rows.duckdb.inputs import RowReading
from leastnoise.tables.rows.engine import Engine, sort_casts
from leastnoise.tables.values import spill
from leastnoise.tables.values.casts import as_day, as_seconds, casts_by_use, finite
from leastnoise.tables.values.connection import open_connection, open_cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.rows.duckdb.inputs import Input
    from leastnoise.tables.spec.values import ColumnType, Key
    from leastnoise.tables.values.casts import FileRows, StoredColumn


@contextmanager
def open_engine(
    source: Input,
    *,
    columns: Mapping[str, ColumnType],
    computed: Computed = NOTHING,
    threads: int | None = None,
    rehearsed: bool = False,
) -> Iterator[DuckDB]:
    """Yield an engine over the `columns` (name to type) of the rows, and over `computed` columns.

    It uses as much memory as DuckDB by default: 80 % of the memory of the machine or of the control
    group. Beyond that it spills to a private folder for temporary files. `threads` is the number of
    DuckDB's threads; None for its default. If `rehearsed`, the source is opened in the same way,
    but no row is read. Raises SourceError, which never quotes data, if DuckDB can't read the rows.
    """
    try:
        # Close the connection first, then the feeders of the pipes that it reads.
        with (
            spill.folder() as folder,
            ExitStack() as feeders,
            _connect(folder, threads) as connection,
        ):
            reading = RowReading(
                connection=connection, folder=folder, used=list(columns), rehearsed=rehearsed
            )
            rows = feeders.enter_context(source.open_rows(reading))
            engine = DuckDB(connection, rows, columns, computed, folder=folder)
            if rehearsed:
                engine.copy_in_memory()
            yield engine
    except duckdb.OutOfMemoryException:
        raise SourceError(
            f"Reading {source.name} needs more memory or temporary disk space than there is."
        ) from None
    except (duckdb.Error, OSError, UnicodeDecodeError):
        # DuckDB's messages quote values.
        raise SourceError(f"{source.name} can't be read: it may be damaged.") from None


@contextmanager
def _connect(folder: Path, threads: int | None) -> Iterator[duckdb.DuckDBPyConnection]:
    config: dict[str, Any] = {
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
    }
    if threads is not None:
        config["threads"] = threads
    with open_connection(**config) as connection:
        yield connection


def list_columns(source: Input) -> list[tuple[str, StoredColumn]]:
    """The names and columns of a source, from its header or metadata only.

    Raises SourceError if the source can't be read, or if temporary files can't be created.
    """
    _rehearse(source)
    with open_connection() if source.is_inspected else open_cursor() as connection:
        return source.columns(connection)


def _rehearse(source: Input) -> None:
    """Try to create what `open_engine` needs in the temporary folder, before any charge.

    Raises SourceError if it can't be created.
    """
    try:
        with spill.folder() as folder:
            source.rehearse(folder)
    except OSError as error:
        why = str(error)  # of an error that leastnoise raises: it has no strerror
        if error.strerror is not None:
            why = (
                f"no folder or pipe for temporary files can be created ({error.strerror}). Set "
                "TMPDIR to a folder on a local disk."
            )
        raise SourceError(f"{source.name} can't be read: {why}") from None


@final
class DuckDB(Engine):
    """The engine over embedded DuckDB: see `open_engine`."""

    sums_are_wide: ClassVar[bool] = True  # DuckDB's sums have 128 bits

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        rows: FileRows,
        columns: Mapping[str, ColumnType],
        computed: Computed = NOTHING,
        *,
        folder: Path,
    ) -> None:
        self._connection = connection
        self._tables = 0
        self._folder, self._is_copied = folder, False
        super().__init__(
            nw.from_native(self._cast_columns(rows, columns, computed)), columns, computed
        )

    def _cast_columns(
        self, rows: FileRows, columns: Mapping[str, ColumnType], computed: Computed
    ) -> duckdb.DuckDBPyRelation:
        """The `rows` with every cast of each column, and with computed columns and filters.

        A value that can't be cast is NULL. A column has a cast for each use, such as a key or a
        number. DuckDB reads and casts only what the query uses. Columns are named by their
        positions, because DuckDB can't tell apart names that differ only in capitals.
        """
        casts = {
            f"{use}{position}": sql
            for position, (name, kind) in enumerate(columns.items())
            for use, sql in casts_by_use(rows.columns[name], kind).items()
        }
        # A query that only counts rows uses no column.
        stored = tuple(casts) or ("0 AS nothing",)
        positions = {name: position for position, name in enumerate(columns)}
        for column in computed.inputs:
            position, read = positions[column.name], rows.columns[column.name]
            if column.type == "date":
                casts[f"d{position}"] = as_day(read)
            elif column.type in {"timestamp", "instant"}:
                casts[f"s{position}"] = as_seconds(read)
        listed = ", ".join(f"{sql} AS {name}" for name, sql in casts.items()) or "0 AS nothing"
        query = f"SELECT {listed} FROM {rows.sql}"  # noqa: S608  # positions, and paths are bound
        texts = {f"v{i}" for i, name in enumerate(columns) if rows.columns[name].kind == "VARCHAR"}
        if read := sorted(texts & casts.keys()):  # a text such as 1e400 is infinite
            only = ", ".join(f"{finite(name)} AS {name}" for name in read)
            query = f"SELECT * REPLACE ({only}) FROM ({query})"  # noqa: S608  # only names of our own
        if not computed.expressions:
            return self._connection.sql(query, params=rows.parameters)
        query, bound = _add_computed(query, stored, list(columns), computed, casts=[*casts])
        return self._connection.sql(query, params=rows.parameters | bound)

    @contextmanager
    def scratch(self) -> Iterator[None]:
        before = self._tables
        yield
        for number in range(before, self._tables):
            self._connection.execute(f"DROP TABLE {self._table_name(number + 1)}")

    @property
    def can_reread(self) -> bool:
        return self._is_copied

    def copy_in_memory(self) -> None:
        """Copy the rows to a table in memory, for rehearsals, which have no rows.

        DuckDB would simplify queries over a source that is known to be empty, so that these queries
        wouldn't be tried.
        """
        self._frame = self.materialise(self._frame)

    def copy_rows(self, frame: nw.LazyFrame[Any]) -> None:
        """Copy the rows of `frame` to a file in the private folder.

        If DuckDB can't open a file by the folder's name, copy them to a table of the connection.
        """
        self._is_copied = True
        path = (self._folder / "settled.duckdb").absolute().as_posix()
        if set(path) & {"\\", "?"}:  # DuckDB would open a different file
            self._frame = self.materialise(frame)
            return
        self._connection.execute("ATTACH '" + path.replace("'", "''") + "' AS settled")
        rows = frame.to_native()
        columns = ", ".join(
            # compressing numbers takes longer than writing and reading them
            f"{name} {kind} {'' if kind == 'VARCHAR' else 'USING COMPRESSION uncompressed'}"
            for name, kind in zip(rows.columns, rows.types, strict=True)
        )
        self._connection.execute(f"CREATE TABLE settled.the_rows ({columns})")
        rows.insert_into("settled.the_rows")
        self._frame = nw.from_native(self._connection.table("settled.the_rows"))

    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        name = self._new_name()
        frame.to_native().create(name)
        return nw.from_native(self._connection.table(name))

    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        kind = "BOOLEAN" if isinstance(values[0], bool) else "BIGINT"
        kind = "VARCHAR" if isinstance(values[0], str) else kind
        name = self._new_name()
        self._connection.execute(
            f"CREATE TABLE {name} AS SELECT unnest(?::{kind}[]) AS {key}, "
            f"unnest(?::BIGINT[]) AS {index}",
            [list(values), list(range(len(values)))],
        )
        return nw.from_native(self._connection.table(name))

    def add_edge_count(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """Count the edges up to a value by binary search in a list, starting from `guess_of`."""
        name = self._new_name()
        self._connection.execute(f"CREATE TABLE {name} AS SELECT ?::DOUBLE[] AS edges", [edges])
        guess, most = guess_of(edges, value) or ("0::BIGINT", len(edges))
        query = f"SELECT *, {guess} AS {count} FROM rows, {name}"  # noqa: S608  # only names of our own
        for step in (2**power for power in reversed(range(most.bit_length()))):
            # The first edge has position 1; past the last edge there is NULL.
            at_least = f"CASE WHEN edges[{count} + {step}] <= {value} THEN {step} ELSE 0 END"
            query = f"SELECT * REPLACE ({count} + {at_least} AS {count}) FROM ({query})"  # noqa: S608
        result = frame.to_native().query("rows", f"SELECT * EXCLUDE (edges) FROM ({query})")  # noqa: S608
        return nw.from_native(result)

    def keep_short_texts(
        self, frame: nw.LazyFrame[Any], *, text: str, longest: int, without: str
    ) -> nw.LazyFrame[Any]:
        short = f"strlen({text}) <= {longest}"
        return nw.from_native(
            frame.to_native().filter(f"{short} AND NOT regexp_matches({text}, '{without}')")
        )

    def add_hash(
        self, frame: nw.LazyFrame[Any], *, columns: Sequence[str], salt: str, name: str
    ) -> nw.LazyFrame[Any]:
        """Add the hash as a UUID: it sorts like the hash's text, in a quarter of the memory."""
        texts = [f"{column}::VARCHAR" for column in columns]
        parts = ", ".join(f"strlen({text}), ':', {text}" for text in texts)
        digits = f"left(sha256(concat('{salt}', {parts})), 32)"
        query = f"SELECT *, {digits}::UUID AS {name} FROM rows"  # noqa: S608  # only names of our own
        return nw.from_native(frame.to_native().query("rows", query))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        return frame.to_native().fetchall()

    def _new_name(self) -> str:
        self._tables += 1
        return self._table_name(self._tables)

    def _table_name(self, number: int) -> str:
        return f"made{number}"


def _add_computed(
    query: str,
    stored: Sequence[str],
    columns: Sequence[str],
    computed: Computed,
    *,
    casts: Sequence[str],
) -> tuple[str, dict[str, str]]:
    """SQL for the `stored` casts of `query`, computed columns and filters, and its parameters.

    `casts` are the casts of all columns. They break ties between rows of a unit.
    """
    positions = {name: position for position, name in enumerate(columns)}
    names = {column: f"g{number}" for number, column in enumerate(computed.inputs)}
    inputs = {
        name: from_casts(column.type, positions[column.name]) for column, name in names.items()
    }
    ties = [
        f"CASE WHEN {name} = 0 THEN 0 ELSE {name} END" if name[0] == "v" else name
        for name in sort_casts(casts, columns)
    ]
    unit = f"u{positions[computed.unit]}" if computed.unit else ""
    compiled = SqlColumns(computed.expressions, names, unit=unit, ties=ties)
    listed = ", ".join(f"{sql} AS {name}" for name, sql in inputs.items()) or "0 AS none"
    query = compiled.wrap(f"SELECT *, {listed} FROM ({query})")  # noqa: S608  # only names of our own
    count = len(computed.columns)
    pairs = zip(computed.columns.values(), compiled.names[:count], strict=True)
    columns_sql = list(stored)
    for position, (column, value) in enumerate(pairs, len(columns)):
        columns_sql += [
            f"{sql} AS {use}{position}" for use, sql in to_casts(column.type, value).items()
        ]
    columns_sql += [
        f"{value} AS f{position}" for position, value in enumerate(compiled.names[count:])
    ]
    return f"SELECT {', '.join(columns_sql)} FROM ({query})", compiled.parameters  # noqa: S608  # only names of our own
