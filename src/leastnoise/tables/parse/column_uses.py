"""Which column a spec uses, under which key, and what that asks of its type.

One table for the types that a spec declares and for those that its source has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise.tables.spec.query import Bands, PrivateKeys
from leastnoise.tables.statistics.registry import read_statistics
from leastnoise.tables.values.casts import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.spec.values import ColumnType, Key

Problem = tuple[str, str]
"""The key that is wrong, and what is wrong with it."""
_KEY_TYPES: dict[ColumnType, type] = {"int": int, "text": str, "bool": bool}


@final
@dataclass(frozen=True, kw_only=True)
class ColumnUse:
    """A column of the source, and the `key` of the spec that names it.

    It is a number for some purpose, or compared with public `keys`, which stand under `keys_at`.
    `bounded` says that its values are summed, within public bounds: then a bool is a number, too.
    """

    column: str
    key: str
    number_for: str = ""
    bounded: bool = False
    keys: tuple[Key, ...] | None = None
    keys_at: str = ""

    def problems(self, kind: ColumnType) -> Iterator[Problem]:
        """Yield what is wrong with it if its column is of this type."""
        if self.number_for and (kind == "text" or (kind == "bool" and not self.bounded)):
            why = f"Expected a number column for {self.number_for}, got the {kind} column"
            yield self.key, f"{why} {self.column!r}."
        if self.keys is None:
            return
        if kind == "float":
            hint = "Give edges (in where, min and max), or, if it holds whole numbers, declare it "
            hint += '"int" in data.types.'
            yield self.keys_at, f"Expected an int, text or bool column, got a float one. {hint}"
            return
        for index, value in enumerate(self.keys):
            if type(value) is not _KEY_TYPES[kind]:
                why = f"Expected {kind}, as the column is, got {value!r}."
                yield f"{self.keys_at}[{index}]", why

    def long_keys(self) -> Iterator[Problem]:
        """Yield a problem for each text that no row can have: longer ones are read as missing."""
        for index, key in enumerate(self.keys or ()):
            # as a CSV holds it
            if isinstance(key, str) and len(key.replace('"', '""').encode()) + 2 > MAX_TEXT:
                why = f"Expected a text of less than {MAX_TEXT:,} bytes in quotes."
                yield f"{self.keys_at}[{index}]", why


def unit_problems(kind: ColumnType | None, column: str) -> Iterator[Problem]:
    """Yield a problem if a column of this type can't identify persons."""
    if kind == "float":
        why = "floats that print alike differ, and would split a person in two. If it holds whole "
        why += 'numbers, declare it "int" in data.types.'
    elif kind == "bool":
        why = "a bool tells two persons apart, and makes one of all the others."
    else:
        return
    message = f"Expected an int or text column, got the {kind} column {column!r}: {why}"
    yield "privacy.unit", message


def uses_of(spec: Spec, query: Query, path: str) -> Iterator[ColumnUse]:
    """Yield what a block uses columns for; what couldn't be read of it is None, or empty."""
    for place, asked in read_statistics(query, by_row=spec.privacy.by_row):
        for part in () if isinstance(asked, ValueError) else asked.parts:
            if part.column:
                yield ColumnUse(
                    column=part.column,
                    key=f"{path}.statistics[{place}]",
                    number_for=part.kind if part.of_values or part.ranked else "",
                    bounded=part.of_values,
                )
    for condition, predicates in (query.conditions or {}).items():
        for column, predicate in predicates.items():
            key = f"{path}.conditions.{condition}.{column}"
            keys, at = predicate.among or None, f"{key}.among"
            number = "" if keys else "histogram"
            yield ColumnUse(column=column, key=key, number_for=number, keys=keys, keys_at=at)
    if query.histogram is not None and query.histogram.column:
        key = f"{path}.histogram.column"
        yield ColumnUse(column=query.histogram.column, key=key, number_for="histogram")
    by_name = isinstance(query.group_by, tuple)
    for place, (column, grouping) in enumerate(spec.groupings(query).items()):
        key = f"{path}.group_by[{place}]" if by_name else f"{path}.group_by.{column}"
        if isinstance(grouping, Bands):
            yield ColumnUse(column=column, key=key, number_for="bands")
        elif isinstance(grouping, PrivateKeys):
            yield ColumnUse(column=column, key=key, keys=(), keys_at=key)
        else:
            at = f"columns.{column}.keys" if by_name else key
            yield ColumnUse(column=column, key=key, keys=grouping or (), keys_at=at)
