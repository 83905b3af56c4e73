"""The secret file that a series with running totals keeps from one release to the next.

It is a SQLite file with one row. A release changes it in the same transaction as the ledger, so
that either both record the release or neither does (theory/series.md, §3.5). Its sums are as secret
as the rows: together with the published tables they reveal exact counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, final

from leastnoise import _files
from leastnoise.certificate.records import exact_fields, parse_object
from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import CertificateRejected, InvalidInput, Refused

_STATE_APPLICATION = 0x6C6E7374  # "lnst", in the header of the file
_SCHEMA = "CREATE TABLE state (number INTEGER PRIMARY KEY CHECK (number = 1), body TEXT NOT NULL)"
_FIELDS = ("plan", "position", "first", "tag", "digest", "published", "sums")
_LARGEST = 1 << 26  # largest size of a body in bytes
# letters of a partial sum with its sign; a sum reaches 2^15 once in 2^61 (`noise.trees`)
_SUM_DIGITS = 6
ATTACHED = "kept"
"""The name under which a transaction of the ledger attaches the state file in SQLite."""


@final
@dataclass(frozen=True, kw_only=True)
class State:
    """The secret state of a series after some releases.

    `plan` is the SHA-256 of its spec and certificate. `position` is the number of the last release
    that the ledger counts, and `first` the number of its tree's first release. `tag` is a random
    text that is also in the ledger's last entry of the series. `digest` is the digest of the last
    release, which is chained to all earlier ones. `published` is False after the entry of a release
    until its folder is complete. `sums` has the partial sums and totals of each query, by its
    label.
    """

    plan: str
    position: int
    first: int
    tag: str
    digest: str
    published: bool
    sums: Mapping[str, Any] = field(repr=False)

    @classmethod
    def begin(cls, *, plan: str, first: int, digest: str, sums: Mapping[str, Any]) -> Self:
        """The state before release `first`, which begins a tree."""
        return cls(
            plan=plan,
            position=first - 1,
            first=first,
            tag=new_tag(),
            digest=digest,
            published=True,
            sums=sums,
        )

    def after(self, *, counts: Mapping[str, Sequence[int]], sums: Mapping[str, Any]) -> State:
        """The state after the next release, which publishes `counts` and leaves partial `sums`.

        Both have the values of each query, by its label.
        """
        digest = chained(self.digest, plan=self.plan, release=self.position + 1, counts=counts)
        return replace(
            self,
            position=self.position + 1,
            tag=new_tag(),
            digest=digest,
            published=False,
            sums=sums,
        )

    def to_json(self) -> str:
        """The state as JSON text, whose length doesn't depend on partial sums of noise.

        The length of a file is visible even to users who can't read it. So blanks at the end
        replace missing digits of the sums. Sums with more than `_SUM_DIGITS` letters are too rare
        to matter.
        """
        text = json.dumps({name: getattr(self, name) for name in _FIELDS}, separators=(",", ":"))
        noise = (sums for of_query in self.sums.values() for sums in of_query["noise"])
        return text + " " * sum(max(_SUM_DIGITS - len(str(n)), 0) for sums in noise for n in sums)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote. Raises CertificateRejected if `text` isn't a state."""
        try:
            record = parse_object(text)
        except InvalidInput:
            raise CertificateRejected("The file is not the state of a series.") from None
        fields = exact_fields(record, _FIELDS, where="state")
        kinds = (str, int, int, str, str, bool, dict)
        known = all(type(fields[name]) is kind for name, kind in zip(_FIELDS, kinds, strict=True))
        if not known or not 1 <= fields["first"] <= fields["position"] + 1:
            raise CertificateRejected("The file is not the state of a series.")
        return cls(**fields)


def new_tag() -> str:
    """A random text of 256 bits, which nobody can guess."""
    return f"{SystemEntropy().bits(256):064x}"


def chained(before: str, *, plan: str, release: int, counts: Mapping[str, Sequence[int]]) -> str:
    """The digest of a release: SHA-256 of its plan, number and counts, and the previous digest."""
    record = [plan, release, {name: list(counts[name]) for name in sorted(counts)}, before]
    return hashlib.sha256(json.dumps(record).encode()).hexdigest()


