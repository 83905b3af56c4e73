"""The components that are summed for the statistics of a query, by another route.

See `reference`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

Scalar = tuple[str, Any, Fraction, Fraction]
"""A component: (kind, column, centre, radius).

The column may be a pair: then the component is about the first, in rows with both values.
"""
ROWS: Scalar = ("count", None, Fraction(0), Fraction(1))


def fixed(
    value: Any,
    column: dict[str, Any],
    *,
    centre: Fraction,
    radius: Fraction,
    bits: int,
    kind: str = "value",
) -> int:
    """The fixed-point integer of one value, or of its square; 0 for a missing value.

    For the kind "filled", a missing value counts as the value 0.
    """
    low, high = column["bounds"]
    x = number(value, becomes(column))
    if x is None and kind != "filled":
        return 0
    x = 0.0 if x is None else min(max(x, float(low)), float(high))
    scaled = (x - float(centre)) * float(Fraction(2**bits) / radius)
    if kind == "square":  # 2u² − 1; one float product is rounded
        scaled = scaled * scaled / 2.0 ** (bits - 1)
        return max(-(2**bits), min(2**bits, math.floor(scaled + 0.5) - 2**bits))
    return max(-(2**bits), min(2**bits, math.floor(scaled + 0.5)))


def becomes(column: dict[str, Any]) -> Any:
    """The number that a missing value counts as in sums and means; None if it is left out."""
    if column.get("missing") == "none":
        return float(sum(map(Fraction, column["bounds"])) / 2)
    return given(column)


def given(column: dict[str, Any]) -> Any:
    """The number that a column's missing values become; None without one."""
    text = column.get("missing", "skip")
    return None if text in {"skip", "none"} else text


def values_of(name: str, columns: dict[str, Any]) -> Scalar:
    """The component for the denominator of the column's mean: a count of values, or of rows."""
    apart = columns.get(name, {}).get("missing", "skip") == "skip"
    return ("count", name if apart else None, Fraction(0), Fraction(1))


def number(value: Any, missing: Any) -> Any:
    try:
        x = float(value)
    except (TypeError, ValueError):
        return missing
    return x if math.isfinite(x) else missing


def scalars(
    statistics: list[str],
    columns: dict[str, Any],
    *,
    by_row: bool,
    from_zero: bool = True,
    apart: bool = False,
) -> list[Scalar]:
    """The distinct components of the statistics, in the order of first use.

    A sum beside a count of the same values, or of all rows, is a sum about the middle of its
    bounds, unless it is `from_zero`. With `apart`, rows without a value are counted separately if
    possible.
    """
    results: list[Scalar] = []
    over_rows = any(text.startswith("ratio(") and text.endswith("count)") for text in statistics)
    counts = [ROWS] if "count" in statistics else []
    for text in statistics:
        kind, _, rest = text.partition("(")
        if rest and kind in {"count", "mean", "var", "std"}:
            counts.append(values_of(rest.rstrip(")"), columns))
    for text in statistics:
        kind, _, rest = text.partition("(")
        name = rest.rstrip(")")
        if kind == "ratio":
            parts = [f"{part.strip().rstrip(')')})" for part in rest.split(",")]
            parts = [part.replace("count)", "count") for part in parts]
            new = both_present(scalars(parts, columns, by_row=by_row), parts, columns)
        elif kind == "count_units":
            new = [ROWS if by_row else ("units", *ROWS[1:])]
        elif kind == "count_outside":
            new = [("outside", name, *ROWS[2:])]
        elif kind == "count":
            new = [values_of(name, columns) if rest else ROWS]
        elif kind == "sum":
            new = summed(name, columns, [] if from_zero else counts)
        else:
            new = [("value", name, *middle_of(columns[name]["bounds"]))]
            if kind in {"var", "std"}:
                new.append(("square", *new[0][1:]))
            new.append(values_of(name, columns))
        results += [item for item in new if item not in results]
    return with_and_without(results) if apart and not over_rows else results


def both_present(new: list[Scalar], parts: list[str], columns: dict[str, Any]) -> list[Scalar]:
    """The two components of a ratio, in rows that have a value in both columns."""
    above, below = (part.partition("(")[2].rstrip(")") for part in parts)
    gaps = [
        item for item in (above, below) if columns.get(item, {}).get("missing", "skip") == "skip"
    ]
    if not below or above == below:
        return new
    results: list[Scalar] = []
    for (kind, _, centre, radius), computed in zip(new, (above, below), strict=True):
        needed = (
            sorted(gaps)
            if kind == "count"
            else [computed, *(gap for gap in gaps if gap != computed)]
        )
        name = tuple(needed) if len(needed) > 1 else (needed or [None])[0]
        results.append((kind, name, centre, radius))
    return results


def with_and_without(found: list[Scalar]) -> list[Scalar]:
    """Replace the count of rows by counts of rows with and without a value, if possible.

    It is possible if all other components are about one column. The last component then counts rows
    without a value.
    """
    names = {name for _, name, *_ in found if name is not None}
    counted = ("count", *names, *ROWS[2:])
    kinds = [kind for kind, name, *_ in found if name is None]
    if len(names) != 1 or kinds != ["count"] or counted not in found:
        return found
    if any(kind == "filled" for kind, *_ in found):
        return found
    others = [item for item in found if item != ROWS]
    if found.index(ROWS) < found.index(counted):  # it replaces the count of rows
        others.insert(found.index(ROWS), others.pop(others.index(counted)))
    root = Fraction(math.isqrt(len(others) * 4**8), 2**8)
    return [*others, ("without", *names, Fraction(0), 1 / root)]


def middle_of(bounds: list[Any]) -> tuple[Fraction, Fraction]:
    low, high = map(Fraction, bounds)
    return (low + high) / 2, (high - low) / 2


def summed(name: str, columns: dict[str, Any], counts: list[Scalar]) -> list[Scalar]:
    """The components of a sum, given the counts that the query has anyway."""
    low, high = map(Fraction, columns[name]["bounds"])
    for count, kind, bounds in (
        (values_of(name, columns), "value", [low, high]),
        (ROWS, "filled", [min(low, 0), max(high, 0)]),
    ):
        middle, radius = middle_of(bounds)
        if count in counts and middle:
            return [count, (kind, name, middle, radius)]
    return [("value", name, Fraction(0), max(abs(low), abs(high)))]
