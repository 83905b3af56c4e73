"""The tables of a release as files, from which every key can be restored."""

from __future__ import annotations

import json
import math
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from leastnoise import _files
from leastnoise.tables.results import sdmx
from leastnoise.tables.results.headers import SEPARATOR
from leastnoise.tables.results.table import key_names, result_columns, statistics_of
from leastnoise.tables.results.workbook import WORKBOOK, read_sheet, values_in_cells
from leastnoise.tables.values import parquet_rows
from leastnoise.tables.values.connection import open_cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.results.table import Table


# A spreadsheet runs a cell as a formula if it begins with one of these signs; in East Asian
# settings, also with their wide forms. If semicolons separate lists, it also splits quoted texts at
# them.
_FORMULA = r"(?:[^\S\t\r\n]|['\"])*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]"
_CELL = r"(?:\A|(?<=[;\t\r\n]))"
_UNSAFE = re.compile(f"{_CELL}(?={_FORMULA})")
_ESCAPED = re.compile(f"{_CELL}'(?={_FORMULA})")
_CSV_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|\Z)')
_LARGEST_WORKBOOK = 2**30  # bytes of a workbook
_IN_XML = 4  # bytes of a cell in XML for each byte in CSV or JSON
_SQL_TYPES: dict[type, str] = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def table_path(folder: Path, name: str, kind: str) -> Path:
    """The file of the table `name`; a workbook holds all tables of a release."""
    return folder / (WORKBOOK if kind == "xlsx" else f"{name}.{kind}")


def write_table(
    table: Table, folder: Path, kind: str, lines: Iterable[Sequence[object]] | None = None
) -> Path:
    """Write `table` as <name>.<kind> into `folder`; return the file's path.

    A CSV has the names of its columns and its rows, or else the given `lines`.
    """
    path = folder / f"{table.name}.{kind}"
    if kind == "csv":
        _write_csv(lines or chain([tuple(table.columns)], table.rows), path)
    else:
        _WRITERS[kind](table, path)
    return path


def read_table(path: Path, parts: Sequence[TableShape]) -> dict[str, list[Any]]:
    """Read the columns of a table that `write_table` wrote; the columns of a CSV are texts.

    `parts` are the layouts of the parts of its query. A `path` that ends in .xlsx stands for the
    workbook of its folder. The number of bytes that are read is limited. Raises InvalidInput,
    OSError, ValueError or duckdb.Error if the file can't be read as such a table.
    """
    if path.suffix == ".xlsx":
        columns, _ = read_labelled(path.with_name(WORKBOOK), parts)
        return columns
    content = _files.read_bytes(path, most=_largest(parts), links=False)
    try:
        return _READERS[path.suffix.removeprefix(".")](content, parts)
    except RecursionError:  # JSON with deeply nested lists
        raise ValueError("not what write_table writes") from None


def read_labelled(
    path: Path, parts: Sequence[TableShape]
) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns of a query's table in a workbook, and the labels above them.

    Raises InvalidInput, OSError or ValueError if the file can't be read as such a workbook.
    """
    content = _files.read_bytes(path, most=_LARGEST_WORKBOOK, links=False)
    most_bytes = _IN_XML * _largest(parts)
    cells = parts[0].listed_cells
    return read_sheet(content, parts[0].name, most_rows=cells, most_bytes=most_bytes)


def read_header(path: Path, parts: Sequence[TableShape]) -> list[str]:
    """The fields of a CSV's header, as `headers_of` or `sdmx.header_of` gave them."""
    content = _files.read_bytes(path, most=_largest(parts), links=False)
    return [*map(unescape_formulas, next(_csv_rows(content.decode("utf-8")), []))]


def escape_formulas(text: str) -> str:
    """Put an apostrophe before everything that a spreadsheet would run as a formula.

    Apostrophes before a formula get one more, so that `unescape_formulas` restores every text.

    >>> [escape_formulas(text) for text in ("=1+1", "'=1+1", "'s-Hertogenbosch", "a-b", "a;=1")]
    ["'=1+1", "''=1+1", "'s-Hertogenbosch", 'a-b', "a;'=1"]
    """
    return _UNSAFE.sub("'", text)


def unescape_formulas(text: str) -> str:
    """Restore the text from which `escape_formulas` made this text."""
    return _ESCAPED.sub("", text)


def values_as_read(values: list[Any], kind: str) -> list[Any]:
    """The values that `read_table` reads back after `values` were written in the format `kind`.

    A CSV has only texts, with "-inf" and "inf" for infinite ends, and "" for suppressed numbers.
    JSON has no infinities; it gets null. For a workbook see `workbook`. Parquet changes nothing.
    """
    if kind == "csv":
        return ["" if value is None else str(value) for value in values]
    if kind == "json":
        return [None if value in {-math.inf, math.inf} else value for value in values]
    return values_in_cells(values) if kind == "xlsx" else values


def _largest(parts: Sequence[TableShape]) -> int:
    """The most bytes that are read of the file of a query's table.

    With listed groups, no file that `write_table` writes is longer. With unlisted groups, whose
    number has no bound, it is 2^31.
    """
    layout, columns = parts[0], result_columns(parts)
    if layout.listed_cells is None:
        return 2**31  # the number of published groups has no bound
    keys = sum(
        max(len(str(value)) for value in values)
        for axis in layout.axes
        for values in axis.columns.values()
    )
    keys += max((len(condition.name) for condition in layout.conditions), default=0)
    lines = max(1, len(statistics_of(parts)))  # SDMX-CSV has the keys in a line for each statistic
    letters = sum(map(len, columns)) + lines * keys
    # An escaped letter in JSON has at most 12 bytes, a number with its punctuation at most 64.
    row = 12 * letters + 64 * len(columns)
    room = 2**20  # bytes for everything that doesn't grow with the rows
    return room + (layout.cells + 1) * row


