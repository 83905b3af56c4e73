"""Tables and views in DuckDB or SQLite files, which are opened read-only.

DuckDB's column types are used. SQLite has types by value and not by column, so each value is read
as text, as from a CSV, and the spec declares the types; a blob is a missing value.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import weakref
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import duckdb

from leastnoise.errors import SourceError
from leastnoise.tables.rows.duckdb.inputs import Input, RowReading
from leastnoise.tables.values import spill
from leastnoise.tables.values.casts import MAX_TEXT, FileRows, StoredColumn, stored_column
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"


def find_table(path: Path, table: str) -> Input:
    """The table in a DuckDB or SQLite file; raises SourceError if the file can't be opened."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError:
        raise SourceError(f"Expected a DuckDB or SQLite file, found none at {path}.") from None
    return SqliteTable(path, table) if start == _MAGIC else DuckDBTable(path, table)


def quote_name(name: str) -> str:
    """A name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


@final
@dataclass(frozen=True)
class DuckDBTable(Input):
    """A table or view of a DuckDB file; a schema may stand before its name, as in main.visits.

    A view is a query of the user's: if it fails on a row, the release fails after its charge.
    """

    path: Path
    table: str

    @property
    def name(self) -> str:
        return f"{self.table} in {self.path.name}"

    @property
    def _sql(self) -> str:
        return ".".join([self._alias, *map(quote_name, self.table.split(".", maxsplit=1))])

    @property
    def _alias(self) -> str:
        """The name of the file in a connection, unique since another file may be open beside it."""
        return f"file_{hashlib.sha256(os.fsencode(self.path.absolute())).hexdigest()[:32]}"

    def _attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        # "md:" and "~" have a special meaning
        path = self.path.absolute().as_posix().replace("'", "''")
        # DuckDB would open a different file, or a different log beside it
        if set(path) & {"\\", "?"}:
            raise SourceError(
                f"DuckDB can't open {self.path.name}, because its path contains a \\ or a "
                "question mark. Rename the file or folder."
            )
        mode = "(TYPE duckdb, READ_ONLY)"
        connection.execute(f"ATTACH IF NOT EXISTS '{path}' AS {self._alias} {mode}")

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        try:
            self._attach(connection)
            table = connection.sql(f"FROM {self._sql}")
        except duckdb.CatalogException:
            raise SourceError(f"{self.path.name} has no table {self.table!r}.") from None
        except duckdb.Error:
            why = "isn't a readable DuckDB file, or another process writes to it"
            raise SourceError(f"{self.path.name} {why}.") from None
        pairs = zip(table.columns, table.types, strict=True)
        return [(name, stored_column(f"c{at}", str(kind))) for at, (name, kind) in enumerate(pairs)]

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        columns = self.columns(reading.connection)
        listed = ", ".join(f"c{index}" for index in range(len(columns)))
        kept = {name: column for name, column in columns if name in reading.used}
        rows = FileRows(sql=f"{self._sql} AS t({listed})", columns=kept)
        yield rows.without_rows() if reading.rehearsed else rows


@final
@dataclass(frozen=True)
class Copy:
    """Columns copied to a private DuckDB file, in which they are called c0, c1, and so on.

    Their own names aren't used, because DuckDB can't store names that differ only in capitals.
    """

    table: DuckDBTable
    names: tuple[str, ...]

    @classmethod
    def create(
        cls, path: Path, given: object, columns: Mapping[str, str], *, rehearsed: bool = False
    ) -> Copy:
        """Write columns of the stream `given` to the new file `path`.

        `columns` has SQL for each name, in which the stream's columns are called c0, c1, … If
        `rehearsed`, nothing of the stream is read.
        """
        listed = ", ".join(f"{sql} AS c{at}" for at, sql in enumerate(columns.values()))
        kept = " WHERE FALSE" if rehearsed else ""  # even for LIMIT 0 DuckDB would read the stream
        with open_connection(str(path)) as connection:
            connection.register("the_given", given)
            width = len(connection.table("the_given").columns)
            places = ", ".join(f"c{at}" for at in range(width))
            query = f"SELECT {listed or '0 AS nothing'} FROM the_given AS t({places})"  # noqa: S608  # only names of our own
            connection.execute(f"CREATE TABLE the_rows AS {query}{kept}")
        return cls(DuckDBTable(path, "the_rows"), tuple(columns))

    @classmethod
    def create_private(cls, owner: object, given: object, columns: Mapping[str, str]) -> Copy:
        """A copy in a private folder that is removed together with its `owner`."""
        held_open = ExitStack()
        path = held_open.enter_context(spill.folder()) / "rows.duckdb"
        weakref.finalize(owner, held_open.close)
        return cls.create(path, given, columns)

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        """Yield the rows with all columns, by their names."""
        names = [f"c{at}" for at in range(len(self.names))]
        with self.table.open_rows(replace(reading, used=names, rehearsed=False)) as rows:
            columns = (rows.columns[name] for name in names)
            yield replace(rows, columns=dict(zip(self.names, columns, strict=True)))


@final
@dataclass(frozen=True)
class SqliteTable(Input):
    """A table or view of a SQLite file. All columns are text; a view may fail as in DuckDB."""

    path: Path
    table: str

    @property
    def typed(self) -> bool:
        """False, since any row may hold anything."""
        return False

    @property
    def name(self) -> str:
        return f"{self.table} in {self.path.name}"

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
        connection.text_factory = bytes
        return connection

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns in the schema.

        Raises SourceError if the file has no such table, or isn't a readable SQLite file.
        """
        del connection
        try:
            with closing(self._connect()) as file:
                sql = f"PRAGMA table_xinfo({quote_name(self.table)})"
                names = [row[1].decode("utf-8") for row in file.execute(sql)]
        except (sqlite3.Error, UnicodeError):
            raise SourceError(f"{self.path.name} isn't a readable SQLite file.") from None
        if not names:
            raise SourceError(f"{self.path.name} has no table {self.table!r}.")
        return [(name, StoredColumn(sql=f"c{at}", kind="VARCHAR")) for at, name in enumerate(names)]

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        """Yield the used columns, copied to a table that DuckDB may spill to the disk.

        Raises OSError if SQLite can't read a row.
        """
        connection = reading.connection
        columns = {name: f"c{at}" for at, name in enumerate(reading.used)}
        listed = ", ".join(f"{column} VARCHAR" for column in columns.values()) or "nothing VARCHAR"
        connection.execute(f"CREATE TEMP TABLE the_rows ({listed})")
        try:
            with closing(self._connect()) as rows, connection.appender("the_rows") as appender:
                wanted = ", ".join(map(_text_or_null, reading.used)) or "NULL"
                limit = " LIMIT 0" if reading.rehearsed else ""
                cursor = rows.execute(f"SELECT {wanted} FROM {quote_name(self.table)}{limit}")  # noqa: S608
                while chunk := cursor.fetchmany(50_000):  # rows held in Python at a time
                    appender.append_rows([tuple(map(_as_text, row)) for row in chunk])
        except sqlite3.Error:
            raise OSError("The SQLite file is damaged.") from None
        kept = {name: StoredColumn(sql=column, kind="VARCHAR") for name, column in columns.items()}
        yield FileRows(sql="the_rows", columns=kept)


def _text_or_null(name: str) -> str:
    """SQL of a column with NULL for long texts, and for blobs, which Python can't tell from texts.

    So Python needs a bounded amount of memory for a chunk of rows.
    """
    column = quote_name(name)
    short = f"length(CAST({column} AS BLOB)) <= {MAX_TEXT}"
    return f"CASE WHEN typeof({column}) <> 'blob' AND {short} THEN {column} END"


def _as_text(value: object) -> str | None:
    """The stored value as text; None if it isn't UTF-8."""
    if isinstance(value, int | float):
        return repr(value)
    return None if value is None else _decode(value)


def _decode(value: object) -> str | None:
    if not isinstance(value, bytes):
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None
