"""The keys of every table whose rows aren't known before: their form and their order."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from leastnoise.tables.layout.axes import KeyColumn, Unlisted
from leastnoise.tables.results.table_files import as_read
from leastnoise.tables.spec.values import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.layout.axes import Axis
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.spec.values import ColumnType

_INT = re.compile("0|-?[1-9][0-9]{0,18}")  # as a CSV holds it
_UNSEEN = re.compile(re.sub(r"\\x\{([0-9A-F]+)\}", lambda match: chr(int(match[1], 16)), UNSEEN))
_BOOLS = {"False": False, "True": True}
_KINDS: dict[ColumnType, type] = {"int": int, "text": str, "bool": bool}


def sort_key(value: object) -> Any:
    """Return what keys are ordered by: texts by their bytes in UTF-8."""
    return value.encode() if isinstance(value, str) else value


def wrong_keys(
    layout: TableShape,
    columns: Sequence[list[Any]],
    kind: str,
    *,
    counts: Sequence[float] | None = None,
) -> str | None:
    """Return what is wrong with the keys of such a table, to end a sentence; None if nothing is.

    They are of the type that the spec says, if it does, no longer than it lets them be, without
    control characters, public ones among them the spec's own; and rows are distinct and in order:
    that of their keys, or of falling `counts` and then of their keys.
    """
    left = list(columns)
    read: list[list[list[Any]]] = []
    if not columns:  # one cell, whose row `wrong_rows` has counted
        return None
    axes = layout.axes
    if layout.conditions:
        names = tuple(condition.name for condition in layout.conditions)
        axes = (KeyColumn(column="condition", values=names),)
    for axis in axes:
        own, left = left[: len(axis.columns)], left[len(axis.columns) :]
        ways = list(_ways(axis, own, kind))
        if not ways:
            return f"a {axis.column} that is no key of it"
        read.append(ways)
    for chosen in itertools.product(*read):
        rows = list(zip(*chosen, strict=True))
        order = rows if counts is None else list(zip((-one for one in counts), rows, strict=True))
        distinct = len(set(rows)) == len(rows)
        if distinct and all(one < other for one, other in itertools.pairwise(order)):
            return None
    return "keys that aren't distinct, or not in order"


def _ways(axis: Axis, columns: Sequence[list[Any]], kind: str) -> Iterator[list[Any]]:
    """Yield what the rows of an axis may be ordered by: a CSV doesn't say what is a number."""
    if isinstance(axis, Unlisted):
        for known in ("int", "bool", "text") if axis.kind is None else (axis.kind,):
            values = [_value(one, known, csv=kind == "csv") for one in columns[0]]
            if all(_fits(one, axis.longest) for one in values):
                yield list(map(sort_key, values))
        return
    public = zip(*(as_read(list(one), kind) for one in axis.columns.values()), strict=True)
    places = {tuple((type(part), part) for part in one): place for place, one in enumerate(public)}
    told = [tuple((type(part), part) for part in one) for one in zip(*columns, strict=True)]
    if all(one in places for one in told):
        yield [places[one] for one in told]


def _value(told: Any, known: ColumnType, *, csv: bool) -> Any:
    """Return the key of that type, None if it isn't of it."""
    if not csv:
        return told if type(told) is _KINDS[known] else None
    if known == "int":
        return int(told) if _INT.fullmatch(told) else None
    return _BOOLS.get(told) if known == "bool" else told


def _fits(value: Any, longest: int) -> bool:
    if isinstance(value, str):
        return len(value.encode()) <= longest and not _UNSEEN.search(value)
    return value is not None and -(2**63) <= value < 2**63
