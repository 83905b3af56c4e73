"""Rows on the user's own Spark session: of a frame, a table of its catalog, or Parquet files.

Only the schema is inspected. The session is classic or Connect, depending on the frame or the
engine's name. Files that this machine sees are listed and compared here, as for DuckDB. Spark
itself lists paths with a scheme, such as s3a://.

A frame that must be computed only once is checkpointed, not just persisted. If an executor dies,
Spark computes a persisted frame again. With a source that changes (a sample, say), a person's size
could then come from other rows than the sums. A lost checkpoint is an error.
"""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final
from urllib.parse import urlsplit

import narwhals as nw

from leastnoise.errors import SourceError
from leastnoise.tables.expressions.computed import NOTHING, Computed
from leastnoise.tables.expressions.spark_columns import SparkColumns, from_casts, to_casts
from leastnoise.tables.rows.duckdb import files
from leastnoise.tables.rows.duckdb.inputs import FilePart, ParquetFile, SeveralFiles
from leastnoise.tables.rows.engine import Engine, sort_casts
from leastnoise.tables.rows.spark import casts
from leastnoise.tables.rows.spark.casts import Casts
from leastnoise.tables.spec.source import CONNECT, is_database, is_statistical, is_workbook
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.rows.duckdb.inputs import Input
    from leastnoise.tables.spec.model import Data
    from leastnoise.tables.spec.values import ColumnType, Key
    from leastnoise.tables.values.casts import StoredColumn

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SPECIAL = re.compile(r"([\\{}\[\]*?])")  # separators of a scheme or a pattern in a Hadoop path
_MOST_FOLDERS = 200  # folders with different keys; each needs its own scan in one query
_ONLY_PARQUET = "With Spark only Parquet files and tables can be read, since its CSV rules differ."


@final
@dataclass(frozen=True)
class SparkRows:
    """Rows of a Spark frame.

    If the rows come from files that this machine lists, `files` has all their columns, including
    columns that Spark can't read and the frame lacks.
    """

    name: str
    frame: Any = field(repr=False)  # the repr of a frame may show rows
    files: Mapping[str, StoredColumn] | None = None
    typed: bool = True

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """The names of the columns, which may be repeated, and Spark's names of their types."""
        return [(field.name, field.dataType.simpleString()) for field in self.frame.schema.fields]

    def columns(self) -> list[tuple[str, StoredColumn]]:
        """The names and columns, from the schema alone; raises SourceError if it can't be read."""
        if self.files is not None:
            return list(self.files.items())
        with hide_values(self.name):
            return [(name, casts.stored_column(kind)) for name, kind in self.kinds]

    def without_rows(self) -> SparkRows:
        """The same columns without rows."""
        return SparkRows(self.name, self.frame.limit(0), self.files, self.typed)


def find_spark_rows(data: Data, folder: Path) -> SparkRows:
    """The rows of `data`, relative to `folder`; starts a session unless one is active.

    Raises SourceError if they can't be found or read by Spark, or if Spark isn't installed.
    """
    for name in data.sources:
        if is_statistical(name) or is_workbook(name):
            why = "Write it as Parquet, or leave out data.engine."
            raise SourceError(f"{name} can't be read by Spark. {why}")
    session = _session(str(data.engine))
    if data.source is None:
        with hide_values(f"the table {data.table}"):
            return SparkRows(f"the table {data.table}", session.table(data.table))
    source = data.source
    texts: list[str] = [source] if isinstance(source, str) else list(source)
    if any(map(is_database, texts)):
        raise SourceError(f"{texts[0]} can't be read by Spark. {_ONLY_PARQUET}")
    if not any(map(_SCHEME.match, texts)):
        return _rows_of_files(session, files.find_files(data.source, folder))
    # otherwise rows of overlapping patterns would count twice
    if len(texts) > 1 or "{" in texts[0]:
        raise SourceError(
            "With paths such as s3a://, give only one folder or one pattern, without braces."
        )
    with hide_values(texts[0]):
        return SparkRows(texts[0], _read_listed(session, texts[0]))


