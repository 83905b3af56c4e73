"""A directory that appears whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb

from leastnoise.errors import InvalidInput
from leastnoise.tables.parquet_rows import one_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leastnoise.tables.results import Table

PLAN, CERTIFICATE, SPEC = "plan.json", "certificate.json", "spec.toml"


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary directory beside `path` that becomes `path` if the block ends well.

    Files are synced, then one rename makes them visible: killed at any time, there is all or
    nothing at `path` (a hidden, named leftover may stay beside it). Raises InvalidInput, before the
    block runs, if `path` exists or its folder can't be written to; after it, if the disk fails.
    What the block raises is its own: see `writing`.
    """
    # os.path, because a Path raises for a NUL or a name that is too long.
    if os.path.lexists(path):
        raise InvalidInput(
            f"Expected a new output directory, but {path} exists. Nothing was spent."
        )
    working = _make_beside(path)
    try:
        yield working
        with writing(path):
            _publish(working, path)
    finally:
        shutil.rmtree(working, ignore_errors=True)


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
    except ValueError:
        raise InvalidInput("The output path holds a NUL. Nothing was spent.") from None
    raise InvalidInput(f"{path.parent} is full of leftovers of {path.name}; remove them.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_table(table: Table, folder: Path, kind: str) -> Path:
    """Write `table` as <name>.<kind> into `folder`; return the file."""
    path = folder / f"{table.name}.{kind}"
    _WRITERS[kind](table, path)
    return path


def read_table(path: Path) -> dict[str, list[Any]]:
    """Return the columns of a table that `write_table` wrote; of a CSV, as texts.

    Raises OSError, ValueError or duckdb.Error for a file that isn't one.
    """
    try:
        return _READERS[path.suffix.removeprefix(".")](path)
    except (csv.Error, RecursionError):  # a field past 131,072 characters; lists in lists in lists
        raise ValueError("not what write_table writes") from None


def _write_csv(table: Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows)


def _write_json(table: Table, path: Path) -> None:
    names = list(table.columns)
    records = [dict(zip(names, row, strict=True)) for row in table.rows]
    path.write_text(json.dumps(records, indent=1, allow_nan=False) + "\n", encoding="utf-8")


_SQL_TYPES: dict[type, str] = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def _write_parquet(table: Table, path: Path) -> None:
    parts: list[str] = []
    for name, values in table.columns.items():
        quoted = name.replace('"', '""')
        parts.append(f'unnest(?::{_SQL_TYPES[type(values[0])]}[]) AS "{quoted}"')
    with duckdb.connect() as connection:
        rows = connection.sql(f"SELECT {', '.join(parts)}", params=list(table.columns.values()))
        rows.write_parquet(str(path))


def _read_csv(path: Path) -> dict[str, list[Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return _by_column(names, rows)


def _read_json(path: Path) -> dict[str, list[Any]]:
    # Pairs, and no dictionaries: a field that stands twice would hide the first.
    records: Any = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=tuple)
    if not isinstance(records, list) or not records or not isinstance(records[0], tuple):
        raise ValueError("not a list of records")
    names = [name for name, _ in records[0]]
    if any(not isinstance(row, tuple) or [name for name, _ in row] != names for row in records):
        raise ValueError("records with other fields than the first")
    return _by_column(names, [[value for _, value in row] for row in records])


def _by_column(names: list[str], rows: list[list[Any]]) -> dict[str, list[Any]]:
    if len(set(names)) != len(names) or any(len(row) != len(names) for row in rows):
        raise ValueError("two columns of one name, or rows of other lengths")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    with duckdb.connect() as connection:
        rows = connection.read_parquet(one_file(path))
        return _by_column(list(rows.columns), [list(row) for row in rows.fetchall()])


_WRITERS: dict[str, Callable[[Table, Path], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
_READERS: dict[str, Callable[[Path], dict[str, list[Any]]]] = {
    "csv": _read_csv,
    "json": _read_json,
    "parquet": _read_parquet,
}
