"""Public keys from a file, and what they are part of.

No message quotes what a file holds, since somebody may name a file of data by mistake.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import duckdb

from leastnoise import _files
from leastnoise.tables.spec.query import MOVED, find_conflict
from leastnoise.tables.spec.values import KEY_FILES, LARGEST_SPEC
from leastnoise.tables.values import csv_lines, parquet_rows
from leastnoise.tables.values.casts import MAX_TEXT, TYPES
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.spec.values import ColumnType, Key

MOST_KEYS = 10**6

_LINE_END = re.compile("\r\n|\r|\n")  # as in a CSV of rows
_INT = re.compile("[+-]?[0-9]{1,19}")
_KINDS = ("int", "text", "bool")
_BOOLS = {"true": True, "false": False}


def find_type_in_source(data: object, column: str, folder: Path | None) -> ColumnType | None:
    """The type of a column in a Parquet source, from its metadata; None if that doesn't say it."""
    source = data.get("source") if isinstance(data, dict) else None
    first = source[0] if isinstance(source, list) and source else source
    if folder is None or not isinstance(first, str) or not first.lower().endswith(".parquet"):
        return None
    path = folder / first
    if not path.is_file():
        return None
    try:
        with open_connection() as connection:
            read = f"SELECT * FROM read_parquet('{_escaped(path)}') LIMIT 0"  # noqa: S608  # escaped
            described = connection.execute(read).description or []
    except duckdb.Error:
        return None
    kinds = {str(name): str(kind) for name, kind, *_ in described}
    return TYPES.get(kinds.get(column, ""))


def _escaped(path: Path) -> str:
    """A path in a text of SQL, in which DuckDB sees no pattern."""
    return re.sub(r"([*?\[\]])", r"[\1]", str(path)).replace("'", "''")


def read_keys(
    entry: Mapping[str, Any],
    column: str,
    declared: object,
    folder: Path | None,
    *,
    levels: bool,
) -> list[Key] | dict[str, Any]:
    """Return the keys in the file that `entry` names; raises SourceError or ValueError.

    With `levels` it may name columns of what they are part of; these are beside them then.
    """
    named = entry.get("levels") if levels else None
    if len(entry) > (1 if named is None else 2):
        raise ValueError("Not used beside another key: give a file, or edges.")
    if folder is None:
        raise ValueError("A file is read with a spec that is a file itself. List the keys here.")
    name = entry["file"]
    if not isinstance(name, str) or not name.lower().endswith(KEY_FILES):
        raise ValueError(f"Expected the path of a file ending in {', '.join(KEY_FILES)}.")
    heads = [column] if named is None else _heads(column, named, name)
    content = _files.read_bytes(folder / name, most=LARGEST_SPEC)
    above: list[list[Key]] = []
    if name.lower().endswith(".parquet"):
        keys = _of_parquet(content, declared)
    elif named is not None:
        keys, *above = _columns(content, declared, heads)
    else:
        header = column if name.lower().endswith(".csv") else None
        keys = _of_text(content, declared, header=header)
    if len(keys) > MOST_KEYS:
        raise ValueError(f"Expected at most {MOST_KEYS:,} keys. Group by fewer, or by bands.")
    if len(set(keys)) < len(keys):
        raise ValueError("A key stands in it twice. Leave the second one out.")
    if named is None:
        return keys
    if (row := find_conflict(above)) is not None:
        raise ValueError(f"Line {row + 2:,} {MOVED}")
    return {"keys": keys, "levels": dict(zip(named, above, strict=True))}


def _heads(column: str, named: Any, file: str) -> list[str]:
    """Return the columns of a file of keys with levels, that of the keys first."""
    if not isinstance(named, list) or not named or not all(isinstance(one, str) for one in named):
        raise ValueError('Expected the names of columns in levels, such as ["state", "nation"].')
    if len({column, *named}) <= len(named):
        raise ValueError("Expected columns in levels, each named once, and not that of the keys.")
    if not file.lower().endswith(".csv"):
        raise ValueError("Expected a CSV where levels are named, with a column for each.")
    return [column, *named]