def _session(engine: str) -> Any:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise SourceError(
            "Spark's Python library isn't installed. Install Spark with pip install "
            "leastnoise[spark]."
        ) from None
    if engine.startswith(CONNECT):
        _check_answers(engine)
    with hide_values("The session"):
        if engine.startswith(CONNECT):
            return SparkSession.builder.remote(engine).getOrCreate()
        if (active := SparkSession.getActiveSession()) is not None:
            return active
        # Spark's web page would show the queries to everyone who reaches this machine, and its
        # progress bar the number of partitions.
        builder = SparkSession.builder.appName("leastnoise").config("spark.ui.enabled", "false")
        return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def _check_answers(address: str) -> None:
    """Raise SourceError if no server listens. Spark itself would try for ten minutes."""
    try:
        url = urlsplit(address)
        where = (url.hostname or "", url.port or 15002)  # the default port of Spark Connect
        socket.create_connection(where, timeout=10).close()
    except (OSError, ValueError):
        raise SourceError(f"No Spark Connect server answers at {address}.") from None


def _rows_of_files(session: Any, rows: Input) -> SparkRows:
    """The rows of files that both this machine and Spark see, after comparing their columns.

    Raises SourceError for files that aren't Parquet, and for too many partitions.
    """
    parts = rows.parts if isinstance(rows, SeveralFiles) else (FilePart(file=rows),)
    files = [part.file for part in parts if isinstance(part.file, ParquetFile)]
    if len(files) < len(parts):
        raise SourceError(f"{rows.name} can't be read by Spark. {_ONLY_PARQUET}")
    with open_connection() as connection:
        columns = dict(rows.columns(connection))
    keys = parts[0].keys
    kinds = {name: casts.spark_type(readable.exact_kind) for name, readable in columns.items()}
    schema = {name: kind for name, kind in kinds.items() if kind and name not in keys}
    readable = {
        name: replace(column, only=casts.readable_types(column.kind) if kinds[name] else ())
        for name, column in columns.items()
        if name not in keys
    } | {name: columns[name] for name in keys}
    with hide_values(rows.name):
        _check_capitals(session, rows.name, readable)
    by_keys: dict[tuple[tuple[str, str | None], ...], list[str]] = {}
    for part, file in zip(parts, files, strict=True):
        path = f"file://{_escape(file.path.absolute())}"
        by_keys.setdefault(tuple(part.keys.items()), []).append(path)
    if len(by_keys) > _MOST_FOLDERS:
        raise SourceError(
            f"{rows.name} has {len(by_keys):,} partitions, but with Spark at most "
            f"{_MOST_FOLDERS} can be read from files. Make a Spark table of the source, and name "
            "the table in the spec."
        )
    with hide_values(rows.name):
        frames = [
            _with_keys(_read(session, paths, schema), dict(keys)) for keys, paths in by_keys.items()
        ]
        whole = frames[0]
        for other in frames[1:]:
            whole = whole.unionByName(other)
    return SparkRows(rows.name, whole, readable, typed=rows.typed)


def _check_capitals(session: Any, name: str, columns: Iterable[str]) -> None:
    if session.conf.get("spark.sql.caseSensitive") == "true":
        return
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.casefold(), column)
        if other != column:
            raise SourceError(
                f"The columns {other!r} and {column!r} of {name} differ only in capitals, which "
                "Spark ignores. Rename one of the columns, or set spark.sql.caseSensitive to true."
            )


def _escape(path: Path) -> str:
    return _SPECIAL.sub(r"\\\1", str(path))


def _read(session: Any, paths: Sequence[str], schema: Mapping[str, str]) -> Any:
    """The rows of files with a given schema, which Spark can't infer if it can't read a column."""
    # Without recursiveFileLookup the names of folders above a file may become columns.
    options = {"recursiveFileLookup": "true", "ignoreCorruptFiles": "false"}
    listed = ", ".join(f"{_quote_name(name)} {kind}" for name, kind in schema.items())
    return session.read.schema(listed).options(**options).parquet(*paths)


