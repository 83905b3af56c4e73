"""Inputs of rows: a file, several files, a table of a database, a frame in memory.

Each lists its columns from its schema alone, and gives SQL for the rows that DuckDB reads. A value
that can't be read is missing. A damaged source raises an error that quotes no data.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise.errors import SourceError
from leastnoise.tables.spec.source import Dialect
from leastnoise.tables.values import csv_lines, parquet_rows, pipe, spill
from leastnoise.tables.values.casts import FileRows, StoredColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import duckdb

_PARAMETER = re.compile(r"\$(\w+)")
_TOGETHER = 50  # files that are open at once; each needs two or three descriptors


@final
@dataclass(frozen=True, kw_only=True)
class RowReading:
    """Instructions for reading rows by a `connection`: only the `used` columns are needed.

    `folder` is private, for temporary files. If `rehearsed`, everything is opened in the same way,
    but no row is read or yielded.
    """

    connection: duckdb.DuckDBPyConnection
    folder: Path
    used: Collection[str]
    rehearsed: bool = False

    def in_subfolder(self, name: str, used: Collection[str]) -> RowReading:
        """The same instructions for other columns, with a new subfolder for private files."""
        folder = self.folder / name
        folder.mkdir()
        return replace(self, folder=folder, used=used)


class Input(ABC):
    """A source of rows that one release reads, such as a file, a table or a frame."""

    @property
    def typed(self) -> bool:
        """True if the source states the types of its columns.

        If False, the spec has to state them.
        """
        return True

    @property
    def is_inspected(self) -> bool:
        """False only if DuckDB opens no file to list the columns."""
        return True

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the source in messages."""

    @abstractmethod
    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns with their names, from the schema alone; names may be repeated.

        `connection` can be used to inspect a file. Raises SourceError if the source can't be read.
        """

    @abstractmethod
    def open_rows(self, reading: RowReading) -> AbstractContextManager[FileRows]:
        """Yield the rows with the used columns; the rows can be read only once."""

    def rehearse(self, folder: Path) -> None:
        """Create in a temporary folder what `open_rows` will need; raises OSError if it can't."""
        del folder  # most inputs need nothing


def by_name(columns: Sequence[tuple[str, StoredColumn]], name: str) -> dict[str, StoredColumn]:
    """The columns of the source `name` by their names; raises SourceError for a repeated name."""
    times = Counter(column for column, _ in columns)
    if twice := sorted(column for column in times if times[column] > 1):
        raise SourceError(
            f"The header of {name} names {twice[0]!r} more than once. Give each column a name of "
            "its own."
        )
    return dict(columns)


@final
@dataclass(frozen=True)
class CsvFile(Input):
    """A CSV file, plain or compressed: see `csv_lines`. All columns are text."""

    path: Path
    dialect: Dialect = field(default_factory=Dialect)

    @property
    def typed(self) -> bool:
        """False, since all columns are text."""
        return False

    @property
    def is_inspected(self) -> bool:
        """False, since this class reads the header itself."""
        return False

    @property
    def name(self) -> str:
        return self.path.name

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns in the header."""
        del connection
        parquet_rows.escape_pattern(self.path)  # raises the error now for a name that can't be read
        return [
            (name, StoredColumn(sql="", kind="VARCHAR", decimal=self.dialect.decimal))
            for name in csv_lines.read_header(self.path, self.dialect)
        ]

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        """Yield the rows of the file, or of a pipe with its lines."""
        readable = csv_lines.open_readable(
            self.path, reading.folder, reading.used, self.dialect, rehearsed=reading.rehearsed
        )
        with readable as path:
            rows = csv_lines.select_rows(self.path, reading.used, self.dialect)
            yield replace(rows, parameters={"path": parquet_rows.escape_pattern(path)})

    def rehearse(self, folder: Path) -> None:
        """Create a pipe for the lines.

        Refuses a folder whose name DuckDB would take for a pattern.
        """
        if parquet_rows.escape_pattern(folder) != folder.absolute().as_posix():
            raise OSError(
                f"DuckDB reads *, ? and [ in the name of the folder {folder} as a pattern. Set "
                "TMPDIR to a folder without these characters."
            )
        pipe.make_pipe(folder / "rehearsal")


@final
@dataclass(frozen=True)
class ParquetFile(Input):
    """A Parquet file: see `parquet_rows`."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns in the metadata."""
        if parquet_rows.is_utf8(self.path):
            return parquet_rows.read_columns(connection, self.path)
        with spill.folder() as folder:
            return parquet_rows.read_columns(
                connection, parquet_rows.name_for_duckdb(self.path, folder)
            )

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        path = parquet_rows.name_for_duckdb(self.path, reading.folder)
        rows = parquet_rows.select_rows(
            reading.connection, path, reading.used, rehearsed=reading.rehearsed
        )
        yield replace(rows, parameters={"path": parquet_rows.escape_pattern(path)})


