"""Rows in memory, or a query for them: pandas, and every frame that has an Arrow C stream.

A frame that can be read again is read from memory. Some frames can be read only once: a record
batch reader silently has no rows the second time. Others are queries that would run again each
time. Both are written to a private file when a release reads them.

Types come from the schema and never from rows. pandas' columns of Python objects have no type, and
the type of its categories depends on the values present. Both are read as texts, as are pandas'
intervals and periods. Columns that a spec doesn't use may have any type.
"""

from __future__ import annotations

import math
import weakref
from contextlib import contextmanager, suppress
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, final

import duckdb
import narwhals as nw
import numpy as np

from leastnoise.errors import SourceError
from leastnoise.tables.rows.duckdb.databases import Copy
from leastnoise.tables.rows.duckdb.inputs import Input, RowReading
from leastnoise.tables.rows.spark.engine import SparkRows
from leastnoise.tables.values import arrow_values
from leastnoise.tables.values.casts import MOST_DIGITS, FileRows, StoredColumn, stored_column
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BEGUN: weakref.WeakSet[Any] = weakref.WeakSet()
"""Streams of which this or another release has read at least a part."""
_TWICE = "dictionaries or runs within others (a cast makes them one)"
_AS_TEXTS = {"CategoricalDtype", "IntervalDtype", "ObjectDType", "PeriodDtype"}
"""pandas' column types that are read as texts, value by value."""
_WITH_TEXT = {"Interval", "Period"}
"""pandas' classes of values whose text depends only on themselves."""
_LARGEST = 10**MOST_DIGITS  # Python refuses to write whole numbers of some thousand digits


def frame_of(source: object) -> Frame | SparkRows | None:
    """The rows of a frame, which may be wrapped by narwhals; None for any other object.

    Raises SourceError for a dask frame, for ambiguous column names, and if the columns of a lazy
    Polars frame can't be determined.
    """
    native = nw.to_native(source, pass_through=True)
    if type(native).__module__.partition(".")[0] == "dask":
        why = "dask frames can't be read. Write the frame as a folder of Parquet files, or"
        raise SourceError(f"{why} give the result of its compute().")
    try:
        known = nw.from_native(native, pass_through=True)
    except nw.exceptions.NarwhalsError:
        raise SourceError("The frame has several columns of the same name. Rename them.") from None
    if isinstance(known, nw.DataFrame):
        # names of pandas columns may be numbers
        _check_names([str(name) for name in known.columns])
        pandas = known.implementation.is_pandas()
        return Pandas(native) if pandas else Frame(native)
    if isinstance(known, nw.LazyFrame) and known.implementation.is_spark_like():
        return SparkRows("the frame", native)
    if isinstance(known, nw.LazyFrame) and known.implementation.is_polars():
        _check_names(_resolve_names(known))
        return Frame(_Polars(known), again=False, schema=_Polars(known.head(0)))
    return _frame_of_stream(native) if hasattr(native, "__arrow_c_stream__") else None


def _frame_of_stream(native: Any) -> Frame:
    # the attribute `columns` of a record batch has its values
    names = getattr(getattr(native, "schema", None), "names", None)
    _check_names([str(name) for name in names or getattr(native, "columns", [])])
    if hasattr(native, "__arrow_c_array__"):  # a record batch is in memory, so it can be read again
        return Frame(native)
    # a query without rows has the same types
    if callable(getattr(native, "limit", None)):
        return Frame(native, again=False, schema=native.limit(0))
    return Frame(native, again=False, stream=native)


def _resolve_names(frame: nw.LazyFrame[Any]) -> list[str]:
    try:
        return frame.collect_schema().names()
    except Exception:  # noqa: BLE001  # a query's error quotes its constants
        raise SourceError(
            "The columns of the frame can't be determined, because the frame's query fails. Call "
            "the frame's collect_schema() to see why."
        ) from None


def _check_names(names: Collection[str]) -> None:
    """Refuse names that are equal except for capitals, since DuckDB would rename one of them."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            why = f"has another column whose name equals {name!r} except for capitals"
            raise SourceError(f"The frame {why}. Rename one of the columns.")
        seen.add(name.casefold())


@final
class _Streamed:
    """A wrapper that shows only a frame's Arrow stream, so that DuckDB needs no other library."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


@final
class _Polars:
    """A wrapper of a lazy Polars frame, which is computed at the first request and then kept."""

    def __init__(self, frame: nw.LazyFrame[Any]) -> None:
        self._frame = frame
        self._collected: Any = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._collected is None:
            self._collected = self._frame.collect().to_native()
        return self._collected.__arrow_c_stream__(requested_schema)


