"""How results become tables: text, HTML for a notebook, and frames of three libraries."""

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

MOST_ROWS = 50  # of a table that a notebook or a terminal shows
_RIGHT = ' style="text-align: right"'


class Shown(ABC):
    """What a notebook shows as tables below its one line; it holds nothing that isn't public."""

    @abstractmethod
    def _tables(self) -> Mapping[str, Columns]:
        """Return the tables, each a list of values a column, by what stands above it."""

    def _repr_html_(self) -> str:
        """Return HTML for a notebook; every text in it is escaped. Never raises our errors."""
        head = f"<p>{_words.html(repr(self))}</p>"
        try:
            tables = self._tables()
        except LeastnoiseError as error:  # such as of a ledger whose file is gone
            return f"{head}<p>{_words.html(str(error))}</p>"
        return head + "".join(_html(title, columns) for title, columns in tables.items())


class Framed(ABC):
    """What has columns, named in its class, that pandas, Polars and PyArrow can hold.

    Where there is no value, a frame has what its library calls missing.
    """

    @abstractmethod
    def _columns(self) -> Columns:
        """Return the columns, as lists of equal lengths."""

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a frame of pandas; raises MissingLibrary if it isn't installed."""
        return _frame(self._columns(), "pandas")

    def to_polars(self) -> pl.DataFrame:
        """Return the columns as a frame of Polars; raises MissingLibrary if it isn't installed."""
        return _frame(self._columns(), "polars")

    def to_arrow(self) -> pa.Table:
        """Return the columns as a table of PyArrow; raises MissingLibrary if it isn't installed."""
        return _frame(self._columns(), "pyarrow")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the columns to any library that reads Arrow's C stream, such as DuckDB or Polars.

        PyArrow makes the stream: raises MissingLibrary if it isn't installed.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of text: numbers to the right, all else to the left.

    >>> print(text_table(("name", "n"), [("a", "7"), ("b", "1,200")]))
    name      n
    a         7
    b     1,200
    """
    shown = [[*map(_words.plain, row)] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    numeric = [all(map(_words.is_number, column[1:])) for column in zip(*shown, strict=True)]
    lines: list[str] = []
    for row in shown:
        cells = zip(row, widths, numeric, strict=True)
        lines.append(
            "  ".join(f"{one:>{w}}" if right else f"{one:<{w}}" for one, w, right in cells)
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
