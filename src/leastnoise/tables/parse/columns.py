"""The uses of columns in a spec: their keys, the types that they need, and their problems.

The same checks are used for types that a spec declares and for types of its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise import _validate
from leastnoise.tables.spec import source
from leastnoise.tables.spec.column import Column
from leastnoise.tables.spec.query import Bands, PrivateKeys
from leastnoise.tables.statistics.base import ANY_COLUMN, RANKED_COLUMN
from leastnoise.tables.values.casts import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.values import ColumnType, Key
    from leastnoise.tables.statistics.registry import ParsedQuery

Problem = tuple[str, str]
"""A key of the spec, and the error message for it."""
_KEY_TYPES: dict[ColumnType, type] = {"int": int, "text": str, "bool": bool}


@final
@dataclass(frozen=True, kw_only=True)
class ColumnUse:
    """A use of a column under the `key` of the spec that names the column.

    For this `purpose` the column must have one of the `types`. If `bounded`, the column is summed
    and needs public bounds. `keys` are public keys with which the column's values are compared;
    `keys_at` is the key of the spec that lists them.
    """

    column: str
    key: str
    purpose: str = ""
    types: frozenset[ColumnType] = ANY_COLUMN
    bounded: bool = False
    keys: tuple[Key, ...] | None = None
    keys_at: str = ""

    def problems(self, kind: ColumnType | None) -> Iterator[Problem]:
        """Yield the problems of this column if it has type `kind`; None is an unknown type."""
        if kind is None:
            if len({type(value) for value in self.keys or ()}) > 1:
                yield self.keys_at, "Expected keys of one type."
            return
        if kind not in self.types:
            why = f"Expected a number column for {self.purpose}, got the {kind} column"
            yield self.key, f"{why} {self.column!r}."
        if self.keys is None:
            return
        if kind == "float":
            hint = (
                "Give edges (in conditions, min and max), or, if it holds whole numbers, declare "
            )
            hint += 'it "int" in data.types.'
            yield self.keys_at, f"Expected an int, text or bool column, got a float one. {hint}"
            return
        for index, value in enumerate(self.keys):
            if type(value) is not _KEY_TYPES[kind]:
                why = f"Expected {kind}, as the column is, got {value!r}."
                yield f"{self.keys_at}[{index}]", why

    def long_keys(self) -> Iterator[Problem]:
        """Yield a problem for each public key that is too long when a CSV has it in quotes."""
        for index, key in enumerate(self.keys or ()):
            # its length as it is written in a CSV file
            if isinstance(key, str) and len(key.replace('"', '""').encode()) + 2 > MAX_TEXT:
                why = f"Expected a key of less than {MAX_TEXT:,} bytes, with the quotes of a CSV."
                yield f"{self.keys_at}[{index}]", why


def unit_problems(kind: ColumnType | None, column: str) -> Iterator[Problem]:
    """Yield a problem if a column of this type can't identify persons."""
    if kind == "float":
        why = "floats that look the same may differ, which would split a person in two. If it has "
        why += 'whole numbers, declare it "int" in data.types.'
    elif kind == "bool":
        why = "a bool can't identify more than two persons."
    else:
        return
    message = f"Expected an int or text column, got the {kind} column {column!r}: {why}"
    yield "privacy.unit", message


def list_uses(parsed: ParsedQuery, path: str) -> Iterator[ColumnUse]:
    """Yield the uses of columns in a query; unread values of the query may be None."""
    spec, query = parsed.spec, parsed.query
    for index, asked in parsed.entries:
        for part in () if isinstance(asked, ValueError) else asked.parts:
            if part.column:
                yield ColumnUse(
                    column=part.column,
                    key=f"{path}.statistics[{index}]",
                    purpose=part.kind,
                    types=part.column_types,
                    bounded=part.of_values,
                )
    for condition, predicates in (query.conditions or {}).items():
        for column, predicate in (predicates or {}).items():
            key = f"{path}.conditions.{condition}.{column}"
            keys, at = predicate.among or None, f"{key}.among"
            types = ANY_COLUMN if keys else RANKED_COLUMN
            yield ColumnUse(
                column=column, key=key, purpose="min and max", types=types, keys=keys, keys_at=at
            )
    if query.histogram is not None and query.histogram.column:
        key = f"{path}.histogram.column"
        yield ColumnUse(
            column=query.histogram.column, key=key, purpose="histogram", types=RANKED_COLUMN
        )
    by_name = isinstance(query.group_by, tuple)
    for index, (column, grouping) in enumerate(spec.groupings(query).items()):
        key = f"{path}.group_by[{index}]" if by_name else f"{path}.group_by.{column}"
        if isinstance(grouping, Bands):
            yield ColumnUse(column=column, key=key, purpose="bands", types=RANKED_COLUMN)
        elif isinstance(grouping, PrivateKeys):
            yield ColumnUse(column=column, key=key, keys=(), keys_at=key)
        else:
            at = f"columns.{column}.keys" if by_name else key
            yield ColumnUse(column=column, key=key, keys=grouping or (), keys_at=at)


