"""Sheets of workbooks (.xlsx), which openpyxl reads row by row.

The first row has the names of the columns. Each other cell is read as the text that a CSV would
have, and the spec declares the types. For a formula, the value that is stored with it is read. Rows
without any value are left out, and a cell with an error or a duration is missing.
"""

from __future__ import annotations

import warnings
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import islice
from typing import TYPE_CHECKING, Any, final

from leastnoise.errors import MissingLibrary, SourceError
from leastnoise.tables.rows.duckdb.copied import copy_chunks
from leastnoise.tables.rows.duckdb.inputs import Input
from leastnoise.tables.values.casts import MOST_DIGITS, StoredColumn, stored_column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

    from leastnoise.tables.rows.duckdb.inputs import RowReading
    from leastnoise.tables.values.casts import FileRows

_ROWS_IN_CHUNK = 20_000  # rows that Python holds at a time


@final
@dataclass(frozen=True)
class Sheet(Input):
    """A sheet of a workbook; without a name, its only sheet. All columns are text."""

    path: Path
    sheet: str | None = None

    @property
    def typed(self) -> bool:
        """False, since any cell may hold anything."""
        return False

    @property
    def name(self) -> str:
        return self.path.name if self.sheet is None else f"{self.sheet} in {self.path.name}"

    @contextmanager
    def _open(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Yield the rows of the sheet, each as a tuple of cells.

        Raises SourceError for an unreadable workbook, MissingLibrary without openpyxl.
        """
        try:
            from openpyxl import load_workbook  # noqa: PLC0415  # of an extra
        except ImportError:
            raise MissingLibrary(package="openpyxl", extra="xlsx") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl's warnings quote cells
            try:
                book = load_workbook(self.path, read_only=True, data_only=True, keep_links=False)
            except Exception:  # noqa: BLE001  # openpyxl's own errors, which may quote cells
                raise SourceError(f"{self.path.name} isn't a readable workbook.") from None
            with closing(book):
                yield self._choose(book).iter_rows()

    def _choose(self, book: Any) -> Any:
        """The sheet to read of an open workbook. Its stated size, which may be wrong, is reset.

        Raises SourceError without such a sheet, or for several sheets without a name.
        """
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if self.sheet is None and len(sheets) != 1:
            names = ", ".join(map(repr, sheets))
            raise SourceError(
                f"{self.path.name} has {len(sheets)} sheets: {names}. Name one of the sheets in "
                "data.table."
            )
        sheet = next(iter(sheets.values())) if self.sheet is None else sheets.get(self.sheet)
        if sheet is None:
            raise SourceError(f"{self.path.name} has no sheet {self.sheet!r}.")
        sheet.reset_dimensions()
        return sheet

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns in the first row."""
        del connection
        return [(name, StoredColumn(sql="", kind="VARCHAR")) for name in self._names() if name]

    def _names(self) -> list[str]:
        """The texts of the first row; "" for a column without a name.

        Raises SourceError if the row is unreadable or empty.
        """
        with self._open() as rows:
            try:
                names = [_text_of(cell) or "" for cell in next(rows, ())]
            except Exception:  # noqa: BLE001  # openpyxl's own errors, which may quote cells
                raise SourceError(f"{self.name} can't be read: it may be damaged.") from None
        if not any(names):
            raise SourceError(
                f"The first row of {self.name} has no column names. Write the column names in the "
                "first row."
            )
        return names

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        """Yield the used columns, copied to a table that DuckDB may spill to the disk."""
        places = {name: at for at, name in enumerate(self._names()) if name in reading.used}
        columns = {
            name: ("VARCHAR", stored_column(f"c{at}", "VARCHAR")) for at, name in enumerate(places)
        }
        chunks = () if reading.rehearsed else self._chunks(list(places.values()))
        yield copy_chunks(reading, columns, chunks)

    def _chunks(self, places: list[int]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the texts of the columns at these positions, in chunks of rows without the header.

        Raises OSError for a damaged workbook.
        """
        with self._open() as rows:
            next(rows, None)
            while True:
                try:
                    chunk = list(islice(rows, _ROWS_IN_CHUNK))
                    texts = [
                        tuple(_text_of(row[at]) if at < len(row) else None for at in places)
                        for row in chunk
                        if any(cell.value is not None for cell in row)
                    ]
                except Exception:  # noqa: BLE001  # openpyxl's own errors, which may quote cells
                    raise OSError("The workbook is damaged.") from None
                yield texts
                if not chunk:
                    return


def _text_of(cell: Any) -> str | None:
    """The text that a CSV would have in place of a cell; None for an error or a duration."""
    value = cell.value
    if cell.data_type == "e" or value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value or None
    if isinstance(value, int | float):
        whole = isinstance(value, int) or (value.is_integer() and abs(value) < 10**MOST_DIGITS)
        return str(int(value)) if whole else repr(value)
    if isinstance(value, datetime):
        return str(value.date()) if value.time() == time() else str(value)
    return str(value) if isinstance(value, date | time) else None
