"""The expected results of the pipeline, by another route: pandas and exact Python integers.

It works row by row, and shares no code with the package: only the dictionary of a spec.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction
from typing import Any

import pandas as pd

from tests.tables.summands import Scalar, fixed, given, number, scalars

SALT = "5a" * 32


def rank(person: Any, *keys: Any) -> str:
    """The sort key of a person's cells or groups: the cells with the least keys count."""
    person = person if isinstance(person, str) else int(person)
    texts = [f"{len(str(item).encode())}:{item}" for item in (person, *keys)]
    return hashlib.sha256("".join([SALT, *texts]).encode()).hexdigest()


def cell_of(row: dict[str, Any], query: dict[str, Any], columns: dict[str, Any]) -> Any:
    """The cell of a row: its keys and bins; None if it is in no cell."""
    keys: list[Any] = []
    for name, public in query.get("group_by", {}).items():
        if isinstance(public, dict):
            keys.append(band_of(row[name], public["edges"], columns.get(name, {})))
            continue
        value = row[name]
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        matches = [key for key in public if type(key) is type(value) and key == value]
        if not matches:
            return None
        keys.append(matches[0])
    if "histogram" in query:
        name, edges = query["histogram"]["column"], query["histogram"]["edges"]
        keys.append(band_of(row[name], edges, columns.get(name, {})))
    return None if None in keys else tuple(keys)


def band_of(value: Any, edges: list[Any], column: dict[str, Any]) -> int | None:
    """The index of the bin [a, b) that holds the value; None without a bin.

    The last bin is closed.
    """
    x = number(value, given(column))
    if x is None:
        return None
    inside = [
        i
        for i, (a, b) in enumerate(itertools.pairwise(edges))
        if a <= x < b or (i == len(edges) - 2 and x == b)
    ]
    return inside[0] if inside else None


def axes_of(query: dict[str, Any]) -> list[list[Any]]:
    """The keys of each column by which rows are grouped; bands are given by their indices."""
    listed = list(query.get("group_by", {}).values())
    listed += [query["histogram"]] if "histogram" in query else []
    return [
        list(range(len(item["edges"]) - 1)) if isinstance(item, dict) else list(item)
        for item in listed
    ]


def vector(
    frame: pd.DataFrame,
    spec: dict[str, Any],
    query: dict[str, Any],
    *,
    bits: int,
    way: dict[str, Any] | None,
    within: bool = False,
    limits: dict[str, Any] | None = None,
) -> list[int]:
    """The integers before noise.

    `way` is the record of how persons are bounded, or None. With `within` nobody is bounded, since
    all are within the limits. `limits` is the record by which the summed numbers are chosen, if it
    isn't `way`: a way may let a person fill all cells.
    """
    columns, unit = spec.get("columns", {}), spec["privacy"]["unit"]
    by_row = unit == "row"
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    if "conditions" in query:
        most = len(query["conditions"]) if way is None else way["most"]
        return conditions(rows, query, columns, unit=None if by_row else unit, most=most)
    statistics = query.get("statistics", ["count"])
    from_zero = bool({"l1", "l2"} & spec.get("contribution", {}).keys())
    groups = math.prod(map(len, axes_of(query)))
    limits = limits or way
    fills = limits is not None and groups > 1 and fills_all(limits, groups)
    apart = not (fills or from_zero or spec["privacy"].get("neighbours") == "replace-one")
    parts = scalars(statistics, columns, by_row=by_row, from_zero=from_zero, apart=apart)
    cells = [()] if parts[0][0] == "outside" else list(itertools.product(*axes_of(query)))
    totals = {(cell, i): 0 for cell in cells for i in range(len(parts))}
    for person, added in contributions(rows, spec, query, parts, bits=bits).items():
        mine = (
            added
            if by_row or way is None or within
            else bounded(added, cells, way, person=person, bits=bits, parts=parts)
        )
        if parts[-1][0] == "without":
            last = len(parts) - 1
            mine |= {key: int(mine[key] / parts[-1][3]) for key in mine if key[1] == last}
        for key, value in mine.items():
            totals[key] += value
    return [totals[cell, i] for cell in cells for i in range(len(parts))]


def fills_all(way: dict[str, Any], groups: int) -> bool:
    """True if a person may have the most rows of a group in every group."""
    if way["kind"] != "cells":
        return True
    moved = groups if way["first"] is None else min(way["first"], groups)
    most = min(Fraction(way["per_cell"]), Fraction(way["total"]))
    return min(Fraction(way["total"]), most * moved) == most * groups


def bounded(
    mine: dict[Any, int],
    cells: list[Any],
    way: dict[str, Any],
    *,
    person: Any,
    bits: int,
    parts: list[Scalar],
) -> dict[Any, int]:
    """A person's integers after bounding, by docs/tables-reference.md and the code's rounding."""
    alone = len(cells) * len(parts) == 1
    beside = len(parts) - 1 if parts[-1][0] == "without" else None
    if way["kind"] == "first-cells":  # a cell without a counted value isn't a cell of the person
        mine = {key: value for key, value in mine.items() if value}
    first = way.get("most") or way.get("first")
    if first is not None:
        computed = {cell for cell, _ in mine}
        kept = sorted(computed, key=lambda cell: rank(person, cells.index(cell)))[:first]
        mine = {key: value for key, value in mine.items() if key[0] in kept}
    if way["kind"] == "first-cells":
        return dict.fromkeys(mine, 1)
    if way["kind"] == "ball":
        limit = math.floor(Fraction(way["squared"]) * 4**bits)
        most = math.isqrt(limit)
    else:
        limit = math.floor(Fraction(way["total"]) * 2**bits)
        most = min(limit, math.floor(Fraction(way["per_cell"]) * 2**bits))
    mine = each_at_most(mine, most, by_cell=way["kind"] == "cells", alone=alone, beside=beside)
    if way["kind"] == "ball":
        size = sum(value * value for value in mine.values())
    elif way["kind"] == "numbers":
        size = sum(map(abs, mine.values()))
    else:
        size = sum(size_of(mine, item, beside) for item in {cell for cell, _ in mine})
    if size <= limit:
        return mine
    factor = limit * (1 - 2.0**-40) / size
    factor = math.sqrt(factor) if way["kind"] == "ball" else factor
    return {key: math.trunc(value * factor) for key, value in mine.items()}