def _write_csv(lines: Iterable[Sequence[object]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for row in lines:
            file.write(",".join(map(_csv_field, row)) + "\n")


def _csv_field(value: object) -> str:
    """Escape formulas, and quote texts that a reader could split or trim; numbers need neither."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = escape_formulas(value)
    if text and text.isprintable() and text == text.strip() and not {'"', ","} & set(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _read_csv(content: bytes, parts: Sequence[TableShape]) -> dict[str, list[Any]]:
    header, *rows = _csv_rows(content.decode("utf-8"))
    names, keys = [*map(unescape_formulas, header)], len(key_names(parts[0]))
    if sdmx.is_header(names, parts):
        texts = range(sdmx.FIRST_KEY, sdmx.FIRST_KEY + keys + 1)
        lines = [
            [unescape_formulas(field) if at in texts else field for at, field in enumerate(row)]
            for row in rows
        ]
        return sdmx.read_columns(names, lines, parts)
    columns = _by_column(_without_labels(names, result_columns(parts)), rows)
    for name in [*columns][:keys]:  # the other columns hold numbers
        columns[name] = [*map(unescape_formulas, columns[name])]
    return columns


def _without_labels(headers: list[str], known: Sequence[str]) -> list[str]:
    """The names of the columns in `headers`, each without the label that may follow it."""
    if not {*known}.isdisjoint(headers):
        return headers
    starts = {f"{name}{SEPARATOR}": name for name in known}
    longest = sorted(starts, key=len, reverse=True)
    matches = (
        (header, next((start for start in longest if header.startswith(start)), None))
        for header in headers
    )
    return [header if start is None else starts[start] for header, start in matches]


def _csv_rows(text: str) -> Iterator[list[str]]:
    """The fields of each row; raises ValueError for a quote within an unquoted field.

    The csv module isn't used: its longest field is a setting of the whole process, and it ends a
    row at a carriage return that is not quoted.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        if '"' in line:
            row, start = _quoted_row(text, start)
            yield row
        else:
            yield line.removesuffix("\n").removesuffix("\r").split(",")
            start = end


def _quoted_row(text: str, start: int) -> tuple[list[str], int]:
    """The fields of the row that begins at `start`, and the start of the next row.

    Raises ValueError for a quote within an unquoted field.
    """
    fields: list[str] = []
    while match := _CSV_FIELD.match(text, start):
        quoted, plain, end = match.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        start = match.end()
        if end != ",":
            return fields, start
    raise ValueError("a quote within an unquoted field")


def _write_json(table: Table, path: Path) -> None:
    names = list(table.columns)
    columns = [values_as_read(values, "json") for values in table.columns.values()]
    records = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    path.write_text(json.dumps(records, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _read_json(content: bytes, parts: Sequence[TableShape]) -> dict[str, list[Any]]:
    # Pairs instead of dictionaries, which would hide repeated fields.
    records: Any = json.loads(content.decode("utf-8"), object_pairs_hook=tuple)
    if records == [] and not parts[0].rows_are_public:
        return {name: [] for name in result_columns(parts)}
    if not isinstance(records, list) or not records or not isinstance(records[0], tuple):
        raise ValueError("not a list of records")
    names = [name for name, _ in records[0]]
    if any(not isinstance(row, tuple) or [name for name, _ in row] != names for row in records):
        raise ValueError("records with other fields than the first")
    return _by_column(names, [[value for _, value in row] for row in records])


def _by_column(names: list[str], rows: list[list[Any]]) -> dict[str, list[Any]]:
    if len(set(names)) != len(names) or any(len(row) != len(names) for row in rows):
        raise ValueError("columns of the same name, or rows of different lengths")
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def _write_parquet(table: Table, path: Path) -> None:
    parts: list[str] = []
    for name, values in table.columns.items():
        first = next((value for value in values if value is not None), 0.0 if values else "")
        kind = _SQL_TYPES[type(first)]
        parts.append(f"unnest(?::{kind}[]) AS {_quoted_name(name)}")
    with open_cursor() as connection:
        rows = connection.sql(f"SELECT {', '.join(parts)}", params=list(table.columns.values()))
        rows.write_parquet(str(path))


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read_parquet(content: bytes, parts: Sequence[TableShape]) -> dict[str, list[Any]]:
    with parquet_rows.open_rows(content) as rows:
        cells = parts[0].listed_cells
        relation = rows if cells is None else rows.limit(cells + 1)
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        if not set(kinds.values()) <= set(_SQL_TYPES.values()):
            raise ValueError("columns of unexpected types")
        texts = [f"strlen({_quoted_name(name)})" for name in kinds if kinds[name] == "VARCHAR"]
        if texts:
            ((total,),) = relation.aggregate(f"sum({' + '.join(texts)})").fetchall()
            if total is not None and total > _largest(parts):
                raise ValueError("texts longer than any key")
        return _by_column(list(relation.columns), [list(row) for row in relation.fetchall()])


_WRITERS: dict[str, Callable[[Table, Path], None]] = {
    "json": _write_json,
    "parquet": _write_parquet,
}
_READERS: dict[str, Callable[[bytes, Sequence[TableShape]], dict[str, list[Any]]]] = {
    "csv": _read_csv,
    "json": _read_json,
    "parquet": _read_parquet,
}
