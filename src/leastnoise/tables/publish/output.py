"""A directory that appears whole or not at all, and what a release has made: tables to publish."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import duckdb

from leastnoise import _files, _words
from leastnoise._notebooks import Shown
from leastnoise.errors import InvalidInput, SourceError
from leastnoise.tables.spec.values import LARGEST_SPEC
from leastnoise.tables.values import spill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise._notebooks import Columns
    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.results.table import Table

PLAN, CERTIFICATE, SPEC = "plan.json", "certificate.json", "spec.toml"
LARGEST = {
    PLAN: _files.LARGEST_CERTIFICATE,
    CERTIFICATE: _files.LARGEST_CERTIFICATE,
    SPEC: LARGEST_SPEC,
}  # bytes
# What SQLite puts beside a file, and takes for its own where it finds it.
_BESIDE_LEDGERS = ("", "-journal", "-wal", "-shm")


@contextmanager
def new_directory(path: Path, *, ledger: Path | None = None) -> Iterator[Path]:
    """Yield a temporary directory beside `path` that becomes `path` if the block ends well.

    Files are synced, then one rename makes them visible: killed at any time, there is all or
    nothing at `path`, and the next release to `path` removes what is left beside it. A child that
    was forked meanwhile publishes and removes nothing. Raises InvalidInput, before the block runs,
    if `path` exists, its folder can't be written to or it would be in the way of the `ledger`;
    after it, if the disk fails. What the block raises is its own: see `writing`.
    """
    if "\0" in str(path):
        raise InvalidInput("The output path holds a NUL. Nothing was spent.")
    if path.name in {"", ".."}:
        raise InvalidInput(
            f"Expected an output path that ends in the name of a new directory, got {path}. "
            "Nothing was spent."
        )
    if ledger is not None:
        _check_apart(path, ledger)
    # os.path, because a Path raises for a NUL or a name that is too long.
    if os.path.lexists(path):
        raise InvalidInput(
            f"Expected a new output directory, but {path} exists. Nothing was spent."
        )
    above = [one for one in path.parents if not os.path.lexists(one)]
    owner = os.getpid()
    try:
        with _made_beside(path) as working:
            with writing(path):
                _sync(working)  # not every file system can sync a directory
            yield working
            if os.getpid() != owner:
                raise InvalidInput("A child of the process that began a release can't publish it.")
            with writing(path):
                _publish(working, path)
    finally:
        for one in above if os.getpid() == owner else ():
            with suppress(OSError):  # what was made for nothing, from the innermost on
                one.rmdir()


def _check_apart(path: Path, ledger: Path) -> None:
    """Raise InvalidInput if `path`, or a directory above it, has a name that SQLite may use."""
    beside = os.path.realpath(ledger)
    taken = {f"{beside}{suffix}".casefold() for suffix in _BESIDE_LEDGERS}
    target = Path(os.path.realpath(path))
    for one in (target, *target.parents):
        if str(one).casefold() in taken:  # capitals make no other file on some systems
            raise InvalidInput(
                f"The output path {path} is in the way of the ledger {ledger}, which needs the "
                f"name {one.name} for itself. Choose another. Nothing was spent."
            )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say that `path` can't be written if the block, which only writes, can't."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}.") from None
    except duckdb.Error:  # of a table as Parquet
        raise InvalidInput(f"{path} can't be written: is the disk full?") from None


def sync_files(folder: Path) -> None:
    """Have the folder and its files on the disk; raises OSError."""
    for file in folder.iterdir():
        _sync(file)
    _sync(folder)


def _publish(working: Path, path: Path) -> None:
    sync_files(working)
    # Renaming over a directory that appeared meanwhile would replace it if it is empty.
    if path.exists():
        raise InvalidInput(f"{path} appeared during the release, so nothing was published.")
    working.rename(path)
    _sync(path.parent)


@contextmanager
def _made_beside(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path`; it is removed on leaving, if it is still there."""
    attempts = itertools.count()

    def made() -> Path:
        while True:
            working = path.parent / f".{path.name}.{os.getpid()}-{next(attempts)}.partial"
            with suppress(FileExistsError):
                working.mkdir()
                return working

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent, re.escape(path.name))
        working, descriptor = spill.claimed(made)
    except OSError as error:
        why = error.strerror or error
        raise InvalidInput(f"{path} can't be made: {why}. Nothing was spent.") from None
    owner = os.getpid()
    try:
        yield working
    finally:
        if os.getpid() == owner:
            shutil.rmtree(working, ignore_errors=True)
        os.close(descriptor)


def sweep(parent: Path, name: str) -> None:
    """Remove what killed releases to the directories `name`, a pattern, left in `parent`."""
    spill.sweep(parent, re.compile(rf"\.{name}\.\d+-\d+\.partial"))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_text(folder: Path, name: str) -> str:
    """Return the file `name` of a release; no link, and no longer than one can be.

    Raises SourceError.
    """
    if not os.path.lexists(folder / name):
        raise SourceError(f"Expected the directory of a release: {folder} has no {name}.")
    return _files.read_text(folder / name, most=LARGEST[name], links=False)


@final
@dataclass(frozen=True, kw_only=True)
class ReleasedTables(Shown):
    """Tables that are safe to publish, by name, and the certificate that says why.

    `path` is the directory that holds them, if the spec has an output, and `entry` the number of
    the ledger's entry that was charged for them, if the spec has a ledger. Of a series `place` is
    which of its releases it is, from 1 on. Each table becomes a frame by its own `to_pandas`,
    `to_polars` or `to_arrow`.
    """

    tables: dict[str, Table]
    certificate: PlanCertificate
    plan: Plan
    path: Path | None
    entry: int | None = None
    place: int | None = None

    def __repr__(self) -> str:
        budget = self.certificate.budget
        said = (
            f"{_words.format_guarantee(budget.epsilon, budget.delta)} for each {self.plan.person}"
        )
        tables = _words.count_noun(len(self.tables), "table")
        if self.place is not None:
            tables += f", {_words.name_release(self.place, self.plan.releases)}, together"
        return _words.line("ReleasedTables", f"{tables}, {said}: {_words.list_names(self.tables)}")

    def __str__(self) -> str:
        """Return the tables as text, one below the other."""
        return "\n\n".join([repr(self), *map(str, self.tables.values())])

    def _tables(self) -> dict[str, Columns]:
        return {name: table.columns for name, table in self.tables.items()}
