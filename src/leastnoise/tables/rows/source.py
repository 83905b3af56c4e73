"""Where a spec's rows are, checked from a header or metadata alone, and which engine reads them."""

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
    dialect_of,
    is_postgres,
    is_spark,
    told_of,
)

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
    from leastnoise.tables.values.casts import Held


@final
@dataclass(frozen=True, kw_only=True)
class Source:
    """Rows, and the columns of them that a spec uses, each with its type.

    `computed` is what the spec has computed of them, a row at a time.
    """

    rows: Input | SparkRows
    columns: Mapping[str, ColumnType]
    computed: Computed = NOTHING


def find_source(
    spec: Spec, folder: Path, frame: Frame | SparkRows | None = None, *, release: int = 1
) -> Source:
    """Find the source of `spec`, relative to `folder`, or the `frame`, without reading a row.

    Where a series has a report column, the rows are those of the release with the number `release`.
    Raises SourceError if the file can't be read, SpecError listing every column that is missing
    or of a type that can't be used as the spec says.
    """
    rows = find_rows(spec.data, folder, frame)
    if spec.data.join:
        if not isinstance(rows, Input):
            raise SpecError([("data.join", ON_SPARK)])
        rows = join_tables(spec, rows, lambda join: _find_joined(join, folder))
    present = list_columns(rows)
    problems = list(_ambiguous(spec, present))
    if not spec.data.types and not rows.typed:
        why = f"Missing: {rows.name} needs the type of each column that is used."
        raise SpecError([("data.types", why)])
    uses = [
        use
        for index, query in enumerate(spec.query)
        for use in list_uses(spec, query, f"query[{index}]")
    ]
    computed, wrong = _compute(spec, present, release)
    problems += wrong
    columns: dict[str, ColumnType] = computed.types
    stored = [
        (column, key)
        for column, key in (*_named(spec), *((use.column, use.key) for use in uses))
        if column not in spec.derive
    ]
    told = _hint(spec.data, rows, present)
    if told and not any(column in present for column, _ in stored):  # its header is another
        none = f"{rows.name} has none of the columns that the spec names. {told}"
        raise SpecError([("data.source", none)])
    for column, key in stored:
        if column not in present:
            hint = _validate.nearest(column, tuple(present)) or told
            message = f"{rows.name} has no column {column!r}.{' ' if hint else ''}{hint}"
            problems.append((key, message))
            continue
        held = present[column]
        kind = spec.data.types.get(column) or held.type
        if kind is None or kind not in held.read_as():
            problems.append((key, _unreadable(column, held, kind)))
        else:
            columns[column] = kind
    problems = list(dict.fromkeys(problems or _unfit(spec, uses, columns, present)))
    if problems:
        raise SpecError(problems)
    used = {use.column for use in uses}
    used |= set() if spec.privacy.by_row else {spec.privacy.unit}
    computed = computed.select(used)
    for name in computed.inputs:
        columns[name] = spec.data.types.get(name) or present[name].type or "text"  # a date
    read = {*used, *computed.inputs} - {*computed.columns}
    kept: dict[str, ColumnType] = {name: columns[name] for name in columns if name in read}
    return Source(rows=rows, columns=kept, computed=computed)


_A_FRAME = (
    "A dict of columns isn't read, as its columns have no types. Expected a frame of pandas, "
    "Polars, PyArrow or Spark, such as pandas.DataFrame(data), or the path of a file: "
    'data = {"source": "rows.parquet"}.'
)


def refuse_columns(data: object, source: object) -> None:
    """Raise SpecError if data, or the source in them, is a dict of columns."""
    for key, given in (("data", data), ("data.source", source)):
        if _is_of_columns(given):
            raise SpecError([(key, _A_FRAME)])


def _is_of_columns(data: object) -> bool:
    """True for a dict of lists or arrays, which no section of a spec is."""
    if not isinstance(data, Mapping) or not data or not {*data}.isdisjoint(Data.model_fields):
        return False
    return all(
        hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
        for values in data.values()
    )


def _find_joined(join: Join, folder: Path) -> Input:
    found = find_rows(Data(source=join.source, table=join.table, **told_of(join)), folder)
    if not isinstance(found, Input):
        raise TypeError("it names no engine")
    return found


def _compute(
    spec: Spec, present: Mapping[str, Held], release: int
) -> tuple[Computed, list[Problem]]:
    """The derived columns and the filters of a spec, and their problems."""
    filters = {f"query[{index}].filter": query.filter for index, query in enumerate(spec.query)}
    filters["data.filter"] = spec.data.filter
    asked = {key: (text, text) for key, text in filters.items() if text is not None}
    if spec.series is not None and spec.series.condition is not None:
        asked["series.report"] = spec.series.condition, spec.series.condition_of(release)
    if not spec.derive and not asked:
        return NOTHING, []
    types: dict[str, Type] = {}
    unreadable: dict[str, str] = {}
    for name, held in present.items():
        declared = spec.data.types.get(name)
        if (kind := _type_of(held, declared)) is None:
            unreadable[name] = _unreadable(name, held, declared)
        else:
            types[name] = kind
    return compute(spec.derive, asked, types, unreadable)


def _type_of(held: Held, declared: ColumnType | None) -> Type | None:
    """Return the type that a column of the source has in expressions; None if it has none."""
    own = held.in_expressions
    if declared is None:
        return own if own == "timestamp" or held.type in held.read_as() else None
    return (own if own == "date" else declared) if declared in held.read_as() else None


