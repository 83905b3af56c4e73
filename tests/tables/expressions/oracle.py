"""Random row expressions, as texts and as functions in plain Python."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from tests.tables.expressions.expression import Draw, Expression, apply
from tests.tables.expressions.oracle_dates import clock_date, date_number
from tests.tables.expressions.oracle_logarithms import logarithm_word
from tests.tables.expressions.oracle_texts import text_condition, text_number, text_word
from tests.tables.expressions.rows import DAYS, LARGEST, TEXTS, TYPES, Row

_NUMBERS = [0, 1, -1, 2, 7, 18, 0.1, 0.5, -2.5, 1e16, 3.0000000000000004]


def random_expression(random: random.Random, kind: str, depth: int) -> Expression:
    """Draw an expression of this type, with at most `depth` levels."""
    if depth == 0 or random.random() < 0.15:
        return _leaf(random, kind)
    makers = {"number": _number, "text": _text, "bool": _bool, "date": _date}
    return makers[kind](random, depth - 1)


def _leaf(random: random.Random, kind: str) -> Expression:
    if kind == "date" and random.random() < 0.3:
        return _clock_date(random)
    if random.random() < 0.6:
        types = ("int", "float") if kind == "number" else (kind,)
        name = random.choice(
            [name for name, kind_of_number in TYPES.items() if kind_of_number in types]
        )
        quoted = f'"{name}"' if " " in name else name
        return Expression(quoted, TYPES[name], lambda row: row[name])
    if kind == "number":
        number = random.choice(_NUMBERS)
        kind_of_number = "float" if isinstance(number, float) else "int"
        return Expression(repr(number), kind_of_number, lambda _: float(number))
    if kind == "text":
        text = random.choice([text for text in TEXTS if len(text) < 100])
        return Expression("'" + text.replace("'", "''") + "'", "text", lambda _: text)
    if kind == "bool":
        truth = random.choice([True, False])
        return Expression(str(truth).lower(), "bool", lambda _: truth)
    day = random.choice(DAYS)
    return Expression(f"date '{day.isoformat()}'", "date", lambda _: day)


def _clock_date(random: random.Random) -> Expression:
    if random.random() < 0.4:
        return clock_date(random)
    written = random.choice(["date(at)", "cast(at as date)"])
    return Expression(written, "date", lambda row: _if(row["at"], datetime.date))


def _whole_or_none(value: float, kind: str) -> float | None:
    most = LARGEST if kind == "int" else math.inf
    fits = math.isfinite(value) and abs(value) <= most
    return value if fits else None


def _number(random: random.Random, depth: int) -> Expression:
    draw = _drawing(random, depth)
    makers: list[Callable[[], Expression]] = [
        *[lambda: _arithmetic(random, depth)] * 3,
        lambda: _date_part(random, depth),
        lambda: _rounding(random, depth),
        lambda: _extreme(random, depth),
        lambda: _choice(random, "number", depth),
        lambda: _negation(random, depth),
        lambda: _nullif(random, "number", depth),
        lambda: date_number(random, draw),
        lambda: text_number(random, draw),
        lambda: _root(random, draw),
        lambda: logarithm_word(random, draw),
    ]
    return random.choice(makers)()


def _negation(random: random.Random, depth: int) -> Expression:
    operand = random_expression(random, "number", depth)
    negated = lambda value: 0.0 - float(value)  # noqa: E731  # 0 − x, as engines compute it
    return Expression(
        f"-({operand.text})", operand.type, lambda row: _if(operand.value(row), negated)
    )


def _date_part(random: random.Random, depth: int) -> Expression:
    operand = random_expression(random, "date", depth)
    if random.random() < 0.2:  # a timestamp is its date
        operand = Expression("at", "date", lambda row: _if(row["at"], datetime.date))
    word, part = random.choice(
        [
            ("year", lambda day: day.year),
            ("month", lambda day: day.month),
            ("day", lambda day: day.day),
            ("quarter", lambda day: (day.month + 2) // 3),
            ("week", lambda day: day.isocalendar().week),
            ("isoyear", lambda day: day.isocalendar().year),
            ("weekday", lambda day: day.isoweekday()),
        ]
    )
    text = f"{word}({operand.text})"
    if word != "weekday" and random.random() < 0.3:
        text = f"extract({word} from {operand.text})"
    return Expression(text, "int", lambda row: _if(operand.value(row), part))


def _if(value: Any, then: Callable[[Any], Any]) -> Any:
    return None if value is None else then(value)


def _arithmetic(random: random.Random, depth: int) -> Expression:
    word = random.choice("+-*/%")
    left, right = (random_expression(random, "number", depth) for _ in range(2))
    whole = word != "/" and left.type == right.type == "int"
    kind = "int" if whole else "float"

    def value(row: Row) -> float | None:
        first, second = left.value(row), right.value(row)
        if first is None or second is None or (word in "/%" and second == 0):
            return None
        if whole:  # exactly, in Python's own integers
            exact = _exactly(word, int(first), int(second))
            return float(exact) if abs(exact) <= LARGEST else None
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

    return Expression(f"({left.text}) {word} ({right.text})", kind, value)


def _exactly(word: str, first: int, second: int) -> int:
    if word == "%":  # as in C: the remainder has the sign of the first operand
        return abs(first) % abs(second) * (-1 if first < 0 else 1)
    return {"+": first + second, "-": first - second, "*": first * second}[word]


def _rounding(random: random.Random, depth: int) -> Expression:
    operand = random_expression(random, "number", depth)
    word = random.choice(["floor", "ceil", "abs", "round", "round2"])
    if word == "abs":
        return Expression(
            f"abs({operand.text})", operand.type, lambda row: _if(operand.value(row), abs)
        )
    if word == "round2":
        return Expression(
            f"round({operand.text}, 2)", "float", lambda row: _if(operand.value(row), _cents)
        )
    exact = {"floor": math.floor, "ceil": math.ceil, "round": _nearest}[word]

    def value(row: Row) -> float | None:
        number = operand.value(row)
        return None if number is None or abs(number) > LARGEST else float(exact(number))

    return Expression(f"{word}({operand.text})", "int", value)


def _nearest(number: float) -> int:
    return math.floor(number + 0.5) if abs(number) < 2**52 else int(number)


def _cents(number: float) -> float:
    scaled = float(number) * 100
    return math.floor(scaled + 0.5) / 100 if abs(scaled) < 2**52 else float(number)


def _extreme(random: random.Random, depth: int) -> Expression:
    word = random.choice(["least", "greatest"])
    parts = [random_expression(random, "number", depth) for _ in range(random.randrange(2, 4))]
    kind = "int" if all(part.type == "int" for part in parts) else "float"

    def value(row: Row) -> float | None:
        values = [float(value) for part in parts if (value := part.value(row)) is not None]
        return (min if word == "least" else max)(values) if values else None

    return Expression(f"{word}({', '.join(part.text for part in parts)})", kind, value)


def _text(random: random.Random, depth: int) -> Expression:
    operand = random_expression(random, "text", depth)
    match random.randrange(8):
        case 3 | 4:
            return text_word(random, _drawing(random, depth))
        case 5:
            return _nullif(random, "text", depth)
        case 0:
            word = random.choice(["lower", "upper"])

            def value(row: Row) -> str | None:
                text = operand.value(row)
                return _if(text, lambda text: "".join(_cased(letter, word) for letter in text))

            return Expression(f"{word}({operand.text})", "text", value)
        case 1:
            return Expression(
                f"trim({operand.text})",
                "text",
                lambda row: _if(operand.value(row), lambda s: s.strip(" ")),
            )
        case 2:
            first, length = random.randrange(1, 4), random.randrange(4)
            return Expression(
                f"substr({operand.text}, {first}, {length})",
                "text",
                lambda row: _if(operand.value(row), lambda s: s[first - 1 : first - 1 + length]),
            )
        case _:
            return _choice(random, "text", depth)


def _cased(letter: str, word: str) -> str:
    return getattr(letter, word)() if letter.isascii() else letter


def _date(random: random.Random, depth: int) -> Expression:
    match random.randrange(4):
        case 3:
            return _nullif(random, "date", depth)
        case 0:
            operand = random_expression(random, "text", depth)
            if operand.text.startswith("'"):  # a text that is no date is refused
                operand = Expression("t", "text", lambda row: row["t"])
            return Expression(
                f"date({operand.text})", "date", lambda row: _if(operand.value(row), _day)
            )
        case 1:
            operand = random_expression(random, "date", depth)
            unit = random.choice(["year", "quarter", "month", "week"])
            return Expression(
                f"date_trunc('{unit}', {operand.text})",
                "date",
                lambda row: _if(operand.value(row), lambda day: _cut(day, unit)),
            )
        case _:
            return _choice(random, "date", depth)


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


def _drawing(random: random.Random, depth: int) -> Draw:
    return lambda kind: random_expression(random, kind, depth)


def _root(random: random.Random, draw: Draw) -> Expression:
    number = draw("number")
    root = lambda x: math.sqrt(x) if x >= 0 else None  # noqa: E731
    return Expression(f"sqrt({number.text})", "float", apply(root, number))


def _nullif(random: random.Random, kind: str, depth: int) -> Expression:
    first, second = (random_expression(random, kind, depth) for _ in range(2))

    def value(row: Row) -> Any:
        given = first.value(row)
        return None if given is not None and given == second.value(row) else given

    return Expression(f"nullif({first.text}, {second.text})", first.type, value)


def _choice(random: random.Random, kind: str, depth: int) -> Expression:
    first, second = (random_expression(random, kind, depth) for _ in range(2))
    types = {first.type, second.type}
    result_type = first.type if len(types) == 1 else "float"
    if random.random() < 0.4:

        def find_first(row: Row) -> Any:
            value = first.value(row)
            return second.value(row) if value is None else value

        return Expression(f"coalesce({first.text}, null, {second.text})", result_type, find_first)
    if random.random() < 0.3:
        return _switch(random, depth, (first, second), result_type)
    when = random_expression(random, "bool", depth)
    text = f"case when {when.text} then {first.text} else {second.text} end"
    if random.random() < 0.3:
        text = f"if({when.text}, {first.text}, {second.text})"
    return Expression(
        text, result_type, lambda row: first.value(row) if when.value(row) else second.value(row)
    )


def _switch(
    random: random.Random, depth: int, pair: tuple[Expression, Expression], result_type: str
) -> Expression:
    """`case x when y then …` without `else`. If both keys match, the first decides."""
    first, second = pair
    subject, *keys = (random_expression(random, "number", depth) for _ in range(3))
    text = f"case {subject.text} when {keys[0].text} then {first.text} when {keys[1].text} then "

    def value(row: Row) -> Any:
        given = subject.value(row)
        for key, then in zip(keys, (first, second), strict=True):
            if given is not None and given == key.value(row):
                return then.value(row)
        return None

    return Expression(f"{text}{second.text} end", result_type, value)


def _bool(random: random.Random, depth: int) -> Expression:
    if random.random() < 0.1:
        return text_condition(random, _drawing(random, depth))
    makers = [_comparison, _comparison, _connective, _not, _is_null, _is_true, _among, _within]
    return random.choice([*makers, lambda rng, left: _choice(rng, "bool", left)])(random, depth)


def _connective(random: random.Random, depth: int) -> Expression:
    first, second = (random_expression(random, "bool", depth) for _ in range(2))
    word = random.choice(["and", "or"])

    def value(row: Row) -> bool | None:
        values = {first.value(row), second.value(row)}
        decides = word == "or"
        if decides in values:
            return decides
        return None if None in values else not decides

    return Expression(f"({first.text}) {word} ({second.text})", "bool", value)


def _not(random: random.Random, depth: int) -> Expression:
    operand = random_expression(random, "bool", depth)
    return Expression(
        f"not ({operand.text})", "bool", lambda row: _if(operand.value(row), lambda p: not p)
    )


def _is_null(random: random.Random, depth: int) -> Expression:
    operand = random_expression(random, random.choice(["number", "text", "date"]), depth)
    if random.random() < 0.2:
        operand = Expression("at", "timestamp", lambda row: row["at"])
    negated = random.choice([True, False])
    return Expression(
        f"({operand.text}) is {'not ' if negated else ''}null",
        "bool",
        lambda row: (operand.value(row) is None) != negated,
    )


def _is_true(random: random.Random, depth: int) -> Expression:
    operand = random_expression(random, "bool", depth)
    truth, negated = random.choice([True, False]), random.choice([True, False])
    word = f"is {'not ' if negated else ''}{str(truth).lower()}"
    return Expression(
        f"({operand.text}) {word}", "bool", lambda row: (operand.value(row) is truth) != negated
    )


def _comparison(random: random.Random, depth: int) -> Expression:
    kind = random.choice(["number", "text", "date"])
    left, right = (random_expression(random, kind, depth) for _ in range(2))
    word = random.choice(["=", "<>", "<", "<=", ">", ">="])

    def value(row: Row) -> bool | None:
        pair = [left.value(row), right.value(row)]
        if None in pair:
            return None
        first, second = (item.encode() if isinstance(item, str) else item for item in pair)
        return {
            "=": first == second,
            "<>": first != second,
            "<": first < second,
            "<=": first <= second,
            ">": first > second,
            ">=": first >= second,
        }[word]

    return Expression(f"({left.text}) {word} ({right.text})", "bool", value)


def _among(random: random.Random, depth: int) -> Expression:
    """`x in (…)`: true if an item is equal, else NULL if an item is NULL, else false."""
    kind = random.choice(["number", "text", "date"])
    subject, *listed = (
        random_expression(random, kind, depth) for _ in range(random.randrange(2, 5))
    )
    word, expected = random.choice([("in", True), ("not in", False)])

    def value(row: Row) -> bool | None:
        given, keys = subject.value(row), [key.value(row) for key in listed]
        if given is None or (None in keys and given not in keys):
            return None
        return expected if given in keys else not expected

    keys = ", ".join(key.text for key in listed)
    return Expression(f"({subject.text}) {word} ({keys})", "bool", value)


def _within(random: random.Random, depth: int) -> Expression:
    """`x between a and b`: false if x is beyond one end, even if the other end is NULL."""
    kind = random.choice(["number", "text", "date"])
    subject, low, high = (random_expression(random, kind, depth) for _ in range(3))
    word, expected = random.choice([("between", True), ("not between", False)])

    def at_most(first: Any, second: Any) -> bool | None:
        if first is None or second is None:
            return None
        if isinstance(first, str):
            return first.encode() <= second.encode()
        return first <= second

    def value(row: Row) -> bool | None:
        given = subject.value(row)
        holds = {at_most(low.value(row), given), at_most(given, high.value(row))}
        if False in holds:
            return not expected
        return None if None in holds else expected

    return Expression(f"({subject.text}) {word} ({low.text}) and ({high.text})", "bool", value)
