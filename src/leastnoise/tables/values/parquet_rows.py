"""The rows of a Parquet file, whatever its texts hold.

A text that isn't UTF-8 is an error to DuckDB, and an error is an output. DuckDB can write a
question mark for each wrong byte, or leave them out: the rows where these are equally long are
right, the rest NULL. A decimal past its precision would fail in casts, so it is NULL; so is a
text that is longer than any key.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import duckdb

from leastnoise.errors import SourceError
from leastnoise.tables.spec.values import MAX_TEXT
from leastnoise.tables.values import spill
from leastnoise.tables.values.casts import MOST_DIGITS, FileRows, Held, within_precision
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_TREE_SQL = (
    "SELECT name, num_children, type, type_length, converted_type, precision, scale, logical_type "
    "FROM parquet_schema($path)"
)
_MEMORY = "2GB"  # a Parquet file of a kilobyte can say that it holds a terabyte
_MAGIC = "*?["
_INT96 = (
    "holds INT96 timestamps, which Spark, Hive and Impala write without saying of which time zone "
    "they are. Write them as timestamps in microseconds without a time zone (in Spark: cast to "
    "timestamp_ntz), or write their days as dates."
)
_NUMBER = "file_row_number"  # a column that DuckDB adds


def one_file(path: Path) -> str:
    """Return a pattern that matches `path` alone: DuckDB takes paths for patterns.

    It is absolute, as DuckDB also takes ~, file: and others at a start for what they aren't. Raises
    SourceError for the one name that no pattern is for.
    """
    text = path.absolute().as_posix()
    if "\\" in text and any(letter in text for letter in _MAGIC):
        raise SourceError(f"{path.name} can't be read: a \\ and one of {_MAGIC} in one path.")
    return "".join(f"[{letter}]" if letter in _MAGIC else letter for letter in text)


def is_utf8(path: Path) -> bool:
    """Say whether DuckDB can be told the name of `path`: others are bytes of no letters."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def named(path: Path, folder: Path) -> Path:
    """Return `path` by a name that DuckDB can be told: a link in `folder`, where its own isn't."""
    if is_utf8(path):
        return path
    link = folder / "rows.parquet"
    link.symlink_to(path.absolute())
    return link


@contextmanager
def opened(content: bytes) -> Iterator[duckdb.DuckDBPyRelation]:
    """Yield the rows of a Parquet file that somebody else may have made, and that was read already.

    DuckDB opens a name, which could be another file by now than the one that was checked.
    """
    with spill.folder() as folder, open_connection(memory_limit=_MEMORY) as connection:
        copy = folder / "table.parquet"
        copy.write_bytes(content)
        yield connection.read_parquet(one_file(copy), hive_partitioning=False)


def columns(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, Held]]:
    """Return the names and the columns, from the metadata alone; names may stand twice.

    Raises SourceError if `path` isn't a readable Parquet file.
    """
    bound = {"path": one_file(path)}
    try:
        found = connection.sql(f"FROM {_reader()}", params=bound).types
        tree = connection.sql(_TREE_SQL, params=bound).fetchall()
    except duckdb.Error:
        raise SourceError(f"{path.name} is not a readable Parquet file.") from None
    leaves = _top([_Element(*element) for element in tree])
    if any(leaf.name.lower() == _NUMBER for leaf in leaves):
        why = "is DuckDB's own name for the numbers of rows"
        raise SourceError(f"{path.name} has a column {_NUMBER!r}, which {why}. Rename it.")
    return [
        (leaf.name, replace(_held(f"c{place}", str(kind), leaf), exactly=_exactly(str(kind), leaf)))
        for place, (leaf, kind) in enumerate(zip(leaves, found, strict=True))
    ]


@final
@dataclass(frozen=True)
class _Element:
    """An element of a Parquet schema, as the file's metadata have it."""

    name: str
    children: int | None
    type: str | None
    length: str | None
    converted: str | None
    precision: int | None
    scale: int | None
    logical: str | None


def _top(tree: Sequence[_Element]) -> list[_Element]:
    """Return the columns, by the file's own names; DuckDB renames those that it finds alike."""
    found: list[_Element] = []
    inner = 0  # how many elements are still to come of the column before
    for element in tree[1:]:
        if inner == 0:
            found.append(element)
            inner = 1
        inner += (element.children or 0) - 1
    return found


