"""Where a spec's rows are, checked from the file's header or metadata alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise import _validate
from leastnoise.errors import SpecError
from leastnoise.tables import checks, engine_duckdb, statistic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from leastnoise.tables.spec import ColumnType, Query, Spec


@final
@dataclass(frozen=True, kw_only=True)
class Source:
    """A file and the columns of it that a spec uses, each with its type."""

    path: Path
    columns: Mapping[str, ColumnType]


def find(spec: Spec, folder: Path) -> Source:
    """Return the source of `spec`, relative to `folder`; reads no row.

    Raises SourceError if the file can't be read, SpecError listing every column that is missing
    or of a type that can't be used as the spec says.
    """
    path = folder / spec.data.source
    present = engine_duckdb.source_types(path)
    problems: list[tuple[str, str]] = []
    columns: dict[str, ColumnType] = {}
    for column, key in _mentioned(spec):
        if column not in present:
            hint = _validate.nearest(column, tuple(present))
            message = f"{path.name} has no column {column!r}.{' ' if hint else ''}{hint}"
            problems.append((key, message))
            continue
        kind = spec.data.types.get(column) or present[column]
        if kind is None:
            problems.append((key, f"The column {column!r} holds no number, text or bool."))
        else:
            columns[column] = kind
    problems = list(dict.fromkeys(problems)) or list(_unfit(spec, columns, present))
    if problems:
        raise SpecError(problems)
    used = {column for column, key in _mentioned(spec) if not key.startswith(("columns", "data"))}
    return Source(path=path, columns={name: columns[name] for name in columns if name in used})


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
    spec: Spec, columns: Mapping[str, ColumnType], present: Mapping[str, ColumnType | None]
) -> Iterator[checks.Problem]:
    """Yield what the spec's own checks would, where the types are the file's."""
    if not spec.privacy.by_row:
        name = spec.privacy.unit
        # Declared text, 0.0 and -0.0 would be two persons; what is declared int is checked to be.
        told = columns[name] if columns[name] == "int" else present[name]
        yield from checks.unit_type(told or columns[name], name)
    for index, query in enumerate(spec.query):
        path = f"query[{index}]"
        for name, keys in query.group_by.items():
            yield from checks.key_types(columns[name], keys, f"{path}.group_by.{name}")
        for place, text in enumerate(query.statistics):
            asked = statistic.parse(text)
            if asked.column:
                kind = columns[asked.column]
                key = f"{path}.statistics[{place}]"
                yield from checks.numeric_type(kind, asked.column, key, asked.kind)
        for condition, predicates in query.where.items():
            for name, predicate in predicates.items():
                key = f"{path}.where.{condition}.{name}"
                yield from checks.predicate_type(columns[name], predicate, key)
        if query.histogram:
            name = query.histogram.column
            key = f"{path}.histogram.column"
            yield from checks.numeric_type(columns[name], name, key, "histogram")
