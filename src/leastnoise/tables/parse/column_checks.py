"""What is wrong with columns: with what a spec declares of them, and where it names others."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from leastnoise import _validate
from leastnoise.tables.parse.column_uses import Problem
from leastnoise.tables.spec import source_names
from leastnoise.tables.spec.column import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.values import Edge, Key

# What is scaled by less, to integers of 28 bits or from them, may pass the range of floats.
SMALLEST_WIDTH = Fraction(1, 10**290)


def is_csv(spec: Spec) -> bool:
    """Say whether the source is CSV by its name."""
    return any(map(source_names.is_csv, source_names_of(spec)))


def source_names_of(spec: Spec) -> tuple[str, ...]:
    """Return the texts of the source; () if it couldn't be read."""
    return spec.data.sources


def column_problems(spec: Spec) -> Iterator[Problem]:
    """Yield what is wrong with what a spec says of its columns."""
    for name, column in spec.columns.items():
        path = f"columns.{name}"
        yield from undeclared(spec, name, path)
        rest = column.model_copy(update={"keys": (), "label": None})
        useful = (column.keys or column.label) and rest == Column()
        if spec.data.types.get(name) == "text" and not useful:
            yield path, "A text column has no bounds; declare a number type, or leave it out."
        yield from key_problems(column.keys, f"{path}.keys") if column.keys else ()
        yield from edge_problems(column.edges, f"{path}.edges") if column.edges else ()
        if column.keys and column.edges:
            yield f"{path}.edges", "Not used beside keys: a query groups by one of them."
        if column.widest is None:
            continue
        low, high = column.widest
        if column.finds is not None:
            yield from _missing_where_found(column, path)
            continue
        if low > high:
            yield f"{path}.bounds", f"Reversed: [{float(low):g}, {float(high):g}]. Swap them."
        elif float(low) >= float(high):
            yield f"{path}.bounds", "Expected low < high, apart by more than float64 can tell."
        elif high - low < SMALLEST_WIDTH:
            why = f"Expected bounds apart by 1e-290 at least. Give {name} in a smaller unit."
            yield f"{path}.bounds", why
        else:
            yield from _missing_number(column, path)


def _missing_number(column: Column, path: str) -> Iterator[Problem]:
    """Yield a problem if what missing values count as is outside of all bounds."""
    number, (low, high) = column.number, column.widest or (0, 0)
    if number is not None and not low <= number <= high:
        why = f"Expected a number within the bounds, got {float(number):g}: it would be clamped. "
        yield f"{path}.missing", why + "Let the bounds hold it, or choose another."


def _missing_where_found(column: Column, path: str) -> Iterator[Problem]:
    """Yield a problem if what missing values count as may be outside of bounds that are found."""
    finds = column.finds
    if finds is not None and column.number not in {None, finds.low, finds.high}:
        why = "It may be outside of the bounds that are found, and would be clamped. "
        yield f"{path}.missing", why + 'Write "skip", "none", or the bound that is known.'


def edge_problems(edges: Sequence[Edge], key: str) -> Iterator[Problem]:
    """Yield what is wrong with edges, which increase."""
    if len(edges) < 2:
        yield key, "Expected two or more edges."
    for left, right in pairwise(edges):
        if left == right:
            yield key, f"{float(left):g} is given twice."
        elif float(left) >= float(right):
            yield key, f"Expected increasing edges, got {float(left):g} before {float(right):g}."


def key_problems(keys: Sequence[Key], path: str) -> Iterator[Problem]:
    """Yield what is wrong with public keys, which are of one type, each given once."""
    if not keys:
        yield path, "Expected at least one key."
    # True == 1 in Python, so the type goes beside the value.
    for (_, value), times in Counter((type(value), value) for value in keys).items():
        if times > 1:
            yield path, f"The key {value!r} is given {times} times."
    if len({type(value) for value in keys}) > 1:
        yield path, "Expected keys of one type."


def undeclared(spec: Spec, column: str, key: str) -> Iterator[Problem]:
    """Yield a problem if a CSV's column, which has no type of its own, is given none."""
    declared = spec.data.types
    if is_csv(spec) and declared and column not in declared and column not in spec.derive:
        hint = _validate.nearest(column, (*declared, *spec.derive))
        hint = f" {hint} If both are one column, correct one of the two." if hint else ""
        yield key, f"The column {column!r} has no type in data.types.{hint}"


def has_bounds(spec: Spec, column: str) -> bool:
    """Say whether a column has public bounds."""
    known = spec.columns.get(column)
    return known is not None and known.limits is not None


def unbounded(spec: Spec, column: str, key: str) -> Iterator[Problem]:
    """Yield a problem if a column, whose values are summed, has no bounds."""
    if not has_bounds(spec, column):
        hint = "" if column in spec.columns else _validate.nearest(column, tuple(spec.columns))
        needs = f"The column {column!r} needs bounds: [columns.{column}] bounds = [low, high]."
        yield key, f"{needs}{' ' if hint else ''}{hint}"