def _held(sql: str, kind: str, element: _Element) -> Held:
    """Return the column, its values bounded where a longer or larger one would be trouble."""
    kind = kind.split("(", maxsplit=1)[0] if not kind.endswith("]") else kind
    if element.converted == "DECIMAL":
        return _decimal(sql, element)
    if element.type == "INT96":
        return Held(sql=sql, kind=kind, only=(), why=_INT96)
    if kind == "VARCHAR":
        sql = f"CASE WHEN strlen({sql}) <= {MAX_TEXT} THEN {sql} END"
    elif kind == "BLOB":
        sql = f"CASE WHEN octet_length({sql}) <= {MAX_TEXT} THEN {sql} END"
    elif kind.startswith("TIMESTAMP") and not _is_local(element.logical or ""):
        kind = f"{kind} in milliseconds, or as UTC"
    return Held(sql=sql, kind=kind)


def _is_local(logical: str) -> bool:
    """Say whether a timestamp has no time zone, and is of a unit that DuckDB's reader keeps."""
    return "isAdjustedToUTC=0" in logical and "MILLIS=MilliSeconds" not in logical


def _exactly(kind: str, element: _Element) -> str:
    half = kind == "FLOAT" and element.type == "FIXED_LEN_BYTE_ARRAY"
    return "HALF FLOAT" if half else kind


def _decimal(sql: str, element: _Element) -> Held:
    precision, scale = element.precision or 0, element.scale or 0
    fixed = element.type in {"INT32", "INT64"} or (
        element.type == "FIXED_LEN_BYTE_ARRAY" and int(element.length or 0) <= 16
    )
    if not fixed or not 0 <= scale <= precision <= MOST_DIGITS:
        # Read as float64, where two persons may become one, or with an error for a long value.
        return Held(sql=sql, kind="a decimal of more than 38 digits or 16 bytes")
    return Held(sql=within_precision(sql, precision, scale), kind="DECIMAL")


def rows(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    used: Collection[str],
    *,
    rehearsed: bool = False,
) -> FileRows:
    """Return the rows of the file and the `used` columns of it; none where it is `rehearsed`."""
    found = _rows(connection, path, used, look=not rehearsed)
    return found.none() if rehearsed else found


def _rows(
    connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], *, look: bool
) -> FileRows:
    """Return the rows; where a `look` finds no text odd, by simpler SQL."""
    found = columns(connection, path)
    listed = ", ".join(f"c{place}" for place in range(len(found)))
    held = {name: column for name, column in found if name in used}
    texts = {
        name: f"c{place}"
        for place, (name, column) in enumerate(found)
        if name in used and column.kind == "VARCHAR"
    }
    plain = f"{_reader(wrong='replace')} AS t({listed})"
    odd = not look or any(_has_odd(connection, path, text, plain) for text in texts.values())
    if not texts or not odd:
        as_they_are = {name: replace(held[name], sql=text) for name, text in texts.items()}
        return FileRows(sql=plain, columns=held | as_they_are)
    marked = " OR ".join(_is_marked(text) for text in texts.values())
    # By row, the lengths of the texts without what isn't UTF-8; less than with it, if there is any.
    lengths = ", ".join(
        f"CASE WHEN {_is_marked(text)} THEN strlen({text}) END AS {text}_length"
        for text in texts.values()
    )
    short = f"{_reader(wrong='ignore', numbered=True)} AS t({listed}, n)"
    right = f"(SELECT n AS n_right, {lengths} FROM {short} WHERE {marked})"  # noqa: S608  # as below
    long = f"{_reader(wrong='replace', numbered=True)} AS t({listed}, n)"
    checked = {
        name: replace(
            held[name],
            sql=f"CASE WHEN NOT contains({text}, '?') OR strlen({text}) = {text}_length "
            f"THEN {held[name].sql} END",
        )
        for name, text in texts.items()
    }
    return FileRows(sql=f"{long} LEFT JOIN {right} ON n = n_right", columns=held | checked)


def _has_odd(connection: duckdb.DuckDBPyConnection, path: Path, text: str, sql: str) -> bool:
    """Say whether a `text` of this column may have been mended, or is too long to use.

    A filter of one column is asked once of each text in a Parquet file's dictionary.
    """
    odd = f"contains({text}, '?') OR strlen({text}) > {MAX_TEXT}"
    query = f"SELECT 1 FROM {sql} WHERE {odd} LIMIT 1"  # noqa: S608  # columns are called by place
    return bool(connection.execute(query, {"path": one_file(path)}).fetchall())


def _is_marked(text: str) -> str:
    """Return SQL that is true of a text that may have been mended, and is not too long to use."""
    return f"(strlen({text}) <= {MAX_TEXT} AND contains({text}, '?'))"


def _reader(*, wrong: str = "", numbered: bool = False) -> str:
    mend = f", utf8_validation = '{wrong}'" if wrong else ""
    number = f", {_NUMBER} = true" if numbered else ""
    return f"read_parquet($path, hive_partitioning = false{mend}{number})"
