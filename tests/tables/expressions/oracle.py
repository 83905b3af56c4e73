"""Random row expressions, each as text and as what it means in plain Python."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from leastnoise.tables.expressions.tree import Type

Row = dict[str, Any]
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
}
_LARGEST = 2**53
_NUMBERS = [0, 1, -1, 2, 7, 18, 0.1, 0.5, -2.5, 1e16, 3.0000000000000004]
_TEXTS = ["", "a", "A", "north", " north ", "Ä", "2024-02-29", "2023-02-29", "😀b", "o'hara", "\t"]
_DAYS = [date(1, 1, 1), date(2020, 12, 31), date(2021, 1, 3), date(2024, 2, 29), date(9999, 12, 31)]


@dataclass(frozen=True)
class Expression:
    """The text of an expression, its type, and its value in a row."""

    text: str
    type: str
    value: Callable[[Row], Any]


def random_rows(random: random.Random, count: int) -> list[Row]:
    """Return rows of all columns, with missing and extreme values among them."""
    ints = [0, 1, -1, 17, 18, 65, _LARGEST, -_LARGEST, 12345]
    floats = [0.0, -0.0, 0.5, -0.5, 1e308, -1e308, 5e-324, 0.1, 1e16, 4503599627370497.5, 2.5]
    kinds: dict[str, Callable[[], Any]] = {
        "int": lambda: random.choice([*ints, random.randrange(-100, 100)]),
        "float": lambda: random.choice([*floats, random.uniform(-50, 50)]),
        "text": lambda: random.choice(_TEXTS),
        "bool": lambda: random.choice([True, False]),
        "date": lambda: random.choice(
            [*_DAYS, date(1990, 1, 1) + timedelta(random.randrange(20000))]
        ),
    }
    return [
        {name: None if random.random() < 0.15 else kinds[kind]() for name, kind in TYPES.items()}
        for _ in range(count)
    ]


def random_expression(random: random.Random, kind: str, depth: int) -> Expression:
    """Return an expression of that type, of at most so many levels."""
    if depth == 0 or random.random() < 0.15:
        return _leaf(random, kind)
    makers = {"number": _number, "text": _text, "bool": _bool, "date": _date}
    return makers[kind](random, depth - 1)


def _leaf(random: random.Random, kind: str) -> Expression:
    if random.random() < 0.6:
        types = ("int", "float") if kind == "number" else (kind,)
        name = random.choice([name for name, own in TYPES.items() if own in types])
        quoted = f'"{name}"' if " " in name else name
        return Expression(quoted, TYPES[name], lambda row: row[name])
    if kind == "number":
        number = random.choice(_NUMBERS)
        own = "float" if isinstance(number, float) else "int"
        return Expression(repr(number), own, lambda _: float(number))
    if kind == "text":
        text = random.choice(_TEXTS)
        return Expression("'" + text.replace("'", "''") + "'", "text", lambda _: text)
    if kind == "bool":
        truth = random.choice([True, False])
        return Expression(str(truth).lower(), "bool", lambda _: truth)
    day = random.choice(_DAYS)
    return Expression(f"date '{day.isoformat()}'", "date", lambda _: day)


def _whole_or_none(value: float, kind: str) -> float | None:
    most = _LARGEST if kind == "int" else math.inf
    fits = math.isfinite(value) and abs(value) <= most
    return value if fits else None


def _number(random: random.Random, depth: int) -> Expression:
    match random.randrange(7):
        case 0 | 1 | 2:
            return _arithmetic(random, depth)
        case 3:
            one = random_expression(random, "date", depth)
            word, part = random.choice(
                [
                    ("year", lambda day: day.year),
                    ("month", lambda day: day.month),
                    ("day", lambda day: day.day),
                    ("quarter", lambda day: (day.month + 2) // 3),
                    ("week", lambda day: day.isocalendar().week),
                    ("weekday", lambda day: day.isoweekday()),
                ]
            )
            return Expression(f"{word}({one.text})", "int", lambda row: _if(one.value(row), part))
        case 4:
            return _rounded(random, depth)
        case 5:
            return _extreme(random, depth)
        case _:
            return _chosen(random, "number", depth)


def _if(value: Any, then: Callable[[Any], Any]) -> Any:
    return None if value is None else then(value)


def _arithmetic(random: random.Random, depth: int) -> Expression:
    word = random.choice("+-*/%")
    one, two = (random_expression(random, "number", depth) for _ in range(2))
    whole = word != "/" and one.type == two.type == "int"
    kind = "int" if whole else "float"

    def value(row: Row) -> float | None:
        first, second = one.value(row), two.value(row)
        if first is None or second is None or (word in "/%" and second == 0):
            return None
        first, second = float(first), float(second)
        try:
            result = {
                "+": lambda: first + second,
                "-": lambda: first - second,
                "*": lambda: first * second,
                "/": lambda: first / second,
                "%": lambda: math.fmod(first, second),
            }[word]()
        except OverflowError:
            return None
        return _whole_or_none(result, kind)

    return Expression(f"({one.text}) {word} ({two.text})", kind, value)


def _rounded(random: random.Random, depth: int) -> Expression:
    one = random_expression(random, "number", depth)
    word = random.choice(["floor", "ceil", "abs", "round", "round2"])
    if word == "abs":
        return Expression(f"abs({one.text})", one.type, lambda row: _if(one.value(row), abs))
    if word == "round2":
        return Expression(f"round({one.text}, 2)", "float", lambda row: _if(one.value(row), _cents))
    exact = {"floor": math.floor, "ceil": math.ceil, "round": _nearest}[word]

    def value(row: Row) -> float | None:
        number = one.value(row)
        return None if number is None or abs(number) > _LARGEST else float(exact(number))

    return Expression(f"{word}({one.text})", "int", value)


def _nearest(number: float) -> int:
    return math.floor(number + 0.5) if abs(number) < 2**52 else int(number)


def _cents(number: float) -> float:
    scaled = float(number) * 100
    return math.floor(scaled + 0.5) / 100 if abs(scaled) < 2**52 else float(number)


def _extreme(random: random.Random, depth: int) -> Expression:
    word = random.choice(["least", "greatest"])
    parts = [random_expression(random, "number", depth) for _ in range(random.randrange(2, 4))]
    kind = "int" if all(one.type == "int" for one in parts) else "float"

    def value(row: Row) -> float | None:
        found = [float(part) for one in parts if (part := one.value(row)) is not None]
        return (min if word == "least" else max)(found) if found else None

    return Expression(f"{word}({', '.join(one.text for one in parts)})", kind, value)


def _text(random: random.Random, depth: int) -> Expression:
    one = random_expression(random, "text", depth)
    match random.randrange(5):
        case 0:
            word = random.choice(["lower", "upper"])

            def value(row: Row) -> str | None:
                text = one.value(row)
                return _if(text, lambda text: "".join(_cased(letter, word) for letter in text))

            return Expression(f"{word}({one.text})", "text", value)
        case 1:
            return Expression(
                f"trim({one.text})", "text", lambda row: _if(one.value(row), lambda s: s.strip(" "))
            )
        case 2:
            first, length = random.randrange(1, 4), random.randrange(4)
            return Expression(
                f"substr({one.text}, {first}, {length})",
                "text",
                lambda row: _if(one.value(row), lambda s: s[first - 1 : first - 1 + length]),
            )
        case _:
            return _chosen(random, "text", depth)


def _cased(letter: str, word: str) -> str:
    return getattr(letter, word)() if letter.isascii() else letter


def _date(random: random.Random, depth: int) -> Expression:
    match random.randrange(3):
        case 0:
            one = random_expression(random, "text", depth)
            if one.text.startswith("'"):  # a text that is no date is refused
                one = Expression("t", "text", lambda row: row["t"])
            return Expression(f"date({one.text})", "date", lambda row: _if(one.value(row), _day))
        case 1:
            one = random_expression(random, "date", depth)
            unit = random.choice(["year", "quarter", "month", "week"])
            return Expression(
                f"date_trunc('{unit}', {one.text})",
                "date",
                lambda row: _if(one.value(row), lambda day: _cut(day, unit)),
            )
        case _:
            return _chosen(random, "date", depth)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 and text[4] == "-" else None
    except ValueError:
        return None


def _cut(day: date, unit: str) -> date:
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case _:
            return day - timedelta(days=day.weekday())


def _chosen(random: random.Random, kind: str, depth: int) -> Expression:
    one, two = (random_expression(random, kind, depth) for _ in range(2))
    types = {one.type, two.type}
    own = one.type if len(types) == 1 else "float"
    if random.random() < 0.5:

        def first(row: Row) -> Any:
            value = one.value(row)
            return two.value(row) if value is None else value

        return Expression(f"coalesce({one.text}, {two.text})", own, first)
    when = random_expression(random, "bool", depth)
    return Expression(
        f"case when {when.text} then {one.text} else {two.text} end",
        own,
        lambda row: one.value(row) if when.value(row) else two.value(row),
    )


def _bool(random: random.Random, depth: int) -> Expression:
    match random.randrange(6):
        case 0 | 1:
            return _compared(random, depth)
        case 2:
            one, two = (random_expression(random, "bool", depth) for _ in range(2))
            word = random.choice(["and", "or"])

            def value(row: Row) -> bool | None:
                values = {one.value(row), two.value(row)}
                decides = word == "or"
                if decides in values:
                    return decides
                return None if None in values else not decides

            return Expression(f"({one.text}) {word} ({two.text})", "bool", value)
        case 3:
            one = random_expression(random, "bool", depth)
            return Expression(
                f"not ({one.text})", "bool", lambda row: _if(one.value(row), lambda p: not p)
            )
        case 4:
            one = random_expression(random, random.choice(["number", "text", "date"]), depth)
            return Expression(f"({one.text}) is null", "bool", lambda row: one.value(row) is None)
        case _:
            return _chosen(random, "bool", depth)


def _compared(random: random.Random, depth: int) -> Expression:
    kind = random.choice(["number", "text", "date"])
    one, two = (random_expression(random, kind, depth) for _ in range(2))
    word = random.choice(["=", "<>", "<", "<=", ">", ">="])

    def value(row: Row) -> bool | None:
        pair = [one.value(row), two.value(row)]
        if None in pair:
            return None
        first, second = (one.encode() if isinstance(one, str) else one for one in pair)
        return {
            "=": first == second,
            "<>": first != second,
            "<": first < second,
            "<=": first <= second,
            ">": first > second,
            ">=": first >= second,
        }[word]

    return Expression(f"({one.text}) {word} ({two.text})", "bool", value)
