"""Public keys from a file, with their levels.

No message quotes the content of a file, because somebody may name a file of data by mistake.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import duckdb

from leastnoise import _files, _words
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

_LINE_END = re.compile("\r\n|\r|\n")  # the line ends that a CSV of rows may have
_INT = re.compile("[+-]?[0-9]{1,19}")
_KINDS = ("int", "text", "bool")
_BOOLS = {"true": True, "false": False}


def find_type_in_source(data: object, column: str, folder: Path | None) -> ColumnType | None:
    """The type of a column in the first source of the section `data`, if that is a Parquet file.

    It is read from the file's metadata. None if it can't be found.
    """
    source = data.get("source") if isinstance(data, dict) else None
    first = source[0] if isinstance(source, list) and source else source
    if folder is None or not isinstance(first, str) or not first.lower().endswith(".parquet"):
        return None
    path = folder / first
    if not path.is_file():
        return None
    try:
        with open_connection() as connection:
            read = f"SELECT * FROM read_parquet('{_escape(path)}') LIMIT 0"  # noqa: S608  # escaped
            described = connection.execute(read).description or []
    except duckdb.Error:
        return None
    kinds = {str(name): str(kind) for name, kind, *_ in described}
    return TYPES.get(kinds.get(column, ""))


def _escape(path: Path) -> str:
    """Escape a path for a text in SQL, so that DuckDB doesn't read a pattern in it."""
    return re.sub(r"([*?\[\]])", r"[\1]", str(path)).replace("'", "''")


def read_keys(
    entry: Mapping[str, Any],
    column: str,
    declared: object,
    folder: Path | None,
    *,
    levels: bool,
) -> list[Key] | dict[str, Any]:
    """Read the keys of a column in the file that `entry` names.

    `declared` is the column's type. With `levels`, the entry may name columns of the file that are
    levels of the keys. If it does, the result is a table of the keys and the levels. Raises
    SourceError if the file can't be read, and ValueError for a malformed entry or content.
    """
    named = entry.get("levels") if levels else None
    if len(entry) > (1 if named is None else 2):
        but = ", except levels" if levels else ""
        raise ValueError(f"No entry may stand beside file{but}. Leave out the other entries.")
    if folder is None:
        raise ValueError(
            "Keys can be read from a file only if the spec is a file, too. List the keys in the "
            "spec."
        )
    name = entry["file"]
    if not isinstance(name, str) or not name.lower().endswith(KEY_FILES):
        raise ValueError(f"Expected the path of a file ending in {', '.join(KEY_FILES)}.")
    heads = [column] if named is None else _check_levels(column, named, name)
    content = _files.read_bytes(folder / name, most=LARGEST_SPEC)
    above: list[list[Key]] = []
    if name.lower().endswith(".parquet"):
        keys = _read_parquet(content, declared)
    elif named is not None:
        keys, *above = _read_columns(content, declared, heads)
    else:
        header = column if name.lower().endswith(".csv") else None
        keys = _read_text(content, declared, header=header)
    if len(keys) > MOST_KEYS:
        raise ValueError(
            f"Expected at most {MOST_KEYS:,} keys. Group by fewer keys, or by bands of values."
        )
    if len(set(keys)) < len(keys):
        raise ValueError(_name_repeated(keys, name))
    if named is None:
        return keys
    if (row := find_conflict(above)) is not None:
        raise ValueError(f"Line {row + 2:,} {MOVED}")
    return {"keys": keys, "levels": dict(zip(named, above, strict=True))}


def _name_repeated(keys: Sequence[Key], file: str) -> str:
    """A sentence that names the first line that repeats a key (in a Parquet file the row)."""
    first: dict[Key, int] = {}
    index = next(i for i, key in enumerate(keys) if first.setdefault(key, i) < i)
    ends = file.lower()
    line = "Row" if ends.endswith(".parquet") else "Line"
    number = index + (2 if ends.endswith(".csv") else 1)  # a CSV file begins with a header
    return f"{line} {number:,} gives a key a second time. Leave it out."


def _check_levels(column: str, named: Any, file: str) -> list[str]:
    """The columns to read from a file of keys with levels; the column of the keys is first.

    Raises ValueError for malformed names of levels, or a file that isn't a CSV.
    """
    if not isinstance(named, list) or not named or not all(isinstance(name, str) for name in named):
        raise ValueError('Expected the names of columns in levels, such as ["state", "nation"].')
    if len({column, *named}) <= len(named):
        raise ValueError("Expected each column once in levels, and not the column of the keys.")
    if not file.lower().endswith(".csv"):
        raise ValueError(
            "Keys with levels must come from a .csv file with a column for the keys and a column "
            "for each level."
        )
    return [column, *named]


