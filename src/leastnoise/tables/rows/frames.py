"""Rows in memory, or a query for them: pandas, and all that speaks the Arrow C stream.

A frame that can be read again is read where it is, without a copy through text. What can be read
only once (a record batch reader: the second time it has no rows, and says nothing), or is a query
that would be run again each time, is written to a private file first, when a release reads it.

Types are those of the schema, and never told from rows: pandas' columns of Python objects have
none, nor have its categories, whose type is that of the values that are there. Both are texts, as
pandas' intervals and periods are. Columns that a spec doesn't use may be of any type.
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
from leastnoise.tables.rows.duckdb.inputs import Input, Reading
from leastnoise.tables.rows.spark.engine import SparkRows
from leastnoise.tables.values import arrow_values
from leastnoise.tables.values.casts import MOST_DIGITS, FileRows, Held, held
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BEGUN: weakref.WeakSet[Any] = weakref.WeakSet()
"""Streams that were read, by this release or another, if only in part."""
_TWICE = "dictionaries or runs within others (a cast makes them one)"
_AS_TEXTS = {"CategoricalDtype", "IntervalDtype", "ObjectDType", "PeriodDtype"}
"""pandas' types of columns that are read as texts, each value by itself."""
_WITH_TEXT = {"Interval", "Period"}
"""pandas' classes of values whose text is theirs alone."""
_LARGEST = 10**MOST_DIGITS  # Python refuses to write whole numbers of some thousand digits


def frame_of(source: object) -> Frame | SparkRows | None:
    """The rows of a frame, which may be narwhals'; None for what is none.

    Raises SourceError for a frame of dask's, and for one whose columns can't be told apart.
    """
    native = nw.to_native(source, pass_through=True)
    if type(native).__module__.partition(".")[0] == "dask":
        why = "Frames of dask can't be read. Write it as a folder of Parquet files, or"
        raise SourceError(f"{why} give what its compute() returns.")
    try:
        known = nw.from_native(native, pass_through=True)
    except nw.exceptions.NarwhalsError:
        raise SourceError("The frame's columns can't be told apart. Rename them.") from None
    if isinstance(known, nw.DataFrame):
        _check_names([str(name) for name in known.columns])  # pandas has numbers, too
        pandas = known.implementation.is_pandas()
        return Pandas(native) if pandas else Frame(native)
    if isinstance(known, nw.LazyFrame) and known.implementation.is_spark_like():
        return SparkRows("the frame", native)
    if isinstance(known, nw.LazyFrame) and known.implementation.is_polars():
        _check_names(_resolved(known))
        return Frame(_Polars(known), again=False, schema=_Polars(known.head(0)))
    return _stream(native) if hasattr(native, "__arrow_c_stream__") else None


def _stream(native: Any) -> Frame:
    # of a record batch, `columns` are the values
    names = getattr(getattr(native, "schema", None), "names", None)
    _check_names([str(name) for name in names or getattr(native, "columns", [])])
    if hasattr(native, "__arrow_c_array__"):  # a record batch: it is in memory
        return Frame(native)
    # of a query, what has no rows has the same types
    if callable(getattr(native, "limit", None)):
        return Frame(native, again=False, schema=native.limit(0))
    return Frame(native, again=False, stream=native)


def _resolved(frame: nw.LazyFrame[Any]) -> list[str]:
    try:
        return frame.collect_schema().names()
    except Exception:  # noqa: BLE001  # a query's error quotes its constants
        raise SourceError("The frame's query has no schema: it can't be resolved.") from None


def _check_names(names: Collection[str]) -> None:
    """Refuse names that differ in capitals alone: DuckDB would give one of them another."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            why = f"has another column called like {name!r}, but for capitals"
            raise SourceError(f"The frame {why}. Rename one of them.")
        seen.add(name.casefold())


@final
class _Streamed:
    """A frame as its stream alone, so that DuckDB needs no other library to read it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


