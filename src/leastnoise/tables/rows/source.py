"""Find the rows of a spec, check their columns by the header or metadata, and choose the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import tomli_w

from leastnoise import _validate
from leastnoise.errors import SourceError, SpecError
from leastnoise.tables.expressions.computed import NOTHING, Computed, compute
from leastnoise.tables.parse.columns import Problem, list_uses, unit_problems
from leastnoise.tables.rows.duckdb import databases, files
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.duckdb.inputs import Input, by_name
from leastnoise.tables.rows.duckdb.joined import join_tables
from leastnoise.tables.rows.duckdb.postgres import PostgresTable
from leastnoise.tables.spec.model import Data
from leastnoise.tables.spec.source import (
    DELIMITERS,
    IN_MEMORY,
    ON_SPARK,
    csv_keys,
    dialect_of,
    is_database,
    is_postgres,
    is_spark,
)
from leastnoise.tables.statistics.registry import parse_queries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from leastnoise.tables.expressions.tree import Type
    from leastnoise.tables.parse.columns import ColumnUse
    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.rows.frames import Frame
    from leastnoise.tables.rows.spark.engine import SparkRows
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.source import Join
    from leastnoise.tables.spec.values import ColumnType
    from leastnoise.tables.values.casts import StoredColumn


@final
@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of rows, with the type of each column that a spec uses.

    `computed` are the spec's expressions over these columns.
    """

    rows: Input | SparkRows
    columns: Mapping[str, ColumnType]
    computed: Computed = NOTHING


def find_source(
    spec: Spec, folder: Path, frame: Frame | SparkRows | None = None, *, release: int = 1
) -> Source:
    """The source of `spec`, relative to `folder`, or the `frame`; reads no row.

    `release` is the number of the release in a series. Raises SourceError if the source can't be
    read, SpecError if its columns don't fit the spec.
    """
    rows = find_rows(spec.data, folder, frame)
    if spec.data.join:
        if not isinstance(rows, Input):
            raise SpecError([("data.join", ON_SPARK)])
        rows = join_tables(spec, rows, lambda join: _find_joined(join, folder))
    present = list_columns(rows)
    problems = list(_find_ambiguous_unit(spec, present))
    if not spec.data.types and not rows.typed:
        why = f"Missing: {rows.name} needs the type of each column that is used."
        raise SpecError([("data.types", why)])
    uses = [
        use
        for index, parsed in enumerate(parse_queries(spec))
        for use in list_uses(parsed, f"query[{index}]")
    ]
    computed, wrong = _compute(spec, present, release)
    problems += wrong
    columns: dict[str, ColumnType] = computed.types
    stored = [
        (column, key)
        for column, key in (*_named_columns(spec), *((use.column, use.key) for use in uses))
        if column not in spec.derive
    ]
    header_hint = _hint(spec.data, rows, present)
    if header_hint and not any(column in present for column, _ in stored):
        why = f"{rows.name} lacks all columns that the spec names. {header_hint}"
        raise SpecError([("data.source", why)])
    for column, key in stored:
        if column not in present:
            hint = _validate.nearest(column, tuple(present)) or header_hint
            message = f"{rows.name} has no column {column!r}.{' ' if hint else ''}{hint}"
            problems.append((key, message))
            continue
        stored_column = present[column]
        kind = spec.data.types.get(column) or stored_column.type
        if kind is None or kind not in stored_column.declarable_types():
            problems.append((key, _unreadable(column, stored_column, kind)))
        else:
            columns[column] = kind
    problems = list(dict.fromkeys(problems or _find_misfits(spec, uses, columns, present)))
    if problems:
        raise SpecError(problems)
    used = {use.column for use in uses}
    used |= set() if spec.privacy.by_row else {spec.privacy.unit}
    computed = computed.select(used)
    read_in = [column.name for column in computed.inputs]
    for name in read_in:
        # a date without a declared type is a text
        columns[name] = spec.data.types.get(name) or present[name].type or "text"
    read = {*used, *read_in} - {*computed.columns}
    kept: dict[str, ColumnType] = {name: columns[name] for name in columns if name in read}
    return Source(rows=rows, columns=kept, computed=computed)


