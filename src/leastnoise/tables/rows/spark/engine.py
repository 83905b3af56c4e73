"""Rows on the user's own Spark session: of a frame, a table of its catalog, or Parquet files.

They are looked at by their schema. The session is the user's own, classic or Connect, whichever the
frame or the name of the engine says. Files that this machine sees are listed and compared here, as
for DuckDB; what has a scheme, such as s3a://, Spark lists itself.

What is computed once is checkpointed and not only persisted: where an executor dies, Spark computes
a persisted frame again, and a source that isn't the same twice (a sample, say) would then have one
person's size taken from other rows than those that are summed. A checkpoint that is lost is an
error.
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
from leastnoise.tables.rows.duckdb.inputs import ParquetFile, Part, Several
from leastnoise.tables.rows.engine import Engine
from leastnoise.tables.rows.spark import casts
from leastnoise.tables.rows.spark.casts import Casts
from leastnoise.tables.spec.source import CONNECT, is_database
from leastnoise.tables.values.connection import open_connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.rows.duckdb.inputs import Input
    from leastnoise.tables.spec.model import Data
    from leastnoise.tables.spec.values import ColumnType, Key
    from leastnoise.tables.values.casts import Held

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SPECIAL = re.compile(r"([\\{}\[\]*?])")  # in a path, to Hadoop
_MOST_FOLDERS = 200  # of different keys: each is a scan of its own in one query
_ONLY_PARQUET = "Spark reads Parquet files and tables; its CSV reader takes other texts for rows."


@final
@dataclass(frozen=True)
class SparkRows:
    """Rows of a `frame` of Spark's.

    `files` says what the columns are where they come from files, also those that Spark can't read
    and the frame doesn't have.
    """

    name: str
    frame: Any = field(repr=False)  # Spark may be set to show rows
    files: Mapping[str, Held] | None = None
    typed: bool = True

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """The names of the columns, which may stand twice, and Spark's names of their types."""
        return [(field.name, field.dataType.simpleString()) for field in self.frame.schema.fields]

    def columns(self) -> list[tuple[str, Held]]:
        """Return names and columns, from the schema alone; raises SourceError if there is none."""
        if self.files is not None:
            return list(self.files.items())
        with guarded(self.name):
            return [(name, casts.held(kind)) for name, kind in self.kinds]

    def without_rows(self) -> SparkRows:
        """Return the same columns, and no rows."""
        return SparkRows(self.name, self.frame.limit(0), self.files, self.typed)


def find_spark_rows(data: Data, folder: Path) -> SparkRows:
    """Return what `data` names, relative to `folder`; starts a session where there is none.

    Raises SourceError if there is no such thing, or no Spark.
    """
    session = _session(str(data.engine))
    if data.source is None:
        with guarded(f"the table {data.table}"):
            return SparkRows(f"the table {data.table}", session.table(data.table))
    source = data.source
    texts: list[str] = [source] if isinstance(source, str) else list(source)
    if any(map(is_database, texts)):
        raise SourceError(f"{texts[0]} can't be read by Spark. {_ONLY_PARQUET}")
    if not any(map(_SCHEME.match, texts)):
        return _of_files(session, files.find_files(data.source, folder))
    if len(texts) > 1 or "{" in texts[0]:  # where two overlap, rows would count twice
        raise SourceError("Of what Spark lists, such as s3a://, give one folder or pattern alone.")
    with guarded(texts[0]):
        return SparkRows(texts[0], _listed_by_spark(session, texts[0]))


def _session(engine: str) -> Any:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise SourceError(
            "Spark's Python library isn't here: pip install leastnoise[spark]."
        ) from None
    if engine.startswith(CONNECT):
        _check_answers(engine)
    with guarded("The session"):
        if engine.startswith(CONNECT):
            return SparkSession.builder.remote(engine).getOrCreate()
        if (active := SparkSession.getActiveSession()) is not None:
            return active
        # Its page would show the queries to everybody who reaches this machine, and its progress
        # how many parts the rows are in.
        builder = SparkSession.builder.appName("leastnoise").config("spark.ui.enabled", "false")
        return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def _check_answers(address: str) -> None:
    """Raise SourceError where nobody listens: Spark would try for ten minutes."""
    try:
        found = urlsplit(address)
        where = (found.hostname or "", found.port or 15002)  # the port of Spark Connect
        socket.create_connection(where, timeout=10).close()
    except (OSError, ValueError):
        raise SourceError(f"No Spark Connect server answers at {address}.") from None