@final
class _Polars:
    """A lazy frame, which is run when its stream is first asked for, and then kept."""

    def __init__(self, frame: nw.LazyFrame[Any]) -> None:
        self._frame = frame
        self._collected: Any = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._collected is None:
            self._collected = self._frame.collect().to_native()
        return self._collected.__arrow_c_stream__(requested_schema)


class Frame(Input):
    """Rows that an object gives as an Arrow stream; `again` if it does as often as one likes."""

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

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """The schema."""
        return [
            (name, kind if isinstance(kind, Held) else held(f"c{place}", kind))
            for place, (name, kind) in enumerate(self._types(connection))
        ]

    def _types(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str | Held]]:
        """DuckDB's name of each column's type, or a column that it can't read."""
        try:
            fields = list(arrow_values.schema_of(self._schema))
        except SourceError:
            raise
        except Exception:  # noqa: BLE001  # what a frame's own library raises may quote what it holds
            raise SourceError("The frame's schema can't be read.") from None
        kinds = _kinds_of(connection, self._schema) or [
            (_kinds_of(connection, arrow_values.no_rows_of(field)) or [_unread(str(field.type))])[0]
            for field in fields
        ]
        return [
            (field.name, _TWICE_HELD if arrow_values.encoded_twice(field.type) else kind)
            for field, kind in zip(fields, kinds, strict=True)
        ]

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        if not self._again:
            with self._copied(reading).opened(reading) as rows:
                yield rows
            return
        columns, rehearsed = self.columns(reading.connection), reading.rehearsed
        places = {place for place, (name, _) in enumerate(columns) if name in reading.used}
        readable = self._readable(places, rehearsed=rehearsed)
        reading.connection.register("the_frame", readable)
        listed = ", ".join(f"c{place}" for place in range(len(columns)))
        kept = {name: column for name, column in columns if name in reading.used}
        rows = FileRows(sql=f"the_frame AS t({listed})", columns=kept)
        yield rows.none() if rehearsed else rows

    def _readable(self, places: Collection[int], *, rehearsed: bool) -> object:
        """Return what DuckDB reads, in which the columns at these places fail on no row."""
        if rehearsed:
            return arrow_values.without_rows(self._schema, places)
        return arrow_values.Checked(self._rows, places)

    def _copied(self, reading: Reading) -> Copy:
        """Return a private copy of the used columns, made once; it goes with this object.

        Of no row, and in its folder, where it is rehearsed. Raises SourceError where a stream was
        read before: what is left of it is too few rows.
        """
        if self._copy is not None:
            return self._copy
        with open_connection() as connection:
            columns = self.columns(connection)
        kept = {name: held.sql for name, held in columns if name in reading.used}
        places = {place for place, (name, _) in enumerate(columns) if name in reading.used}
        self._check_unread()
        if reading.rehearsed:
            rows = self._readable(places, rehearsed=True)
            return Copy.made(reading.folder / "rows.duckdb", rows, kept, rehearsed=True)
        self._begin()
        self._copy = Copy.kept(self, self._readable(places, rehearsed=False), kept)
        self._rows = self._schema  # what was collected isn't needed any more
        return self._copy

    def _check_unread(self) -> None:
        begun = self._begun
        with suppress(TypeError):  # one that can't be remembered but by this release
            begun = begun or self._stream in _BEGUN
        if begun:
            raise SourceError("The frame is a stream that was read already. Make it anew.")

    def _begin(self) -> None:
        if self._stream is not None:
            self._begun = True
            with suppress(TypeError):
                _BEGUN.add(self._stream)


