"""A workbook (.xlsx) with a cover sheet and a sheet for each table; every key can be restored.

Its bytes depend on its contents alone: dates and file modes inside it are constant. A text is never
a formula, even if it begins with a sign such as "=". Numbers have all their digits, except that −0
is written as 0. Infinite ends are the texts inf and -inf. Whole numbers of more than 15 digits in
keys are texts, because spreadsheets show 15 digits. A table with more rows than a sheet can hold is
continued on further sheets.
"""

from __future__ import annotations

import errno
import io
import math
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count, islice, takewhile
from lzma import LZMAError
from typing import TYPE_CHECKING, Any, final
from xml.etree import ElementTree as ET
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812

from leastnoise.errors import InvalidInput, MissingLibrary
from leastnoise.tables.values import spill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

WORKBOOK = "tables.xlsx"
_MOST_ROWS = 2**20  # rows of a sheet
_HEAD = 5
"""The number of rows above the data: table name, description, note, labels, column names."""
_LONGEST_CELL, _LONGEST_NAME = 32_767, 31  # characters of a cell, and of a sheet's name
_SHOWN = 10**15  # spreadsheets show 15 digits
_WIDEST = 40
_COVER = "About"
_TAKEN = {"history"}  # Excel reserves this sheet name
_DAY = datetime(2000, 1, 1)  # the date of creation, always the same
_TAG = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")
_DAMAGES = (BadZipFile, ET.ParseError, EOFError, LookupError, LZMAError, RuntimeError, ZlibError)
"""Errors for damaged or encrypted workbooks, besides ValueError and OSError."""
_WHOLE = re.compile("-?[0-9]+")


@final
@dataclass(frozen=True, kw_only=True)
class TableSheet:
    """The contents of a table's sheets: columns by name, the first `keys` of which are keys.

    `labels` and `formats` have a label and a number format for each column.
    """

    name: str
    description: str
    note: str
    columns: Mapping[str, Sequence[Any]]
    keys: int
    labels: Sequence[str]
    formats: Sequence[str]

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))


@final
@dataclass(frozen=True, kw_only=True)
class Cover:
    """The contents of the cover sheet: a title, and sections of sentences by their headings."""

    title: str
    author: str
    sections: Mapping[str, Sequence[str]]


def values_in_cells(values: Sequence[Any]) -> list[Any]:
    """The values that `read_sheet` reads back after `write_workbook` wrote `values` as keys.

    For other columns they are the same, except for whole numbers of more than 15 digits.
    """
    return [_value_in_cell(value) for value in values]


def _value_in_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < _SHOWN else str(value)
    return str(value) if math.isinf(value) else _shortest(value)


def _shortest(number: float) -> int | float:
    """The number as an int if it is whole; a whole float of more than 15 digits stays a float.

    Python prints a float as the shortest text that reads back as the same float.
    """
    whole = isinstance(number, int) or (number.is_integer() and abs(number) < _SHOWN)
    return int(number) if whole else number


def sheet_names(names: Sequence[str]) -> list[str]:
    """Valid sheet names for tables: short, and distinct even if case is ignored.

    >>> sheet_names(["by_region", "BY_REGION", "history", "x" * 40])
    ['by_region', 'BY_REGION 2', 'history 2', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']
    """
    taken = {_COVER.casefold(), *_TAKEN}
    return [_free_name(name, taken) for name in names]


def _free_name(name: str, taken: set[str]) -> str:
    """A free sheet name for a table; it is added to the `taken` names."""
    suffixes = chain([""], (f" {number}" for number in count(2)))
    candidates = (name[: _LONGEST_NAME - len(suffix)] + suffix for suffix in suffixes)
    free = next(candidate for candidate in candidates if candidate.casefold() not in taken)
    taken.add(free.casefold())
    return free


