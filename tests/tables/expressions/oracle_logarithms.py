"""Random logarithms, exponentials and powers, with the same bits in plain Python.

The formulas are the formulas of `logarithms`. Exponents come from the bits of a float.
"""

from __future__ import annotations

import math
import random

from tests.tables.expressions.expression import Draw, Expression, apply

_HIGH, _LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN = {"ln": 1.0, "log2": float.fromhex("0x1.71547652b82fep+0"), "log10": 0.4342944819032518}
_BITS = 40


def _keep(value: float) -> float:
    """The nearest float with 40 bits of mantissa."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2.0**_BITS), exponent - _BITS)


def natural(x: float) -> float:
    """The natural logarithm before it is rounded."""
    mantissa, exponent = math.frexp(x)
    if mantissa < math.sqrt(0.5):
        mantissa, exponent = mantissa * 2, exponent - 1
    s = (mantissa - 1) / (mantissa + 1)
    total = 0.0
    for k in reversed(range(11)):
        total = total * (s * s) + 2 / (2 * k + 1)
    return exponent * _HIGH + (exponent * _LOW + s * total)


def logarithm(x: float, word: str = "ln") -> float | None:
    return _keep(natural(x) * _PER_LN[word]) if x > 0 else None


def exponential(x: float) -> float | None:
    if x < -708:
        return 0.0
    if x > 710:
        return None
    k = math.floor(x * _PER_LN["log2"] + 0.5)
    r = (x - k * _HIGH) - k * _LOW
    total = 0.0
    for n in reversed(range(14)):
        total = total * r + 1 / math.factorial(n)
    try:
        return math.ldexp(_keep(total), k)
    except OverflowError:
        return None


def power(x: float, y: float) -> float | None:
    if x == 0 and y >= 0:
        return 1.0 if y == 0 else 0.0
    return exponential(max(min(y, 2.0**64), -(2.0**64)) * natural(x)) if x > 0 else None


def product(x: float, factors: int) -> float | None:
    total = 1.0
    for bit in f"{abs(factors):b}":
        total *= total
        total *= x if bit == "1" else 1.0
    if not math.isfinite(total) or (factors < 0 and total == 0):
        return None
    quotient = 1 / total if factors < 0 else total
    return quotient if math.isfinite(quotient) else None


def logarithm_word(random: random.Random, draw: Draw) -> Expression:
    """A logarithm, an exponential or a power."""
    operand = draw("number")
    match random.randrange(4):
        case 0:
            word = random.choice([*_PER_LN])
            return Expression(
                f"{word}({operand.text})", "float", apply(lambda x: logarithm(x, word), operand)
            )
        case 1:
            return Expression(f"exp({operand.text})", "float", apply(exponential, operand))
        case 2:
            factors = random.choice([-3, -1, 0, 1, 2, 3, 10, 64])
            written = random.choice(["power({0}, {1})", "({0}) ^ {1}", "({0}) ** ({1})"])
            return Expression(
                written.format(operand.text, factors if factors >= 0 else f"({factors})"),
                "float",
                apply(lambda x: product(float(x), factors), operand),
            )
        case _:
            other = draw("number")
            if other.type == "int":  # a constant whole exponent is a product
                other = Expression("y", "float", lambda row: row["y"])
            written = f"power({operand.text}, {other.text})"
            return Expression(written, "float", apply(power, operand, other))
