"""The vector that one unit adds to a query, in fractions, by the rules of tables-reference.md.

A query may have several ways to bound a person; the record of a way is a dictionary as in
plan.json. A part is one number of a cell: its kind, column, centre and radius.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.tables.reference import rank

Row = dict[str, Any]
Vector = list[Fraction]
Way = dict[str, Any]
Cell = tuple[Any, ...]


def added(rows: list[Row], spec: dict[str, Any], query: dict[str, Any], way: Way | None) -> Vector:
    """The vector that a unit with these rows adds, bounded in the given way (see `ways`)."""
    if "conditions" in query:
        most = query.get("max_conditions") if way is None else way["most"]
        return _conditions(rows, spec, query, most)
    by_row = spec["privacy"]["unit"] == "row"
    if clipped(query):
        return _clipped(rows, spec, query, way)
    total, seen = _in_cells(rows, spec, query, by_row=by_row)
    if by_row or way is None:
        return [value for cell in total.values() for value in cell]
    kind, *_, radius = _parts(spec, query, by_row=by_row)[-1]
    worth = radius if kind == "without" else None
    return _bounded(total, seen, way, who=rows[0]["person"] if rows else None, worth=worth)


def clipped(query: dict[str, Any]) -> bool:
    """True if the query counts rows or values beyond limits and bounds, over all groups."""
    return any(
        text.startswith(("count_over", "count_in_no", "count_outside"))
        for text in query.get("statistics", [])
    )


def _clipped(
    rows: list[Row], spec: dict[str, Any], query: dict[str, Any], way: Way | None
) -> Vector:
    if query["statistics"] == ["count_in_no_group"]:
        return [Fraction(any(_cell(row, spec, query) is None for row in rows))]
    results = [(row, cell) for row in rows if (cell := _cell(row, spec, query)) is not None]
    if query["statistics"] == ["count_over_limits"]:
        each = [sum(item == cell for _, item in results) for cell in {cell for _, cell in results}]
        stored = {
            "max_rows": sum(each),
            "max_groups": len(each),
            "max_rows_per_group": max([0, *each]),
        }
        limits = spec["contribution"]
        return [Fraction(any(stored[item] > limits[item] for item in stored if item in limits))]
    outside: Vector = []
    for text in query["statistics"]:
        column = text.removeprefix("count_outside(").rstrip(")")
        low, high = (Fraction(str(end)) for end in spec["columns"][column]["bounds"])
        there = [Fraction(row[column]) for row, _ in results if _there(row[column])]
        outside.append(Fraction(sum(not low <= value <= high for value in there)))
    if way is None:
        return outside
    if way["kind"] == "ball":
        return _in_ball(outside, Fraction(way["squared"]))
    return _times(outside, Fraction(way["total"]), max(outside))


def _ways_of_clipped(spec: dict[str, Any], query: dict[str, Any]) -> list[Way]:
    if query["statistics"] in (["count_over_limits"], ["count_in_no_group"]):
        return [{"kind": "first-cells", "most": 1}]
    limits, cells = spec["contribution"], len(_cells(query))
    sizes = [Fraction(str(limits[name])) for name in ("max_rows", "l1") if name in limits]
    if "max_rows_per_group" in limits:
        groups = min(cells, limits.get("max_groups", cells))
        sizes.append(Fraction(limits["max_rows_per_group"] * groups))
    results: list[Way] = []
    if sizes:
        most = format(Decimal(float(min(sizes))).normalize(), "f")
        most = str(limits["l1"]) if limits.get("l1") == float(min(sizes)) else most
        results.append({"kind": "cells", "first": None, "per_cell": most, "total": most})
    if "l2" in limits:
        squared = Decimal(str(limits["l2"])) ** 2
        results.append({"kind": "ball", "squared": format(squared.normalize(), "f")})
    return results


def _in_cells(
    rows: list[Row], spec: dict[str, Any], query: dict[str, Any], *, by_row: bool
) -> tuple[dict[Cell, Vector], set[Cell]]:
    """The numbers that the rows add to each cell before bounding, and the cells of the rows."""
    parts = _parts(spec, query, by_row=by_row)
    total = {cell: [Fraction(0)] * len(parts) for cell in _cells(query)}
    seen: set[Cell] = set()
    for row in rows:
        cell = _cell(row, spec, query)
        if cell is None:
            continue
        seen.add(cell)
        for i, (kind, name, centre, radius) in enumerate(parts):
            column, *others = name.split("&")
            if not all(_there(row[other]) for other in others):
                continue
            if kind == "units":
                total[cell][i] = Fraction(1)
            elif kind == "count":
                total[cell][i] += not column or _there(row[column])
            elif kind == "without":
                total[cell][i] += Fraction(0) if _there(row[column]) else 1 / radius
            else:
                value = _clamped(row, column, spec)
                value = Fraction(0) if value is None and kind == "filled" else value
                scaled = None if value is None else (value - centre) / radius
                if scaled is not None:
                    total[cell][i] += 2 * scaled**2 - 1 if kind == "square" else scaled
    return total, seen


def _bounded(
    total: dict[Cell, Vector], seen: set[Cell], way: Way, *, who: Any, worth: Fraction | None
) -> Vector:
    vector = [value for cell in total.values() for value in cell]
    if way["kind"] == "ball":
        return _in_ball(vector, Fraction(way["squared"]))
    if way["kind"] == "numbers":
        return _times(vector, Fraction(way["total"]), sum(map(abs, vector), Fraction(0)))
    first = way["most"] if way["kind"] == "first-cells" else way["first"]
    if way["kind"] == "first-cells":
        seen = {cell for cell in seen if any(total[cell])}  # a row without a value adds nobody
    cells = list(total)
    kept = _chosen([index for index, cell in enumerate(cells) if cell in seen], first, who=who)
    kept = [cells[index] for index in kept]
    if way["kind"] == "first-cells":
        return [Fraction(int(cell in kept)) for cell in total]
    per, limit = Fraction(way["per_cell"]), Fraction(way["total"])
    most = min(per, limit)
    moved = [
        _times(values, most, _size(values, worth)) if cell in kept else [Fraction(0)] * len(values)
        for cell, values in total.items()
    ]
    size = sum((_size(values, worth) for values in moved), Fraction(0))
    return _times([value for values in moved for value in values], limit, size)


def _size(values: Vector, worth: Fraction | None) -> Fraction:
    """The size of a cell's numbers: the largest absolute value.

    With `worth`, the last number counts rows without a value: `worth` times it is added to the
    largest of the others.
    """
    if worth is None:
        return max(map(abs, values))
    return max(map(abs, values[:-1])) + values[-1] * worth


def _times(values: Vector, limit: Fraction, size: Fraction) -> Vector:
    """The values, multiplied by limit/size if their `size` is above the `limit`."""
    return [value * limit / size for value in values] if size > limit else values


def ways(spec: dict[str, Any], query: dict[str, Any]) -> list[Way]:
    """The records of all ways to bound a person, by the rules of docs/tables-reference.md."""
    if "conditions" in query:
        most = query.get("max_conditions", len(query["conditions"]))
        return [{"kind": "first-cells", "most": most}]
    if clipped(query):
        return _ways_of_clipped(spec, query)
    limits, cells = spec["contribution"], len(_cells(query))
    kinds = [kind for kind, *_ in _parts(spec, query, by_row=False)]
    in_all, each = limits.get("max_rows"), limits.get("max_rows_per_group")
    groups = min(limits.get("max_groups", cells), cells)
    norms = [Fraction(str(limits[name])) for name in ("l1", "l2") if name in limits]
    results: list[Way] = []
    if kinds == ["units"] or (kinds == ["count"] and 1 in (in_all, each)):
        if in_all or each or "max_groups" in limits:
            results.append({"kind": "first-cells", "most": min(groups, in_all or groups)})
        elif cells == 1 and norms and min(norms) >= 1:
            results.append({"kind": "first-cells", "most": 1})
        if kinds == ["units"] and cells == 1 and results:
            return results
    elif in_all or each:
        per = min(item for item in (in_all, each) if item)
        results.append(
            {
                "kind": "cells",
                "first": groups if groups < cells else None,
                "per_cell": str(per),
                "total": str(min(per * groups, in_all or per * groups)),
            }
        )
    if "l1" in limits:
        size = str(limits["l1"])
        results.append({"kind": "numbers", "first": None, "per_cell": size, "total": size})
    if "l2" in limits:
        squared = Decimal(str(limits["l2"])) ** 2
        results.append({"kind": "ball", "squared": format(squared.normalize(), "f")})
    return results


def _in_ball(vector: Vector, squared: Fraction) -> Vector:
    norm = sum((value * value for value in vector), Fraction(0))
    if norm <= squared:
        return vector
    shrink = Fraction(math.isqrt(int(squared / norm * 2**120)), 2**60)
    return [value * shrink for value in vector]


def _chosen(places: list[int], most: int | None, *, who: Any) -> list[int]:
    """The indices of a person's cells that count, by rank; the first cells if `who` is None."""
    if who is not None and most is not None and most < len(places):
        places = sorted(places, key=lambda index: rank(who, index))
    return places[:most]