class Frame(Input):
    """Rows of an object that has an Arrow stream; `again` is True if it can be read repeatedly.

    `schema` is an object with the same columns from which only the schema is read, by default the
    object itself. `stream` is the object if reading its rows uses them up.
    """

    def __init__(
        self,
        native: Any,
        *,
        again: bool = True,
        schema: Any = None,
        stream: Any = None,
    ) -> None:
        self._rows = _Streamed(native)
        self._schema = _Streamed(native if schema is None else schema)
        self._again = again
        self._stream, self._begun = stream, False
        self._copy: Copy | None = None

    @property
    def name(self) -> str:
        return "the frame"

    @property
    def is_inspected(self) -> bool:
        """False: DuckDB opens no file to list the columns of a frame."""
        return False

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns of the schema."""
        return [
            (name, kind if isinstance(kind, StoredColumn) else stored_column(f"c{position}", kind))
            for position, (name, kind) in enumerate(self._types(connection))
        ]

    def _types(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str | StoredColumn]]:
        """Pairs of a column's name and DuckDB's name of its type.

        If DuckDB can't read a column, it has a `StoredColumn` with the reason in place of the type.
        Raises SourceError if the schema can't be read.
        """
        try:
            fields = list(arrow_values.schema_of(self._schema))
        except SourceError:
            raise
        except Exception:  # noqa: BLE001  # errors of the frame's library may quote data
            raise SourceError(
                "The names or types of the frame's columns can't be read. Convert the frame to "
                "another library, such as Polars."
            ) from None
        kinds = _kinds_of(connection, self._schema) or [
            (
                _kinds_of(connection, arrow_values.empty_column(field))
                or [_unreadable_column(str(field.type))]
            )[0]
            for field in fields
        ]
        return [
            (field.name, _ENCODED_TWICE if arrow_values.is_encoded_twice(field.type) else kind)
            for field, kind in zip(fields, kinds, strict=True)
        ]

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        if not self._again:
            with self._copy_rows(reading).open_rows(reading) as rows:
                yield rows
            return
        columns, rehearsed = self.columns(reading.connection), reading.rehearsed
        positions = {position for position, (name, _) in enumerate(columns) if name in reading.used}
        readable = self._readable(positions, rehearsed=rehearsed)
        reading.connection.register("the_frame", readable)
        listed = ", ".join(f"c{position}" for position in range(len(columns)))
        kept = {name: column for name, column in columns if name in reading.used}
        rows = FileRows(sql=f"the_frame AS t({listed})", columns=kept)
        yield rows.without_rows() if rehearsed else rows

    def _readable(self, positions: Collection[int], *, rehearsed: bool) -> object:
        """The object for DuckDB to read, in which no row of the used columns makes DuckDB fail.

        The used columns are at `positions`. If `rehearsed`, the object has no rows.
        """
        if rehearsed:
            return arrow_values.empty_table(self._schema, positions)
        return arrow_values.CheckedStream(self._rows, positions)

    def _copy_rows(self, reading: RowReading) -> Copy:
        """A private copy of the used columns, created once; it is removed with this object.

        If rehearsed, the copy has no rows and is in the rehearsal's folder. Raises SourceError if
        the stream was already read, since some of its rows would be missing.
        """
        if self._copy is not None:
            return self._copy
        with open_connection() as connection:
            columns = self.columns(connection)
        kept = {name: column.sql for name, column in columns if name in reading.used}
        positions = {position for position, (name, _) in enumerate(columns) if name in reading.used}
        self._check_unread()
        if reading.rehearsed:
            rows = self._readable(positions, rehearsed=True)
            return Copy.create(reading.folder / "rows.duckdb", rows, kept, rehearsed=True)
        self._begin()
        self._copy = Copy.create_private(self, self._readable(positions, rehearsed=False), kept)
        self._rows = self._schema  # frees the collected rows
        return self._copy

    def _check_unread(self) -> None:
        begun = self._begun
        # an object without weak references: only this release remembers that it was read
        with suppress(TypeError):
            begun = begun or self._stream in _BEGUN
        if begun:
            raise SourceError(
                "The frame is a stream that was read already. Create the frame again."
            )

    def _begin(self) -> None:
        if self._stream is not None:
            self._begun = True
            with suppress(TypeError):
                _BEGUN.add(self._stream)


@final
class Pandas(Frame):
    """A pandas frame, which DuckDB reads in place, except for columns that `_readable` converts."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._frame = native

    def _types(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str | StoredColumn]]:
        """The types of the frame's columns, without looking at a row."""
        frame = self._frame.iloc[:0]
        whole = _kinds_of(connection, frame)
        kinds: list[str | StoredColumn] = []
        for position, kind in enumerate(frame.dtypes):
            if _is_text(kind):
                kinds.append("VARCHAR")
            elif _is_sparse(kind):
                dense = frame.iloc[:, [position]].astype(kind.subtype)
                (inner,) = dense.dtypes
                known = ["VARCHAR"] if _is_text(inner) else _kinds_of(connection, dense)
                kinds += known or [_unreadable_column(str(kind))]
            elif _is_twice(kind):
                kinds.append(_ENCODED_TWICE)
            else:
                known = whole[position : position + 1] or _kinds_of(
                    connection, frame.iloc[:, [position]]
                )
                kinds += known or [_unreadable_column(str(kind))]
        return list(zip(map(str, frame.columns), kinds, strict=True))

    def _readable(self, positions: Collection[int], *, rehearsed: bool) -> object:
        """The frame with its used columns converted so that DuckDB can read every value.

        For example, Python texts may contain lone surrogates, which aren't valid UTF-8.
        """
        frame = self._frame.iloc[:0] if rehearsed else self._frame
        mended: dict[Any, Any] = {}
        for position, (name, kind) in enumerate(frame.dtypes.items()):
            if position not in positions:
                if not _is_plain(kind):
                    mended[name] = 0  # otherwise DuckDB would inspect the rows
                continue
            column = frame[name]
            if _is_sparse(kind):
                mended[name] = column = column.astype(kind.subtype)
            storage = getattr(kind, "storage", "")
            if _is_text(column.dtype):
                mended[name] = column.astype("object").map(as_text).astype("string[python]")
            elif storage == "python":
                # without any text left, the column would become objects or floats
                mended[name] = column.map(as_text, na_action="ignore").astype(kind)
            elif storage == "pyarrow":
                mended[name] = arrow_values.check_pandas_column(column.array)
        if mended:
            frame = frame.copy(deep=False)
            for name, column in mended.items():
                frame[name] = column
        return frame


