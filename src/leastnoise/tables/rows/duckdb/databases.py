"""A table or view in a DuckDB or SQLite file, which is opened to be read alone.

DuckDB's own types are the types. SQLite has types by value and not by column: whatever is stored is
read as text, as from a CSV, and the spec declares what it means; a blob is a missing value.
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
from leastnoise.tables.rows.duckdb.inputs import Input, Reading
from leastnoise.tables.values import spill
from leastnoise.tables.values.casts import MAX_TEXT, FileRows, Held, held
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"


def find_table(path: Path, table: str) -> Input:
    """Return the table of the file; raises SourceError if that is no database."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError:
        raise SourceError(f"Expected a DuckDB or SQLite file, found none at {path}.") from None
    return SqliteTable(path, table) if start == _MAGIC else DuckDBTable(path, table)


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
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
        return ".".join([self._alias, *map(quoted, self.table.split(".", maxsplit=1))])

    @property
    def _alias(self) -> str:
        """What a connection calls the file: another one may be open beside it."""
        return f"file_{hashlib.sha256(os.fsencode(self.path.absolute())).hexdigest()[:32]}"

    def _attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        path = self.path.absolute().as_posix().replace("'", "''")  # md: or ~ would mean more
        if set(path) & {"\\", "?"}:  # it would open another file, or another log beside it
            raise SourceError(f"DuckDB can't open {self.path.name} with \\ or ? in its path.")
        mode = "(TYPE duckdb, READ_ONLY)"
        connection.execute(f"ATTACH IF NOT EXISTS '{path}' AS {self._alias} {mode}")

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        try:
            self._attach(connection)
            found = connection.sql(f"FROM {self._sql}")
        except duckdb.CatalogException:
            raise SourceError(f"{self.path.name} has no table {self.table!r}.") from None
        except duckdb.Error:
            why = "isn't a readable DuckDB file, or another process writes to it"
            raise SourceError(f"{self.path.name} {why}.") from None
        pairs = zip(found.columns, found.types, strict=True)
        return [(name, held(f"c{at}", str(kind))) for at, (name, kind) in enumerate(pairs)]

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        columns = self.columns(reading.connection)
        listed = ", ".join(f"c{place}" for place in range(len(columns)))
        kept = {name: column for name, column in columns if name in reading.used}
        rows = FileRows(sql=f"{self._sql} AS t({listed})", columns=kept)
        yield rows.none() if reading.rehearsed else rows


@final
@dataclass(frozen=True)
class Copy:
    """Columns by name in a private file, which has them by place.

    To DuckDB names that differ in capitals alone are one.
    """

    table: DuckDBTable
    names: tuple[str, ...]

    @classmethod
    def made(
        cls, path: Path, given: object, columns: Mapping[str, str], *, rehearsed: bool = False
    ) -> Copy:
        """Write to the new file `path` what SQL makes of the stream `given`, called c0, c1, ….

        Nothing of the stream is read where it is `rehearsed`.
        """
        listed = ", ".join(f"{sql} AS c{at}" for at, sql in enumerate(columns.values()))
        kept = " WHERE FALSE" if rehearsed else ""  # DuckDB would read the stream for LIMIT 0
        with open_connection(str(path)) as connection:
            connection.register("the_given", given)
            width = len(connection.table("the_given").columns)
            places = ", ".join(f"c{at}" for at in range(width))
            query = f"SELECT {listed or '0 AS nothing'} FROM the_given AS t({places})"  # noqa: S608  # own names alone
            connection.execute(f"CREATE TABLE the_rows AS {query}{kept}")
        return cls(DuckDBTable(path, "the_rows"), tuple(columns))

    @classmethod
    def kept(cls, owner: object, given: object, columns: Mapping[str, str]) -> Copy:
        """Return a copy in a private folder that goes when its `owner` does."""
        held_open = ExitStack()
        path = held_open.enter_context(spill.folder()) / "rows.duckdb"
        weakref.finalize(owner, held_open.close)
        return cls.made(path, given, columns)

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        """Yield the rows and all columns, by their names."""
        places = [f"c{at}" for at in range(len(self.names))]
        with self.table.opened(replace(reading, used=places, rehearsed=False)) as rows:
            found = (rows.columns[place] for place in places)
            yield replace(rows, columns=dict(zip(self.names, found, strict=True)))


@final
@dataclass(frozen=True)
class SqliteTable(Input):
    """A table or view of a SQLite file. All columns are text, to be declared; of views as above."""

    path: Path
    table: str

    @property
    def typed(self) -> bool:
        """Any row may hold anything."""
        return False

    @property
    def name(self) -> str:
        return f"{self.table} in {self.path.name}"

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
        connection.text_factory = bytes
        return connection

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """What the schema names."""
        del connection
        try:
            with closing(self._connected()) as file:
                sql = f"PRAGMA table_xinfo({quoted(self.table)})"
                names = [row[1].decode("utf-8") for row in file.execute(sql)]
        except (sqlite3.Error, UnicodeError):
            raise SourceError(f"{self.path.name} isn't a readable SQLite file.") from None
        if not names:
            raise SourceError(f"{self.path.name} has no table {self.table!r}.")
        return [(name, Held(sql=f"c{at}", kind="VARCHAR")) for at, name in enumerate(names)]

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        """A copy of the used columns, which DuckDB may spill."""
        connection = reading.connection
        places = {name: f"c{at}" for at, name in enumerate(reading.used)}
        listed = ", ".join(f"{place} VARCHAR" for place in places.values()) or "nothing VARCHAR"
        connection.execute(f"CREATE TEMP TABLE the_rows ({listed})")
        try:
            with closing(self._connected()) as rows, connection.appender("the_rows") as appender:
                wanted = ", ".join(map(_no_blob, reading.used)) or "NULL"
                limit = " LIMIT 0" if reading.rehearsed else ""
                cursor = rows.execute(f"SELECT {wanted} FROM {quoted(self.table)}{limit}")  # noqa: S608
                while chunk := cursor.fetchmany(50_000):  # rows that are in Python at a time
                    appender.append_rows([tuple(map(_text, row)) for row in chunk])
        except sqlite3.Error:
            raise OSError("The SQLite file is damaged.") from None
        kept = {name: Held(sql=place, kind="VARCHAR") for name, place in places.items()}
        yield FileRows(sql="the_rows", columns=kept)


def _no_blob(name: str) -> str:
    """Return SQL for a column: a blob comes as bytes, like a text, and is none; nor is a long one.

    So no more is in memory than there is room for.
    """
    column = quoted(name)
    short = f"length(CAST({column} AS BLOB)) <= {MAX_TEXT}"
    return f"CASE WHEN typeof({column}) <> 'blob' AND {short} THEN {column} END"


def _text(value: object) -> str | None:
    """Return what is stored as text; None for what is not UTF-8."""
    if isinstance(value, int | float):
        return repr(value)
    return None if value is None else _decoded(value)


def _decoded(value: object) -> str | None:
    if not isinstance(value, bytes):
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None
