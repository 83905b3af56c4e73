"""Check the keys of tables whose rows aren't known in advance: their form and their order."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from leastnoise.tables.layout.axes import KeyColumn, Unlisted
from leastnoise.tables.results.table_files import values_as_read
from leastnoise.tables.spec.values import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.layout.axes import Axis
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.spec.values import ColumnType

_INT = re.compile("0|-?[1-9][0-9]{0,18}")  # how an int is written in a CSV
_UNSEEN = re.compile(re.sub(r"\\x\{([0-9A-F]+)\}", lambda match: chr(int(match[1], 16)), UNSEEN))
_BOOLS = {"False": False, "True": True}
_KINDS: dict[ColumnType, type] = {"int": int, "text": str, "bool": bool}


def sort_key(value: object) -> Any:
    """The value by which keys are ordered: a text by its bytes in UTF-8, a number by itself."""
    return value.encode() if isinstance(value, str) else value


def find_wrong_keys(
    layout: TableShape,
    columns: Sequence[list[Any]],
    kind: str,
    *,
    counts: Sequence[float] | None = None,
) -> str | None:
    """The fault of a table's keys, as the end of a sentence; None if all keys are right.

    `kind` is the format of the table's file. Keys have the type of the spec, if it states one, no
    character of `UNSEEN`, and at most the length that the spec allows. Keys of a public column are
    among its public keys. Rows are distinct, and ordered by their keys. With `counts`, they are
    ordered by falling counts, then by their keys.
    """
    remaining = list(columns)
    axis_orders: list[list[list[Any]]] = []
    if not columns:  # a table without keys, whose only row `find_wrong_rows` counts
        return None
    axes = layout.axes
    if layout.conditions:
        names = tuple(condition.name for condition in layout.conditions)
        axes = (KeyColumn(column="condition", values=names),)
    for axis in axes:
        values, remaining = remaining[: len(axis.columns)], remaining[len(axis.columns) :]
        orders = list(_find_orders(axis, values, kind))
        if not orders:
            return f"a {axis.column} that is not a key"
        axis_orders.append(orders)
    for chosen in itertools.product(*axis_orders):
        rows = list(zip(*chosen, strict=True))
        order = (
            rows if counts is None else list(zip((-count for count in counts), rows, strict=True))
        )
        distinct = len(set(rows)) == len(rows)
        if distinct and all(count < other for count, other in itertools.pairwise(order)):
            return None
    return "keys that aren't distinct, or not in order"


def _find_orders(axis: Axis, columns: Sequence[list[Any]], kind: str) -> Iterator[list[Any]]:
    """Yield the sort keys of all rows on an axis: a list for each type that the keys may have.

    In a CSV, unlisted keys may be read as several types. The sort key of a public key is its
    position in the spec. If a key is wrong, no list is yielded.
    """
    if isinstance(axis, Unlisted):
        for known in ("int", "bool", "text") if axis.kind is None else (axis.kind,):
            values = [_parse_key(stored, known, kind) for stored in columns[0]]
            if all(_fits(value, axis.longest) for value in values):
                yield list(map(sort_key, values))
        return
    public = zip(*(values_as_read([*keys], kind) for keys in axis.columns.values()), strict=True)
    positions = {_typed(keys): position for position, keys in enumerate(public)}
    stored = list(map(_typed, zip(*columns, strict=True)))
    if all(keys in positions for keys in stored):
        yield [positions[keys] for keys in stored]


def _typed(keys: tuple[Any, ...]) -> tuple[tuple[type, Any], ...]:
    """Pair each key with its type, since True equals 1."""
    return tuple((type(key), key) for key in keys)


def _parse_key(stored: Any, known: ColumnType, kind: str) -> Any:
    """The stored key as a value of the type `known`; None if it has another type."""
    if kind == "xlsx" and known == "int" and isinstance(stored, str):
        # a workbook stores long integers as texts
        whole = int(stored) if _INT.fullmatch(stored) else None
        return whole if whole is not None and values_as_read([whole], kind) == [stored] else None
    if kind != "csv":
        return stored if type(stored) is _KINDS[known] else None
    if known == "int":
        return int(stored) if _INT.fullmatch(stored) else None
    return _BOOLS.get(stored) if known == "bool" else stored


def _fits(value: Any, longest: int) -> bool:
    if isinstance(value, str):
        return len(value.encode()) <= longest and not _UNSEEN.search(value)
    return value is not None and -(2**63) <= value < 2**63
