"""What rows come from: a file, several files, a table of a database, a frame in memory.

Whatever it is, it says its columns from its schema alone, and gives SQL for the rows that DuckDB
reads. What can't be read is a missing value; a source that is damaged is an error that quotes
nothing.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from leastnoise.errors import SourceError
from leastnoise.tables.spec.source import Dialect
from leastnoise.tables.values import csv_lines, parquet_rows, pipe, spill
from leastnoise.tables.values.casts import FileRows, Held

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import duckdb

_PARAMETER = re.compile(r"\$(\w+)")
_TOGETHER = 50  # files that are open at once: two or three descriptors each


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How rows are to be read: by a `connection`, the `used` columns alone; `folder` is private.

    Where it is `rehearsed`, what is opened is the same, in the same way, but no row is looked at,
    and what is yielded has none.
    """

    connection: duckdb.DuckDBPyConnection
    folder: Path
    used: Collection[str]
    rehearsed: bool = False

    def within(self, name: str, used: Collection[str]) -> Reading:
        """The same of other columns, in a folder of its own, which is made."""
        folder = self.folder / name
        folder.mkdir()
        return replace(self, folder=folder, used=used)


class Input(ABC):
    """The rows of one release."""

    @property
    def typed(self) -> bool:
        """Whether it says what its columns are; of texts alone only the spec can say it."""
        return True

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @abstractmethod
    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """Return names and columns, from the schema alone; names may stand twice.

        The `connection` is one to look with. Raises SourceError if there is nothing readable.
        """

    @abstractmethod
    def opened(self, reading: Reading) -> AbstractContextManager[FileRows]:
        """Yield the rows and the used columns, which may be read once."""

    def rehearse(self, folder: Path) -> None:
        """Make what `opened` will need in a folder for temporary files; raises OSError."""
        del folder  # most need nothing


def by_name(columns: Sequence[tuple[str, Held]], name: str) -> dict[str, Held]:
    """Return the columns of what is called `name`, none of which may stand twice; SourceError."""
    times = Counter(column for column, _ in columns)
    if twice := sorted(column for column in times if times[column] > 1):
        raise SourceError(f"The header of {name} names {twice[0]!r} more than once.")
    return dict(columns)


@final
@dataclass(frozen=True)
class CsvFile(Input):
    """A CSV file, as it is or compressed: see `csv_lines`. All columns are text."""

    path: Path
    dialect: Dialect = field(default_factory=Dialect)

    @property
    def typed(self) -> bool:
        """All is text."""
        return False

    @property
    def name(self) -> str:
        return self.path.name

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """The header."""
        del connection
        parquet_rows.one_file(self.path)  # raises now for a name that can't be read
        return [
            (name, Held(sql="", kind="VARCHAR", decimal=self.dialect.decimal))
            for name in csv_lines.header(self.path, self.dialect)
        ]

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        """The file, or a pipe of its lines."""
        readable = csv_lines.readable(
            self.path, reading.folder, reading.used, self.dialect, rehearsed=reading.rehearsed
        )
        with readable as path:
            rows = csv_lines.rows(self.path, reading.used, self.dialect)
            yield replace(rows, bound={"path": parquet_rows.one_file(path)})

    def rehearse(self, folder: Path) -> None:
        """A pattern, which DuckDB would take its name for, finds no pipe."""
        if parquet_rows.one_file(folder) != folder.absolute().as_posix():
            raise OSError(f"DuckDB reads no pipe in {folder}, for the letters in its name.")
        pipe.make(folder / "rehearsal")


