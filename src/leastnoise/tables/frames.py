"""Rows in memory, or a query for them: pandas, and all that speaks the Arrow C stream.

Nothing is copied through text. A frame that can be read again is read where it is. What can be
read only once (a record batch reader: the second time it has no rows, and says nothing), or is a
query that would be run again each time, is written to a private file first, when a release reads
its rows.
"""

from __future__ import annotations

import weakref
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import duckdb
import narwhals as nw

from leastnoise.errors import SourceError
from leastnoise.tables import databases, spill
from leastnoise.tables.casts import Rows, held
from leastnoise.tables.databases import DuckDBTable, quoted
from leastnoise.tables.inputs import Input

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from leastnoise.tables.casts import Held


def frame_of(source: object) -> Frame | None:
    """Return the rows of a frame, which may be narwhals'; None for what is none.

    Raises SourceError for a frame whose schema doesn't say its types.
    """
    native = nw.to_native(source, pass_through=True)
    known = nw.from_native(native, pass_through=True)
    if isinstance(known, nw.DataFrame):
        if known.implementation.is_pandas():
            _refuse_objects(known)
            return Frame(native, again=True)
        return Frame(_Streamed(native), again=True)
    if isinstance(known, nw.LazyFrame) and known.implementation.is_polars():
        return Frame(_Collected(known), again=False)
    if hasattr(native, "__arrow_c_stream__"):
        return Frame(_Streamed(native), again=False)
    return None


def _refuse_objects(frame: nw.DataFrame[Any]) -> None:
    """Refuse columns of Python objects: their type would be told from the rows."""
    for name, kind in frame.schema.items():
        if kind == nw.Object:
            raise SourceError(
                f"The column {name!r} is of Python objects, whose type no schema says. Give it "
                f'one, such as frame.astype({{{name!r}: "string"}}), or leave it out.'
            )


@final
class _Streamed:
    """A frame as its stream alone, so that DuckDB needs no other library to read it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


@final
class _Collected:
    """A lazy frame, which is run when its stream is asked for; of its schema when that is."""

    def __init__(self, frame: nw.LazyFrame[Any]) -> None:
        self._frame = frame

    @property
    def schema_alone(self) -> _Streamed:
        """Return a frame without rows."""
        return _Streamed(self._frame.head(0).collect().to_native())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.collect().to_native().__arrow_c_stream__(requested_schema)


@final
@dataclass(frozen=True)
class Frame(Input):
    """Rows that a Python object holds; `again` if it can be read as often as one likes."""

    native: Any
    again: bool
    _copies: list[DuckDBTable] = field(default_factory=list, compare=False, repr=False)

    @property
    def name(self) -> str:
        """See `Input.name`."""
        return "the frame"

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """See `Input.columns`: the schema."""
        kinds = self._types(connection).items()
        return [
            (name, held(f"c{place}", kind, from_elsewhere=True))
            for place, (name, kind) in enumerate(kinds)
        ]

    def _types(self, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
        try:
            frame = getattr(self.native, "schema_alone", self.native)
            connection.register("the_frame", frame)
            found = connection.table("the_frame")
            return dict(zip(found.columns, map(str, found.types), strict=True))
        except Exception:  # noqa: BLE001  # whatever a frame's own library raises may quote what it holds
            raise SourceError(
                "The frame's schema can't be read. Leave out columns that are not numbers, texts, "
                "bools or dates, such as half floats."
            ) from None

    @contextmanager
    def opened(
        self, connection: duckdb.DuckDBPyConnection, folder: Path, used: Collection[str]
    ) -> Iterator[Rows]:
        """See `Input.opened`."""
        if not self.again:
            with self._copy().opened(connection, folder, used) as rows:
                yield rows
            return
        columns = self.columns(connection)
        connection.register("the_frame", self.native)
        listed = ", ".join(f"c{place}" for place in range(len(columns)))
        kept = {name: column for name, column in columns if name in used}
        yield Rows(sql=f"the_frame AS t({listed})", columns=kept)

    def _copy(self) -> DuckDBTable:
        """Return a private copy of all rows, made once; it goes with this object."""
        if not self._copies:
            held_open = ExitStack()
            path = held_open.enter_context(spill.folder()) / "rows.duckdb"
            weakref.finalize(self, held_open.close)
            with duckdb.connect(str(path)) as connection:
                columns = self.columns(connection)
                listed = ", ".join(f"{column.sql} AS {quoted(name)}" for name, column in columns)
                names = ", ".join(f"c{place}" for place in range(len(columns)))
                connection.register("the_frame", self.native)
                sql = f"CREATE TABLE the_rows AS SELECT {listed} FROM the_frame AS t({names})"  # noqa: S608
                connection.execute(sql)
            self._copies.append(DuckDBTable(path, "the_rows"))
        return self._copies[0]

    def without_rows(self, folder: Path, used: Collection[str]) -> Input | None:
        """See `Input.without_rows`."""
        with duckdb.connect() as connection:
            types = {name: kind for name, kind in self._types(connection).items() if name in used}
        return databases.empty(folder, types)
