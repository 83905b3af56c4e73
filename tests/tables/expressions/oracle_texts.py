"""Random functions of texts, with their meanings in plain Python."""

from __future__ import annotations

import fnmatch
import random
import re
from datetime import date
from typing import Any

from tests.tables.expressions.expression import Draw, Expression, apply
from tests.tables.expressions.rows import Row

LONGEST = 4096
"""The most bytes of a text; a longer text is missing."""
_PATTERNS = [
    "",
    "%",
    "_",
    "n_rth",
    "%o%",
    "%r%h%",
    "_%_",
    " %",
    "%\u0301%",
    "__",
    "2024-%-__",
    ".",
    "a|b",
    "%x%x%x%x%x%y",
]
_REPLACED = ["o", "north", " ", "\U0001f600", "\u0301", "2", "-02", "aa", "."]
_NEW = ["", "x", "\U0001f600", "oo", "'"]


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def short(text: str) -> str | None:
    """The text; None if it is longer than LONGEST."""
    return text if len(text.encode()) <= LONGEST else None


def as_text(value: Any) -> str:
    """A value as a text that can be joined to others."""
    return (
        value.isoformat()
        if isinstance(value, date)
        else str(value if isinstance(value, str) else int(value))
    )


def part(random: random.Random, draw: Draw) -> Expression:
    """A text, or a value that becomes a text if it is joined to a text."""
    operand = draw(random.choice(["text", "text", "number", "date"]))
    if operand.type == "float":
        return Expression("t", "text", lambda row: row["t"])
    return operand


def text_word(random: random.Random, draw: Draw) -> Expression:
    """A function whose result is a text."""
    match random.randrange(5):
        case 0:
            return _end(random, draw)
        case 1:
            old, new = random.choice(_REPLACED), random.choice(_NEW)
            operand = draw("text")
            written = f"replace({operand.text}, {quote(old)}, {quote(new)})"
            return Expression(
                written, "text", apply(lambda text: short(text.replace(old, new)), operand)
            )
        case 2:
            parts = [part(random, draw) for _ in range(random.randrange(2, 4))]
            joined = " || ".join(f"({operand.text})" for operand in parts)
            if all(operand.type != "text" for operand in parts):
                joined += " || ''"
            together = lambda *values: short("".join(map(as_text, values)))  # noqa: E731
            return Expression(joined, "text", apply(together, *parts))
        case 3:
            parts = [part(random, draw) for _ in range(random.randrange(1, 4))]

            def value(row: Row) -> str | None:
                values = [operand.value(row) for operand in parts]
                return short("".join(as_text(value) for value in values if value is not None))

            return Expression(
                f"concat({', '.join(operand.text for operand in parts)})", "text", value
            )
        case _:
            operand = part(random, draw)
            if operand.text.startswith("'"):  # a constant stays one, which date() may refuse
                operand = Expression("t", "text", lambda row: row["t"])
            return Expression(f"cast({operand.text} as text)", "text", apply(as_text, operand))


def _end(random: random.Random, draw: Draw) -> Expression:
    operand, count = draw("text"), random.randrange(4)
    if random.random() < 0.5:
        return Expression(
            f"left({operand.text}, {count})", "text", apply(lambda text: text[:count], operand)
        )
    last = lambda text: text[max(len(text) - count, 0) :]  # noqa: E731
    return Expression(f"right({operand.text}, {count})", "text", apply(last, operand))


def text_number(random: random.Random, draw: Draw) -> Expression:
    """The length of a text, in code points."""
    operand = draw("text")
    return Expression(
        f"length({operand.text})", "int", apply(lambda text: float(len(text)), operand)
    )


def text_condition(random: random.Random, draw: Draw) -> Expression:
    """A condition with a pattern; Python translates it in another way, by fnmatch."""
    operand, pattern = draw("text"), random.choice(_PATTERNS)
    shell = "".join({"%": "*", "_": "?"}.get(letter, f"[{letter}]") for letter in pattern)
    matches = re.compile(fnmatch.translate(shell), re.DOTALL)
    word, expected = random.choice([("like", True), ("not like", False)])
    holds = lambda text: (matches.match(text) is not None) == expected  # noqa: E731
    return Expression(f"({operand.text}) {word} {quote(pattern)}", "bool", apply(holds, operand))