def _quote_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _with_keys(frame: Any, keys: Mapping[str, str | None]) -> Any:
    f = functions_of(frame)
    for name, value in keys.items():
        frame = frame.withColumn(name, f.lit(value).cast("string"))
    return frame


def _read_listed(session: Any, path: str) -> Any:
    """The rows of a path that Spark lists; columns from the names of folders are texts.

    Files whose types differ raise an error; the first file's types are not assumed.
    """
    reader = session.read.options(mergeSchema="true", ignoreCorruptFiles="false")
    inferred = reader.parquet(path)
    flat = session.read.options(
        mergeSchema="true", ignoreCorruptFiles="false", recursiveFileLookup="true"
    ).parquet(path)
    within = {field.name for field in flat.schema.fields}
    if all(field.name in within for field in inferred.schema.fields):
        return inferred
    schema = ", ".join(
        f"{_quote_name(field.name)} "
        + (field.dataType.simpleString() if field.name in within else "string")
        for field in inferred.schema.fields
    )
    return session.read.schema(schema).options(ignoreCorruptFiles="false").parquet(path)


def functions_of(frame: Any) -> Any:
    """Spark's functions for the columns of a frame, classic or Connect."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect import functions as connect  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        return connect
    from pyspark.sql import functions  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    return functions


@contextmanager
def hide_values(name: str = "", *, why: str | None = None) -> Iterator[None]:
    """Turn Spark's errors, whose messages quote values, into a SourceError that quotes nothing.

    Its message says that `name` can't be read, or is `why`, if that is given.
    """
    try:
        yield
    except _error_types():
        plain = f"{name} can't be read by Spark: it may be damaged, or the session has ended."
        raise SourceError(why or plain) from None


def _error_types() -> tuple[type[Exception], ...]:
    """The types of Spark's errors; py4j is installed only with classic Spark."""
    from pyspark.errors import PySparkException  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    types: list[type[Exception]] = [PySparkException, OSError]
    with suppress(ImportError):
        from py4j.protocol import Py4JError  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        types.append(Py4JError)
    return tuple(types)


@contextmanager
def open_engine(
    source: SparkRows, *, columns: Mapping[str, ColumnType], computed: Computed = NOTHING
) -> Iterator[Spark]:
    """Yield an engine over the `columns` (name to type) of the rows, and over `computed` columns.

    Raises SourceError, which never quotes data, if Spark can't read the rows.
    """
    with hide_values(source.name):
        yield Spark(source, columns, computed)


