"""The types of values in an expression, checked where they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Final

from leastnoise import _words
from leastnoise.tables.expressions.tree import Call, Column, Constant, Expression, Type

NUMBERS: Final[tuple[Type, ...]] = ("int", "float")
STAMPED = "A timestamp is used by its date: write date(x)."


def alike(given: Sequence[Expression], word: str) -> tuple[Expression, ...]:
    """Return values that are compared or stand for one another, of one type; ValueError if not."""
    dates = any(one.type == "date" for one in given)
    found = tuple(
        Constant(read_day(one.value), "date")
        if dates and isinstance(one, Constant) and isinstance(one.value, str)
        else one
        for one in given
    )
    _ = type_of(found, word)
    return found


def type_of(values: Sequence[Expression], word: str = "") -> Type:
    """Return the one type of several values; raises ValueError where they have none."""
    types: list[Type] = [one.type for one in values if one.type != "null"]
    if "timestamp" in types:
        raise ValueError(STAMPED)
    if not types:
        return "null"
    if all(kind in NUMBERS for kind in types):
        return "float" if "float" in types else "int"
    if len(set(types)) > 1:
        names = _words.listed([_NAMES[kind] for kind in dict.fromkeys(types)])
        raise ValueError(f"{word} has {names} in one place: they are never equal.")
    return types[0]


_NAMES: Mapping[Type, str] = {
    "int": "a number",
    "float": "a number",
    "text": "a text",
    "bool": "a truth value",
    "date": "a date",
    "timestamp": "a timestamp",
    "null": "NULL",
}


def as_number(found: Expression, word: str) -> Expression:
    """Return a value as a number, true as 1; raises ValueError where it is none."""
    if found.type == "bool":
        one, zero = Constant(1, "int"), Constant(0, "int")
        untrue = Call("not", (found,), "bool")
        return Call("case", (found, one, untrue, zero, Constant(None, "null")), "int")
    return as_type(found, NUMBERS, word)


def as_type(found: Expression, wanted: Sequence[Type], word: str, *, hint: str = "") -> Expression:
    """Return a value of a `wanted` type, of a timestamp its date; ValueError where it is none."""
    found = as_stored(found) if "date" in wanted else found
    if found.type in wanted or found.type == "null":
        return found
    expected = " or ".join(dict.fromkeys(_NAMES[kind] for kind in wanted))
    raise ValueError(f"{word} takes {expected}, got {_NAMES[found.type]}.{hint}")


def as_stored(found: Expression) -> Expression:
    """Return a value as engines have it: a timestamp, which is a column always, is its date."""
    if found.type == "timestamp" and isinstance(found, Column):
        return Column(found.name, "date")
    return found


def read_day(text: str) -> date:
    """Return the date that a text spells; raises ValueError."""
    with suppress(ValueError):
        if len(text) == len("2024-01-31"):  # Python knows others, such as 20240131
            return date.fromisoformat(text)
    raise ValueError(f"Expected a date such as '2024-01-31', got {text[:40]!r}.")