# Scaling values of a smaller width to integers of 28 bits could leave the range of floats.
SMALLEST_WIDTH = Fraction(1, 10**290)


def reads_csv(spec: Spec) -> bool:
    """True if some source is a CSV by its name."""
    return any(map(source.is_csv, spec.data.sources))


def column_problems(spec: Spec) -> Iterator[Problem]:
    """Yield the problems of the sections [columns.…] of a spec."""
    for name, column in spec.columns.items():
        path = f"columns.{name}"
        yield from check_declared(spec, name, path)
        rest = column.model_copy(update={"keys": (), "label": None})
        useful = (column.keys or column.label) and rest == Column()
        if spec.data.types.get(name) == "text" and not useful:
            yield path, "A text column has no bounds; declare a number type, or leave it out."
        if column.keys and column.edges:
            yield f"{path}.edges", "Not allowed beside keys: a query groups by one of them."
        if column.widest is not None:
            yield from _bounds(name, column, column.widest)


def _bounds(name: str, column: Column, widest: tuple[Fraction, Fraction]) -> Iterator[Problem]:
    """Yield the problems of bounds, and of the number that replaces missing values.

    `widest` has the given bounds, or the widest bounds that the release may find.
    """
    (low, high), path, number = widest, f"columns.{name}", column.number
    if column.finds is not None:
        if number not in {None, column.finds.low, column.finds.high}:
            why = "It may be outside the bounds that are found, and would be clamped. "
            yield f"{path}.missing", why + 'Write "skip", "none", or the bound that is given.'
    elif low > high:
        yield f"{path}.bounds", f"Reversed: [{float(low):g}, {float(high):g}]. Swap them."
    elif float(low) >= float(high):
        yield f"{path}.bounds", "Expected low < high, but they are equal as float64."
    elif high - low < SMALLEST_WIDTH:
        why = f"Expected bounds that differ by 1e-290 at least. Give {name} in a smaller unit."
        yield f"{path}.bounds", why
    elif number is not None and not low <= number <= high:
        why = f"Expected a number within the bounds, got {float(number):g}: it would be clamped. "
        yield f"{path}.missing", why + "Widen the bounds, or choose another number."


def check_declared(spec: Spec, column: str, key: str) -> Iterator[Problem]:
    """Yield a problem if a column of the source has no declared type, although a source is a CSV.

    A derived column needs none. If the spec declares no type at all, another check reports that.
    """
    declared = spec.data.types
    if reads_csv(spec) and declared and column not in declared and column not in spec.derive:
        hint = _validate.nearest(column, (*declared, *spec.derive))
        hint = f" {hint} If both names mean the same column, correct one of them." if hint else ""
        yield key, f"The column {column!r} has no type in data.types.{hint}"


def has_bounds(spec: Spec, column: str) -> bool:
    """True if a column has public bounds, or bounds that the release finds among candidates."""
    known = spec.columns.get(column)
    return known is not None and known.limits is not None


def check_bounded(spec: Spec, column: str, key: str) -> Iterator[Problem]:
    """Yield a problem if a column whose values are summed has no bounds."""
    if not has_bounds(spec, column):
        hint = "" if column in spec.columns else _validate.nearest(column, tuple(spec.columns))
        needs = f"The column {column!r} needs bounds. Add bounds = [low, high] to columns.{column}."
        yield key, f"{needs}{' ' if hint else ''}{hint}"
