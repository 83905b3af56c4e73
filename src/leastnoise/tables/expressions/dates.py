"""Dates and times in expressions: their parts, their differences, and texts that are read as dates.

A timestamp is a whole number of seconds since 1970-01-01T00:00:00 on its clock, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date

from sqlglot import Expr as Parsed
from sqlglot import exp

from leastnoise import _words
from leastnoise.tables.expressions.tree import (
    Call,
    Constant,
    Expression,
    Type,
    as_type,
    read_day,
)
from leastnoise.tables.expressions.words import (
    DATE_FUNCTIONS,
    OTHER_DATE_FUNCTIONS,
    TIME_FUNCTIONS,
    check_arguments,
    explain_unknown,
)

Read = Callable[[object], Expression]
UNITS = ("year", "quarter", "month", "week")
"""The units to which `date_trunc` cuts."""
_DATES = " Texts become dates by date(x)."
_SECONDS = {"hour": 3600, "minute": 60, "second": 1}
_DATE_UNITS = ("year", "month", "day")


def read_date(value: Expression) -> Expression:
    """Convert a text such as 2024-01-31, or a timestamp, to a date; a date stays as it is.

    Another text is NULL; if it is a constant, it raises ValueError.
    """
    if isinstance(value, Constant) and isinstance(value.value, str):
        return Constant(read_day(value.value), "date")
    checked = as_type(value, ("text", "date"), "date")
    return checked if checked.type == "date" else Call("date", (checked,), "date")


def read_timestamp(value: Expression) -> Expression:
    """Convert a text such as 2024-01-31 10:00:00 to a timestamp; NULL for other texts.

    A timestamp stays as it is.
    """
    checked = as_type(value, ("text", "timestamp"), "timestamp")
    if checked.type == "timestamp":
        return checked
    return Call("timestamp", (checked,), "timestamp")


def _date(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this")
    return read_date(read(node.this))


def _cut(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this", "unit")
    unit = str(node.args["unit"].name).lower()
    if unit not in UNITS:
        raise ValueError(
            f"Expected date_trunc to {_words.join_names([*UNITS], 'or')}, got {unit[:40]!r}."
        )
    day = as_type(read(node.this), ("date",), "date_trunc", hint=_DATES)
    return Call("date_trunc", (day,), "date", unit=unit)


def _function(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this")
    kind = type(node)
    return _part(DATE_FUNCTIONS.get(kind) or TIME_FUNCTIONS[kind], read(node.this))


def _extract(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this", "expression")
    return _part(str(node.name).lower(), read(node.args["expression"]))


def _part(word: str, value: Expression) -> Expression:
    if word in TIME_FUNCTIONS.values():
        return Call(word, (as_type(value, ("timestamp",), word),), "int")
    if word not in {*DATE_FUNCTIONS.values(), *OTHER_DATE_FUNCTIONS}:
        raise ValueError(explain_unknown(word))
    return Call(word, (as_type(value, ("date",), word, hint=_DATES),), "int")


def _other_part(node: Parsed, read: Read) -> Expression:
    if len(node.expressions) != 1:
        raise ValueError(explain_unknown(str(node.this).lower()))
    return _part(str(node.this).lower(), read(node.expressions[0]))


def subtract_days(end: Expression, start: Expression) -> Expression:
    """The number of days between two dates, `end - start`."""
    days = [as_type(value, ("date",), "-", hint=_DATES) for value in (end, start)]
    return Call("days", tuple(days), "int")


def _completed(node: Parsed, read: Read) -> Expression:
    """Read `date_sub(unit, start, end)`: the number of completed units from start to end.

    Raises ValueError for another unit, and for values that don't fit the unit: hours, minutes and
    seconds need timestamps, the other units need dates.
    """
    if len(node.expressions) != 3:
        raise ValueError("Expected date_sub('year', start, end).")
    unit = str(node.expressions[0].name).lower()
    start, end = (read(argument) for argument in node.expressions[1:])
    if unit in _SECONDS:
        kind: Type = "instant" if "instant" in {start.type, end.type} else "timestamp"
        both = tuple(as_type(value, (kind,), "date_sub") for value in (start, end))
        return Call(f"{unit}s between", both, "int")
    if unit not in _DATE_UNITS:
        units = _words.join_names([*_DATE_UNITS, *_SECONDS], "or")
        raise ValueError(f"Expected {units} as the unit of date_sub, got {unit[:40]!r}.")
    if "timestamp" in {start.type, end.type}:
        raise ValueError(f"date_sub('{unit}', …) needs dates. Write date(x) for a timestamp x.")
    if unit == "day":
        return subtract_days(end, start)
    both = tuple(as_type(value, ("date",), "date_sub", hint=_DATES) for value in (start, end))
    return Call(f"{unit}s between", both, "int")


def _difference(node: Parsed, read: Read) -> Expression:
    """Read `date_diff('day', start, end)` of dates.

    Databases disagree on other units, which are refused.
    """
    check_arguments(node, "this", "expression", "unit", "date_part_boundary")
    unit = "day" if (named := node.args.get("unit")) is None else str(named.name).lower()
    end, start = read(node.this), read(node.args["expression"])
    if unit == "day" and "timestamp" not in {start.type, end.type}:
        return subtract_days(end, start)
    raise ValueError(
        f"date_diff('{unit[:40]}', …) counts completed units in some databases, and boundaries "
        f"of the calendar or the clock in others. Write date_sub('{unit[:40]}', start, end) for "
        "completed units, or subtract parts, such as year(end) - year(start)."
    )


READERS: Mapping[type[Parsed], Callable[[Parsed, Read], Expression]] = {
    **dict.fromkeys([*DATE_FUNCTIONS, *TIME_FUNCTIONS], _function),
    exp.Date: _date,
    exp.TsOrDsToDate: _date,
    exp.DateTrunc: _cut,
    exp.TimestampTrunc: _cut,
    exp.Extract: _extract,
    exp.DateDiff: _difference,
}
OTHER_READERS: Mapping[str, Callable[[Parsed, Read], Expression]] = {
    **dict.fromkeys(OTHER_DATE_FUNCTIONS, _other_part),
    "date_sub": _completed,
    "datesub": _completed,
}
"""The readers of functions for which sqlglot has no class, by name."""


def _whole(value: int) -> Constant:
    return Constant(value, "int")


def _int(operator: str, *arguments: Expression) -> Call:
    return Call(operator, arguments, "int")


def _months_between(start: Expression, end: Expression) -> Expression:
    """The completed months from start to end; a month ends on the start's day of the month.

    If a month has no such day, it ends on the first of the next month: from 31 January, the first
    month is completed on 1 March. If `end` is before `start`, the result is minus the number of
    months from `end` to `start`.
    """
    months = [_int("+", _int("*", _int("year", day), _whole(12)), _int("month", day))
              for day in (start, end)]  # fmt: skip
    passed = _int("-", months[1], months[0])
    first, last = _int("day", start), _int("day", end)
    forward = Call("and", (_holds("<=", start, end), _holds("<", last, first)), "bool")
    backward = Call("and", (_holds("<", end, start), _holds("<", first, last)), "bool")
    fewer, more = (_int(sign, passed, _whole(1)) for sign in "-+")
    return _int("case", forward, fewer, backward, more, passed)


def _holds(operator: str, first: Expression, second: Expression) -> Call:
    return Call(operator, (first, second), "bool")


def _years_between(start: Expression, end: Expression) -> Expression:
    return _quotient(_months_between(start, end), 12)


def _quotient(value: Expression, divisor: int) -> Expression:
    """The quotient of a whole number by `divisor`, rounded toward 0."""
    rest = _int("%", value, _whole(divisor))
    return _int("/", _int("-", value, rest), _whole(divisor))


def _time_between(seconds: int) -> Callable[[Expression, Expression], Expression]:
    return lambda start, end: _quotient(_int("-", end, start), seconds)


_TIMESTAMP = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
)


def _timestamp(text: Expression) -> Expression:
    """The whole seconds since 1970 of a timestamp that is written as a text, else NULL."""

    def cut(first: int, length: int) -> Expression:
        return Call("substr", (text, _whole(first), _whole(length)), "text")

    def number(first: int) -> Expression:
        return _int("number of", cut(first, 2))

    day = Call("date", (cut(1, 10),), "date")
    days = _int("days", day, Constant(date(1970, 1, 1), "date"))
    total = _int("+", _int("*", days, _whole(24)), number(12))
    total = _int("+", _int("*", total, _whole(60)), number(15))
    seconds = _int("coalesce", number(18), _whole(0))
    total = _int("+", _int("*", total, _whole(60)), seconds)
    written = Call("matches", (text,), "bool", unit=_TIMESTAMP)
    return Call("case", (written, total, Constant(None, "null")), "timestamp")


def _time_part(word: str) -> Callable[[Expression], Expression]:
    """A function that rewrites the hour, minute or second of a timestamp as simpler calls."""
    size, cycle = _SECONDS[word], {"hour": 24, "minute": 60, "second": 60}[word]

    def lower(timestamp: Expression) -> Expression:
        passed = _floor(timestamp, size)
        return _int("-", passed, _int("*", _floor(timestamp, size * cycle), _whole(cycle)))

    return lower


def _floor(value: Expression, divisor: int) -> Expression:
    return _int("floor", Call("/", (value, _whole(divisor)), "float"))


LOWERED: Mapping[str, Callable[..., Expression]] = {
    "timestamp": _timestamp,
    "months between": _months_between,
    "years between": _years_between,
    **{f"{unit}s between": _time_between(size) for unit, size in _SECONDS.items()},
    **{word: _time_part(word) for word in _SECONDS},
}
"""Functions that rewrite a call as simpler calls, by the call's operator."""
