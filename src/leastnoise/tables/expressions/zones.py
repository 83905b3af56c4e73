"""Instants, and the clocks of time zones by the tables of the package `tzdata`.

Engines have zone tables of their own, whose versions differ. So an expression reads its zone's
offsets from the IANA database in the package `tzdata`, whose version an installation pins, and
compares instants with the times at which the offset changes. Before 1970 that database isn't
complete, and from 2100 on only today's rules are known: such instants have no clock time.

An instant is a whole number of seconds since 1970-01-01T00:00:00 UTC, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache, partial
from importlib import import_module, resources
from typing import TypeAlias
from zoneinfo import ZoneInfo

from sqlglot import Expr as Parsed
from sqlglot import exp

from leastnoise import _validate, _words
from leastnoise.numerics.bisection import Bisection
from leastnoise.tables.expressions.tree import Call, Constant, Expression, as_type, walk
from leastnoise.tables.expressions.words import check_arguments

Read: TypeAlias = Callable[[object], Expression]
FIRST, LAST = 0, 4_102_444_800
"""Instants with a clock time: from 1970 on, and before 2100."""
_DAY = 86_400
_UTC = "UTC"


def _at_time_zone(node: Parsed, read: Read) -> Expression:
    """Convert an instant to a timestamp on a zone's clock, or a timestamp in UTC to an instant.

    Raises ValueError for a zone that isn't a constant, and for a timestamp outside UTC.
    """
    check_arguments(node, "this", "zone")
    value, zone = read(node.this), read(node.args["zone"])
    if not isinstance(zone, Constant) or not isinstance(zone.value, str):
        why = "Expected a time zone, such as x at time zone 'Europe/Berlin'."
        raise ValueError(why)  # noqa: TRY004  # a problem of the expression
    if value.type == "timestamp":
        if zone.value != _UTC:
            raise ValueError(
                "A timestamp without a zone can only be read as UTC, because a clock that is set "
                "back shows an hour twice. Write x at time zone 'UTC' at time zone "
                "'Europe/Berlin'."
            )
        return Call("utc", (value,), "instant")
    _ = offsets(zone.value)
    checked = as_type(value, ("instant",), "at time zone")
    if isinstance(checked, Constant):  # NULL
        return checked
    return Call("clock", (checked, zone), "timestamp" if checked.type == "instant" else "null")


READERS: Mapping[type[Parsed], Callable[[Parsed, Read], Expression]] = {
    exp.AtTimeZone: _at_time_zone
}


@cache
def offsets(zone: str) -> Mapping[int, int]:
    """The seconds by which a zone is ahead of UTC, keyed by the instant from which they hold.

    Raises ValueError if there is no such zone, or `tzdata` isn't installed.
    """
    clock = _read_zone(zone)

    def offset_at(second: int) -> int:
        ahead = datetime.fromtimestamp(second, clock).utcoffset()
        return 0 if ahead is None else ahead.days * _DAY + ahead.seconds

    def has_offset(after: int, second: int) -> bool:
        return offset_at(second) == after

    after = offset_at(FIRST)
    changes = {FIRST: after}
    for day in range(FIRST, LAST, _DAY):
        before = after
        if (after := offset_at(day + _DAY)) != before:
            _, changed = Bisection().close(partial(has_offset, after), day, day + _DAY)
            changes[changed] = after
    return changes


def _read_zone(zone: str) -> ZoneInfo:
    try:
        folder = resources.files("tzdata")
    except ModuleNotFoundError:
        raise ValueError(
            "Time zones need the package tzdata. Install tzdata with pip install leastnoise[zones]."
        ) from None
    names = (folder / "zones").read_text(encoding="utf-8").split()
    if zone not in names:
        hint = _validate.nearest(zone, names)
        raise ValueError(f"There is no time zone {zone[:40]!r}.{' ' if hint else ''}{hint}")
    with folder.joinpath("zoneinfo", *zone.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=zone)


def describe_zones(texts: Iterable[str]) -> list[str]:
    """A sentence about the zones that expressions name, and about the version of their tables.

    Empty if no expression names a zone other than UTC.
    """
    from leastnoise.tables.expressions.language import parse  # noqa: PLC0415  (it reads zones)

    nodes = (node for text in texts for node in walk(parse(text)))
    clocks = [node for node in nodes if isinstance(node, Call) and node.operator == "clock"]
    zones = [
        zone.value for _, zone in (node.arguments for node in clocks) if isinstance(zone, Constant)
    ]
    names = dict.fromkeys(str(zone) for zone in zones if zone != _UTC)
    if not names:
        return []
    version = import_module("tzdata").IANA_VERSION
    clocks_of = f"Clocks of {_words.join_names([*names])} follow version {version}"
    return [f"{clocks_of} of the IANA time zone database, which a later release may not have."]


def _clock(instant: Expression, zone: Expression) -> Expression:
    """The time on a zone's clock at an instant; NULL where the zone's offset isn't known."""
    changes = offsets(str(zone.value)) if isinstance(zone, Constant) else {}
    steps = [Constant(None, "null")]
    for at, ahead in changes.items():
        steps += [Constant(float(at), "float"), Constant(float(ahead), "float")]
    steps += [Constant(float(LAST), "float"), Constant(None, "null")]
    offset = Call("step", (instant, *steps), "float")
    return Call("let", (Call("f+", (instant, offset), "float"),), "timestamp")


def _utc(timestamp: Expression) -> Expression:
    return timestamp


LOWERED: Mapping[str, Callable[..., Expression]] = {"clock": _clock, "utc": _utc}