def write_workbook(path: Path, cover: Cover, sheets: Sequence[TableSheet]) -> None:
    """Write the workbook to `path`.

    Raises MissingLibrary without XlsxWriter, InvalidInput for a text that is too long or a table
    with too many columns, and OSError if the file can't be written.
    """
    try:
        import xlsxwriter  # noqa: PLC0415  # of an extra
        from xlsxwriter.exceptions import FileCreateError  # noqa: PLC0415
    except ImportError:
        raise MissingLibrary(package="XlsxWriter", extra="xlsx") from None
    path.touch()  # an impossible path raises an error here, before XlsxWriter opens files
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    try:
        with (
            spill.folder() as folder,
            closing(xlsxwriter.Workbook(str(path), {**options, "tmpdir": str(folder)})) as book,
        ):
            book.set_properties({"title": cover.title, "author": cover.author, "created": _DAY})
            _write_cover(book, cover, sheets)
            taken = {_COVER.casefold(), *_TAKEN}
            for sheet in sheets:
                _write_sheets(book, sheet, taken)
    except FileCreateError as error:
        raise OSError(errno.EIO, f"XlsxWriter: {error}") from None  # for example, a full disk


def _exact_sheet() -> type[Any]:
    """A class of XlsxWriter's sheets that writes every number and every text exactly."""
    from xlsxwriter.worksheet import Worksheet  # noqa: PLC0415  # of an extra

    class ExactSheet(Worksheet):
        def _xml_number_element(self, number: Any, attributes: Any = ()) -> None:
            """Write a number with as many digits as it needs; XlsxWriter writes 16."""
            listed = "".join(f' {key}="{value}"' for key, value in attributes)
            file: Any = self.fh
            file.write(f"<c{listed}><v>{_shortest(number)!r}</v></c>")

        @staticmethod
        def _escape_control_characters(data: Any) -> Any:
            """Escape control characters, and the < of texts that begin with <r> like rich texts."""
            data = Worksheet._escape_control_characters(data)  # noqa: SLF001  # overridden
            is_rich = isinstance(data, str) and data.startswith("<r>")
            return data.replace("<r>", "_x003C_r>", 1) if is_rich else data

    return ExactSheet


def _write_cover(book: Any, cover: Cover, sheets: Sequence[TableSheet]) -> None:
    sheet = book.add_worksheet(_COVER, _exact_sheet())
    sheet.set_column(0, 0, 100, book.add_format({"text_wrap": True, "valign": "top"}))
    wrapped = book.add_format({"text_wrap": True, "valign": "top", "num_format": "@"})
    bold = book.add_format({"bold": True, "text_wrap": True, "num_format": "@"})
    large = book.add_format({"bold": True, "font_size": 14, "num_format": "@"})
    contents = [
        f"Sheet {name}: {sheet.description}"
        for name, sheet in zip(sheet_names([s.name for s in sheets]), sheets, strict=True)
    ]
    lines = [(cover.title, large)]
    for heading, sentences in {"Tables": contents, **cover.sections}.items():
        lines += [("", wrapped), (heading, bold), *((text, wrapped) for text in sentences)]
    for row, (text, style) in enumerate(lines):
        sheet.write_string(row, 0, text[:_LONGEST_CELL], style)


