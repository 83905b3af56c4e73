"""An expression of the oracle: its text, and its meaning in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.tables.expressions.rows import Row


@dataclass(frozen=True)
class Expression:
    """The text of an expression, its type, and its value in a row."""

    text: str
    type: str
    value: Callable[[Row], Any]


Draw = Callable[[str], Expression]
"""A function that draws an operand of a type: "number", "text", "bool" or "date"."""


def apply(then: Callable[..., Any], *operands: Expression) -> Callable[[Row], Any]:
    """A function of a row: `then` of the operands' values, or None if a value is None."""

    def value(row: Row) -> Any:
        values = [operand.value(row) for operand in operands]
        return None if None in values else then(*values)

    return value
