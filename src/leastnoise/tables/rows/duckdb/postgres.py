"""A table or view of a PostgreSQL server, read by ADBC in one query and copied before use.

Column types are taken from the server's catalog. Values on which ADBC's casts would fail, or which
they would round, are sent as text: for example numerics, dates (which may be infinite) and UUIDs.
The password is never part of a spec.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

from leastnoise.errors import SourceError
from leastnoise.tables.rows.duckdb.databases import Copy, quote_name
from leastnoise.tables.rows.duckdb.inputs import Input, RowReading
from leastnoise.tables.values.casts import (
    MAX_TEXT,
    MOST_DIGITS,
    FileRows,
    StoredColumn,
    stored_column,
)

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
"""PostgreSQL's names of types, without parameters, and DuckDB's names."""
_AS_THEY_ARE = {"SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN"}
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_TIMESTAMP = re.compile(r"timestamp(\(\d\))? without time zone")
_LATIN = {f"LATIN{number}" for number in range(1, 11)} - {"LATIN3"}
ENCODINGS = {"UTF8", *_LATIN, "ISO_8859_5", "WIN1256", "WIN866", "KOI8R", "KOI8U"}
"""Encodings in which the server can send every stored text as UTF-8.

Other encodings have bytes that stand for no character. The server stores them, but fails when they
are read.
"""
_SETTINGS = (
    "SET client_encoding = 'UTF8'",  # otherwise texts would come in the database's encoding
    "SET datestyle = 'ISO'",
    "SET TRANSACTION READ ONLY",
)
_CATALOG = (
    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
    "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)


@final
class PostgresTable(Input):
    """A table of a PostgreSQL server; a schema may stand before its name, as in public.visits."""

    def __init__(self, address: str, table: str) -> None:
        self._address, self._table = address, table
        self._copy: Copy | None = None
        self._found: dict[str, str] | None = None

    @property
    def name(self) -> str:
        return f"{self._table} in PostgreSQL"

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns in the catalog."""
        del connection
        return [(name, _stored_column(kind)) for name, kind in self._kinds.items()]

    @property
    def _kinds(self) -> dict[str, str]:
        """PostgreSQL's type of each column, by the column's name; the server is queried once.

        Raises SourceError without the table, or for an encoding that `_check_encoding` refuses.
        """
        if self._found is None:
            with self._connect() as cursor:
                cursor.execute("SELECT current_setting('server_encoding')")
                (encoding,) = cursor.fetchone()
                cursor.execute(_CATALOG, [self._sql])
                kinds = dict(cursor.fetchall())
            _check_encoding(encoding)
            if not kinds:
                raise SourceError(f"The PostgreSQL database has no table {self._table!r}.")
            self._found = kinds
        return self._found

    @property
    def _sql(self) -> str:
        return ".".join(map(quote_name, self._table.split(".", maxsplit=1)))

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        copy = self._copy or self._copy_rows(reading)
        with copy.open_rows(reading) as rows:
            yield rows

    def _copy_rows(self, reading: RowReading) -> Copy:
        """Copy the used columns from a single query, so that the whole release sees the same rows.

        If rehearsed, the server is asked for no row, and the copy is in the rehearsal's folder.
        """
        used = reading.used
        kinds = {
            name: _stored_column(kind).kind for name, kind in self._kinds.items() if name in used
        }
        sent = [
            f"{_sent_sql(quote_name(name), kind)} AS c{at}"
            for at, (name, kind) in enumerate(kinds.items())
        ]
        casts = {
            name: f"TRY_CAST(c{at} AS {_stored_column(self._kinds[name]).exact_kind})"
            for at, name in enumerate(kinds)
        }
        limit = " LIMIT 0" if reading.rehearsed else ""
        with self._connect() as cursor:
            cursor.execute(f"SELECT {', '.join(sent) or '0 AS nothing'} FROM {self._sql}{limit}")  # noqa: S608  # names, quote_name
            given = cursor.fetch_record_batch()
            if reading.rehearsed:
                return Copy.create(reading.folder / "rows.duckdb", given, casts, rehearsed=True)
            self._copy = Copy.create_private(self, given, casts)
            return self._copy

    @contextmanager
    def _connect(self) -> Iterator[Any]:
        """Yield a cursor in a transaction that is rolled back; errors quote no data.

        Raises SourceError if the driver is missing, or for any error of the driver.
        """
        try:
            from adbc_driver_manager import Error  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
            from adbc_driver_postgresql import dbapi  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise SourceError(
                "PostgreSQL's driver isn't installed. Install it with pip install "
                "leastnoise[postgres]."
            ) from None
        try:
            with dbapi.connect(self._address) as connection, connection.cursor() as cursor:
                for setting in _SETTINGS:
                    cursor.execute(setting)
                yield cursor
                connection.rollback()
        except Error:
            raise SourceError(
                f"{self.name} can't be read: the server doesn't answer or refuses the login, or a "
                "view fails on a row. The password is taken from PGPASSWORD or ~/.pgpass."
            ) from None


def _check_encoding(encoding: str) -> None:
    """Raise SourceError for an encoding in which a single row could fail a release."""
    if encoding not in ENCODINGS:
        raise SourceError(
            f"The PostgreSQL database stores texts in the encoding {encoding}, in which some bytes "
            "are invalid. A text with an invalid byte would make the release fail after the "
            "ledger was charged. Copy the table to a database in UTF8 (CREATE DATABASE … "
            "ENCODING 'UTF8' TEMPLATE template0) or to a file."
        )


def _stored_column(kind: str) -> StoredColumn:
    """A column of PostgreSQL's type `kind`."""
    if kind.endswith("]"):
        return stored_column("", kind.upper())
    if kind == "numeric":
        return StoredColumn(sql="", kind="a numeric without a precision (a view can cast it)")
    if _TIMESTAMP.fullmatch(kind):
        return stored_column("", "TIMESTAMP")
    if number := _NUMERIC.fullmatch(kind):
        precision, scale = map(int, number.groups())
        if scale <= precision <= MOST_DIGITS:
            return stored_column("", f"DECIMAL({precision},{scale})")
    plain = kind.partition("(")[0].strip()
    return stored_column("", _KINDS.get(plain, plain.upper()))


def _sent_sql(column: str, kind: str) -> str:
    """SQL of a column as the server sends it: unchanged, or as a text.

    A text of more than MAX_TEXT bytes is NULL.
    """
    if kind in _AS_THEY_ARE:
        return column
    return f"CASE WHEN octet_length({column}::text) <= {MAX_TEXT} THEN {column}::text END"
