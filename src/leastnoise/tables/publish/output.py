"""A directory that appears whole or not at all, and the tables of a release."""

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
}  # largest size of each file, in bytes
# Suffixes of files that SQLite writes beside a database, and reads if they exist.
_BESIDE_LEDGERS = ("", "-journal", "-wal", "-shm")


@contextmanager
def new_directory(path: Path, *, ledger: Path | None = None) -> Iterator[Path]:
    """Yield a temporary directory beside `path`, which is renamed to `path` if the block succeeds.

    Files are synced before the rename. If the process is killed, `path` is complete or absent, and
    the next release to `path` removes the temporary directory. A child process that is forked in
    the block neither publishes nor removes the directory. Errors of the block are passed on
    unchanged.

    Raises InvalidInput before the block runs if `path` exists or can't be created, or if `path` or
    a directory above it has a name that the `ledger` needs. Raises it after the block if the disk
    fails, if `path` appeared meanwhile, or in a forked child.
    """
    if "\0" in str(path):
        raise InvalidInput(
            "The output path contains a null character. Give another path. Nothing was spent."
        )
    if path.name in {"", ".."}:
        raise InvalidInput(
            f"Expected an output path that ends in the name of a new directory, got {path}. "
            "Nothing was spent."
        )
    if ledger is not None:
        _check_ledger_names(path, ledger)
    # os.path, because a Path raises for a NUL or a name that is too long.
    if os.path.lexists(path):
        raise InvalidInput(
            f"Expected a new output directory, but {path} exists. Choose another output.path, or "
            "move that directory away. Nothing was spent."
        )
    missing = [folder for folder in path.parents if not os.path.lexists(folder)]
    owner = os.getpid()
    try:
        with _create_beside(path) as working:
            with report_write_errors(path):
                _files.sync(working)  # not every file system can sync a directory
            yield working
            if os.getpid() != owner:
                raise InvalidInput(
                    "A release can be published only by the process that began the release, not by "
                    "a copy of the process (os.fork). Run the whole release in one process."
                )
            with report_write_errors(path):
                _publish(working, path)
    finally:
        for folder in missing if os.getpid() == owner else ():
            with suppress(OSError):  # only an empty folder can be removed; innermost first
                folder.rmdir()


def _check_ledger_names(path: Path, ledger: Path) -> None:
    """Raise InvalidInput if SQLite may use `path`, or a directory above it, for the ledger."""
    beside = os.path.realpath(ledger)
    taken = {f"{beside}{suffix}".casefold() for suffix in _BESIDE_LEDGERS}
    target = Path(os.path.realpath(path))
    for folder in (target, *target.parents):
        # compared without case, since some file systems ignore it
        if str(folder).casefold() in taken:
            raise InvalidInput(
                f"The ledger {ledger} needs a file named {folder.name}, but this name is part of "
                f"the output path {path}. Choose another output path. Nothing was spent."
            )


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Turn write errors of the block into InvalidInput about `path`. The block must only write."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}.") from None
    except duckdb.Error:  # raised by writing Parquet
        raise InvalidInput(f"{path} can't be written. Check if the disk is full.") from None


def sync_files(folder: Path) -> None:
    """Flush the folder and its files to the disk; raises OSError if the disk fails."""
    for file in folder.iterdir():
        _files.sync(file)
    _files.sync(folder)


def _publish(working: Path, path: Path) -> None:
    sync_files(working)
    # A rename would replace an empty directory that appeared meanwhile.
    if path.exists():
        raise InvalidInput(f"{path} appeared during the release, so nothing was published.")
    working.rename(path)
    _files.sync(path.parent)


@contextmanager
def _create_beside(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path`; it is removed on leaving unless it was renamed.

    Raises InvalidInput if it can't be created.
    """
    attempts = itertools.count()

    def create() -> Path:
        while True:
            working = path.parent / f".{path.name}.{os.getpid()}-{next(attempts)}.partial"
            with suppress(FileExistsError):
                working.mkdir()
                return working

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent, re.escape(path.name))
        working, descriptor = spill.claim_folder(create)
    except OSError as error:
        why = error.strerror or error
        raise InvalidInput(f"{path} can't be created: {why}. Nothing was spent.") from None
    owner = os.getpid()
    try:
        yield working
    finally:
        if os.getpid() == owner:
            shutil.rmtree(working, ignore_errors=True)
        os.close(descriptor)


def sweep(parent: Path, name: str) -> None:
    """Remove the temporary directories that killed releases left in `parent`.

    `name` is a regular expression that matches the names of their final directories.
    """
    spill.sweep(parent, re.compile(rf"\.{name}\.\d+-\d+\.partial"))


def read_text(folder: Path, name: str) -> str:
    """The text of the file `name` of a release.

    Raises SourceError if it is missing, unreadable, a link, or longer than any release writes.
    """
    if not os.path.lexists(folder / name):
        hint = " Name one of its releases, such as 01." if (folder / "01").is_dir() else ""
        raise SourceError(f"Expected the directory of a release: {folder} has no {name}.{hint}")
    return _files.read_text(folder / name, most=LARGEST[name], links=False)


@final
@dataclass(frozen=True, kw_only=True)
class ReleasedTables(Shown):
    """Tables that are safe to publish, and the certificate that proves it.

    Each table becomes a frame by its own `to_pandas`, `to_polars` or `to_arrow`.

    Attributes:
        tables: The tables, by query.
        certificate: The proof that the release meets its budget.
        plan: The plan by which the tables were drawn.
        path: The directory that holds the tables; None if the spec has no output.
        entry: Number of the ledger's entry for this release; None without a ledger.
        release_number: Position in the series, from 1 on; None without a series.
    """

    tables: dict[str, Table]
    certificate: PlanCertificate
    plan: Plan
    path: Path | None
    entry: int | None = None
    release_number: int | None = None

    def __repr__(self) -> str:
        budget = self.certificate.budget
        rho = self.certificate.rho
        budget_text = _words.format_guarantee(budget.epsilon, budget.delta, rho)
        guarantee = f"{budget_text} for each {self.plan.spec.protected}"
        tables = _words.count_noun(len(self.tables), "table")
        if self.release_number is not None:
            number = _words.name_release(self.release_number, self.plan.planned_releases)
            tables += f", {number}, together"
        return _words.line(
            "ReleasedTables", f"{tables}, {guarantee}: {_words.list_names(self.tables)}"
        )

    def __str__(self) -> str:
        """A summary and the tables as text, one below the other."""
        return "\n\n".join([repr(self), *map(str, self.tables.values())])

    def _tables(self) -> dict[str, Columns]:
        return {name: table.columns for name, table in self.tables.items()}