@final
@dataclass(frozen=True, kw_only=True)
class FilePart:
    """One of several files, with the keys from the names of its folders, by column.

    A key is a text, or None for a missing value.
    """

    file: Input
    keys: Mapping[str, str | None] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class SeveralFiles(Input):
    """The rows of several files, which must have the same columns of the same types.

    A column from the names of folders, such as `year=2026`, is text; the spec may declare another
    type. No property of the rows is read from the first file alone.
    """

    label: str
    parts: Sequence[FilePart]

    @property
    def name(self) -> str:
        return self.label

    @property
    def typed(self) -> bool:
        return all(part.file.typed for part in self.parts)

    @property
    def is_inspected(self) -> bool:
        return any(part.file.is_inspected for part in self.parts)

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns of all files; raises SourceError if two files differ."""
        first = self.parts[0]
        first_columns = first.file.columns(connection)
        names = [name for name, _ in first_columns]
        for key in first.keys:
            if key in names:
                why = f"both in {first.file.name} and in the names of its folders"
                raise SourceError(f"The column {key!r} is {why}. Rename the column or the folders.")
        for part in self.parts[1:]:
            self._check(
                part, by_name(part.file.columns(connection), part.file.name), dict(first_columns)
            )
        columns = [(name, replace(column, sql="")) for name, column in first_columns]
        return [*columns, *((key, StoredColumn(sql="", kind="VARCHAR")) for key in first.keys)]

    def _check(
        self,
        part: FilePart,
        columns: Mapping[str, StoredColumn],
        expected: Mapping[str, StoredColumn],
    ) -> None:
        first = self.parts[0]
        if set(part.keys) != set(first.keys):
            raise SourceError(
                f"The folders of {part.file.name} name {_columns_in_words(part.keys)}, but the "
                f"folders of {first.file.name} name {_columns_in_words(first.keys)}. Use the same "
                "columns in the names of all folders."
            )
        for name in {**expected, **columns}:
            if name not in columns or name not in expected:
                without, having = (part, first) if name not in columns else (first, part)
                raise SourceError(
                    f"{without.file.name} has no column {name!r}, but {having.file.name} has this "
                    "column. All files of one source need the same columns."
                )
        for name, wanted in expected.items():
            column = columns[name]
            if (column.kind, column.exact_kind) != (wanted.kind, wanted.exact_kind):
                raise SourceError(
                    f"The column {name!r} has the type {column.exact_kind or column.kind} in "
                    f"{part.file.name}, but {wanted.exact_kind or wanted.kind} in "
                    f"{first.file.name}. All files of one source need the same types."
                )

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        """Yield the files one after the other.

        DuckDB opens every file of a query at once. If more files are needed than may be open, the
        used columns are first copied to a table, some files at a time. This table may spill to the
        disk.
        """
        kinds, used = dict(self.parts[0].file.columns(reading.connection)), reading.used
        text = StoredColumn(sql="", kind="VARCHAR")  # a partition key from the names of folders
        aliases = {name: f"s{index}" for index, name in enumerate(used)}
        columns = {name: replace(kinds.get(name, text), sql=aliases[name]) for name in used}
        if len(self.parts) <= _TOGETHER:
            with self._union(self.parts, aliases, reading) as (sql, bound):
                yield FileRows(sql=f"({sql})", columns=columns, parameters=bound)
            return
        for start in range(0, len(self.parts), _TOGETHER):
            some = self.parts[start : start + _TOGETHER]
            with self._union(some, aliases, reading.in_subfolder(str(start), used)) as (sql, bound):
                into = "INSERT INTO the_files" if start else "CREATE TEMP TABLE the_files AS"
                reading.connection.execute(f"{into} {sql}", bound)
        yield FileRows(sql="the_files", columns=columns)

    @contextmanager
    def _union(
        self, parts: Sequence[FilePart], aliases: Mapping[str, str], reading: RowReading
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield SQL for the rows of `parts` and its parameters; `aliases` rename the columns."""
        selects: list[str] = []
        bound: dict[str, Any] = {}
        with ExitStack() as stack:
            for index, part in enumerate(parts):
                within = [name for name in aliases if name not in part.keys]
                inner = reading.in_subfolder(f"part{index}", within)
                rows = stack.enter_context(part.file.open_rows(inner))
                bound |= {f"{name}_{index}": value for name, value in rows.parameters.items()}
                columns = [
                    f"{_rename_parameters(rows.columns[name].sql, index)} AS {aliases[name]}"
                    for name in within
                ]
                for name in aliases:
                    if name in part.keys:
                        bound[f"{aliases[name]}_{index}"] = part.keys[name]
                        columns.append(f"${aliases[name]}_{index}::VARCHAR AS {aliases[name]}")
                listed = ", ".join(columns) or "0 AS nothing"
                selects.append(f"SELECT {listed} FROM {_rename_parameters(rows.sql, index)}")  # noqa: S608
            yield " UNION ALL ".join(selects), bound

    def rehearse(self, folder: Path) -> None:
        self.parts[0].file.rehearse(folder)


def _rename_parameters(sql: str, index: int) -> str:
    """SQL whose parameters are renamed, so that their names are unique to the file at `index`."""
    return _PARAMETER.sub(rf"$\1_{index}", sql)


def _columns_in_words(names: Collection[str]) -> str:
    if not names:
        return "no column"
    return f"the column{'s' * (len(names) > 1)} {_words.join_names([*map(repr, names)])}"