@final
@dataclass(frozen=True)
class ParquetFile(Input):
    """A Parquet file: see `parquet_rows`."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """The metadata."""
        if parquet_rows.is_utf8(self.path):
            return parquet_rows.columns(connection, self.path)
        with spill.folder() as folder:
            return parquet_rows.columns(connection, parquet_rows.named(self.path, folder))

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        path = parquet_rows.named(self.path, reading.folder)
        rows = parquet_rows.rows(
            reading.connection, path, reading.used, rehearsed=reading.rehearsed
        )
        yield replace(rows, bound={"path": parquet_rows.one_file(path)})


@final
@dataclass(frozen=True, kw_only=True)
class Part:
    """A file of several, and what the names of its folders say: a text by column, or None."""

    file: Input
    keys: Mapping[str, str | None] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Several(Input):
    """The rows of several files together, which have all the same columns of the same types.

    A column of a partitioned folder is text, as the names of folders spell it: the spec says what
    else it is. Nothing is taken from the first file that isn't in all of them.
    """

    label: str
    parts: Sequence[Part]

    @property
    def name(self) -> str:
        return self.label

    @property
    def typed(self) -> bool:
        return all(part.file.typed for part in self.parts)

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """Raises SourceError where two files differ."""
        first = self.parts[0]
        found = first.file.columns(connection)
        names = [name for name, _ in found]
        for key in first.keys:
            if key in names:
                why = f"both in {first.file.name} and in the names of its folders"
                raise SourceError(f"The column {key!r} is {why}. Rename one of them.")
        for part in self.parts[1:]:
            self._check(part, by_name(part.file.columns(connection), part.file.name), dict(found))
        columns = [(name, replace(held, sql="")) for name, held in found]
        return [*columns, *((key, Held(sql="", kind="VARCHAR")) for key in first.keys)]

    def _check(self, part: Part, found: Mapping[str, Held], expected: Mapping[str, Held]) -> None:
        first = self.parts[0]
        if set(part.keys) != set(first.keys):
            raise SourceError(
                f"{part.file.name} isn't in folders of the same columns as {first.file.name}: "
                f"{_listed(part.keys)} and {_listed(first.keys)}."
            )
        for name in {**expected, **found}:
            if name not in found or name not in expected:
                without, having = (part, first) if name not in found else (first, part)
                raise SourceError(
                    f"{without.file.name} has no column {name!r}, and {having.file.name} has one. "
                    "All files of one source need the same columns."
                )
        for name, held in expected.items():
            if (found[name].kind, found[name].exactly) != (held.kind, held.exactly):
                raise SourceError(
                    f"The column {name!r} holds {found[name].exactly or found[name].kind} in "
                    f"{part.file.name} and {held.exactly or held.kind} in {first.file.name}. "
                    "All files of one source need the same types."
                )

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        """One after the other.

        DuckDB opens every file of a query at once. Of more than there may be open, the used columns
        are copied into a table first, some files at a time; it may spill.
        """
        kinds, used = dict(self.parts[0].file.columns(reading.connection)), reading.used
        text = Held(sql="", kind="VARCHAR")  # what the names of folders say
        places = {name: f"s{place}" for place, name in enumerate(used)}
        held = {name: replace(kinds.get(name, text), sql=places[name]) for name in used}
        if len(self.parts) <= _TOGETHER:
            with self._joined(self.parts, places, reading) as (sql, bound):
                yield FileRows(sql=f"({sql})", columns=held, bound=bound)
            return
        for start in range(0, len(self.parts), _TOGETHER):
            some = self.parts[start : start + _TOGETHER]
            with self._joined(some, places, reading.within(str(start), used)) as (sql, bound):
                into = "INSERT INTO the_files" if start else "CREATE TEMP TABLE the_files AS"
                reading.connection.execute(f"{into} {sql}", bound)
        yield FileRows(sql="the_files", columns=held)

    @contextmanager
    def _joined(
        self, parts: Sequence[Part], places: Mapping[str, str], reading: Reading
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield SQL for the rows of `parts`, columns called by their `places`, and parameters."""
        selects: list[str] = []
        bound: dict[str, Any] = {}
        with ExitStack() as stack:
            for index, part in enumerate(parts):
                within = [name for name in places if name not in part.keys]
                inner = reading.within(f"part{index}", within)
                rows = stack.enter_context(part.file.opened(inner))
                bound |= {f"{name}_{index}": value for name, value in rows.bound.items()}
                columns = [
                    f"{_renamed(rows.columns[name].sql, index)} AS {places[name]}"
                    for name in within
                ]
                for name in places:
                    if name in part.keys:
                        bound[f"{places[name]}_{index}"] = part.keys[name]
                        columns.append(f"${places[name]}_{index}::VARCHAR AS {places[name]}")
                listed = ", ".join(columns) or "0 AS nothing"
                selects.append(f"SELECT {listed} FROM {_renamed(rows.sql, index)}")  # noqa: S608
            yield " UNION ALL ".join(selects), bound

    def rehearse(self, folder: Path) -> None:
        self.parts[0].file.rehearse(folder)


def _renamed(sql: str, index: int) -> str:
    """Return SQL whose parameters are told apart from those of other files."""
    return _PARAMETER.sub(rf"$\1_{index}", sql)


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