def list_columns(rows: Input | SparkRows) -> dict[str, Held]:
    """Return each column of the rows by name; reads the header or the metadata alone.

    Raises SourceError if there is nothing readable, no room for temporary files, or a name twice.
    """
    columns = duckdb_engine.list_columns(rows) if isinstance(rows, Input) else rows.columns()
    return by_name(columns, rows.name)


def open_engine(
    found: Source, *, threads: int | None = None, rehearsed: bool = False
) -> AbstractContextManager[Engine]:
    """Return an engine over the columns of `found`, to be used in a `with`.

    Here alone it is chosen. Before noise all engines have the same integers.

    DuckDB takes so many `threads`, or as many as there are. Where it is `rehearsed`, all is done
    as for the rows, but none is read, and the engine has none. Raises SourceError, which never
    quotes data, if the rows can't be read.
    """
    if not isinstance(found.rows, Input):
        from leastnoise.tables.rows.spark import engine as on_spark  # noqa: PLC0415  # of an extra

        rows = found.rows.without_rows() if rehearsed else found.rows
        return on_spark.open_engine(rows, columns=found.columns, computed=found.computed)
    return duckdb_engine.open_engine(
        found.rows,
        columns=found.columns,
        computed=found.computed,
        threads=threads,
        rehearsed=rehearsed,
    )


def find_rows(
    data: Data, folder: Path, frame: Frame | SparkRows | None = None
) -> Input | SparkRows:
    """Return the rows that a spec's `data` names, relative to `folder`; raises SourceError."""
    named, table, engine = data.source, data.table, data.engine
    if named == IN_MEMORY:
        if frame is None:
            why = "was a frame in memory, which no file has"
            raise SourceError(f"The source of this spec {why}. Give the frame in Python.")
        if engine is not None and is_spark(engine) == isinstance(frame, Input):
            reads = "frames of Spark's alone" if is_spark(engine) else "no frame of Spark's"
            raise SpecError([("data.engine", f"{engine!r} reads {reads}. Leave it out.")])
        return frame
    if is_spark(engine):
        from leastnoise.tables.rows.spark.engine import find_spark_rows  # noqa: PLC0415  # of an extra

        return find_spark_rows(data, folder)
    if named is None:
        raise TypeError("the checks of the spec come first")
    if table is not None and isinstance(named, str) and is_postgres(named):
        return PostgresTable(named, table)
    if table is not None and isinstance(named, str):
        return databases.find_table(folder / named, table)
    return files.find_files(named, folder, dialect_of(data))


def _unreadable(column: str, held: Held, declared: ColumnType | None) -> str:
    can_be = ", ".join(f'"{kind}"' for kind in held.read_as())
    if held.why:
        return f"The column {column!r} {held.why}"
    if held.in_expressions == "timestamp":
        advice = "Compute its day in [derive], as date(x), and use that."
    elif "TIMESTAMP" in held.kind:
        advice = "Write it as a timestamp in microseconds, without a time zone, or as a date."
    elif not can_be:
        advice = "Write it as a number, a text, a bool or a date."
    elif declared is None:
        advice = f"Declare it in data.types, as one of {can_be}."
    else:
        advice = f"It can't be declared {declared!r}, only {can_be}."
    return f"The column {column!r} holds {held.kind} in the file. {advice}"


def _hint(data: Data, rows: Input | SparkRows, names: Iterable[str]) -> str:
    """Return what to tell of a CSV whose header isn't what was meant: names of it are no rows."""
    if rows.typed or data.table is not None or data.header is not None:
        return ""
    for one in DELIMITERS:
        if data.delimiter is None and any(one in name for name in names):
            told = tomli_w.dumps({"delimiter": one}).strip()
            return f"If its fields are apart by another sign, say so in [data]: {told}."
    return "If its first line is a row, name its columns in [data]: header = [...]."


def _ambiguous(spec: Spec, present: Collection[str]) -> Iterator[Problem]:
    if spec.privacy.unit == "row" and spec.privacy.unit_is is None and "row" in present:
        why = 'The source has a column "row", too. Which is meant? Write unit_is = "column" beside '
        why += 'it for the persons that the column tells apart, or unit_is = "each-row" for every '
        yield "privacy.unit", why + "row by itself."


def _named(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield every column that the spec names beside its queries, with the key where it does."""
    if not spec.privacy.by_row:
        yield spec.privacy.unit, "privacy.unit"
    for name in spec.data.types:
        yield name, f"data.types.{name}"
    for name in spec.columns:
        yield name, f"columns.{name}"


def _unfit(
    spec: Spec,
    uses: Iterable[ColumnUse],
    columns: Mapping[str, ColumnType],
    present: Mapping[str, Held],
) -> Iterator[Problem]:
    """Yield what the spec's own checks would, where the types are the file's."""
    if not spec.privacy.by_row:
        name = spec.privacy.unit
        # Declared text, 0.0 and -0.0 would be two persons; what is declared int is checked to be.
        held = None if columns[name] == "int" or name in spec.derive else present[name].type
        told = held or columns[name]
        yield from unit_problems(told, name)
    for use in uses:
        yield from use.problems(columns[use.column])
        yield from use.long_keys()