def _read_columns(content: bytes, declared: object, names: Sequence[str]) -> list[list[Key]]:
    """Read columns of a CSV file: keys of the `declared` type, and the texts of their levels.

    Raises ValueError for malformed content.
    """
    first, *lines = _split_lines(content, declared) or [""]
    heads = csv_lines.split(first)
    for column, name in enumerate(names):
        if heads.count(name) != 1:
            called = f"levels[{column - 1}]" if column else "the column of the keys"
            raise ValueError(f"Expected the first line of the file to name {called} exactly once.")
    indices = [heads.index(name) for name in names]
    kinds = [declared, *["text"] * (len(names) - 1)]
    columns: list[list[Key]] = [[] for _ in names]
    for number, line in enumerate(lines, start=2):
        fields = csv_lines.split(line)
        if len(fields) != len(heads):
            raise ValueError(
                f"Line {number:,} has {_words.count_noun(len(fields), 'field')}, but the first "
                f"line has {len(heads):,}."
            )
        if not all(fields[index] for index in indices):
            raise ValueError(f"Line {number:,} has an empty field. Leave the line out.")
        for values, index, kind in zip(columns, indices, kinds, strict=True):
            values.append(_parse_field(fields[index], kind, number))
    return columns


def _read_text(content: bytes, declared: object, *, header: str | None) -> list[Key]:
    """Read a key from each line; in a CSV file the first line is the `header`.

    Raises ValueError if the first line isn't the header, a line isn't a key, or `_split_lines`
    refuses the content.
    """
    lines = _split_lines(content, declared)
    below = 0 if header is None else 1
    if header is not None and (not lines or csv_lines.split(lines[0]) != [header]):
        raise ValueError(
            "Expected a CSV of one column whose first line is the column's name. If the file has "
            "no such line, give its name the ending .txt. If the file has other columns, name "
            "them in levels."
        )
    return [
        _parse_line(line, declared, number, quotes=header is not None)
        for number, line in enumerate(lines[below:], start=below + 1)
    ]


def _split_lines(content: bytes, declared: object) -> list[str]:
    """The lines of a text file whose keys have the `declared` type.

    Raises ValueError unless the type is int, text or bool, and the file is UTF-8.
    """
    if declared not in _KINDS:
        raise ValueError(
            'Give the type of the keys in data.types: "int", "text" or "bool". Neither the text '
            "file nor the source states the type."
        )
    try:
        lines = _LINE_END.split(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("Expected UTF-8 text. Save the file as UTF-8.") from None
    if not lines[-1]:  # after the end of the last line
        lines.pop()
    return lines


def _parse_line(line: str, declared: object, number: int, *, quotes: bool) -> Key:
    """Parse the key in a line, with `quotes` as in a CSV file.

    Raises ValueError for an empty line, several fields, or a key that `_parse_field` refuses.
    """
    if not line:
        raise ValueError(f"Line {number:,} is empty. Leave the line out.")
    fields = csv_lines.split(line) if quotes else [line]
    if len(fields) > 1:
        raise ValueError(f"Line {number:,} has several fields. Put a key with commas in quotes.")
    return _parse_field(fields[0], declared, number)


def _parse_field(field: str, declared: object, number: int) -> Key:
    """Parse the key in a field; raises ValueError if it is too long or not of the declared type."""
    if len(field.encode()) > MAX_TEXT:
        raise ValueError(
            f"Line {number:,} has more than {MAX_TEXT:,} bytes, the most that a key may have."
        )
    key: Key | None = field
    if declared == "int":
        key = int(field) if _INT.fullmatch(field) else None
    elif declared == "bool":
        key = _BOOLS.get(field.lower())
    if key is None:
        raise ValueError(
            f"The key in line {number:,} isn't of type {declared}, which data.types states for "
            "its column."
        )
    return key


def _read_parquet(content: bytes, declared: object) -> list[Key]:
    """Read the keys of a Parquet file with a single column, in the type that the column has there.

    Raises ValueError for an unreadable file, several columns, a column of the wrong type, a NULL,
    or too many bytes.
    """
    try:
        with parquet_rows.open_rows(content) as rows:
            if len(rows.columns) != 1:
                raise ValueError("Expected a Parquet file with one column, the keys.")
            keys = _read_values(rows, stored=str(rows.types[0]), declared=declared)
    except OSError as error:
        raise ValueError(f"A temporary file can't be written: {error.strerror}.") from None
    except (duckdb.Error, UnicodeDecodeError):
        raise ValueError("The file can't be read as a Parquet file.") from None
    if None in keys:
        raise ValueError(
            f"Row {keys.index(None) + 1:,} is NULL, which isn't a key. Leave the row out."
        )
    return keys


def _read_values(rows: duckdb.DuckDBPyRelation, *, stored: str, declared: object) -> list[Any]:
    kind = TYPES.get(stored)
    wanted = (declared,) if declared in _KINDS else _KINDS
    if kind not in wanted:
        names = " or ".join(map(str, wanted))
        raise ValueError(f"Expected keys of type {names}, got a column of type {stored}.")
    cast = "VARCHAR" if kind == "text" else stored
    keys = rows.project(f"COLUMNS(*)::{cast} AS key").limit(MOST_KEYS + 1)
    if kind == "text":
        ((letters,),) = keys.aggregate("sum(strlen(key))").fetchall()
        if letters is not None and letters > LARGEST_SPEC:
            raise ValueError(
                f"Expected keys of at most {LARGEST_SPEC:,} bytes in all. Give fewer or shorter "
                "keys."
            )
    return [key for (key,) in keys.fetchall()]