@final
class Spark(Engine):
    """The engine over Spark: see `open_engine`."""

    def __init__(
        self,
        source: SparkRows,
        columns: Mapping[str, ColumnType],
        computed: Computed = NOTHING,
    ) -> None:
        self._session = source.frame.sparkSession
        self._f = functions_of(source.frame)
        super().__init__(
            nw.from_native(self._cast_columns(source, columns, computed)), columns, computed
        )

    def _cast_columns(
        self, source: SparkRows, columns: Mapping[str, ColumnType], computed: Computed
    ) -> Any:
        """The rows with each column cast for each use, and with computed columns and filters.

        Columns are named by their positions, because Spark ignores capitals and reads a dot as a
        path.
        """
        kinds = dict(source.kinds)
        at = {name: f"c{position}" for position, (name, _) in enumerate(source.kinds)}
        casts = Casts(self._f)
        listed = {
            f"{use}{position}": cast
            for position, (name, wanted) in enumerate(columns.items())
            for use, cast in casts.casts_by_use(self._f.col(at[name]), kinds[name], wanted).items()
        }
        stored = ["nothing", *listed]
        positions = {name: position for position, name in enumerate(columns)}
        for column in computed.inputs:
            position, read = positions[column.name], self._f.col(at[column.name])
            if column.type == "date":
                listed[f"d{position}"] = casts.as_day(read)
            elif column.type in {"timestamp", "instant"}:
                listed[f"s{position}"] = casts.as_seconds(read, kinds[column.name])
        named = (cast.alias(name) for name, cast in listed.items())
        frame = source.frame.toDF(*at.values()).select(*named, self._f.lit(0).alias("nothing"))
        return self._add_computed(frame, stored, list(columns), computed, casts=[*listed])

    def _add_computed(
        self,
        frame: Any,
        stored: Sequence[str],
        columns: Sequence[str],
        computed: Computed,
        *,
        casts: Sequence[str],
    ) -> Any:
        """The `stored` columns of the frame, computed columns and filters; see `duckdb.engine`."""
        if not computed.expressions:
            return frame.select(*stored)
        f = self._f
        positions = {name: position for position, name in enumerate(columns)}
        names = {column: f"g{number}" for number, column in enumerate(computed.inputs)}
        compiled = SparkColumns(
            f,
            computed.expressions,
            names,
            unit=f"u{positions[computed.unit]}" if computed.unit else "",
            ties=[
                f.when(f.col(name) == 0, 0.0).otherwise(f.col(name))
                if name[0] == "v"
                else f.col(name)
                for name in sort_casts(casts, columns)
            ],
        )
        for column, name in names.items():
            cast = from_casts(f, column.type, positions[column.name])
            frame = frame.withColumn(name, cast)
        selected, count = [self._f.col(name) for name in stored], len(computed.columns)
        pairs = zip(computed.columns.values(), compiled.values[:count], strict=True)
        for position, (column, value) in enumerate(pairs, len(columns)):
            selected += [
                cast.alias(f"{use}{position}") for use, cast in to_casts(column.type, value).items()
            ]
        selected += [
            value.alias(f"f{position}") for position, value in enumerate(compiled.values[count:])
        ]
        return compiled.wrap(frame).select(*selected)

    def copy_rows(self, frame: nw.LazyFrame[Any]) -> None:
        """Make no copy, since Spark may compute it again from the source if an executor is lost."""

    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The rows, computed once; they may spill."""
        return nw.from_native(frame.to_native().localCheckpoint(eager=True))

    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        kind = "boolean" if isinstance(values[0], bool) else "bigint"
        kind = "string" if isinstance(values[0], str) else kind
        rows = [(value, position) for position, value in enumerate(values)]
        table = self._session.createDataFrame(rows, f"{key} {kind}, {index} bigint")
        return nw.from_native(self._f.broadcast(table))

    def add_edge_count(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """As in `Engine`, by a binary search in a list that is joined to every row."""
        f, at = self._f, f"{count}_edges"
        beside = self._session.createDataFrame([([*edges],)], f"{at} array<double>")
        steps = [2**power for power in reversed(range(len(edges).bit_length()))]

        def more(counted: Any, step: Any) -> Any:
            # The first edge has position 1; past the last edge there is NULL.
            reached = f.try_element_at(f.col(at), counted + step) <= f.col(value)
            return counted + f.when(reached, step).otherwise(f.lit(0))

        total = f.aggregate(f.array(*map(f.lit, steps)), f.lit(0), more).cast("bigint")
        joined = frame.to_native().crossJoin(f.broadcast(beside))
        return nw.from_native(joined.withColumn(count, total).drop(at))

    def keep_short_texts(
        self, frame: nw.LazyFrame[Any], *, text: str, longest: int, without: str
    ) -> nw.LazyFrame[Any]:
        short = self._f.octet_length(text) <= longest
        return nw.from_native(frame.to_native().filter(short & ~self._f.col(text).rlike(without)))

    def add_hash(
        self, frame: nw.LazyFrame[Any], *, columns: Sequence[str], salt: str, name: str
    ) -> nw.LazyFrame[Any]:
        f = self._f
        texts = [f.col(column).cast("string") for column in columns]
        parts = [
            part
            for text in texts
            for part in (f.octet_length(text).cast("string"), f.lit(":"), text)
        ]
        digest = f.sha2(f.concat(f.lit(salt), *parts), 256)
        return nw.from_native(frame.to_native().withColumn(name, digest))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in frame.to_native().collect()]
