"""Where a spec's rows are, checked from the file's header or metadata alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise import _validate
from leastnoise.errors import SourceError, SpecError
from leastnoise.tables.rows import databases, engines, files
from leastnoise.tables.rows.inputs import Input
from leastnoise.tables.rows.postgres import PostgresTable
from leastnoise.tables.spec import column_types, statistic
from leastnoise.tables.spec.model import UTF_8, Bands
from leastnoise.tables.spec.source_names import IN_MEMORY, is_postgres, is_spark
from leastnoise.tables.values.casts import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.rows.frames import Frame
    from leastnoise.tables.rows.spark_rows import SparkRows
    from leastnoise.tables.spec.model import ColumnType, Data, Key, Query, Spec
    from leastnoise.tables.values.casts import Held


@final
@dataclass(frozen=True, kw_only=True)
class Source:
    """Rows, and the columns of them that a spec uses, each with its type.

    `engine` is what the spec says of it, where the rows aren't Spark's own.
    """

    rows: Input | SparkRows
    columns: Mapping[str, ColumnType]
    engine: str | None = None


def find(spec: Spec, folder: Path, frame: Frame | SparkRows | None = None) -> Source:
    """Return the source of `spec`, relative to `folder`, or the `frame`; reads no row.

    Raises SourceError if the file can't be read, SpecError listing every column that is missing
    or of a type that can't be used as the spec says.
    """
    rows = rows_of(spec.data, folder, frame)
    present = engines.columns_of(rows)
    problems = list(_ambiguous(spec, present))
    if not spec.data.types and not rows.typed:
        why = f"Missing: {rows.name} needs the type of each column that is used."
        raise SpecError([("data.types", why)])
    columns: dict[str, ColumnType] = {}
    for column, key in _mentioned(spec):
        if column not in present:
            hint = _validate.nearest(column, tuple(present))
            message = f"{rows.name} has no column {column!r}.{' ' if hint else ''}{hint}"
            problems.append((key, message))
            continue
        held = present[column]
        kind = spec.data.types.get(column) or held.type
        if kind is None or kind not in held.read_as():
            problems.append((key, _unreadable(column, held, kind)))
        else:
            columns[column] = kind
    problems = list(dict.fromkeys(problems)) or list(_unfit(spec, columns, present))
    if problems:
        raise SpecError(problems)
    used = {column for column, key in _mentioned(spec) if not key.startswith(("columns", "data"))}
    kept: dict[str, ColumnType] = {name: columns[name] for name in columns if name in used}
    return Source(rows=rows, columns=kept, engine=spec.data.engine)


def rows_of(data: Data, folder: Path, frame: Frame | SparkRows | None = None) -> Input | SparkRows:
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
        from leastnoise.tables.rows import spark_sources  # noqa: PLC0415  # of an extra

        return spark_sources.found(data, folder)
    if named is None:
        raise TypeError("the checks of the spec come first")
    if table is not None and isinstance(named, str) and is_postgres(named):
        return PostgresTable(named, table)
    if table is not None and isinstance(named, str):
        return databases.found(folder / named, table)
    return files.found(named, folder, data.encoding or UTF_8)


def _unreadable(column: str, held: Held, declared: ColumnType | None) -> str:
    can_be = ", ".join(f'"{kind}"' for kind in held.read_as())
    if not can_be:
        advice = "Write it as a number, a text, a bool or a date."
    elif declared is None:
        advice = f"Declare it in data.types, as one of {can_be}."
    else:
        advice = f"It can't be declared {declared!r}, only {can_be}."
    return f"The column {column!r} holds {held.kind} in the file. {advice}"


def _ambiguous(spec: Spec, present: Collection[str]) -> Iterator[column_types.Problem]:
    if spec.privacy.unit == "row" and spec.privacy.unit_is is None and "row" in present:
        why = 'The source has a column "row", too. Which is meant? Write unit_is = "column" beside '
        why += 'it for the persons that the column tells apart, or unit_is = "each-row" for every '
        yield "privacy.unit", why + "row by itself."


def _mentioned(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield every column that the spec names, with the key where it does."""
    if not spec.privacy.by_row:
        yield spec.privacy.unit, "privacy.unit"
    for name in spec.data.types:
        yield name, f"data.types.{name}"
    for name in spec.columns:
        yield name, f"columns.{name}"
    for index, query in enumerate(spec.query):
        yield from _mentioned_in(query, f"query[{index}]")


def _mentioned_in(query: Query, path: str) -> Iterator[tuple[str, str]]:
    for index, text in enumerate(query.statistics):
        column = statistic.parse(text).column
        if column:
            yield column, f"{path}.statistics[{index}]"
    for name in query.group_by:
        yield name, f"{path}.group_by.{name}"
    if query.histogram:
        yield query.histogram.column, f"{path}.histogram.column"
    for condition, predicates in query.where.items():
        for name in predicates:
            yield name, f"{path}.where.{condition}.{name}"


def _unfit(
    spec: Spec, columns: Mapping[str, ColumnType], present: Mapping[str, Held]
) -> Iterator[column_types.Problem]:
    """Yield what the spec's own checks would, where the types are the file's."""
    if not spec.privacy.by_row:
        name = spec.privacy.unit
        # Declared text, 0.0 and -0.0 would be two persons; what is declared int is checked to be.
        told = columns[name] if columns[name] == "int" else present[name].type
        yield from column_types.unit_type(told or columns[name], name)
    for index, query in enumerate(spec.query):
        path = f"query[{index}]"
        for name, grouping in query.group_by.items():
            key = f"{path}.group_by.{name}"
            if isinstance(grouping, Bands):
                yield from column_types.numeric_type(columns[name], name, key, "bands")
            else:
                yield from column_types.key_types(columns[name], grouping, key)
                yield from _too_long(grouping, key)
        for place, text in enumerate(query.statistics):
            asked = statistic.parse(text)
            if asked.column:
                kind = columns[asked.column]
                key = f"{path}.statistics[{place}]"
                yield from column_types.numeric_type(kind, asked.column, key, asked.kind)
        for condition, predicates in query.where.items():
            for name, predicate in predicates.items():
                key = f"{path}.where.{condition}.{name}"
                yield from column_types.predicate_type(columns[name], predicate, key)
                yield from _too_long(predicate.among, f"{key}.among")
        if query.histogram:
            name = query.histogram.column
            key = f"{path}.histogram.column"
            yield from column_types.numeric_type(columns[name], name, key, "histogram")


def _too_long(keys: Sequence[Key], path: str) -> Iterator[column_types.Problem]:
    """Yield a problem for each text that no row can have, as longer ones are read as missing."""
    for index, key in enumerate(keys):
        # as a CSV holds it
        if isinstance(key, str) and len(key.replace('"', '""').encode()) + 2 > MAX_TEXT:
            yield f"{path}[{index}]", f"Expected a text of less than {MAX_TEXT:,} bytes in quotes."
