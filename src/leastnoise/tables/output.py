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
    block runs, if `path` exists or its folder can't be written to.
    """
    if path.exists() or path.is_symlink():
        raise InvalidInput(
            f"Expected a new output directory, but {path} exists. Nothing was spent."
        )
    working = _make_beside(path)
    try:
        yield working
        for file in working.iterdir():
            _sync(file)
        _sync(working)
        # Renaming over a directory that appeared meanwhile would replace it if it is empty.
        if path.exists():
            raise InvalidInput(f"{path} appeared during the release, so nothing was published.")
        working.rename(path)
        _sync(path.parent)
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(working, ignore_errors=True)


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


def write_table(table: Table, folder: Path, kind: str) -> Path:
    """Write `table` as <name>.<kind> into `folder`; return the file."""
    path = folder / f"{table.name}.{kind}"
    _WRITERS[kind](table, path)
    return path


def read_table(path: Path) -> tuple[list[str], int]:
    """Return the columns and the number of rows of a table that `write_table` wrote.

    Raises OSError, ValueError or duckdb.Error for a file that isn't one.
    """
    return _READERS[path.suffix.removeprefix(".")](path)


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


def _read_csv(path: Path) -> tuple[list[str], int]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        names = next(rows, [])
        lengths = [len(row) for row in rows]
    if any(length != len(names) for length in lengths):
        raise ValueError("a row is too short or too long")
    return names, len(lengths)


def _read_json(path: Path) -> tuple[list[str], int]:
    records: Any = json.loads(path.read_text(encoding="utf-8"))
    names = list(records[0]) if isinstance(records, list) and records else []
    if not names or any(not isinstance(row, dict) or list(row) != names for row in records):
        raise ValueError("not a list of records with the same fields")
    return names, len(records)


def _read_parquet(path: Path) -> tuple[list[str], int]:
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(path))
        return list(rows.columns), rows.shape[0]


_WRITERS: dict[str, Callable[[Table, Path], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
_READERS: dict[str, Callable[[Path], tuple[list[str], int]]] = {
    "csv": _read_csv,
    "json": _read_json,
    "parquet": _read_parquet,
}
