"""Random rows for row expressions: a column of each type and more, with values that are extreme."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from leastnoise.tables.expressions.tree import Type

Row = dict[str, Any]
SQL = {
    "int": "DOUBLE",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "instant": "TIMESTAMPTZ",
}
"""The type of a DuckDB column for each type of expressions."""
TYPES: dict[str, Type] = {
    "a": "int",
    "b": "int",
    "x": "float",
    "y": "float",
    "odd name": "text",
    "t": "text",
    "p": "bool",
    "q": "bool",
    "d": "date",
    "e": "date",
    "at": "timestamp",
    "seen": "timestamp",
    "moment": "instant",
}
LARGEST = 2**53
TEXTS = ["", "a", "A", "north", " north ", "Ä", "2024-02-29", "2023-02-29", "😀b", "o'hara", "\t"]
TEXTS += [
    "e\u0301",
    "\u00e9",
    "a\u2028b",
    "👩\u200d🔬",
    "x" * 2000,
    "2024-02-29 23:59:59.5",
    "2024-10-27T01:05",
    "😀" * 1000,
    "ab.",
]
TEXTS += ["2023-02-29 10:00:00", "2024-01-01 24:00:00", "2024-01-01 10:00:00Z", "2024-01-01 10"]
DAYS = [date(1, 1, 1), date(2020, 12, 31), date(2021, 1, 3), date(2024, 2, 29), date(9999, 12, 31)]
_STAMPS = [
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 2, 29, 23, 59, 59, 999999),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
]


_BERLIN = datetime(2024, 10, 27, 1, tzinfo=UTC)
"""The instant at which the clock of Berlin is set back."""
_INSTANTS = [
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    _BERLIN,
    _BERLIN - timedelta(microseconds=1),
    datetime(2099, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2100, 1, 1, tzinfo=UTC),
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(9999, 12, 30, tzinfo=UTC),
]


def _random_instant(random: random.Random) -> datetime:
    return datetime(1960, 1, 1, tzinfo=UTC) + timedelta(microseconds=random.randrange(46 * 10**14))


def random_rows(random: random.Random, count: int) -> list[Row]:
    """Random rows of all columns, with missing and extreme values among them."""
    ints = [0, 1, -1, 17, 18, 65, LARGEST, -LARGEST, 12345]
    floats = [0.0, -0.0, 0.5, -0.5, 1e308, -1e308, 5e-324, 0.1, 1e16, 4503599627370497.5, 2.5]
    kinds: dict[str, Callable[[], Any]] = {
        "int": lambda: random.choice([*ints, random.randrange(-100, 100)]),
        "float": lambda: random.choice([*floats, random.uniform(-50, 50)]),
        "text": lambda: random.choice(TEXTS),
        "bool": lambda: random.choice([True, False]),
        "date": lambda: random.choice(
            [*DAYS, date(1990, 1, 1) + timedelta(random.randrange(20000))]
        ),
        "timestamp": lambda: random.choice(
            [*_STAMPS, datetime(1930, 1, 1) + timedelta(seconds=random.randrange(4 * 10**9))]
        ),
    }
    kinds["instant"] = lambda: random.choice([*_INSTANTS, _random_instant(random)])
    return [
        {name: None if random.random() < 0.15 else kinds[kind]() for name, kind in TYPES.items()}
        for _ in range(count)
    ]