def _conditions(
    rows: list[Row], spec: dict[str, Any], query: dict[str, Any], most: int | None
) -> Vector:
    stored = [
        any(_holds(row, value, spec) for row in rows) for value in query["conditions"].values()
    ]
    who = rows[0]["person"] if rows and spec["privacy"]["unit"] != "row" else None
    computed = [index for index, item in enumerate(stored) if item]
    kept = _chosen(computed, most, who=who)
    return [Fraction(int(index in kept)) for index in range(len(stored))]


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
    """The value, or the number that replaces a missing value; None if there is no such number."""
    value = row[column]
    if value is not None and math.isfinite(value):
        return Fraction(value)
    missing = _missing(column, spec)
    return None if missing in {"skip", "none"} else Fraction(str(missing))


def _missing(column: str, spec: dict[str, Any]) -> Any:
    return spec["columns"].get(column, {}).get("missing", "skip")


def _there(value: Any) -> bool:
    return value is not None and (isinstance(value, str) or math.isfinite(value))


def _clamped(row: Row, column: str, spec: dict[str, Any]) -> Fraction | None:
    """The row's value within the bounds; None if it is missing and the row is left out."""
    low, high = (Fraction(str(end)) for end in spec["columns"][column]["bounds"])
    value = _number(row, column, spec)
    if value is None:
        return (low + high) / 2 if _missing(column, spec) == "none" else None
    return max(low, min(high, value))


