"""Rows with the columns of other tables beside them, by DuckDB: never more rows, and never fewer.

What is joined is compared as what tells persons, or groups, apart: see `casts.by_use`. So all rows
of a table that stand beside one person's rows are that person's. Of several rows with one key none
is taken: which it would be might depend on the order of rows.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate
from leastnoise.errors import SpecError
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.duckdb.inputs import Input, Reading, by_name
from leastnoise.tables.values.casts import FileRows, Held, by_use

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
    """A table that is joined by its column `on`, of the type `kind`, for the `use` of a key."""

    rows: Input
    on: str
    kind: ColumnType
    use: Use


@final
@dataclass(frozen=True, kw_only=True)
class Joined(Input):
    """The rows of `left`, each with at most one row of each of the `sides`.

    Of a side that says no types the `declared` columns can be used.
    """

    left: Input
    sides: Sequence[Side]
    declared: Collection[str]

    @property
    def name(self) -> str:
        return " with ".join(one.name for one in (self.left, *(side.rows for side in self.sides)))

    @property
    def typed(self) -> bool:
        return all(one.typed for one in (self.left, *(side.rows for side in self.sides)))

    def columns(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
        """Those of all tables; of a name that two of them have, neither can be used."""
        listed = [(self.left, self.left.columns(connection))]
        listed += [(side.rows, _beside(side, connection)) for side in self.sides]
        found: dict[str, Held] = {}
        owner: dict[str, str] = {}
        for rows, columns in listed:
            for name, held in by_name(columns, rows.name).items():
                if name in found:
                    held = _unused(f"is both in {owner[name]} and in {rows.name}. Rename one.")  # noqa: PLW2901
                elif rows is not self.left and not rows.typed and name not in self.declared:
                    held = _unused(f"of {rows.name} has no type. Declare it in data.types.")  # noqa: PLW2901
                found[name] = held
                owner[name] = rows.name
        return list(found.items())

    @contextmanager
    def opened(self, reading: Reading) -> Iterator[FileRows]:
        """What is used of each side is a table of this connection's, with one row a key."""
        connection, used = reading.connection, reading.used
        own = {name for name, _ in self.left.columns(connection)}
        held: dict[str, Held] = {}
        joins: list[str] = []
        with ExitStack() as stack:
            for number, side in enumerate(self.sides):
                theirs = [name for name, _ in _beside(side, connection) if name in used]
                cursor = stack.enter_context(connection.cursor())  # whose views are its own
                inner = reading.within(f"side{number}", [side.on, *theirs])
                with side.rows.opened(replace(inner, connection=cursor)) as rows:
                    held |= _one_a_key(cursor, rows, side, number=number)
            wanted = dict.fromkeys([*(name for name in used if name in own), *self._keys])
            rows = stack.enter_context(self.left.opened(replace(reading, used=list(wanted))))
            lefts = {
                name: replace(rows.columns[name], sql=f"l{at}") for at, name in enumerate(wanted)
            }
            for number, side in enumerate(self.sides):
                key = by_use(lefts[side.on], side.kind)[side.use]
                joins.append(f"LEFT JOIN side{number} ON {key} = key{number}")
            listed = ", ".join(f"{rows.columns[name].sql} AS {lefts[name].sql}" for name in wanted)
            found = held | lefts
            names = ", ".join(column.sql for column in found.values())
            sql = f"SELECT {names} FROM (SELECT {listed} FROM {rows.sql}) {' '.join(joins)}"  # noqa: S608
            yield FileRows(sql=f"({sql})", columns=found, bound=rows.bound)

    @property
    def _keys(self) -> list[str]:
        return [side.on for side in self.sides]

    def rehearse(self, folder: Path) -> None:
        self.left.rehearse(folder)
        for number, side in enumerate(self.sides):
            (inner := folder / f"side{number}").mkdir()
            side.rows.rehearse(inner)


def _unused(why: str) -> Held:
    return Held(sql="", kind="", only=(), why=why)


def _beside(side: Side, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, Held]]:
    """Return the columns of a side that stand beside the rows: all but its key."""
    return [(name, held) for name, held in side.rows.columns(connection) if name != side.on]


def _one_a_key(cursor: Any, rows: FileRows, side: Side, *, number: int) -> dict[str, Held]:
    """Make the table of the rows of which there is one of its key; return its other columns."""
    key = by_use(rows.columns[side.on], side.kind)[side.use]
    held = {
        name: replace(column, sql=f"r{number}_{at}")
        for at, (name, column) in enumerate(rows.columns.items())
        if name != side.on
    }
    listed = [f"{key} AS key{number}", *(f"{rows.columns[n].sql} AS {held[n].sql}" for n in held)]
    firsts = ", ".join(
        [f"key{number}", *(f"first({one.sql}) AS {one.sql}" for one in held.values())]
    )
    inner = f"SELECT {', '.join(listed)} FROM {rows.sql}"  # noqa: S608  # own names, bound texts
    cursor.execute(
        f"CREATE TABLE side{number} AS SELECT {firsts} FROM ({inner}) "  # noqa: S608
        f"WHERE key{number} IS NOT NULL GROUP BY key{number} HAVING count(*) = 1",
        rows.bound,
    )
    return held


def join_tables(spec: Spec, rows: Input, find: Callable[[Join], Input]) -> Input:
    """Return the rows with the columns of the tables that `find` finds for a spec's joins.

    Raises SpecError listing what is wrong with their keys.
    """
    left = by_name(duckdb_engine.list_columns(rows), rows.name)
    sides: list[Side] = []
    problems: list[Problem] = []
    for name, join in spec.data.join.items():
        found = find(join)
        right = by_name(duckdb_engine.list_columns(found), found.name)
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
