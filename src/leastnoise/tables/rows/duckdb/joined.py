"""Join other tables to rows, by DuckDB; the number of rows never changes.

Keys are cast before they are compared (`casts.casts_by_use`). In a public table they are cast like
keys of groups. In any other table they are cast like units: this cast never makes two different
identifiers equal. So joined values of a person come only from rows about that person, or from a
public table. If several rows of a table have the same key, none of them is joined, because the
choice could depend on the order of rows.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate
from leastnoise.errors import SpecError
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.duckdb.inputs import Input, RowReading, by_name
from leastnoise.tables.values.casts import FileRows, StoredColumn, casts_by_use

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.parse.columns import Problem
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.source import Join
    from leastnoise.tables.spec.values import ColumnType


@final
@dataclass(frozen=True, kw_only=True)
class Side:
    """A table that is joined by its column `on`, of type `kind`.

    `use` is the cast under which keys are compared, as units or as keys of groups.
    """

    rows: Input
    on: str
    kind: ColumnType
    use: Use


@final
@dataclass(frozen=True, kw_only=True)
class Joined(Input):
    """The rows of `left`, each with at most one row of each of the `sides`.

    If a side states no types, only its `declared` columns can be used.
    """

    left: Input
    sides: Sequence[Side]
    declared: Collection[str]

    @property
    def name(self) -> str:
        return " with ".join(rows.name for rows in (self.left, *(side.rows for side in self.sides)))

    @property
    def typed(self) -> bool:
        return all(rows.typed for rows in (self.left, *(side.rows for side in self.sides)))

    @property
    def is_inspected(self) -> bool:
        return any(rows.is_inspected for rows in (self.left, *(side.rows for side in self.sides)))

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, StoredColumn]]:
        """The columns of all tables; except for keys, a name that two tables have can't be used."""
        listed = [(self.left, self.left.columns(connection))]
        listed += [(side.rows, _list_joined(side, connection)) for side in self.sides]
        known: dict[str, StoredColumn] = {}
        owner: dict[str, str] = {}
        for rows, columns in listed:
            for name, column in by_name(columns, rows.name).items():
                if name in known:
                    column = _unused(f"is both in {owner[name]} and in {rows.name}. Rename one.")  # noqa: PLW2901
                elif rows is not self.left and not rows.typed and name not in self.declared:
                    column = _unused(f"of {rows.name} has no type. Declare it in data.types.")  # noqa: PLW2901
                known[name] = column
                owner[name] = rows.name
        return list(known.items())

    @contextmanager
    def open_rows(self, reading: RowReading) -> Iterator[FileRows]:
        """Yield the rows of `left`, joined to a new table for each side.

        That table has the rows of the side whose key no other row has.
        """
        connection, used = reading.connection, reading.used
        left_names = {name for name, _ in self.left.columns(connection)}
        side_columns: dict[str, StoredColumn] = {}
        joins: list[str] = []
        with ExitStack() as stack:
            for number, side in enumerate(self.sides):
                names = [name for name, _ in _list_joined(side, connection) if name in used]
                cursor = stack.enter_context(connection.cursor())  # a cursor has its own views
                inner = reading.in_subfolder(f"side{number}", [side.on, *names])
                with side.rows.open_rows(replace(inner, connection=cursor)) as rows:
                    side_columns |= _create_side_table(cursor, rows, side, number=number)
            wanted = dict.fromkeys([*(name for name in used if name in left_names), *self._keys])
            rows = stack.enter_context(self.left.open_rows(replace(reading, used=list(wanted))))
            lefts = {
                name: replace(rows.columns[name], sql=f"l{at}") for at, name in enumerate(wanted)
            }
            for number, side in enumerate(self.sides):
                key = casts_by_use(lefts[side.on], side.kind)[side.use]
                joins.append(f"LEFT JOIN side{number} ON {key} = key{number}")
            listed = ", ".join(f"{rows.columns[name].sql} AS {lefts[name].sql}" for name in wanted)
            columns = side_columns | lefts
            selected = ", ".join(column.sql for column in columns.values())
            sql = f"SELECT {selected} FROM (SELECT {listed} FROM {rows.sql}) {' '.join(joins)}"  # noqa: S608
            yield FileRows(sql=f"({sql})", columns=columns, parameters=rows.parameters)

    @property
    def _keys(self) -> list[str]:
        return [side.on for side in self.sides]

    def rehearse(self, folder: Path) -> None:
        self.left.rehearse(folder)
        for number, side in enumerate(self.sides):
            (inner := folder / f"side{number}").mkdir()
            side.rows.rehearse(inner)