def _of_files(session: Any, rows: Input) -> SparkRows:
    """Return the rows of files that both this machine and Spark see; their columns are compared."""
    parts = rows.parts if isinstance(rows, Several) else (Part(file=rows),)
    files = [part.file for part in parts if isinstance(part.file, ParquetFile)]
    if len(files) < len(parts):
        raise SourceError(f"{rows.name} can't be read by Spark. {_ONLY_PARQUET}")
    with open_connection() as connection:
        columns = dict(rows.columns(connection))
    keys = parts[0].keys
    kinds = {name: casts.named(held.exactly) for name, held in columns.items()}
    schema = {name: kind for name, kind in kinds.items() if kind and name not in keys}
    held = {
        name: replace(found, only=casts.types_of(found.kind) if kinds[name] else ())
        for name, found in columns.items()
        if name not in keys
    } | {name: columns[name] for name in keys}
    with guarded(rows.name):
        _check_capitals(session, rows.name, held)
    by_keys: dict[tuple[tuple[str, str | None], ...], list[str]] = {}
    for part, file in zip(parts, files, strict=True):
        path = f"file://{_escaped(file.path.absolute())}"
        by_keys.setdefault(tuple(part.keys.items()), []).append(path)
    if len(by_keys) > _MOST_FOLDERS:
        raise SourceError(
            f"{rows.name} has {len(by_keys):,} partitions, and Spark is given at most "
            f"{_MOST_FOLDERS} by their files. Make it a table of Spark's, and name that."
        )
    with guarded(rows.name):
        frames = [
            _with_keys(_read(session, paths, schema), dict(keys)) for keys, paths in by_keys.items()
        ]
        whole = frames[0]
        for other in frames[1:]:
            whole = whole.unionByName(other)
    return SparkRows(rows.name, whole, held, typed=rows.typed)


def _check_capitals(session: Any, name: str, columns: Iterable[str]) -> None:
    if session.conf.get("spark.sql.caseSensitive") == "true":
        return
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.casefold(), column)
        if other != column:
            raise SourceError(
                f"Spark takes {other!r} and {column!r} for one column of {name}. Rename one, or "
                "set spark.sql.caseSensitive to true."
            )


def _escaped(path: Path) -> str:
    return _SPECIAL.sub(r"\\\1", str(path))


def _read(session: Any, paths: Sequence[str], schema: Mapping[str, str]) -> Any:
    """Return the rows of files; Spark reads no schema, as it fails for any column that it can't."""
    # Without recursiveFileLookup the names of folders above a file may become columns.
    options = {"recursiveFileLookup": "true", "ignoreCorruptFiles": "false"}
    listed = ", ".join(f"{_quoted(name)} {kind}" for name, kind in schema.items())
    return session.read.schema(listed).options(**options).parquet(*paths)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _with_keys(frame: Any, keys: Mapping[str, str | None]) -> Any:
    f = functions_of(frame)
    for name, value in keys.items():
        frame = frame.withColumn(name, f.lit(value).cast("string"))
    return frame


def _listed_by_spark(session: Any, path: str) -> Any:
    """Return the rows of what Spark lists; columns that folders' names say are texts, as written.

    Types of files that can't be one are an error, and not those of the first file.
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
        f"{_quoted(field.name)} "
        + (field.dataType.simpleString() if field.name in within else "string")
        for field in inferred.schema.fields
    )
    return session.read.schema(schema).options(ignoreCorruptFiles="false").parquet(path)


def functions_of(frame: Any) -> Any:
    """Return Spark's functions for the columns of that frame, which is classic or of Connect."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect import functions as connect  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        return connect
    from pyspark.sql import functions  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    return functions


@contextmanager
def guarded(name: str = "", *, why: str | None = None) -> Iterator[None]:
    """Turn what Spark raises into a SourceError that quotes nothing: its messages have values.

    It says that `name` can't be read, or `why` where that is another reason.
    """
    try:
        yield
    except _errors():
        plain = f"{name} can't be read by Spark: it may be damaged, or the session has ended."
        raise SourceError(why or plain) from None


def _errors() -> tuple[type[Exception], ...]:
    """Return what Spark raises, an extra; py4j comes with classic Spark alone."""
    from pyspark.errors import PySparkException  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    found: list[type[Exception]] = [PySparkException, OSError]
    with suppress(ImportError):
        from py4j.protocol import Py4JError  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        found.append(Py4JError)
    return tuple(found)


@contextmanager
def open_engine(
    source: SparkRows, *, columns: Mapping[str, ColumnType], computed: Computed = NOTHING
) -> Iterator[Spark]:
    """Yield an engine over the `columns` (name to type) of the rows, and what is `computed`.

    Raises SourceError, which never quotes data, if Spark can't read them.
    """
    with guarded(source.name):
        yield Spark(source, columns, computed)


