"""Random functions over the rows of one unit, as texts and as functions in plain Python."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from leastnoise.tables.expressions.language import parse
from leastnoise.tables.expressions.tree import ColumnRef, walk
from tests.tables.expressions import rows as all_columns
from tests.tables.expressions.oracle import random_expression
from tests.tables.expressions.rows import LARGEST, Row, random_rows

UNIT = "who"
TYPES = {name: kind for name, kind in all_columns.TYPES.items() if name not in {"seen", "moment"}}
"""The columns of histories. They read only the date of a timestamp: all read values break ties."""
Values = Callable[[Sequence[Row]], list[Any]]


@dataclass(frozen=True)
class History:
    """The text of an expression, its type, and its values in the rows of one unit."""

    text: str
    type: str
    values: Values


def rows_of_units(rng: random.Random, count: int) -> list[Row]:
    """Random rows of a few units; some rows have no unit, and some occur several times."""
    rows = [
        row | {UNIT: rng.choice([None, 1, 2, 2, 3, 3, 3, 4])} for row in random_rows(rng, count)
    ]
    rows += [dict(rng.choice(rows)) for _ in range(count // 4)]
    for row in rows:
        if rng.random() < 0.5:  # as many ties as in real data
            row |= {"d": rng.choice([None, dt.date(2024, 1, 1), dt.date(2024, 2, 1)])}
            row |= {"a": rng.choice([1, 2]), "x": rng.choice([0.0, -0.0, 1.5])}
    rng.shuffle(rows)
    return rows


def random_history(rng: random.Random, kind: str, depth: int = 1) -> History:
    """Draw a function over a unit with values of this kind."""
    words = {
        "number": ["count()", "count", "distinct", "sum", "row_number", "min", "max"],
        "bool": ["any", "any", "min"],
        "text": ["min", "max"],
        "date": ["min", "max"],
    }
    word = rng.choice([*words[kind], "first", "last"])
    if word == "count()":
        text = f"{rng.choice(['count()', 'count(*)'])} over {_unit(rng)}"
        return History(text, "int", lambda rows: [len(rows)] * len(rows))
    if word in {"first", "last", "row_number"}:
        return _ordered(rng, word, kind, depth)
    of_any = word in {"count", "distinct"}
    value = _value(rng, rng.choice(["number", "text", "date", "bool"]) if of_any else kind, depth)
    while word == "sum" and value.type != "int":
        value = _value(rng, "number", depth)
    inner = f"count(distinct {value.text})" if word == "distinct" else f"{word}({value.text})"
    kind_of_result = "int" if of_any else value.type

    def values(rows: Sequence[Row]) -> list[Any]:
        there = [item for item in value.values(rows) if item is not None]
        return [_aggregate(word, there)] * len(rows)

    return History(f"{inner} over {_unit(rng)}", kind_of_result, values)


def _unit(rng: random.Random) -> str:
    return rng.choice([UNIT, f'"{UNIT}"', f"(partition by {UNIT})"])


def _aggregate(word: str, there: list[Any]) -> Any:
    if word == "count":
        return len(there)
    if word == "distinct":
        return len(set(there))
    if not there:
        return None
    if word == "sum":
        total = sum(map(int, there))
        return total if abs(total) <= LARGEST else None
    return min(there, key=_key) if word == "min" else max(there, key=_key)


def _key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _value(rng: random.Random, kind: str, depth: int) -> History:
    if depth and rng.random() < 0.25:
        return random_history(rng, kind, depth - 1)
    expression = random_expression(rng, kind, rng.randrange(3))
    while _reads_clock(expression.text):
        expression = random_expression(rng, kind, rng.randrange(3))
    return History(
        f"({expression.text})", expression.type, lambda rows: [*map(expression.value, rows)]
    )


def _reads_clock(text: str) -> bool:
    nodes = walk(parse(text, all_columns.TYPES))
    return any(isinstance(node, ColumnRef) and node.type in _CLOCKS for node in nodes)


_CLOCKS = {"timestamp", "instant"}


def _ordered(rng: random.Random, word: str, kind: str, depth: int) -> History:
    kinds = [
        rng.choice(["number", "text", "date", "bool", "date"]) for _ in range(rng.choice([1, 1, 2]))
    ]
    keys = [_value(rng, key_kind, depth) for key_kind in kinds]
    value = _value(rng, kind, depth)
    backwards = False
    if rng.random() < 0.5 or word == "last":
        order = ", ".join(key.text for key in keys)
        by = f"by = ({order})" if len(keys) > 1 else f"by = {order}"
        inner = f"row_number({by})" if word == "row_number" else f"{word}({value.text}, {by})"
        text = f"{inner} over {_unit(rng)}"
    else:
        backwards = rng.random() < 0.4
        order = ", ".join(f"{key.text}{' desc' if backwards else ''}" for key in keys)
        inner = "row_number()" if word == "row_number" else f"first_value({value.text})"
        text = f"{inner} over (partition by {UNIT} order by {order})"
    back = (word == "last") != backwards

    def values(rows: Sequence[Row]) -> list[Any]:
        columns = [key.values(rows) for key in keys]
        places = [tuple(column[at] for column in columns) for at in range(len(rows))]
        placed = [at for at in range(len(rows)) if None not in places[at]]
        order_of = [tuple(map(_key, site)) if None not in site else () for site in places]
        if word == "row_number":
            placed.sort(key=lambda at: (order_of[at], identity(rows[at])), reverse=back)
            numbers = {at: number for number, at in enumerate(placed, 1)}
            return [numbers.get(at) for at in range(len(rows))]
        if not placed:
            return [None] * len(rows)
        end = (max if back else min)(order_of[at] for at in placed)
        results = value.values(rows)
        there = [results[at] for at in placed if order_of[at] == end and results[at] is not None]
        chosen = _aggregate("max" if back else "min", there)
        return [chosen] * len(rows)

    return History(text, "int" if word == "row_number" else value.type, values)


def identity(row: Row) -> tuple[Any, ...]:
    """The row's values as expressions read them, in the order of the columns' names."""
    known = {UNIT: row.get(UNIT)} | {
        name: value.date() if isinstance(value, dt.datetime) else _key(value)
        for name, value in row.items()
        if name in TYPES
    }
    return tuple((known[name] is None, known[name] or 0) for name in sorted(known))


def counted(rows: Sequence[Row], values: Sequence[Any]) -> Counter[Any]:
    """The number of times that each row has each value."""
    return Counter((identity(row), value) for row, value in zip(rows, values, strict=True))


def expected(history: History, rows: Sequence[Row]) -> Counter[Any]:
    """The number of times that each row has each value, by plain Python; None without a unit."""
    total: Counter[Any] = Counter()
    for unit in {row[UNIT] for row in rows}:
        theirs = [row for row in rows if row[UNIT] == unit]
        total += counted(theirs, [None] * len(theirs) if unit is None else history.values(theirs))
    return total
