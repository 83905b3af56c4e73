"""Random functions of dates and times, each with its meaning in plain Python."""

from __future__ import annotations

import random
import re
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from zoneinfo import ZoneInfo

from tests.tables.expressions.expression import Draw, Expression, apply
from tests.tables.expressions.rows import Row

_STAMP = Expression("at", "timestamp", lambda row: row["at"])
_READ = Expression("cast(t as timestamp)", "timestamp", lambda row: _read(row["t"]))
_ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
_SIZES = {"hour": 3600, "minute": 60, "second": 1}


def _read(text: str | None) -> datetime | None:
    if text is None or not re.fullmatch(r"[-0-9]{10}[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?", text):
        return None
    try:
        return datetime.fromisoformat(text) if " 24:" not in text else None
    except ValueError:
        return None


def read_zone(zone: str) -> ZoneInfo:
    """The time zone from the package tzdata.

    ZoneInfo(zone) would read the system's, maybe older.
    """
    path = resources.files("tzdata").joinpath("zoneinfo", *zone.split("/"))
    with path.open("rb") as file:
        return ZoneInfo.from_file(file)


def _of_clock(random: random.Random) -> Expression:
    """A timestamp: a column, or an instant on the clock of a time zone, by Python's zoneinfo."""
    if random.random() < 0.4:
        return random.choice([_STAMP, _READ])
    zone = random.choice(_ZONES)
    name = random.choice(["moment", "at"])
    naive = " at time zone 'UTC'" if name == "at" else ""

    def value(row: Row) -> datetime | None:
        instant = row[name]
        if instant is None or not 1970 <= instant.year < 2100:
            return None
        aware = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
        return aware.astimezone(read_zone(zone)).replace(tzinfo=None)

    return Expression(f"{name}{naive} at time zone '{zone}'", "timestamp", value)


def clock_date(random: random.Random) -> Expression:
    """The date of a timestamp."""
    stamp = _of_clock(random)
    return Expression(f"date({stamp.text})", "date", apply(datetime.date, stamp))


def date_number(random: random.Random, draw: Draw) -> Expression:
    """A part of a timestamp such as its hour, or a difference of two dates or timestamps."""
    match random.randrange(4):
        case 0:
            word = random.choice(["hour", "minute", "second"])
            stamp = _of_clock(random)
            written = random.choice([f"{word}({stamp.text})", f"extract({word} from {stamp.text})"])
            return Expression(written, "int", apply(lambda at: float(getattr(at, word)), stamp))
        case 1:
            stamp = Expression("seen", "timestamp", lambda row: row["seen"])
            if random.random() < 0.5:
                stamp = _of_clock(random)
            unit = random.choice([*_SIZES])
            passed = lambda start, end: _time_between(start, end, _SIZES[unit])  # noqa: E731
            return Expression(
                f"date_sub('{unit}', at, {stamp.text})", "int", apply(passed, _STAMP, stamp)
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
    """The largest k for which `end` is at least k·`size` months after `start`."""
    if end < start:
        return -completed_months(end, start, size)
    k = (end.year - start.year + 1) * 12 // size
    while _later(start, k * size) > (end.year, end.month, end.day):
        k -= 1
    return k


def _later(start: date, months: int) -> tuple[int, int, int]:
    """(year, month, day) of `start` plus `months`. A day that the month lacks sorts last."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return (year, month + 1, start.day)
