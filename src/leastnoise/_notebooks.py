"""Render results as tables: text, HTML for a notebook, and data frames of three libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise.errors import LeastnoiseError, MissingLibrary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Columns = Mapping[str, Sequence[Any]]

MOST_ROWS = 50  # rows of a table that a notebook or a terminal shows
NOT_SHOWN = ".."
"""The text that tables show in place of a suppressed number."""
_RIGHT = ' style="text-align: right"'


class Shown(ABC):
    """A result that a notebook shows as a line of text and tables; it has public values only."""

    @abstractmethod
    def _tables(self) -> Mapping[str, Columns]:
        """The tables by caption; each maps column names to lists of values."""

    def _repr_html_(self) -> str:
        """HTML for a notebook, with all text escaped.

        If `_tables` raises an error of leastnoise, the error's message replaces the tables.
        """
        head = f"<p>{_words.html(repr(self))}</p>"
        try:
            tables = self._tables()
        except LeastnoiseError as error:  # for example, a ledger whose file is gone
            return f"{head}<p>{_words.html(str(error))}</p>"
        return head + "".join(_html(title, columns) for title, columns in tables.items())


class Framed(ABC):
    """A result with named columns that convert to pandas, Polars and PyArrow.

    The class of the result documents the columns. A missing value becomes the library's missing
    value.
    """

    @abstractmethod
    def _columns(self) -> Columns:
        """The columns, as lists of equal lengths."""

    def to_pandas(self) -> pd.DataFrame:
        """Convert the columns to a pandas DataFrame.

        Returns:
            One row per entry, with the columns that the class documents.

        Raises:
            MissingLibrary: pandas isn't installed.

        """
        return _frame(self._columns(), "pandas")

    def to_polars(self) -> pl.DataFrame:
        """Convert the columns to a Polars DataFrame.

        Returns:
            One row per entry, with the columns that the class documents.

        Raises:
            MissingLibrary: Polars isn't installed.

        """
        return _frame(self._columns(), "polars")

    def to_arrow(self) -> pa.Table:
        """Convert the columns to a PyArrow Table.

        Returns:
            One row per entry, with the columns that the class documents.

        Raises:
            MissingLibrary: PyArrow isn't installed.

        """
        return _frame(self._columns(), "pyarrow")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the columns as an Arrow C stream, which DuckDB, Polars and other libraries read.

        Raises MissingLibrary unless PyArrow, which produces the stream, is installed.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as lines of text: numeric columns to the right, others to the left.

    >>> print(text_table(("name", "n"), [("a", "7"), ("b", "1,200")]))
    name      n
    a         7
    b     1,200
    """
    shown = [[*map(_words.plain, row)] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    numeric = [
        all(cell == NOT_SHOWN or _words.is_number(cell) for cell in column[1:])
        for column in zip(*shown, strict=True)
    ]
    lines: list[str] = []
    for row in shown:
        cells = zip(row, widths, numeric, strict=True)
        lines.append(
            "  ".join(f"{cell:>{w}}" if right else f"{cell:<{w}}" for cell, w, right in cells)
        )
    return "\n".join(map(str.rstrip, lines))


def _frame(columns: Columns, backend: str) -> Any:
    import narwhals as nw  # noqa: PLC0415 (which only frames need)

    try:
        library = import_module(backend)
    except ModuleNotFoundError as error:
        raise MissingLibrary(package=backend) from error
    return nw.from_dict(dict(columns), backend=library).to_native()


def _html(title: str, columns: Columns) -> str:
    rows = [*islice(zip(*columns.values(), strict=True), MOST_ROWS)]
    length = len(next(iter(columns.values()), ()))
    head = "".join(f"<th>{_words.html(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    caption = f"<caption>{_words.html(title)}</caption>" if title else ""
    more = f"<p>… and {length - len(rows):,} more rows</p>" if length > len(rows) else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, float):
        return f"<td{_RIGHT}>{_words.html(_words.number(value))}</td>"
    right = _RIGHT if isinstance(value, int) and not isinstance(value, bool) else ""
    return f"<td{right}>{_words.html(str(value))}</td>"