def _columns(content: bytes, declared: object, names: Sequence[str]) -> list[list[Key]]:
    """Return columns of a CSV: its keys, of the type that is `declared`, and texts."""
    first, *lines = _lines(content, declared) or [""]
    heads = csv_lines.split(first)
    for place, name in enumerate(names):
        if heads.count(name) != 1:
            own = f"levels[{place - 1}]" if place else "the column of the keys"
            raise ValueError(f"Expected one column that is called like {own} in its first line.")
    places, kinds = [heads.index(name) for name in names], [declared, *["text"] * (len(names) - 1)]
    found: list[list[Key]] = [[] for _ in names]
    for number, line in enumerate(lines, start=2):
        fields = csv_lines.split(line)
        if len(fields) != len(heads):
            raise ValueError(f"Line {number:,} has other than {len(heads):,} fields.")
        if not all(fields[place] for place in places):
            raise ValueError(f"Line {number:,} has an empty field. Leave it out.")
        for column, place, kind in zip(found, places, kinds, strict=True):
            column.append(_value(fields[place], kind, number))
    return found


def _of_text(content: bytes, declared: object, *, header: str | None) -> list[Key]:
    """Return a key a line, of the column's type; those of a CSV stand below the column's name."""
    lines = _lines(content, declared)
    below = 0 if header is None else 1
    if header is not None and (not lines or csv_lines.split(lines[0]) != [header]):
        raise ValueError(
            "Expected a CSV of one column, its first line the column's name. Name the file .txt if "
            "it has no such line, or name its other columns in levels."
        )
    return [
        _key(line, declared, number, quotes=header is not None)
        for number, line in enumerate(lines[below:], start=below + 1)
    ]


def _lines(content: bytes, declared: object) -> list[str]:
    """Return the lines of a text file, whose keys have the type that is `declared`."""
    if declared not in _KINDS:
        raise ValueError(
            'Expected the type of the column in data.types, one of "int", "text" and "bool": lines '
            "of a file have none, nor is the source a Parquet file that says it."
        )
    try:
        lines = _LINE_END.split(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("Expected UTF-8 text. Save the file as UTF-8.") from None
    if not lines[-1]:  # behind the end of the last line
        lines.pop()
    return lines


def _key(line: str, declared: object, number: int, *, quotes: bool) -> Key:
    """Return the key in a line, with `quotes` as a CSV of rows holds it."""
    if not line:
        raise ValueError(f"Line {number:,} is empty. Leave it out.")
    fields = csv_lines.split(line) if quotes else [line]
    if len(fields) > 1:
        raise ValueError(f"Line {number:,} has several fields. Put a key with commas in quotes.")
    return _value(fields[0], declared, number)


def _value(field: str, declared: object, number: int) -> Key:
    """Return the key that a field of a line is."""
    if len(field.encode()) > MAX_TEXT:
        raise ValueError(f"Line {number:,} has more than {MAX_TEXT:,} bytes, as no key has.")
    key: Key | None = field
    if declared == "int":
        key = int(field) if _INT.fullmatch(field) else None
    elif declared == "bool":
        key = _BOOLS.get(field.lower())
    if key is None:
        raise ValueError(f"Line {number:,} is no {declared}, as the column is in data.types.")
    return key


def _of_parquet(content: bytes, declared: object) -> list[Key]:
    """Return the keys of a Parquet file of one column, which has a type of its own."""
    try:
        with parquet_rows.open_rows(content) as rows:
            if len(rows.columns) != 1:
                raise ValueError("Expected a Parquet file of one column.")
            keys = _values(rows, held=str(rows.types[0]), declared=declared)
    except OSError as error:
        raise ValueError(f"A temporary file can't be made: {error.strerror}.") from None
    except (duckdb.Error, UnicodeDecodeError):
        raise ValueError("It is not a readable Parquet file.") from None
    if None in keys:
        raise ValueError(f"Row {keys.index(None) + 1:,} is NULL, which is no key. Leave it out.")
    return keys


def _values(rows: duckdb.DuckDBPyRelation, *, held: str, declared: object) -> list[Any]:
    kind = TYPES.get(held)
    wanted = (declared,) if declared in _KINDS else _KINDS
    if kind not in wanted:
        raise ValueError(f"Expected a column of {' or '.join(map(str, wanted))}, it holds {held}.")
    cast = "VARCHAR" if kind == "text" else held
    found = rows.project(f"COLUMNS(*)::{cast} AS key").limit(MOST_KEYS + 1)
    if kind == "text":
        ((letters,),) = found.aggregate("sum(strlen(key))").fetchall()
        if letters is not None and letters > LARGEST_SPEC:
            raise ValueError(f"Expected keys of at most {LARGEST_SPEC:,} bytes in all.")
    return [key for (key,) in found.fetchall()]
