"""The ledger's file: a SQLite list of entries, append-only, each chained to the last by a hash.

A rollback journal with synchronous=EXTRA, and not a write-ahead log: after each commit the file is
whole in itself, so that whoever copies or backs up the one file has every charge; and the journal's
folder is synced too, so that a power cut can't bring it back. One writer at a time.

The hashes detect what an editor or a damaged disk did. They don't stop someone who computes them
anew, nor show that an older copy was put back.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

from leastnoise._files import LARGEST_CERTIFICATE
from leastnoise.certificate.records import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, LedgerRejected, Refused
from leastnoise.ledger.state import ATTACHED, State, prepare, read_state, write_state

_APPLICATION = 0x6C6E6C67  # "lnlg", in the header of the file
_VERSION = 1
_MAGIC, _HEADER, _NO_LOG = b"SQLite format 3\0", 100, b"\1\1"  # bytes 18 and 19: not write-ahead
_PATIENCE = 60.0  # seconds that a process waits for the others
_LARGEST = 2 * LARGEST_CERTIFICATE  # bytes of an entry, which may hold one
_START = "leastnoise ledger 1"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_SCHEMA = (
    """CREATE TABLE entry (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        body TEXT NOT NULL,
        certificate TEXT,
        hash TEXT NOT NULL)""",
    """CREATE TRIGGER entries_stay BEFORE UPDATE ON entry
        BEGIN SELECT RAISE(ABORT, 'a ledger is only appended to'); END""",
    """CREATE TRIGGER entries_remain BEFORE DELETE ON entry
        BEGIN SELECT RAISE(ABORT, 'a ledger is only appended to'); END""",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)


@final
@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the ledger: `body` says what happened."""

    number: int
    body: dict[str, Any]