@final
class Pandas(Frame):
    """A pandas frame, which DuckDB reads in place and pandas' own library isn't asked for."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._frame = native

    def _types(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str | Held]]:
        """The frame's columns are looked at without a row."""
        frame = self._frame.iloc[:0]
        whole = _kinds_of(connection, frame)
        kinds: list[str | Held] = []
        for place, kind in enumerate(frame.dtypes):
            if _is_text(kind):
                kinds.append("VARCHAR")
            elif _is_sparse(kind):
                dense = frame.iloc[:, [place]].astype(kind.subtype)
                (inner,) = dense.dtypes
                known = ["VARCHAR"] if _is_text(inner) else _kinds_of(connection, dense)
                kinds += known or [_unread(str(kind))]
            elif _is_twice(kind):
                kinds.append(_TWICE_HELD)
            else:
                known = whole[place : place + 1] or _kinds_of(connection, frame.iloc[:, [place]])
                kinds += known or [_unread(str(kind))]
        return list(zip(map(str, frame.columns), kinds, strict=True))

    def _readable(self, places: Collection[int], *, rehearsed: bool) -> object:
        """The rows with columns that DuckDB can read; Python's texts may hold halves of letters."""
        frame = self._frame.iloc[:0] if rehearsed else self._frame
        mended: dict[Any, Any] = {}
        for place, (name, kind) in enumerate(frame.dtypes.items()):
            if place not in places:
                if not _is_plain(kind):
                    mended[name] = 0  # else its rows would be looked at
                continue
            column = frame[name]
            if _is_sparse(kind):
                mended[name] = column = column.astype(kind.subtype)
            storage = getattr(kind, "storage", "")
            if _is_text(column.dtype):
                mended[name] = column.astype("object").map(as_text).astype("string[python]")
            elif storage == "python":
                # of which no text is left, it would be a column of objects, or of floats
                mended[name] = column.map(as_text, na_action="ignore").astype(kind)
            elif storage == "pyarrow":
                mended[name] = arrow_values.checked_column(column.array)
        if mended:
            frame = frame.copy(deep=False)
            for name, column in mended.items():
                frame[name] = column
        return frame


def _kinds_of(connection: duckdb.DuckDBPyConnection, frame: object) -> list[str | Held]:
    """DuckDB's names of the types of a frame's columns; none if it can't read one of them."""
    try:
        connection.register("the_frame", frame)
        return [str(kind) for kind in connection.table("the_frame").types]
    except Exception:  # noqa: BLE001  # of pandas' extension types, and DuckDB, whatever they raise
        return []


def _unread(kind: str) -> Held:
    """A column of a type that DuckDB can't read; its name is of the schema, and holds no value."""
    why = (
        f"holds {kind[:40]}, which can't be read. Make it numbers, texts, bools or dates: for texts"
    )
    return Held(sql="NULL", kind=kind, why=f'{why} by astype("str") of pandas, or a cast.')


_TWICE_HELD = Held(sql="NULL", kind=_TWICE)


def _is_text(kind: Any) -> bool:
    """True for a type of pandas' whose values are read as texts, each by itself."""
    return type(kind).__name__ in _AS_TEXTS


def _is_sparse(kind: Any) -> bool:
    return type(kind).__name__ == "SparseDtype"


def _is_plain(kind: Any) -> bool:
    """True for numpy's numbers and bools, which no reader looks into."""
    return isinstance(kind, np.dtype) and kind.kind in "biuf" and kind.itemsize <= 8


def _is_twice(kind: Any) -> bool:
    arrow = getattr(kind, "pyarrow_dtype", None)
    return arrow is not None and arrow_values.encoded_twice(arrow)


def as_text(value: object) -> str | None:
    r"""The text of a text, a number, a bool, a date, or pandas' interval or period; else None.

    It is the one that CSV would have. Of other objects nothing is asked: what they do is unknown.

    >>> [as_text(one) for one in ("n", 1.5, True, date(2026, 1, 31), float("nan"), [], "\ud800")]
    ['n', '1.5', 'true', '2026-01-31', None, None, None]
    """
    if isinstance(value, str):
        return _in_utf8(value)
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
    """True for pandas' values whose text depends on nothing but themselves."""
    kind = type(value)
    return kind.__name__ in _WITH_TEXT and kind.__module__.partition(".")[0] == "pandas"


def _in_utf8(text: str) -> str | None:
    try:
        return str.encode(text, "utf-8").decode("utf-8")
    except UnicodeEncodeError:  # half of a pair of surrogates
        return None
