"""A directory that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from leastnoise import _files
from leastnoise.errors import InvalidInput, SourceError
from leastnoise.tables import spec_file

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN, CERTIFICATE, SPEC = "plan.json", "certificate.json", "spec.toml"
LARGEST = {
    PLAN: _files.LARGEST_CERTIFICATE,
    CERTIFICATE: _files.LARGEST_CERTIFICATE,
    SPEC: spec_file.LARGEST,
}  # bytes
# What SQLite puts beside a file, and takes for its own where it finds it.
_BESIDE_LEDGERS = ("", "-journal", "-wal", "-shm")


@contextmanager
def new_directory(path: Path, *, ledger: Path | None = None) -> Iterator[Path]:
    """Yield a temporary directory beside `path` that becomes `path` if the block ends well.

    Files are synced, then one rename makes them visible: killed at any time, there is all or
    nothing at `path` (a hidden, named leftover may stay beside it). Raises InvalidInput, before the
    block runs, if `path` exists, its folder can't be written to or it would be in the way of the
    `ledger`; after it, if the disk fails. What the block raises is its own: see `writing`.
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
    working: Path | None = None
    try:
        working = _make_beside(path)
        with writing(path):
            _sync(working)  # not every file system can sync a directory
        yield working
        with writing(path):
            _publish(working, path)
    finally:
        if working is not None:
            shutil.rmtree(working, ignore_errors=True)
        for one in above:  # what was made for nothing, from the innermost on
            with suppress(OSError):
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


def _publish(working: Path, path: Path) -> None:
    for file in working.iterdir():
        _sync(file)
    _sync(working)
    # Renaming over a directory that appeared meanwhile would replace it if it is empty.
    if path.exists():
        raise InvalidInput(f"{path} appeared during the release, so nothing was published.")
    working.rename(path)
    _sync(path.parent)


def _make_beside(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1000):
            working = path.parent / f".{path.name}.{os.getpid()}-{attempt}.partial"
            if not working.exists():
                working.mkdir()
                return working
    except OSError as error:
        raise InvalidInput(f"{path} can't be made: {error.strerror}. Nothing was spent.") from None
    raise InvalidInput(f"{path.parent} is full of leftovers of {path.name}; remove them.")


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