def _write_sheets(book: Any, table: TableSheet, taken: set[str]) -> None:
    """Write the rows of a table to a sheet, and to further sheets when one is full."""
    bold = book.add_format({"bold": True, "text_wrap": True, "num_format": "@", "bottom": 1})
    plain = book.add_format({"num_format": "@", "italic": True})
    title = book.add_format({"num_format": "@", "bold": True, "font_size": 14})
    text = book.add_format({"num_format": "@"})
    styles = [book.add_format({"num_format": style}) for style in table.formats]
    rows = zip(*table.columns.values(), strict=True)
    for part in range(max(1, math.ceil(len(table) / (_MOST_ROWS - _HEAD)))):
        sheet = book.add_worksheet(_free_name(table.name, taken), _exact_sheet())
        for column, (name, label) in enumerate(zip(table.columns, table.labels, strict=True)):
            width = min(max(len(name), len(label) // 2, 8) + 2, _WIDEST)
            sheet.set_column(column, column, width)
        sheet.freeze_panes(_HEAD, table.keys)
        more = f" (continued, part {part + 1})" if part else ""
        heads = [(table.name, title), (table.description + more, text), (table.note, text)]
        for row, (line, style) in enumerate(heads):
            _write_cell(sheet, row, 0, line, text=style)
        for column, label in enumerate(table.labels):
            _write_cell(sheet, _HEAD - 2, column, label, text=bold)
        for column, name in enumerate(table.columns):
            _write_cell(sheet, _HEAD - 1, column, name, text=plain)
        for row, values in enumerate(islice(rows, _MOST_ROWS - _HEAD), _HEAD):
            for column, value in enumerate(values):
                written = _value_in_cell(value) if column < table.keys else value
                _write_cell(sheet, row, column, written, text=text, number=styles[column])


def _write_cell(
    sheet: Any, row: int, column: int, value: Any, *, text: Any, number: Any = None
) -> None:
    if isinstance(value, float) and math.isinf(value):
        value = str(value)
    if value is None:
        failed = sheet.write_blank(row, column, None, number)
    elif isinstance(value, bool):
        failed = sheet.write_boolean(row, column, value)
    elif isinstance(value, str):
        failed = sheet.write_string(row, column, value, text)
    else:
        failed = sheet.write_number(row, column, value, number)
    if failed:
        raise InvalidInput(
            f"The table doesn't fit into a workbook, where a cell has at most {_LONGEST_CELL:,} "
            'characters and a sheet 16,384 columns. Use another format, such as format = "csv".'
        )


def read_sheet(
    content: bytes, name: str, *, most_rows: int | None, most_bytes: int
) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns of the table `name` in a workbook of `write_workbook`, and their labels.

    At most one row more than `most_rows` is read. Raises ValueError for a file of another form, and
    for a sheet of more than `most_bytes` bytes.
    """
    names: list[Any] = []
    labels: list[Any] = []
    rows: list[list[Any]] = []
    try:
        with ZipFile(io.BytesIO(content)) as book:
            known = set(book.namelist())
            paths = (f"xl/worksheets/sheet{number}.xml" for number in count(2))
            for path in takewhile(known.__contains__, paths):
                lines = _rows_of(book, path, most_bytes)
                if next(lines, None) != [name]:
                    continue
                _, _, labels, names = islice(lines, _HEAD - 1)
                left = None if most_rows is None else most_rows + 1 - len(rows)
                rows += islice(lines, left)
    except _DAMAGES as error:
        raise ValueError("not a workbook") from error
    if not names or len(set(names)) != len(names) or any(len(row) != len(names) for row in rows):
        raise ValueError("columns of the same name, or rows of different lengths")
    return {key: [row[at] for row in rows] for at, key in enumerate(names)}, labels


def _rows_of(book: ZipFile, path: str, most_bytes: int) -> Iterator[list[Any]]:
    """The rows of a sheet, each with the values of its cells.

    Raises ValueError for a sheet of more than `most_bytes` bytes, and for a cell of a kind that
    `write_workbook` doesn't write.
    """
    if book.getinfo(path).file_size > most_bytes:
        raise ValueError("a sheet that is too long")
    with book.open(path) as file:
        around: list[ET.Element] = []
        events = ET.iterparse(file, events=("start", "end"))  # noqa: S314  # Expat bounds entities
        for event, element in events:
            if event == "start":
                around.append(element)
                continue
            around.pop()
            if element.tag == f"{_TAG}row":
                yield [_read_cell(cell) for cell in element]
                around[-1].remove(element)


def _read_cell(cell: ET.Element) -> Any:
    kind = cell.get("t", "n")
    parts = [part.tag for part in cell]
    if not parts and kind == "n":
        return ""  # an empty text
    text = "".join(cell.itertext())
    if kind == "inlineStr" and parts == [f"{_TAG}is"]:
        read = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
        read.encode("utf-8")  # raises ValueError for half of a surrogate pair
        return read
    if parts == [f"{_TAG}v"] and kind == "b" and text in {"0", "1"}:
        return text == "1"
    if parts == [f"{_TAG}v"] and kind == "n":
        return int(text) if _WHOLE.fullmatch(text) else float(text)
    raise ValueError("a cell of an unexpected kind")