@final
@dataclass(frozen=True, kw_only=True)
class Store:
    """A ledger file; every method opens it anew, so that it may be used across forks and threads.

    Raises InvalidInput if it is missing, unreadable or no ledger, LedgerRejected if its entries
    were edited or it has triggers, views or tables of others, Refused if other processes hold it
    for a minute.
    """

    path: Path

    def create(self) -> None:
        """Make an empty ledger, unless there is one already."""
        with self._opened(mode="rwc") as connection, _transaction(connection):
            if _is_used(connection):
                self._recognise(connection)
                return
            for statement in _SCHEMA:
                connection.execute(statement)

    def read(self) -> list[Entry]:
        """Return all entries."""
        with self._opened() as connection, _transaction(connection, "DEFERRED"):
            self._recognise(connection)
            return _entries(connection)[0]

    @contextmanager
    def appending(self, *, kept: str | None = None) -> Iterator[tuple[list[Entry], Log]]:
        """Yield all entries and what appends to them, alone with the file; all or nothing is kept.

        When the block ends without an error, what it appended is on the disk. With `kept`, the
        address of the state of a series, its new state is written in the same transaction: SQLite
        commits both files or neither, as neither has a write-ahead log.
        """
        with self._opened() as connection, _attached(connection, kept), _transaction(connection):
            self._recognise(connection)
            entries, last = _entries(connection)
            yield entries, Log(connection=connection, last=last, count=len(entries))

    def certificates(self, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Yield the number and the certificate of each of those entries."""
        with self._opened() as connection:  # no transaction: proofs are made while it is open
            self._recognise(connection)
            for number in numbers:
                row = connection.execute(
                    "SELECT certificate FROM entry WHERE number = ?", (number,)
                ).fetchone()
                yield number, str(row[0]) if row else ""

    def certificate(self, number: int) -> str:
        """Return the certificate of one entry."""
        return next(text for _, text in self.certificates([number]))

    def check_pages(self) -> None:
        """Let SQLite check the whole file."""
        with self._opened() as connection, _transaction(connection, "DEFERRED"):
            self._recognise(connection)  # first: checking evaluates what a schema says
            found = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            raise InvalidInput(f"The ledger {self.path} is damaged.")

    @contextmanager
    def _opened(self, *, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        self._check_file()
        self._check_header()
        try:
            uri = f"{self.path.absolute().as_uri()}?mode={mode}"
            connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
            with closing(connection):
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
                if mode == "rw" or _is_used(connection):
                    self._recognise(connection)  # first: setting the mode rewrites the file
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("PRAGMA fullfsync = ON")  # macOS: through the disk's own cache
                yield connection
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from None
        except UnicodeDecodeError:  # of a message in which SQLite quotes damaged text
            raise InvalidInput(f"{self.path} is not a ledger, or damaged.") from None

    def _check_file(self) -> None:
        """Raise InvalidInput for a pipe, which SQLite would wait for, a device or a directory."""
        if "\0" in str(self.path):
            raise InvalidInput("The path of the ledger holds a NUL.")
        try:
            mode = self.path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return  # SQLite says so, or makes one
        except (OSError, UnicodeEncodeError):  # a loop of links; half of a surrogate pair
            raise InvalidInput(f"{str(self.path)!r} can't be the path of a ledger.") from None
        if not stat.S_ISREG(mode):
            raise InvalidInput(f"{self.path} is not a ledger: it is not a regular file.")

    def _check_header(self) -> None:
        """Raise InvalidInput for a database of others with a log, which SQLite moves into it."""
        try:
            with self.path.open("rb") as file:
                header = file.read(_HEADER)
        except OSError:
            return  # SQLite says so, or makes one
        application = int.from_bytes(header[68:72])
        if header.startswith(_MAGIC) and header[18:20] != _NO_LOG and application != _APPLICATION:
            raise self._unknown()

    def _unknown(self) -> InvalidInput:
        return InvalidInput(
            f"{self.path} is not a ledger. Make one, elsewhere: leastnoise ledger init."
        )

    def _explained(self, error: sqlite3.DatabaseError) -> Exception:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return Refused(f"Other processes hold the ledger {self.path}. Nothing was charged.")
        if code == sqlite3.SQLITE_CANTOPEN:
            return InvalidInput(
                f"There is no ledger at {self.path}, or it can't be opened. Make one in a folder "
                "that exists: leastnoise ledger init."
            )
        if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
            return InvalidInput(f"The ledger {self.path} can't be written to.")
        if code == sqlite3.SQLITE_TOOBIG:
            return InvalidInput(
                f"An entry of the ledger {self.path} is longer than {_LARGEST:,} bytes. Nothing "
                "was charged."
            )
        return InvalidInput(f"{self.path} is not a ledger, or damaged.")

    def _recognise(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise self._unknown()
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise InvalidInput(
                f"The ledger {self.path} has version {version}; this leastnoise reads {_VERSION}."
            )
        self._compare_schema(connection)

    def _compare_schema(self, connection: sqlite3.Connection) -> None:
        """Refuse all that isn't exactly ours: a trigger could drop charges, a view never end."""
        ours = _schema()
        found = frozenset(connection.execute(f"{_OBJECTS} LIMIT {len(ours) + 1}").fetchall())
        if not {one for one in ours if one[0] == "table"} <= found:
            raise InvalidInput(f"{self.path} is not a ledger, or damaged.")
        if found != ours:
            raise LedgerRejected(
                f"The ledger {self.path} was edited: it has other triggers, views or tables than "
                "leastnoise makes."
            )


@final
@dataclass(kw_only=True)
class Log:
    """What appends within a transaction."""

    connection: sqlite3.Connection
    last: str
    count: int

    def append(self, body: dict[str, Any], *, certificate: str | None = None) -> int:
        """Append an entry and read it back; return its number.

        Raises LedgerRejected if the file doesn't hold it: then nothing of the block is kept.
        """
        if certificate is not None:
            body = body | {"certificate": _digest(certificate)}
        text = json.dumps(body, sort_keys=True)
        self.last = _digest(self.last + text)
        self.count += 1
        written = (text, certificate, self.last)
        self.connection.execute(
            "INSERT INTO entry (body, certificate, hash) VALUES (?, ?, ?)", written
        )
        kept = self.connection.execute(
            "SELECT number, body, certificate, hash FROM entry ORDER BY number DESC LIMIT 1"
        ).fetchone()
        if kept != (self.count, *written):
            raise LedgerRejected(
                f"Entry {self.count} can't be read back from the ledger as it was written. "
                "Nothing was charged."
            )
        return self.count

    def holds(self, state: State) -> bool:
        """True if the attached file has this state."""
        return read_state(self.connection, ATTACHED) == state

    def keep(self, state: State) -> None:
        """Write the state into the attached file."""
        write_state(self.connection, ATTACHED, state)


@contextmanager
def _attached(connection: sqlite3.Connection, address: str | None) -> Iterator[None]:
    """Attach the state of a series. Raises InvalidInput if it can't be read."""
    try:
        if address is not None:
            connection.execute(f"ATTACH DATABASE ? AS {ATTACHED}", (address,))
            prepare(connection, ATTACHED)
            read_state(connection, ATTACHED)
        yield
    except CertificateRejected:
        raise InvalidInput("The state of the series is damaged. Nothing was published.") from None


def matches(entry: Entry, certificate: str) -> bool:
    """Return whether `certificate` is the one that `entry` was written with."""
    return entry.body.get("certificate") == _digest(certificate)


@cache
def _schema() -> frozenset[tuple[str, ...]]:
    """Return SQLite's own description of the tables and triggers of a new ledger."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in _SCHEMA:
            connection.execute(statement)
        return frozenset(connection.execute(_OBJECTS).fetchall())


def _is_used(connection: sqlite3.Connection) -> bool:
    """Return whether the database holds anything."""
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back when the disk is full
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _entries(connection: sqlite3.Connection) -> tuple[list[Entry], str]:
    """Return all entries and the last hash; raises LedgerRejected if the chain is broken."""
    entries: list[Entry] = []
    last = _START
    rows = connection.execute("SELECT number, body, hash FROM entry ORDER BY number")
    for place, (number, text, found) in enumerate(rows, start=1):
        if number != place:
            raise LedgerRejected(f"Entry {place} of the ledger is missing: it was edited.")
        last = _digest(f"{last}{text}")
        if last != found:
            raise LedgerRejected(f"Entry {number} of the ledger was edited.")
        entries.append(Entry(number=number, body=_body(number, text)))
    made = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry'").fetchone()
    if (made[0] if made else 0) != len(entries):
        raise LedgerRejected("The last entries of the ledger are missing: it was edited.")
    return entries, last


def _body(number: int, text: Any) -> dict[str, Any]:
    """Return the fields of an entry; raises InvalidInput for all but one JSON object."""
    try:
        return parse_object(text)
    except (InvalidInput, CertificateRejected):
        raise InvalidInput(f"Entry {number} of the ledger is unreadable.") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
