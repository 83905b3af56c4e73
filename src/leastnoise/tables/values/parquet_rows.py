"""Read a Parquet file, even if it contains texts that aren't valid.

DuckDB raises an error for a text that isn't UTF-8, and an error is an output. DuckDB can instead
replace each wrong byte by a question mark, or leave wrong bytes out. A text is valid if both
methods give the same length; other texts become NULL. Decimals beyond their precision, which would
fail in casts, become NULL, too, as do texts longer than any key.
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
from leastnoise.tables.values.casts import MOST_DIGITS, FileRows, StoredColumn, within_precision
from leastnoise.tables.values.connection import open_cursor

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_TREE_SQL = (
    "SELECT name, num_children, type, type_length, converted_type, precision, scale, logical_type "
    "FROM parquet_schema($path)"
)
_MEMORY = "2GB"  # limits memory: a Parquet file of a kilobyte can claim to hold a terabyte
_MAGIC = "*?["
_INT96 = (
    "holds INT96 timestamps, which Spark, Hive and Impala write without their time zone. Write "
    "them as timestamps in microseconds without a time zone (in Spark: cast to timestamp_ntz), or "
    "write their days as dates."
)
_NUMBER = "file_row_number"  # a column that DuckDB may add


def escape_pattern(path: Path) -> str:
    """A pattern that matches only `path`, because DuckDB takes paths as patterns.

    It is absolute, since DuckDB also interprets ~, file: and others at the start. Raises
    SourceError for the only kind of name that no pattern matches.
    """
    text = path.absolute().as_posix()
    if "\\" in text and any(letter in text for letter in _MAGIC):
        raise SourceError(
            f"{path.name} can't be read: its path has both \\ and one of {_MAGIC}. Rename the file "
            "or its folder."
        )
    return "".join(f"[{letter}]" if letter in _MAGIC else letter for letter in text)


def is_utf8(path: Path) -> bool:
    """True if `path` is valid UTF-8 in all its parts, so that DuckDB can open it."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def name_for_duckdb(path: Path, folder: Path) -> Path:
    """The `path`, or a link to it in `folder` if DuckDB can't open a file of its name."""
    if is_utf8(path):
        return path
    link = folder / "rows.parquet"
    link.symlink_to(path.absolute())
    return link


@contextmanager
def open_rows(content: bytes) -> Iterator[duckdb.DuckDBPyRelation]:
    """Yield the rows of a Parquet file of unknown origin, whose content was read already.

    The content is copied, because DuckDB opens files by name, and the name could lead to another
    file by now.
    """
    with spill.folder() as folder, open_cursor(memory_limit=_MEMORY) as connection:
        copy = folder / "table.parquet"
        copy.write_bytes(content)
        yield connection.read_parquet(escape_pattern(copy), hive_partitioning=False)


def read_columns(
    connection: duckdb.DuckDBPyConnection, path: Path
) -> list[tuple[str, StoredColumn]]:
    """The names and the columns, from the metadata only; names may be repeated.

    Raises SourceError if `path` isn't a readable Parquet file, if `escape_pattern` raises it, or
    for a column that is called "file_row_number".
    """
    bound = {"path": escape_pattern(path)}
    try:
        kinds = connection.sql(f"FROM {_reader()}", params=bound).types
        tree = connection.sql(_TREE_SQL, params=bound).fetchall()
    except duckdb.Error:
        raise SourceError(f"{path.name} is not a readable Parquet file.") from None
    leaves = _top_columns([_Element(*element) for element in tree])
    if any(leaf.name.lower() == _NUMBER for leaf in leaves):
        why = "is DuckDB's own name for the numbers of rows"
        raise SourceError(f"{path.name} has a column {_NUMBER!r}, which {why}. Rename the column.")
    return [
        (
            leaf.name,
            replace(
                _stored_column(f"c{position}", str(kind), leaf),
                exact_kind=_exact_kind(str(kind), leaf),
            ),
        )
        for position, (leaf, kind) in enumerate(zip(leaves, kinds, strict=True))
    ]


@final
@dataclass(frozen=True)
class _Element:
    """An element of the Parquet schema in a file's metadata."""

    name: str
    children: int | None
    type: str | None
    length: str | None
    converted: str | None
    precision: int | None
    scale: int | None
    logical: str | None


def _top_columns(tree: Sequence[_Element]) -> list[_Element]:
    """Select the top-level columns, by their names in the file.

    DuckDB renames columns that differ only in capitals.
    """
    columns: list[_Element] = []
    inner = 0  # the number of elements that still belong to the last column
    for element in tree[1:]:
        if inner == 0:
            columns.append(element)
            inner = 1
        inner += (element.children or 0) - 1
    return columns


