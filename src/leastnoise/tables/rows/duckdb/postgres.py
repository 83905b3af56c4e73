"""A table or view of a PostgreSQL server, read by ADBC in one query, and copied before it is used.

Types are those of the server's catalog. What its own casts would fail on, or round, comes as text:
numerics, dates (which may be infinite) and UUIDs. The password is never part of a spec.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

from leastnoise.errors import SourceError
from leastnoise.tables.rows.duckdb.databases import Copy, quoted
from leastnoise.tables.rows.duckdb.inputs import Input, Reading
from leastnoise.tables.values.casts import MAX_TEXT, MOST_DIGITS, FileRows, Held, held

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

_KINDS = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "character varying": "VARCHAR",
    "character": "VARCHAR",
    "uuid": "UUID",
    "date": "DATE",
}
"""PostgreSQL's types by its names of them, without parameters, and DuckDB's."""
_AS_THEY_ARE = {"SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN"}
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_TIMESTAMP = re.compile(r"timestamp(\(\d\))? without time zone")
_LATIN = {f"LATIN{number}" for number in range(1, 11)} - {"LATIN3"}
ENCODINGS = {"UTF8", *_LATIN, "ISO_8859_5", "WIN1256", "WIN866", "KOI8R", "KOI8U"}
"""Of databases each text of which the server can send as UTF-8: all other encodings have bytes that
are no letters, which it keeps, and fails on when they are asked for."""
_SETTINGS = (
    "SET client_encoding = 'UTF8'",  # else texts come as the database has them
    "SET datestyle = 'ISO'",
    "SET TRANSACTION READ ONLY",
)
_CATALOG = (
    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
    "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)


@final
class PostgresTable(Input):
    """A schema may stand before the table's name, as in public.visits."""

    def __init__(self, address: str, table: str) -> None:
        self._address, self._table = address, table
        self._copy: Copy | None = None
        self._found: dict[str, str] | None = None

    @property
    def name(self) -> str:
        return f"{self._table} in PostgreSQL"

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """The catalog's."""
        del connection
        return [(name, _held(kind)) for name, kind in self._kinds.items()]

    @property
    def _kinds(self) -> dict[str, str]:
        """PostgreSQL's names of the types of the columns, looked up once."""
        if self._found is None:
            with self._connected() as cursor:
                cursor.execute("SELECT current_setting('server_encoding')")
                (encoding,) = cursor.fetchone()
                cursor.execute(_CATALOG, [self._sql])
                found = dict(cursor.fetchall())
            _check_encoding(encoding)
            if not found:
                raise SourceError(f"The PostgreSQL database has no table {self._table!r}.")
            self._found = found
        return self._found

    @property
    def _sql(self) -> str:
        return ".".join(map(quoted, self._table.split(".", maxsplit=1)))

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        copy = self._copy or self._copied(reading)
        with copy.opened(reading) as rows:
            yield rows

    def _copied(self, reading: Reading) -> Copy:
        """Return the used columns, as one query has them: the same rows for all of a release.

        Of no row, and in its folder, where it is rehearsed: the server is asked for none.
        """
        used = reading.used
        kinds = {name: _held(kind).kind for name, kind in self._kinds.items() if name in used}
        asked = [
            f"{_sent(quoted(name), kind)} AS c{at}" for at, (name, kind) in enumerate(kinds.items())
        ]
        made = {
            name: f"TRY_CAST(c{at} AS {_held(self._kinds[name]).exactly})"
            for at, name in enumerate(kinds)
        }
        limit = " LIMIT 0" if reading.rehearsed else ""
        with self._connected() as cursor:
            cursor.execute(f"SELECT {', '.join(asked) or '0 AS nothing'} FROM {self._sql}{limit}")  # noqa: S608  # names, quoted
            given = cursor.fetch_record_batch()
            if reading.rehearsed:
                return Copy.made(reading.folder / "rows.duckdb", given, made, rehearsed=True)
            self._copy = Copy.kept(self, given, made)
            return self._copy

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Yield a cursor in a transaction that is rolled back; errors quote nothing."""
        try:
            from adbc_driver_manager import Error  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
            from adbc_driver_postgresql import dbapi  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise SourceError(
                "PostgreSQL's driver isn't here: pip install leastnoise[postgres]."
            ) from None
        try:
            with dbapi.connect(self._address) as connection, connection.cursor() as cursor:
                for setting in _SETTINGS:
                    cursor.execute(setting)
                yield cursor
                connection.rollback()
        except Error:
            raise SourceError(
                f"{self.name} can't be read: the server doesn't answer or let you in (the password "
                "is taken from PGPASSWORD or ~/.pgpass), or a view fails on a row."
            ) from None


def _check_encoding(encoding: str) -> None:
    """Raise SourceError for an encoding in which one row could fail a release."""
    if encoding not in ENCODINGS:
        raise SourceError(
            f"The PostgreSQL database keeps its texts in {encoding}, which has bytes that are no "
            "letters: one of them would fail the release after its charge. Copy the table to a "
            "database in UTF8 (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0) or to a file."
        )


def _held(kind: str) -> Held:
    """Return a column of PostgreSQL's type `kind`."""
    if kind.endswith("]"):
        return held("", kind.upper())
    if kind == "numeric":
        return Held(sql="", kind="a numeric of any digits (a view can give it some)")
    if _TIMESTAMP.fullmatch(kind):
        return held("", "TIMESTAMP")
    if number := _NUMERIC.fullmatch(kind):
        precision, scale = map(int, number.groups())
        if scale <= precision <= MOST_DIGITS:
            return held("", f"DECIMAL({precision},{scale})")
    plain = kind.partition("(")[0].strip()
    return held("", _KINDS.get(plain, plain.upper()))


def _sent(column: str, kind: str) -> str:
    """Return SQL for what the server sends."""
    if kind in _AS_THEY_ARE:
        return column
    return f"CASE WHEN octet_length({column}::text) <= {MAX_TEXT} THEN {column}::text END"