def _parts(
    spec: dict[str, Any], query: dict[str, Any], *, by_row: bool
) -> list[tuple[str, str, Fraction, Fraction]]:
    """The distinct numbers of a cell: (kind, column, centre, radius).

    A sum beside a count is computed from the count and from values about a middle:
    docs/tables-reference.md.
    """
    asked = query.get("statistics", ["count"])
    each: list[tuple[str, list[_Part]]] = []
    for text in asked:
        texts = text.removeprefix("ratio(").split(", ")
        built = [_made_of(text, spec, by_row=by_row) for text in texts]
        each += zip(texts, built if len(texts) == 1 else _of_both(built, texts, spec), strict=True)
    there = {item for _, expected_value in each for item in expected_value}
    divided = [text for text in asked if text.startswith("ratio(")]
    from_zero = bool({"l1", "l2"} & spec.get("contribution", {}).keys())
    results: list[_Part] = []
    for text, computed in each:
        kind, _, column = text.rstrip(")").partition("(")
        apart = from_zero or any(f"sum({column})" in item for item in divided)
        results += computed if kind != "sum" or apart else _summed(computed, column, spec, there)
    results = list(dict.fromkeys(results))
    divided_by_rows = any(text.endswith(", count)") for text in divided)
    replaced = spec["privacy"].get("neighbours") == "replace-one"
    if divided_by_rows or replaced or from_zero or _fills(spec, query, by_row=by_row):
        return results
    return _with_and_without(results)


def _of_both(built: list[list[_Part]], texts: list[str], spec: dict[str, Any]) -> list[list[_Part]]:
    """The parts of a ratio over rows with both values: "a&b" is column a in rows that have b."""
    names = [text.rstrip(")").partition("(")[2] for text in texts]
    if not names[1]:
        return built
    gaps = sorted({name for name in names if _missing(name, spec) == "skip"})
    results: list[list[_Part]] = []
    for ((kind, _, *rest),), name in zip(built, names, strict=True):
        needed = gaps if kind == "count" else [name, *(gap for gap in gaps if gap != name)]
        results.append([(kind, "&".join(needed), rest[0], rest[1])])
    return results


