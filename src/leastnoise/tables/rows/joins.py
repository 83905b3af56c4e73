"""The tables that a spec joins to its rows, found and checked from their schemas alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import _validate
from leastnoise.errors import SpecError
from leastnoise.tables.parse.joins import ON_SPARK
from leastnoise.tables.rows.duckdb import engine as reading
from leastnoise.tables.rows.duckdb.inputs import Input, by_name
from leastnoise.tables.rows.duckdb.joined import Joined, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leastnoise.tables.parse.column_uses import Problem
    from leastnoise.tables.rows.spark.sources import SparkRows
    from leastnoise.tables.spec.join import Join
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.values import ColumnType
    from leastnoise.tables.values.casts import Held


def join_tables(
    spec: Spec, rows: Input | SparkRows, find: Callable[[Join], Input]
) -> Input | SparkRows:
    """Return the rows with the columns of the tables that `find` finds for the spec's joins.

    Raises SpecError listing what is wrong with their keys.
    """
    if not spec.data.join:
        return rows
    if not isinstance(rows, Input):
        raise SpecError([("data.join", ON_SPARK)])
    left = by_name(reading.list_columns(rows), rows.name)
    sides: list[Side] = []
    problems: list[Problem] = []
    for name, join in spec.data.join.items():
        found = find(join)
        right = by_name(reading.list_columns(found), found.name)
        kind = spec.data.types.get(join.on) or (left[join.on].type if join.on in left else None)
        wrong = [
            why
            for table, columns in ((rows.name, left), (found.name, right))
            for why in _problems(table, columns, join.on, kind)
        ]
        problems += [(f"data.join.{name}.on", why) for why in wrong]
        if kind is not None:
            use = "k" if join.public else "u"
            sides.append(Side(rows=found, on=join.on, kind=kind, use=use))
    if problems:
        raise SpecError(problems)
    return Joined(left=rows, sides=tuple(sides), declared=frozenset(spec.data.types))


def _problems(
    table: str, columns: Mapping[str, Held], name: str, kind: ColumnType | None
) -> Iterator[str]:
    """Yield why rows can't be told apart by a column of a table."""
    if name not in columns:
        hint = _validate.nearest(name, tuple(columns))
        yield f"{table} has no column {name!r}.{' ' if hint else ''}{hint}"
    elif kind is None or kind not in columns[name].read_as():
        wanted = f", and can't be read as {kind}" if kind else ""
        yield f"The column {name!r} holds {columns[name].kind} in {table}{wanted}."
    elif kind == "float":
        yield f"Expected an int, text or bool column, got a float one: {name!r} in {table}."