def _unused(why: str) -> StoredColumn:
    return StoredColumn(sql="", kind="", only=(), why=why)


def _list_joined(
    side: Side, connection: duckdb.DuckDBPyConnection
) -> list[tuple[str, StoredColumn]]:
    """The columns of a side without its key."""
    return [(name, column) for name, column in side.rows.columns(connection) if name != side.on]


def _create_side_table(
    cursor: Any, rows: FileRows, side: Side, *, number: int
) -> dict[str, StoredColumn]:
    """Create the table of a side's rows whose key is unique; return its columns without the key."""
    key = casts_by_use(rows.columns[side.on], side.kind)[side.use]
    columns = {
        name: replace(column, sql=f"r{number}_{at}")
        for at, (name, column) in enumerate(rows.columns.items())
        if name != side.on
    }
    listed = [
        f"{key} AS key{number}",
        *(f"{rows.columns[name].sql} AS {column.sql}" for name, column in columns.items()),
    ]
    firsts = ", ".join(
        [f"key{number}", *(f"first({column.sql}) AS {column.sql}" for column in columns.values())]
    )
    inner = f"SELECT {', '.join(listed)} FROM {rows.sql}"  # noqa: S608  # only names of our own, and bound texts
    cursor.execute(
        f"CREATE TABLE side{number} AS SELECT {firsts} FROM ({inner}) "  # noqa: S608
        f"WHERE key{number} IS NOT NULL GROUP BY key{number} HAVING count(*) = 1",
        rows.parameters,
    )
    return columns


def join_tables(spec: Spec, rows: Input, find: Callable[[Join], Input]) -> Input:
    """The rows, joined with the tables that `find` finds for the spec's joins.

    Raises SpecError listing all problems with their keys.
    """
    left = by_name(duckdb_engine.list_columns(rows), rows.name)
    sides: list[Side] = []
    problems: list[Problem] = []
    for name, join in spec.data.join.items():
        joined = find(join)
        right = by_name(duckdb_engine.list_columns(joined), joined.name)
        kind = spec.data.types.get(join.on) or (left[join.on].type if join.on in left else None)
        lacking = [column for column in join.columns if column not in right]
        problems += [
            (f"data.join.{name}.columns", f"{joined.name} has no column {column!r}.")
            for column in lacking
        ]
        wrong = [
            why
            for table, columns in ((rows.name, left), (joined.name, right))
            for why in _problems(table, columns, join.on, kind)
        ]
        problems += [(f"data.join.{name}.on", why) for why in wrong]
        if kind is not None:
            use = "k" if join.public else "u"
            sides.append(Side(rows=joined, on=join.on, kind=kind, use=use))
    if problems:
        raise SpecError(problems)
    return Joined(left=rows, sides=tuple(sides), declared=frozenset(spec.data.types))


def _problems(
    table: str, columns: Mapping[str, StoredColumn], name: str, kind: ColumnType | None
) -> Iterator[str]:
    """The reasons why rows can't be matched by a column of a table."""
    if name not in columns:
        hint = _validate.nearest(name, tuple(columns))
        yield f"{table} has no column {name!r}.{' ' if hint else ''}{hint}"
    elif kind is None or kind not in columns[name].declarable_types():
        wanted = f", and can't be read as {kind}" if kind else ""
        yield f"The column {name!r} holds {columns[name].kind} in {table}{wanted}."
    elif kind == "float":
        yield f"Expected an int, text or bool column, got a float one: {name!r} in {table}."