@final
@dataclass(frozen=True, kw_only=True)
class StateFile:
    """The state file at `path`, which only its owner may read."""

    path: Path

    @property
    def exists(self) -> bool:
        """True if there is a file, a link or anything else at the path."""
        return os.path.lexists(self.path)

    def create(self, state: State) -> None:
        """Write a new file; it replaces an existing one."""
        with self._explained():
            for left in (self._new, _journal(self._new), _journal(self.path)):
                # journals of a killed process, which SQLite would apply
                left.unlink(missing_ok=True)
            # a new file, so that nobody else has it open or may read it
            os.close(os.open(self._new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(self._new, isolation_level=None)) as connection:
                prepare(connection, "main")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {_STATE_APPLICATION}")
                connection.execute("INSERT INTO state VALUES (1, ?)", (state.to_json(),))
                connection.execute("COMMIT")
            self._new.replace(self.path)
            _files.sync(self.path.parent)

    def read(self) -> State:
        """The state. Raises InvalidInput if it is missing, unreadable or no state.

        Raises Refused if others may read it, or if other processes lock it for a minute.
        """
        try:
            mode = self.path.stat(follow_symlinks=False).st_mode
        except OSError:
            raise InvalidInput(f"The state file {self.path} is missing.") from None
        if not stat.S_ISREG(mode):
            raise InvalidInput(
                f"{self.path} is a link, folder, pipe or device, not a state file. Put the state "
                "file itself at this path."
            )
        if mode & 0o077:
            raise Refused(
                f"Others may read {self.path}, which is as secret as the rows. Remove the "
                f"permission of others with chmod 600 {self.path}. Nothing was read or drawn."
            )
        with self._explained(), closing(self._open()) as connection:
            return read_state(connection, "main")

    def mark_published(self, state: State) -> None:
        """Note that the folder of the last release exists, if the file still has this `state`."""
        with self._explained(), closing(self._open()) as connection:
            prepare(connection, "main")
            connection.execute("BEGIN IMMEDIATE")
            if read_state(connection, "main").tag == state.tag:
                write_state(connection, "main", replace(state, published=True))
            connection.execute("COMMIT")

    def delete(self) -> None:
        """Delete the file at the end of a series, after overwriting its bytes."""
        with self._explained():
            size = self.path.stat().st_size
            with self.path.open("r+b") as file:
                file.write(bytes(size))
                os.fsync(file.fileno())
            self.path.unlink()
            _files.sync(self.path.parent)

    @property
    def uri(self) -> str:
        """The address by which the ledger's connection attaches the file."""
        return f"{self.path.absolute().as_uri()}?mode=rw"

    @property
    def _new(self) -> Path:
        return self.path.with_name(f"{self.path.name}.new")

    def _open(self) -> sqlite3.Connection:
        # opened for writing, even to read: else SQLite can't roll back a killed process's
        # transaction
        return sqlite3.connect(self.uri, uri=True, timeout=60.0, isolation_level=None)

    def _explained(self) -> _Explained:
        return _Explained(self.path)


@final
class _Explained:
    """A context that turns errors of the state file into InvalidInput or Refused, without data."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise Refused(
                f"Other processes are using the state file {self._path}. Try again when they have "
                "finished."
            ) from None
        if isinstance(error, sqlite3.Error | CertificateRejected | UnicodeDecodeError):
            raise InvalidInput(
                f"The state file {self._path} is damaged, or is not a state file of leastnoise."
            ) from None
        if isinstance(error, OSError):
            raise InvalidInput(
                f"The state file {self._path} can't be written: {error.strerror}."
            ) from None


def _journal(path: Path) -> Path:
    """The path of the journal that SQLite writes during a transaction."""
    return path.with_name(f"{path.name}-journal")


def prepare(connection: sqlite3.Connection, name: str) -> None:
    """Set up the database `name`: commits reach the disk, and deleted content is overwritten."""
    connection.execute(f"PRAGMA {name}.journal_mode = DELETE")
    connection.execute(f"PRAGMA {name}.synchronous = EXTRA")
    connection.execute(f"PRAGMA {name}.secure_delete = ON")


# The names of attached files are our own constants, so no foreign text gets into a statement.


def read_state(connection: sqlite3.Connection, name: str) -> State:
    """The state in the database `name`. Raises CertificateRejected if it isn't a state file."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
    if connection.execute(f"PRAGMA {name}.application_id").fetchone()[0] != _STATE_APPLICATION:
        raise CertificateRejected("The file is not the state of a series.")
    objects = connection.execute(f"SELECT sql FROM {name}.sqlite_master").fetchall()  # noqa: S608
    if objects != [(_SCHEMA,)]:
        raise CertificateRejected("The file is not the state of a series.")
    rows = connection.execute(f"SELECT body FROM {name}.state").fetchall()  # noqa: S608
    if len(rows) != 1:
        raise CertificateRejected("The file is not the state of a series.")
    return State.from_json(str(rows[0][0]))


def write_state(connection: sqlite3.Connection, name: str, state: State) -> None:
    """Replace the state in the database `name`."""
    for text in ("", state.to_json()):  # first free the pages, so that the file doesn't grow
        connection.execute(f"UPDATE {name}.state SET body = ?", (text,))  # noqa: S608
