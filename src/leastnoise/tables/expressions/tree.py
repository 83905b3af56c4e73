"""Expressions as trees whose every node has a type, so that no row can make one fail.

Types are checked where values meet. Numbers are float64. Arithmetic is IEEE 754's, where a result
that isn't finite is NULL. A whole number is one of at most 2^53 in size, NULL beyond it, so that
float64 holds it exactly. Texts are compared by their bytes. NULL is as in SQL: three truth values.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Final, Literal, final

from leastnoise import _words
from leastnoise._validate import MAX_COUNT

Type = Literal["int", "float", "text", "bool", "date", "timestamp", "null"]
"""A timestamp is of no time zone, and used through its date alone, which it is to engines."""
Value = int | float | str | bool | date | None

LARGEST_INT = MAX_COUNT
LARGEST_FLOAT = sys.float_info.max
ROUNDED_BELOW = 2.0**52
"""Where float64 still has halves; from here on every number is whole."""
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER = UPPER.lower()
"""The letters that lower and upper change: engines have different tables for all others."""


@final
@dataclass(frozen=True)
class ColumnRef:
    """The value of a column; NULL where the row has none."""

    name: str
    type: Type

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """None: a column is a leaf."""
        return ()


@final
@dataclass(frozen=True)
class Constant:
    """A public value."""

    value: Value
    type: Type

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """None: a constant is a leaf."""
        return ()


@final
@dataclass(frozen=True)
class Call:
    """An operator or a function of other expressions, by its name in SQL; some need a word more.

    `unit` is what `date_trunc` cuts to. `case` takes a condition and a value in turn, and at the
    end what holds otherwise. `nearest` is ⌊x + ½⌋; the second argument of `round` is p, and it is
    the same of multiples of 1/p.
    """

    operator: str
    arguments: tuple[Expression, ...]
    type: Type
    unit: str = ""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Found once: of columns that use one twice, and so on, it would take 2^depth steps."""
        return hash((self.operator, self.arguments, self.type, self.unit))


Expression = ColumnRef | Constant | Call


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield every node, arguments before what uses them, each only once."""
    seen: set[Expression] = set()

    def visit(node: Expression) -> Iterator[Expression]:
        if node in seen:
            return
        seen.add(node)
        for argument in node.arguments:
            yield from visit(argument)
        yield node

    yield from visit(expression)


def levels_of(expressions: Iterable[Expression]) -> list[list[Call]]:
    """Return all calls, level by level: each uses columns, constants and what is in levels before.

    So an engine computes each of them once, however often it is used.
    """
    at: dict[Expression, int] = {}
    levels: list[list[Call]] = []
    for expression in expressions:
        for node in walk(expression):
            if node in at or not isinstance(node, Call):
                continue
            at[node] = 1 + max((at.get(one, 0) for one in node.arguments), default=0)
            while len(levels) < at[node]:
                levels.append([])
            levels[at[node] - 1].append(node)
    return levels


def substitute(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    """Return an expression in which columns that are `known` by another one are that one."""
    made: dict[Expression, Expression] = {}
    for node in walk(expression):
        if isinstance(node, ColumnRef):
            made[node] = known.get(node.name, node)
        elif isinstance(node, Call):
            made[node] = replace(node, arguments=tuple(made[one] for one in node.arguments))
        else:
            made[node] = node
    return made[expression]


def columns_of(expression: Expression) -> tuple[str, ...]:
    """Return the columns that an expression looks at, in the order in which it does."""
    return tuple(node.name for node in walk(expression) if isinstance(node, ColumnRef))


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
        names = _words.list_names([_NAMES[kind] for kind in dict.fromkeys(types)])
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
    if found.type == "timestamp" and isinstance(found, ColumnRef):
        return ColumnRef(found.name, "date")
    return found


def read_day(text: str) -> date:
    """Return the date that a text spells; raises ValueError."""
    with suppress(ValueError):
        if len(text) == len("2024-01-31"):  # Python knows others, such as 20240131
            return date.fromisoformat(text)
    raise ValueError(f"Expected a date such as '2024-01-31', got {text[:40]!r}.")