def _stored_column(sql: str, kind: str, element: _Element) -> StoredColumn:
    """The column for a schema element; texts and blobs that are too long become NULL."""
    kind = kind.split("(", maxsplit=1)[0] if not kind.endswith("]") else kind
    if element.converted == "DECIMAL":
        return _decimal_column(sql, element)
    if element.type == "INT96":
        return StoredColumn(sql=sql, kind=kind, only=(), why=_INT96)
    if kind == "VARCHAR":
        sql = f"CASE WHEN strlen({sql}) <= {MAX_TEXT} THEN {sql} END"
    elif kind == "BLOB":
        sql = f"CASE WHEN octet_length({sql}) <= {MAX_TEXT} THEN {sql} END"
    elif kind.startswith("TIMESTAMP") and not _is_exact(element.logical or ""):
        kind = f"{kind} in milliseconds"
    return StoredColumn(sql=sql, kind=kind)


def _is_exact(logical: str) -> bool:
    """True if DuckDB keeps a timestamp's unit, and the file states if it is in UTC."""
    return "isAdjustedToUTC=" in logical and "MILLIS=MilliSeconds" not in logical


def _exact_kind(kind: str, element: _Element) -> str:
    half = kind == "FLOAT" and element.type == "FIXED_LEN_BYTE_ARRAY"
    return "HALF FLOAT" if half else kind


def _decimal_column(sql: str, element: _Element) -> StoredColumn:
    precision, scale = element.precision or 0, element.scale or 0
    fixed = element.type in {"INT32", "INT64"} or (
        element.type == "FIXED_LEN_BYTE_ARRAY" and int(element.length or 0) <= 16
    )
    if not fixed or not 0 <= scale <= precision <= MOST_DIGITS:
        # DuckDB reads these as float64, which may merge two persons, or fails on a long value.
        return StoredColumn(sql=sql, kind="a decimal of more than 38 digits or 16 bytes")
    return StoredColumn(sql=within_precision(sql, precision, scale), kind="DECIMAL")


def select_rows(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    used: Collection[str],
    *,
    rehearsed: bool = False,
) -> FileRows:
    """The rows of the file with the `used` columns; without rows if `rehearsed`."""
    rows = _select_rows(connection, path, used, look=not rehearsed)
    return rows.without_rows() if rehearsed else rows


def _select_rows(
    connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], *, look: bool
) -> FileRows:
    """Select the rows; with `look`, by simpler SQL if `_has_odd` is false for every column."""
    known = read_columns(connection, path)
    listed = ", ".join(f"c{position}" for position in range(len(known)))
    columns = {name: column for name, column in known if name in used}
    texts = {
        name: f"c{position}"
        for position, (name, column) in enumerate(known)
        if name in used and column.kind == "VARCHAR"
    }
    plain = f"{_reader(wrong='replace')} AS t({listed})"
    odd = not look or any(_has_odd(connection, path, text, plain) for text in texts.values())
    if not texts or not odd:
        as_they_are = {name: replace(columns[name], sql=text) for name, text in texts.items()}
        return FileRows(sql=plain, columns=columns | as_they_are)
    marked = " OR ".join(_is_marked(text) for text in texts.values())
    # Per row, the lengths of the texts without wrong bytes. They are shorter than with them.
    lengths = ", ".join(
        f"CASE WHEN {_is_marked(text)} THEN strlen({text}) END AS {text}_length"
        for text in texts.values()
    )
    short = f"{_reader(wrong='ignore', numbered=True)} AS t({listed}, n)"
    right = f"(SELECT n AS n_right, {lengths} FROM {short} WHERE {marked})"  # noqa: S608  # as below
    long = f"{_reader(wrong='replace', numbered=True)} AS t({listed}, n)"
    checked = {
        name: replace(
            columns[name],
            sql=f"CASE WHEN NOT contains({text}, '?') OR strlen({text}) = {text}_length "
            f"THEN {columns[name].sql} END",
        )
        for name, text in texts.items()
    }
    return FileRows(sql=f"{long} LEFT JOIN {right} ON n = n_right", columns=columns | checked)


def _has_odd(connection: duckdb.DuckDBPyConnection, path: Path, text: str, sql: str) -> bool:
    """True if a text in the column `text` may contain wrong bytes, or is too long to use.

    DuckDB evaluates a filter on one column only once for each text in a Parquet file's dictionary.
    """
    odd = f"contains({text}, '?') OR strlen({text}) > {MAX_TEXT}"
    query = f"SELECT 1 FROM {sql} WHERE {odd} LIMIT 1"  # noqa: S608  # columns are named by position
    return bool(connection.execute(query, {"path": escape_pattern(path)}).fetchall())


def _is_marked(text: str) -> str:
    """SQL that is true for a text that may contain wrong bytes, and isn't too long to use."""
    return f"(strlen({text}) <= {MAX_TEXT} AND contains({text}, '?'))"


def _reader(*, wrong: str = "", numbered: bool = False) -> str:
    mend = f", utf8_validation = '{wrong}'" if wrong else ""
    number = f", {_NUMBER} = true" if numbered else ""
    return f"read_parquet($path, hive_partitioning = false{mend}{number})"