def _fills(spec: dict[str, Any], query: dict[str, Any], *, by_row: bool) -> bool:
    """True if a unit may have the most rows of a cell in each of several cells."""
    cells = len(_cells(query))
    if by_row or cells == 1:
        return False
    limits = spec["contribution"]
    groups = min(limits.get("max_groups", cells), cells)
    each = limits.get("max_rows_per_group", limits.get("max_rows"))
    each = min(each, limits.get("max_rows", each))
    return groups == cells and limits.get("max_rows", math.inf) >= each * cells


def _with_and_without(found: list[_Part]) -> list[_Part]:
    """Replace the count of rows by counts of rows with and without a value, if that is possible.

    It is possible if all other parts are about the values of one column, not about rows with values
    of two columns.
    """
    others = [item for item in found if item != _ROWS]
    columns = {column for _, column, *_ in others}
    if len(others) == len(found) or len(columns) != 1 or "filled" in {other[0] for other in others}:
        return found
    (column,) = columns
    count = ("count", column, *_ROWS[2:])
    if not column or "&" in column or count not in others:
        return found
    if found.index(_ROWS) < found.index(count):
        others.remove(count)
        others.insert(found.index(_ROWS), count)
    root = Fraction(math.isqrt(len(others) * 4**8), 2**8)
    return [*others, ("without", column, Fraction(0), 1 / root)]


_Part = tuple[str, str, Fraction, Fraction]


def _made_of(text: str, spec: dict[str, Any], *, by_row: bool) -> list[_Part]:
    """The parts from which a statistic is computed; a sum is a sum of values about 0."""
    kind, _, column = text.rstrip(")").partition("(")
    if not column:
        units = kind == "count_units" and not by_row
        return [("units", *_ROWS[1:])] if units else [_ROWS]
    values = _values_of(column, spec)
    if kind == "count":
        return [values]
    low, high = (Fraction(str(end)) for end in spec["columns"][column]["bounds"])
    if kind == "sum":
        return [("value", column, Fraction(0), max(abs(low), abs(high)))]
    scaled = (column, (low + high) / 2, (high - low) / 2)
    squares: list[_Part] = [("square", *scaled)] if kind in {"var", "std"} else []
    return [("value", *scaled), *squares, values]


_ROWS: _Part = ("count", "", Fraction(0), Fraction(1))


def _values_of(column: str, spec: dict[str, Any]) -> _Part:
    return ("count", column, *_ROWS[2:]) if _missing(column, spec) == "skip" else _ROWS


def _summed(own: list[_Part], column: str, spec: dict[str, Any], there: set[_Part]) -> list[_Part]:
    """The parts of a sum, if the parts in `there` are released anyway; else `own`."""
    low, high = (Fraction(str(end)) for end in spec["columns"][column]["bounds"])
    replaced = spec["privacy"].get("neighbours") == "replace-one" and low >= 0
    values = _values_of(column, spec)
    ways = [("value", values, low, high)]
    if values != _ROWS:  # rows without a value count as 0
        ways.append(("filled", _ROWS, min(low, Fraction(0)), max(high, Fraction(0))))
    for kind, count, least, most in ways:
        value = (kind, column, (least + most) / 2, (most - least) / 2)
        if count in there and least + most and (value in there or not replaced):
            return [count, value]
    return own


def _cells(query: dict[str, Any]) -> list[tuple[Any, ...]]:
    axes = [
        list(range(len(item["edges"]) - 1)) if isinstance(item, dict) else list(item)
        for _, item in _grouped(query)
    ]
    return list(itertools.product(*axes))


def _grouped(query: dict[str, Any]) -> list[tuple[str, Any]]:
    """Each column by which rows are grouped, with its keys or its edges."""
    bins = [query["histogram"]] if "histogram" in query else []
    return [*query.get("group_by", {}).items(), *((item["column"], item) for item in bins)]


def _cell(row: Row, spec: dict[str, Any], query: dict[str, Any]) -> tuple[Any, ...] | None:
    cell: list[Any] = []
    for column, keys in _grouped(query):
        if isinstance(keys, dict):
            edges = [e if math.isinf(e) else Fraction(str(e)) for e in keys["edges"]]
            x = _number(row, column, spec)
            if x is None or not edges[0] <= x <= edges[-1]:
                return None
            cell.append(max(i for i, edge in enumerate(edges[:-1]) if edge <= x))
            continue
        matching = [key for key in keys if type(key) is type(row[column]) and key == row[column]]
        if not matching:
            return None
        cell += matching
    return tuple(cell)
