"""The ledger's file in SQLite: an append-only list of entries, chained by hashes.

The file uses a rollback journal with synchronous=EXTRA, not a write-ahead log. So the file is
complete after each commit, and a copy or backup of this one file has every charge. The journal's
folder is synced too, so that a deleted journal can't reappear after a power cut. One process writes
at a time.

The hashes detect changes by an editor or a damaged disk. They don't detect an editor who also
recomputes the hashes, nor that the file was replaced by an older copy.
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
# the values of bytes 18 and 19 of a file without a write-ahead log
_MAGIC, _HEADER, _NO_LOG = b"SQLite format 3\0", 100, b"\1\1"
_PATIENCE = 60.0  # seconds that a process waits for other processes
# largest size of an entry in bytes; it may contain a certificate
_LARGEST = 2 * LARGEST_CERTIFICATE
_INIT = "leastnoise ledger init FILE --dataset NAME --unit COLUMN --epsilon NUMBER --delta NUMBER"
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
    """One entry of the ledger; `body` has its fields."""

    number: int
    body: dict[str, Any]


@final
@dataclass(frozen=True, kw_only=True)
class Store:
    """A ledger file. Every method opens the file anew, so that forks and threads may share a store.

    Raises InvalidInput if the file is missing, unreadable or not a ledger. Raises LedgerRejected if
    entries were edited, or the file has triggers, views or tables that aren't leastnoise's. Raises
    Refused if other processes lock it for a minute.
    """

    path: Path

    def create(self) -> None:
        """Create an empty ledger, unless the file is a ledger already."""
        with self._open(mode="rwc") as connection, _transaction(connection):
            if _is_used(connection):
                self._recognise(connection)
                return
            for statement in _SCHEMA:
                connection.execute(statement)

    def read(self) -> list[Entry]:
        """All entries, oldest first."""
        with self._open() as connection, _transaction(connection, "DEFERRED"):
            self._recognise(connection)
            return _entries(connection)[0]

    @contextmanager
    def appending(self, *, kept: str | None = None) -> Iterator[tuple[list[Entry], Log]]:
        """Lock the file, and yield all entries and a log that appends to them.

        If the block ends without an error, all appended entries are on the disk. Otherwise no entry
        is. `kept` is the address of a series' state file, whose new state is written in the same
        transaction. SQLite commits both files or neither, because neither has a write-ahead log.
        """
        with self._open() as connection, _attached(connection, kept), _transaction(connection):
            self._recognise(connection)
            entries, last = _entries(connection)
            yield entries, Log(connection=connection, last=last, count=len(entries))

    def certificates(self, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Yield number and certificate for each of the entries with these `numbers`."""
        with self._open() as connection:  # without a lock: proofs run while the file is open
            self._recognise(connection)
            for number in numbers:
                row = connection.execute(
                    "SELECT certificate FROM entry WHERE number = ?", (number,)
                ).fetchone()
                yield number, str(row[0]) if row else ""

    def certificate(self, number: int) -> str:
        """The certificate of one entry."""
        return next(text for _, text in self.certificates([number]))

    def check_pages(self) -> None:
        """Check the whole file with SQLite's integrity check."""
        with self._open() as connection, _transaction(connection, "DEFERRED"):
            # checked first, because the integrity check evaluates the schema
            self._recognise(connection)
            verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            raise InvalidInput(f"The ledger {self.path} is damaged.")

    @contextmanager
    def _open(self, *, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        self._check_file()
        self._check_header()
        try:
            uri = f"{self.path.absolute().as_uri()}?mode={mode}"
            connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
            with closing(connection):
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
                if mode == "rw" or _is_used(connection):
                    # checked first, because setting the mode rewrites the file
                    self._recognise(connection)
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("PRAGMA synchronous = EXTRA")
                # macOS: also flush the disk's own cache
                connection.execute("PRAGMA fullfsync = ON")
                yield connection
        except sqlite3.DatabaseError as error:
            raise self._explain(error) from None
        except UnicodeDecodeError:  # raised for a message in which SQLite quotes damaged text
            raise InvalidInput(f"{self.path} is not a ledger, or it is damaged.") from None

    def _check_file(self) -> None:
        """Raise InvalidInput if the path is malformed, or is a folder, device or pipe.

        SQLite would block on a pipe.
        """
        if "\0" in str(self.path):
            raise InvalidInput(
                "The path of the ledger contains a null character. Give another path."
            )
        try:
            mode = self.path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return  # left to SQLite, which reports it or creates the file
        except (OSError, UnicodeEncodeError):  # for a loop of links, or an unpaired surrogate
            raise InvalidInput(
                f"The system can't look up {str(self.path)!r}. Check your rights to the folders of "
                "this path, and whether links in it lead in a circle; or give another path."
            ) from None
        if not stat.S_ISREG(mode):
            raise InvalidInput(
                f"{self.path} is a folder, pipe or device, not a ledger file. Give the path of a "
                "file."
            )

    def _check_header(self) -> None:
        """Raise InvalidInput for a foreign database with a write-ahead log.

        SQLite would merge the log into the database.
        """
        try:
            with self.path.open("rb") as file:
                header = file.read(_HEADER)
        except OSError:
            return  # left to SQLite, which reports it or creates the file
        application = int.from_bytes(header[68:72])
        if header.startswith(_MAGIC) and header[18:20] != _NO_LOG and application != _APPLICATION:
            raise self._unknown()

    def _unknown(self) -> InvalidInput:
        return InvalidInput(f"{self.path} is not a ledger. Make one in another file: {_INIT}.")

    def _explain(self, error: sqlite3.DatabaseError) -> Exception:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return Refused(f"Other processes hold the ledger {self.path}. Nothing was charged.")
        if code == sqlite3.SQLITE_CANTOPEN:
            return InvalidInput(
                f"There is no ledger at {self.path}, or it can't be opened. Make one in a folder "
                f"that exists: {_INIT}."
            )
        if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
            return InvalidInput(f"The ledger {self.path} can't be written to.")
        if code == sqlite3.SQLITE_TOOBIG:
            return InvalidInput(
                f"An entry of the ledger {self.path} is longer than {_LARGEST:,} bytes. Nothing "
                "was charged."
            )

        return InvalidInput(f"{self.path} is not a ledger, or it is damaged.")

    def _recognise(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise self._unknown()
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise InvalidInput(
                f"The ledger {self.path} has the format version {version}, but the installed "
                f"leastnoise reads version {_VERSION}. Use the version of leastnoise that wrote "
                "the ledger."
            )
        self._compare_schema(connection)

    def _compare_schema(self, connection: sqlite3.Connection) -> None:
        """Raise LedgerRejected for any schema but leastnoise's; InvalidInput if a table is missing.

        A trigger could drop charges, and a view could run forever.
        """
        ours = _schema()
        theirs = frozenset(connection.execute(f"{_OBJECTS} LIMIT {len(ours) + 1}").fetchall())
        if not {item for item in ours if item[0] == "table"} <= theirs:
            raise InvalidInput(f"{self.path} is not a ledger, or it is damaged.")
        if theirs != ours:
            raise LedgerRejected(
                f"The ledger {self.path} was edited: it has other triggers, views or tables than "
                "leastnoise creates."
            )


@final
@dataclass(kw_only=True)
class Log:
    """A log that appends entries in a transaction.

    There are `count` entries so far, and the last of them has the hash `last`. A series' state file
    may be attached, which the transaction writes, too.
    """

    connection: sqlite3.Connection
    last: str
    count: int

    def append(self, body: dict[str, Any], *, certificate: str | None = None) -> int:
        """Append an entry, read it back, and return its number.

        Raises LedgerRejected if the file doesn't return the entry as written. If this error leaves
        the `with` block of `Store.appending`, no entry of the block is kept.
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
                f"Entry {self.count} of the ledger differs from the text that was just written. "
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
    """Attach the state file at `address`, if any. Raises InvalidInput if it isn't a state."""
    try:
        if address is not None:
            connection.execute(f"ATTACH DATABASE ? AS {ATTACHED}", (address,))
            prepare(connection, ATTACHED)
            read_state(connection, ATTACHED)
        yield
    except CertificateRejected:
        raise InvalidInput(
            "The state file of the series is damaged. Nothing was published. Put back the newest "
            "copy of the state file."
        ) from None


def matches(entry: Entry, certificate: str) -> bool:
    """True if `entry` was written with this `certificate`."""
    return entry.body.get("certificate") == _digest(certificate)


@cache
def _schema() -> frozenset[tuple[str, ...]]:
    """SQLite's description of the tables and triggers of a new ledger."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in _SCHEMA:
            connection.execute(statement)
        return frozenset(connection.execute(_OBJECTS).fetchall())


def _is_used(connection: sqlite3.Connection) -> bool:
    """True if the database contains any table, trigger or view."""
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
    """All entries and the last hash. Raises LedgerRejected if the chain is broken."""
    entries: list[Entry] = []
    last = _START
    rows = connection.execute("SELECT number, body, hash FROM entry ORDER BY number")
    for expected, (number, text, digest) in enumerate(rows, start=1):
        if number != expected:
            raise LedgerRejected(
                f"Entry {expected} of the ledger is missing: the ledger was edited."
            )
        last = _digest(f"{last}{text}")
        if last != digest:
            raise LedgerRejected(f"Entry {number} of the ledger was edited.")
        entries.append(Entry(number=number, body=_body(number, text)))
    counter = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry'").fetchone()
    if (counter[0] if counter else 0) != len(entries):
        raise LedgerRejected("The last entries of the ledger are missing: the ledger was edited.")
    return entries, last


def _body(number: int, text: Any) -> dict[str, Any]:
    """The fields of an entry. Raises InvalidInput unless the text is one JSON object."""
    try:
        return parse_object(text)
    except (InvalidInput, CertificateRejected):
        raise InvalidInput(
            f"Entry {number} of the ledger is unreadable. Put back a good copy of the ledger that "
            "has all charges."
        ) from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