_A_FRAME = (
    "A dict of columns can't be read, since its columns have no types. Expected a frame of "
    "pandas, Polars, PyArrow or Spark, such as pandas.DataFrame(data), or the path of a file: "
    'data = {"source": "rows.parquet"}.'
)


def refuse_columns(data: object, source: object) -> None:
    """Raise SpecError if the data, or their source, are a dict of columns, which can't be read."""
    for key, given in (("data", data), ("data.source", source)):
        if _is_of_columns(given):
            raise SpecError([(key, _A_FRAME)])


def _is_of_columns(data: object) -> bool:
    """True for a dict of lists or arrays, which is never a section of a spec."""
    if not isinstance(data, Mapping) or not data or not {*data}.isdisjoint(Data.model_fields):
        return False
    return all(
        hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
        for values in data.values()
    )


def _find_joined(join: Join, folder: Path) -> Input:
    """The table of a join, relative to `folder`."""
    rows = find_rows(Data(source=join.source, table=join.table, **csv_keys(join)), folder)
    if not isinstance(rows, Input):
        raise TypeError("it names no engine")
    return rows


def _compute(
    spec: Spec, present: Mapping[str, StoredColumn], release: int
) -> tuple[Computed, list[Problem]]:
    """The derived columns and the filters of a spec, and their problems."""
    filters = {f"query[{index}].filter": query.filter for index, query in enumerate(spec.query)}
    filters["data.filter"] = spec.data.filter
    conditions = {key: (text, text) for key, text in filters.items() if text is not None}
    if spec.series is not None and spec.series.condition is not None:
        conditions["series.report"] = spec.series.condition, spec.series.condition_of(release)
    if not spec.derive and not conditions:
        return NOTHING, []
    types: dict[str, Type] = {}
    unreadable: dict[str, str] = {}
    for name, column in present.items():
        declared = spec.data.types.get(name)
        if (kind := _expression_type(column, declared)) is None:
            unreadable[name] = _unreadable(name, column, declared)
        else:
            types[name] = kind
    return compute(spec.derive, conditions, types, unreadable)


def _expression_type(column: StoredColumn, declared: ColumnType | None) -> Type | None:
    """The type of a source's column in expressions; None if expressions can't use it."""
    stored = column.expression_type
    if declared is None:
        return (
            stored
            if stored in {"timestamp", "instant"} or column.type in column.declarable_types()
            else None
        )
    return (
        (stored if stored == "date" else declared)
        if declared in column.declarable_types()
        else None
    )


def list_columns(rows: Input | SparkRows) -> dict[str, StoredColumn]:
    """The columns of the rows by name, from the header or the metadata alone.

    Raises SourceError if the source can't be read, temporary files can't be created, or a name is
    repeated.
    """
    columns = duckdb_engine.list_columns(rows) if isinstance(rows, Input) else rows.columns()
    return by_name(columns, rows.name)


def open_engine(
    source: Source, *, threads: int | None = None, rehearsed: bool = False
) -> AbstractContextManager[Engine]:
    """An engine over the columns of `source`, to be used in a `with`.

    Only this function chooses the engine. Before noise all engines give the same integers. DuckDB
    uses `threads` threads, by default all. If `rehearsed`, everything is done as for the rows, but
    no row is read. Raises SourceError, which never quotes data, if the rows can't be read.
    """
    if not isinstance(source.rows, Input):
        from leastnoise.tables.rows.spark import engine as on_spark  # noqa: PLC0415  # of an extra

        rows = source.rows.without_rows() if rehearsed else source.rows
        return on_spark.open_engine(rows, columns=source.columns, computed=source.computed)
    return duckdb_engine.open_engine(
        source.rows,
        columns=source.columns,
        computed=source.computed,
        threads=threads,
        rehearsed=rehearsed,
    )