def _kinds_of(connection: duckdb.DuckDBPyConnection, frame: object) -> list[str | StoredColumn]:
    """DuckDB's names of the types of a frame's columns; empty if it can't read some column."""
    try:
        connection.register("the_frame", frame)
        return [str(kind) for kind in connection.table("the_frame").types]
    except Exception:  # noqa: BLE001  # pandas' extension types and DuckDB may raise anything
        return []


def _unreadable_column(kind: str) -> StoredColumn:
    """A column that DuckDB can't read; `kind` is its type's name in the schema, without values."""
    why = (
        f"holds {kind[:40]}, which can't be read. Make it numbers, texts, bools or dates: for texts"
    )
    return StoredColumn(sql="NULL", kind=kind, why=f'{why} by astype("str") of pandas, or a cast.')


_ENCODED_TWICE = StoredColumn(sql="NULL", kind=_TWICE)


def _is_text(kind: Any) -> bool:
    """True for a pandas type whose values are read as texts, one by one."""
    return type(kind).__name__ in _AS_TEXTS


def _is_sparse(kind: Any) -> bool:
    return type(kind).__name__ == "SparseDtype"


def _is_plain(kind: Any) -> bool:
    """True for numpy's numbers and bools, whose values DuckDB never inspects."""
    return isinstance(kind, np.dtype) and kind.kind in "biuf" and kind.itemsize <= 8


def _is_twice(kind: Any) -> bool:
    arrow = getattr(kind, "pyarrow_dtype", None)
    return arrow is not None and arrow_values.is_encoded_twice(arrow)


def as_text(value: object) -> str | None:
    r"""The text of a text, number, bool, date, or a pandas interval or period; else None.

    NaN, whole numbers that are too long and texts that UTF-8 can't encode give None, too. No method
    of other objects is called, since they could do anything.

    >>> [as_text(one) for one in ("n", 1.5, True, date(2026, 1, 31), float("nan"), [], "\ud800")]
    ['n', '1.5', 'true', '2026-01-31', None, None, None]
    """
    if isinstance(value, str):
        return _to_utf8(value)
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value) if abs(value) < _LARGEST else None
    if type(value) is float:
        return None if math.isnan(value) else repr(value)
    if type(value) is Decimal:
        return None if value.is_nan() else str(value)
    return str(value) if type(value) is date or _has_text(value) else None


def _has_text(value: object) -> bool:
    """True for a pandas value whose text depends only on the value itself."""
    kind = type(value)
    return kind.__name__ in _WITH_TEXT and kind.__module__.partition(".")[0] == "pandas"


def _to_utf8(text: str) -> str | None:
    try:
        return str.encode(text, "utf-8").decode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate
        return None
