"""What one unit adds to a query, in plain fractions, as docs/tables.md says it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

Row = dict[str, Any]
Vector = list[Fraction]


def added(rows: list[Row], spec: dict[str, Any], query: dict[str, Any]) -> Vector:
    """Return the vector of a unit with these rows, bounded as the spec says."""
    if "where" in query:
        return _conditions(rows, spec, query)
    by_row = spec["privacy"]["unit"] == "row"
    parts = _parts(spec, query, by_row=by_row)
    cells = _cells(query)
    total = {cell: [Fraction(0)] * len(parts) for cell in cells}
    for row in rows:
        cell = _cell(row, spec, query)
        if cell is None:
            continue
        for i, (kind, column, centre, radius) in enumerate(parts):
            if kind == "units":
                total[cell][i] = Fraction(1)
            elif kind == "count":
                total[cell][i] += 1
            else:
                total[cell][i] += (_clamped(row, column, spec) - centre) / radius
    vector = [value for cell in cells for value in total[cell]]
    if by_row:
        return vector
    contribution = spec["contribution"]
    if [kind for kind, *_ in parts] == ["units"] and len(cells) > 1 and "max_rows" in contribution:
        return _first(vector, contribution["max_rows"])
    return _clipped(vector, clip_squared(spec, query))


def clip_squared(spec: dict[str, Any], query: dict[str, Any]) -> Fraction:
    """Return C²: as stated, or the largest that so many rows can have, found by trying all."""
    contribution = spec["contribution"]
    if "l2" in contribution:
        return Fraction(str(contribution["l2"])) ** 2
    parts = _parts(spec, query, by_row=False)
    once = sum(kind == "units" for kind, *_ in parts)
    many, rows = len(parts) - once, contribution["max_rows"]
    best = 0
    for touched in range(1, min(rows, len(_cells(query))) + 1):
        # of so many rows in so many cells the squares are largest with all but one row elsewhere
        squares = (rows - touched + 1) ** 2 + touched - 1
        best = max(best, many * squares + touched * once)
    return Fraction(best)


def _clipped(vector: Vector, squared: Fraction) -> Vector:
    clip = Fraction(math.isqrt(int(squared * 2**120)), 2**60)
    vector = [max(-clip, min(clip, value)) for value in vector]
    norm = sum((value * value for value in vector), Fraction(0))
    if norm <= squared:
        return vector
    shrink = Fraction(math.isqrt(int(squared / norm * 2**120)), 2**60)
    return [value * shrink for value in vector]


def _first(vector: Vector, most: int) -> Vector:
    places = [i for i, value in enumerate(vector) if value]
    return [Fraction(int(i in places[:most])) for i in range(len(vector))]


def _conditions(rows: list[Row], spec: dict[str, Any], query: dict[str, Any]) -> Vector:
    held = [
        Fraction(int(any(_holds(row, one, spec) for row in rows)))
        for one in query["where"].values()
    ]
    return _first(held, query.get("max_conditions", len(held)))


def _holds(row: Row, predicates: dict[str, Any], spec: dict[str, Any]) -> bool:
    for column, predicate in predicates.items():
        if "among" in predicate:
            if not any(
                type(k) is type(row[column]) and k == row[column] for k in predicate["among"]
            ):
                return False
            continue
        x = _number(row, column, spec)
        if x is None or x < Fraction(str(predicate.get("min", x))):
            return False
        if x > Fraction(str(predicate.get("max", x))):
            return False
        if "below" in predicate and x >= Fraction(str(predicate["below"])):
            return False
    return True


def _number(row: Row, column: str, spec: dict[str, Any]) -> Fraction | None:
    """Return the value, or what stands for a missing one; None if nothing does."""
    value = row[column]
    if value is not None and math.isfinite(value):
        return Fraction(value)
    missing = spec["columns"].get(column, {}).get("missing")
    return None if missing is None else Fraction(str(missing))


def _clamped(row: Row, column: str, spec: dict[str, Any]) -> Fraction:
    low, high = (Fraction(str(end)) for end in spec["columns"][column]["bounds"])
    value = _number(row, column, spec)
    return max(low, min(high, Fraction(0) if value is None else value))


def _parts(
    spec: dict[str, Any], query: dict[str, Any], *, by_row: bool
) -> list[tuple[str, str, Fraction, Fraction]]:
    """Return the numbers of a cell: (kind, column, centre, radius), each once."""
    count = ("count", "", Fraction(0), Fraction(1))
    found: list[tuple[str, str, Fraction, Fraction]] = []
    for text in query.get("statistics", ["count"]):
        kind, _, column = text.rstrip(")").partition("(")
        if not column:
            units = kind == "count_units" and not by_row
            found.append(("units", *count[1:]) if units else count)
            continue
        low, high = (Fraction(str(end)) for end in spec["columns"][column]["bounds"])
        if kind == "sum":
            found.append(("value", column, Fraction(0), max(abs(low), abs(high))))
        else:
            found += [("value", column, (low + high) / 2, (high - low) / 2), count]
    return list(dict.fromkeys(found))


def _cells(query: dict[str, Any]) -> list[tuple[Any, ...]]:
    axes = [list(keys) for keys in query.get("group_by", {}).values()]
    if "histogram" in query:
        axes.append(list(range(len(query["histogram"]["edges"]) - 1)))
    return list(itertools.product(*axes))


def _cell(row: Row, spec: dict[str, Any], query: dict[str, Any]) -> tuple[Any, ...] | None:
    cell: list[Any] = []
    for column, keys in query.get("group_by", {}).items():
        matching = [key for key in keys if type(key) is type(row[column]) and key == row[column]]
        if not matching:
            return None
        cell += matching
    if "histogram" in query:
        edges = [Fraction(str(edge)) for edge in query["histogram"]["edges"]]
        x = _number(row, query["histogram"]["column"], spec)
        if x is None or not edges[0] <= x <= edges[-1]:
            return None
        inside = [i for i, edge in enumerate(edges[:-1]) if edge <= x]
        cell.append(inside[-1])
    return tuple(cell)