def find_rows(
    data: Data, folder: Path, frame: Frame | SparkRows | None = None
) -> Input | SparkRows:
    """The rows of a spec's `data`, relative to `folder`.

    Raises SourceError if they can't be found, SpecError if the engine doesn't read such a frame.
    Tables of databases aren't looked for yet.
    """
    named, table, engine = data.source, data.table, data.engine
    if named == IN_MEMORY:
        if frame is None:
            why = "was a frame in memory, which a file can't hold"
            raise SourceError(
                f"The source of this spec {why}. Give the frame to the release in Python."
            )
        if engine is not None and is_spark(engine) == isinstance(frame, Input):
            reads = "only Spark frames" if is_spark(engine) else "no Spark frames"
            raise SpecError([("data.engine", f"{engine!r} reads {reads}. Leave out data.engine.")])
        return frame
    if is_spark(engine):
        from leastnoise.tables.rows.spark.engine import find_spark_rows  # noqa: PLC0415  # of an extra

        return find_spark_rows(data, folder)
    if named is None:
        raise TypeError("the spec's checks rule this out")
    if table is not None and isinstance(named, str) and is_postgres(named):
        return PostgresTable(named, table)
    if table is not None and isinstance(named, str) and is_database(named):
        return databases.find_table(folder / named, table)
    return files.find_files(named, folder, dialect_of(data), encoding=data.encoding, sheet=table)


def _unreadable(column: str, stored: StoredColumn, declared: ColumnType | None) -> str:
    can_be = ", ".join(f'"{kind}"' for kind in stored.declarable_types())
    if stored.why:
        return f"The column {column!r} {stored.why}"
    if stored.expression_type == "timestamp":
        advice = "Compute its day in [derive], as date(x), and use that."
    elif stored.expression_type == "instant":
        day = f"date({column} at time zone 'Europe/Berlin')"
        advice = f"Compute its day in a zone in [derive], as {day}, and use that."
    elif "TIMESTAMP" in stored.kind:
        advice = "Write it as a timestamp in microseconds, or as a date."
    elif not can_be:
        advice = "Write it as a number, a text, a bool or a date."
    elif declared is None:
        advice = f"Declare it in data.types, as one of {can_be}."
    else:
        advice = f"It can't be declared {declared!r}, only {can_be}."
    return f"The column {column!r} holds {stored.kind} in the file. {advice}"


def _hint(data: Data, rows: Input | SparkRows, names: Iterable[str]) -> str:
    """Advice about the header of a CSV that lacks a column; "" without any.

    Advice may depend on the names in the header, which are not private data.
    """
    if rows.typed or data.table is not None or data.header is not None:
        return ""
    for delimiter in DELIMITERS:
        if data.delimiter is None and any(delimiter in name for name in names):
            advice = tomli_w.dumps({"delimiter": delimiter}).strip()
            return f"If another sign separates its fields, name it in [data]: {advice}."
    return (
        "Compare the name with its first line. If that is a row, name the columns in [data]: "
        "header = [...]."
    )


def _find_ambiguous_unit(spec: Spec, present: Collection[str]) -> Iterator[Problem]:
    """The problem of a unit "row" if the source has a column of that name."""
    if spec.privacy.unit == "row" and spec.privacy.unit_is is None and "row" in present:
        why = 'The source also has a column "row". Add unit_is = "column" if that column '
        why += 'identifies persons, or unit_is = "each-row" if each row is a person.'
        yield "privacy.unit", why


def _named_columns(spec: Spec) -> Iterator[tuple[str, str]]:
    """The unit's column and those in `data.types` and `columns`, with the keys that name them."""
    if not spec.privacy.by_row:
        yield spec.privacy.unit, "privacy.unit"
    for name in spec.data.types:
        yield name, f"data.types.{name}"
    for name in spec.columns:
        yield name, f"columns.{name}"


def _find_misfits(
    spec: Spec,
    uses: Iterable[ColumnUse],
    columns: Mapping[str, ColumnType],
    present: Mapping[str, StoredColumn],
) -> Iterator[Problem]:
    """The problems that the checks of the spec would find if it declared the source's types."""
    if not spec.privacy.by_row:
        name = spec.privacy.unit
        # As a declared text, 0.0 and -0.0 would be two persons. A declared int is checked by casts.
        stored = None if columns[name] == "int" or name in spec.derive else present[name].type
        unit_type = stored or columns[name]
        yield from unit_problems(unit_type, name)
    for use in uses:
        yield from use.problems(columns[use.column])
        yield from use.long_keys()
