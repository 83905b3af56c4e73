"""Random functions of dates and times, each with its meaning in plain Python."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

from tests.tables.expressions.expression import Draw, Expression, apply

_STAMP = Expression("at", "timestamp", lambda row: row["at"])
_SIZES = {"hour": 3600, "minute": 60, "second": 1}


def date_number(random: random.Random, draw: Draw) -> Expression:
    """A part of a clock, or a difference of two dates or timestamps."""
    match random.randrange(4):
        case 0:
            word = random.choice(["hour", "minute", "second"])
            written = random.choice([f"{word}(at)", f"extract({word} from at)"])
            return Expression(written, "int", apply(lambda at: float(getattr(at, word)), _STAMP))
        case 1:
            other = random.choice(["seen", "at"])
            stamp = Expression(other, "timestamp", lambda row: row[other])
            unit = random.choice([*_SIZES])
            passed = lambda start, end: _time_between(start, end, _SIZES[unit])  # noqa: E731
            return Expression(
                f"date_sub('{unit}', at, {other})", "int", apply(passed, _STAMP, stamp)
            )
        case 2:
            start, end = draw("date"), draw("date")
            written = random.choice(
                [
                    f"({end.text}) - ({start.text})",
                    f"date_diff('day', {start.text}, {end.text})",
                    f"date_sub('day', {start.text}, {end.text})",
                ]
            )
            return Expression(written, "int", apply(lambda a, b: float((b - a).days), start, end))
        case _:
            start, end = draw("date"), draw("date")
            unit = random.choice(["month", "year"])
            size = {"month": 1, "year": 12}[unit]
            passed = lambda a, b: float(completed_months(a, b, size))  # noqa: E731
            written = f"date_sub('{unit}', {start.text}, {end.text})"
            return Expression(written, "int", apply(passed, start, end))


def _time_between(start: datetime, end: datetime, size: int) -> float:
    seconds = (end.replace(microsecond=0) - start.replace(microsecond=0)) // timedelta(seconds=1)
    return float(abs(seconds) // size * (1 if seconds >= 0 else -1))


def completed_months(start: date, end: date, size: int = 1) -> int:
    """The largest k for which `end` is on or after the day that is k times `size` months later."""
    if end < start:
        return -completed_months(end, start, size)
    k = (end.year - start.year + 1) * 12 // size
    while _later(start, k * size) > (end.year, end.month, end.day):
        k -= 1
    return k


def _later(start: date, months: int) -> tuple[int, int, int]:
    """The day that many months later; a day that the month lacks, such as 31 June, sorts last."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return (year, month + 1, start.day)