def size_of(mine: dict[Any, int], cell: Any, beside: int | None) -> int:
    """The largest absolute integer of a cell, plus the integer with the index `beside`, if any."""
    computed = {i: abs(value) for (item, i), value in mine.items() if item == cell}
    last = computed.pop(beside, 0)
    return max(computed.values()) + last


def each_at_most(
    mine: dict[Any, int], most: int, *, by_cell: bool, alone: bool, beside: int | None = None
) -> dict[Any, int]:
    """The integers with no absolute value above `most`.

    The integers of each cell, or all together, are shrunk by one factor.
    """
    results = {}
    for key, value in mine.items():
        alike = [v for (cell, _), v in mine.items() if cell == key[0] or not by_cell]
        largest = max(map(abs, alike)) if beside is None else size_of(mine, key[0], beside)
        if largest <= most:
            results[key] = value
        elif alone or (by_cell and len(alike) == 1):
            results[key] = max(-most, min(most, value))
        else:
            results[key] = math.trunc(value * (most * (1 - 2.0**-40) / largest))
    return results


def published(
    kind: str, numbers: list[float], *, whole: bool, clamp: bool
) -> tuple[float, float, float]:
    """A statistic's value, low and high by docs/tables-reference.md, one number at a time."""
    value, low, high = numbers
    if clamp and kind != "mean":
        value, low, high = (x if x > 0 else 0.0 for x in (value, low, high))
    if whole and kind.startswith("count"):
        value, low, high = round(value), math.floor(low), math.ceil(high)
        value, low, high = (max(-(2**53), min(2**53, x)) for x in (value, low, high))
    return value, low, high


def contributions(
    rows: list[dict[str, Any]],
    spec: dict[str, Any],
    query: dict[str, Any],
    parts: list[Scalar],
    *,
    bits: int,
) -> dict[Any, dict[Any, int]]:
    """The integers that each unit adds to each cell and component, before they are clipped."""
    columns, unit = spec.get("columns", {}), spec["privacy"]["unit"]
    per_unit: dict[Any, dict[Any, int]] = {}
    for index, row in enumerate(rows):
        person = index if unit == "row" else row[unit]
        cell = cell_of(row, query, columns)
        if person is None or cell is None:
            continue
        mine = per_unit.setdefault(person, {})
        cell = () if parts[0][0] == "outside" else cell  # counted over all groups together
        for i, (kind, names, centre, radius) in enumerate(parts):
            name, *others = names if isinstance(names, tuple) else (names,)
            if kind == "units":
                mine[cell, i] = 2**bits
            else:
                add = 2**bits
                if not all(has_value(row[other]) for other in others):
                    add = 0
                elif kind == "outside":
                    x, (low, high) = number(row[name], None), map(float, columns[name]["bounds"])
                    add *= x is not None and not low <= x <= high
                elif kind == "without":
                    add = 0 if has_value(row[name]) else add
                elif kind == "count":
                    add *= name is None or has_value(row[name])
                else:
                    computed = columns[name]
                    add = fixed(
                        row[name], computed, centre=centre, radius=radius, bits=bits, kind=kind
                    )
                mine[cell, i] = mine.get((cell, i), 0) + add
    return per_unit


def has_value(value: Any) -> bool:
    """True if a value isn't missing: if it is a text or a finite number."""
    return isinstance(value, str) or number(value, None) is not None


def conditions(
    rows: list[dict[str, Any]],
    query: dict[str, Any],
    columns: dict[str, Any],
    *,
    unit: str | None,
    most: int,
) -> list[int]:
    """The number of units that meet each condition; a unit counts in at most `most` conditions.

    A person's conditions are chosen by rank, and a row counts in its first conditions.
    """
    mine: dict[Any, list[bool]] = {}
    for index, row in enumerate(rows):
        who = index if unit is None else row[unit]
        if who is None:
            continue
        stored = mine.setdefault(who, [False] * len(query["conditions"]))
        for i, predicates in enumerate(query["conditions"].values()):
            stored[i] |= all(
                satisfies(row[column], predicate, given(columns.get(column, {})))
                for column, predicate in predicates.items()
            )
    totals = [0] * len(query["conditions"])
    for who, stored in mine.items():
        places = [i for i, item in enumerate(stored) if item]
        if unit is not None and most < len(places):
            places.sort(key=lambda index: rank(who, index))
        for i in places[:most]:
            totals[i] += 1
    return totals


def satisfies(value: Any, predicate: dict[str, Any], missing: Any) -> bool:
    if "among" in predicate:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return any(type(key) is type(value) and key == value for key in predicate["among"])
    x = number(value, missing)
    return x is not None and (
        x >= predicate.get("min", -math.inf)
        and x <= predicate.get("max", math.inf)
        and x < predicate.get("below", math.inf)
    )
