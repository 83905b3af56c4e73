"""Expressions as trees whose nodes all have a type, so that no row can make an expression fail.

Types are checked wherever values are combined. Numbers are float64. Arithmetic follows IEEE 754,
but a result that isn't finite is NULL. A whole number is at most 2^53 in size, and NULL beyond, so
that float64 represents it exactly. Texts are compared by their bytes. NULL behaves as in SQL, with
three truth values.
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

Type = Literal["int", "float", "text", "bool", "date", "timestamp", "instant", "null"]
"""A timestamp is the time on some local clock, an instant a time in UTC: see `dates`, `zones`."""
Value = int | float | str | bool | date | None

LARGEST_INT = MAX_COUNT
LARGEST_FLOAT = sys.float_info.max
ROUNDED_BELOW = 2.0**52
"""Float64 has numbers with a half only below this number; from here on, all are whole."""
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER = UPPER.lower()
"""The letters that `lower` and `upper` change; engines disagree about other letters."""


@final
@dataclass(frozen=True)
class ColumnRef:
    """The value of a column, or NULL if it is missing in the row."""

    name: str
    type: Type

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """No arguments: a column is a leaf."""
        return ()


@final
@dataclass(frozen=True)
class UnitColumn:
    """The identifier of a row's unit, compared as for the limits on a unit: see `over_unit`."""

    name: str
    type: Type = "text"

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """No arguments: the unit is a leaf."""
        return ()


@final
@dataclass(frozen=True)
class Constant:
    """A constant of an expression, which is as public as the spec."""

    value: Value
    type: Type

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """No arguments: a constant is a leaf."""
        return ()


@final
@dataclass(frozen=True)
class Call:
    """An operator or a function of other expressions, by name.

    `unit` is the calendar unit to which `date_trunc` cuts, or the pattern of `like` and `matches`.
    The arguments of `case` are conditions and values in turn, then the default. `nearest` of x is
    ⌊x + ½⌋; `round` of x and a second argument p is ⌊x·p + ½⌋ / p.
    """

    operator: str
    arguments: tuple[Expression, ...]
    type: Type
    unit: str = ""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash, cached: without a cache, a tree with shared nodes takes 2^depth steps."""
        return hash((self.operator, self.arguments, self.type, self.unit))


Expression = ColumnRef | UnitColumn | Constant | Call


INLINE = ("f+", "f-", "f*", "f/", "step")
"""Operators of float64 that engines write inside of the call that uses them.

`f+`, `f-`, `f*` and `f/` follow IEEE 754, for results that are known to be finite. `step` takes x,
a first value, then thresholds in ascending order, each with the value from there on.
"""


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield every node once, the arguments of a call before the call."""
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
    """Sort all calls into levels: a call uses only columns, constants and earlier levels.

    So an engine computes each call once, even if it is used often. Calls of `INLINE` operators are
    left out, because they are written inside the calls that use them.
    """
    level_of: dict[Expression, int] = {}
    levels: list[list[Call]] = []
    for expression in expressions:
        for node in walk(expression):
            if node in level_of or not isinstance(node, Call):
                continue
            before = max((level_of.get(argument, 0) for argument in node.arguments), default=0)
            level_of[node] = before if node.operator in INLINE else before + 1
            if node.operator in INLINE:
                continue
            while len(levels) < level_of[node]:
                levels.append([])
            levels[level_of[node] - 1].append(node)
    return levels


def substitute(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    """Replace each column by the expression that `known` has for it, if any."""
    copies: dict[Expression, Expression] = {}
    for node in walk(expression):
        if isinstance(node, ColumnRef | UnitColumn):
            copies[node] = known.get(node.name, node)
        elif isinstance(node, Call):
            copies[node] = replace(
                node, arguments=tuple(copies[argument] for argument in node.arguments)
            )
        else:
            copies[node] = node
    return copies[expression]


def columns_of(expression: Expression) -> tuple[str, ...]:
    """The names of the columns that an expression uses, in the order of their use.

    The unit after `over` is not among them: see `over_unit.units_of`.
    """
    return tuple(node.name for node in walk(expression) if isinstance(node, ColumnRef))


NUMBERS: Final[tuple[Type, ...]] = ("int", "float")
STAMPED = "A timestamp is used by its date: write date(x)."
ZONED = (
    "A timestamp with a time zone is used by its date or clock in a zone you name: write "
    "date(x at time zone 'Europe/Berlin')."
)


def unify(values: Sequence[Expression], word: str) -> tuple[Expression, ...]:
    """Return values that are compared, or raise ValueError if they have no common type.

    If one of them is a date, constant texts are converted to dates. `word` names the comparison.
    """
    dates = any(value.type == "date" for value in values)
    parsed = tuple(
        Constant(read_day(value.value), "date")
        if dates and isinstance(value, Constant) and isinstance(value.value, str)
        else value
        for value in values
    )
    _ = type_of(parsed, word)
    return parsed


def type_of(values: Sequence[Expression], word: str = "") -> Type:
    """The common type of several values; raises ValueError for unlike types and timestamps."""
    types: list[Type] = [value.type for value in values if value.type != "null"]
    if "timestamp" in types:
        raise ValueError(STAMPED)
    if "instant" in types:
        raise ValueError(ZONED)
    if not types:
        return "null"
    if all(kind in NUMBERS for kind in types):
        return "float" if "float" in types else "int"
    if len(set(types)) > 1:
        names = _words.join_names([_NAMES[kind] for kind in dict.fromkeys(types)])
        raise ValueError(f"{word} compares {names}, which are never equal. Convert one of them.")
    return types[0]


_NAMES: Mapping[Type, str] = {
    "int": "a number",
    "float": "a number",
    "text": "a text",
    "bool": "a truth value",
    "date": "a date",
    "timestamp": "a timestamp",
    "instant": "a timestamp with a time zone",
    "null": "NULL",
}


def as_number(value: Expression, word: str) -> Expression:
    """Convert a value to a number; true becomes 1. Raises ValueError for other types."""
    if value.type == "bool":
        unit, zero = Constant(1, "int"), Constant(0, "int")
        untrue = Call("not", (value,), "bool")
        return Call("case", (value, unit, untrue, zero, Constant(None, "null")), "int")
    return as_type(value, NUMBERS, word)


def as_type(value: Expression, wanted: Sequence[Type], word: str, *, hint: str = "") -> Expression:
    """Return a value of a `wanted` type; if dates are wanted, a timestamp becomes its date.

    NULL fits every type. Raises ValueError for any other type. `word` names the function, and
    `hint` ends the message.
    """
    value = as_stored(value) if "date" in wanted else value
    if value.type in wanted or value.type == "null":
        return value
    if value.type == "instant":
        raise ValueError(ZONED)
    expected = " or ".join(dict.fromkeys(_NAMES[kind] for kind in wanted))
    raise ValueError(f"{word} takes {expected}, got {_NAMES[value.type]}.{hint}")


def as_stored(value: Expression) -> Expression:
    """Convert a timestamp to its date; return any other value unchanged."""
    if value.type != "timestamp":
        return value
    if isinstance(value, ColumnRef):
        return ColumnRef(value.name, "date")
    return Call("day of", (value,), "date")


def read_day(text: str) -> date:
    """Parse a date such as 2024-01-31; raises ValueError for any other text."""
    with suppress(ValueError):
        if len(text) == len("2024-01-31"):  # Python also reads forms such as 20240131
            return date.fromisoformat(text)
    raise ValueError(f"Expected a date such as '2024-01-31', got {text[:40]!r}.")