@final
class Spark(Engine):
    """An engine that `open_engine` makes."""

    def __init__(
        self,
        source: SparkRows,
        columns: Mapping[str, ColumnType],
        computed: Computed = NOTHING,
    ) -> None:
        self._session = source.frame.sparkSession
        self._f = functions_of(source.frame)
        super().__init__(nw.from_native(self._typed(source, columns, computed)), columns, computed)

    def _typed(
        self, source: SparkRows, columns: Mapping[str, ColumnType], computed: Computed
    ) -> Any:
        """Return the rows, each column cast for each use.

        Columns are called by their positions: to Spark capitals are alike, and a dot is a path.
        """
        kinds = dict(source.kinds)
        at = {name: f"c{place}" for place, (name, _) in enumerate(source.kinds)}
        casts = Casts(self._f)
        listed = {
            f"{use}{place}": cast
            for place, (name, wanted) in enumerate(columns.items())
            for use, cast in casts.by_use(self._f.col(at[name]), kinds[name], wanted).items()
        }
        stored = ["nothing", *listed]
        listed |= {
            f"d{place}": casts.as_day(self._f.col(at[name]))
            for place, name in enumerate(columns)
            if computed.inputs.get(name) == "date"
        }
        named = (cast.alias(name) for name, cast in listed.items())
        frame = source.frame.toDF(*at.values()).select(*named, self._f.lit(0).alias("nothing"))
        return self._beside(frame, stored, list(columns), computed)

    def _beside(
        self, frame: Any, stored: Sequence[str], columns: Sequence[str], computed: Computed
    ) -> Any:
        """Return the `stored` columns of a frame with what is computed beside."""
        if not computed.expressions:
            return frame.select(*stored)
        places = {name: place for place, name in enumerate(columns)}
        names = {name: f"g{places[name]}" for name in computed.inputs}
        compiled = SparkColumns(self._f, computed.expressions, names)
        for name, kind in computed.inputs.items():
            frame = frame.withColumn(names[name], from_casts(self._f, kind, places[name]))
        found, count = [self._f.col(name) for name in stored], len(computed.columns)
        pairs = zip(computed.columns.values(), compiled.values[:count], strict=True)
        for place, (one, value) in enumerate(pairs, len(columns)):
            found += [
                cast.alias(f"{use}{place}") for use, cast in to_casts(one.type, value).items()
            ]
        found += [value.alias(f"f{place}") for place, value in enumerate(compiled.values[count:])]
        return compiled.wrap(frame).select(*found)

    def settle(self, frame: nw.LazyFrame[Any]) -> None:
        """Nothing is copied: Spark reads rows again where an executor is lost."""

    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """It may spill, and is never computed again."""
        return nw.from_native(frame.to_native().localCheckpoint(eager=True))

    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        kind = "boolean" if isinstance(values[0], bool) else "bigint"
        kind = "string" if isinstance(values[0], str) else kind
        rows = [(value, place) for place, value in enumerate(values)]
        made = self._session.createDataFrame(rows, f"{key} {kind}, {index} bigint")
        return nw.from_native(self._f.broadcast(made))

    def counted(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """A binary search, in one list beside every row."""
        f, at = self._f, f"{count}_edges"
        beside = self._session.createDataFrame([([*edges],)], f"{at} array<double>")
        steps = [2**power for power in reversed(range(len(edges).bit_length()))]

        def more(found: Any, step: Any) -> Any:
            # The first edge has place 1, and past the last one there is NULL.
            reached = f.try_element_at(f.col(at), found + step) <= f.col(value)
            return found + f.when(reached, step).otherwise(f.lit(0))

        found = f.aggregate(f.array(*map(f.lit, steps)), f.lit(0), more).cast("bigint")
        joined = frame.to_native().crossJoin(f.broadcast(beside))
        return nw.from_native(joined.withColumn(count, found).drop(at))

    def readable(
        self, frame: nw.LazyFrame[Any], *, text: str, longest: int, without: str
    ) -> nw.LazyFrame[Any]:
        short = self._f.octet_length(text) <= longest
        return nw.from_native(frame.to_native().filter(short & ~self._f.col(text).rlike(without)))

    def hashed(
        self, frame: nw.LazyFrame[Any], *, columns: Sequence[str], salt: str, name: str
    ) -> nw.LazyFrame[Any]:
        f = self._f
        texts = [f.col(column).cast("string") for column in columns]
        parts = [
            part
            for text in texts
            for part in (f.octet_length(text).cast("string"), f.lit(":"), text)
        ]
        found = f.sha2(f.concat(f.lit(salt), *parts), 256)
        return nw.from_native(frame.to_native().withColumn(name, found))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in frame.to_native().collect()]
