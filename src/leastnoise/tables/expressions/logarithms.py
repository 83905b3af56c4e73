"""Logarithms, exponentials and powers, with the same bits on every engine.

The libraries of engines differ in the last bits. So these functions are fixed sequences of the
operations +, -, *, / and comparisons of IEEE 754, which all engines round alike. No engine fuses a
product with a sum: tests look for that. Powers with a small constant whole exponent are products.
All other results are rounded to 40 significant bits, about twelve digits. The relative error before
that rounding is below 2^-41, and for powers beyond 10^±150 below 2^-40, as a test proves in ball
arithmetic. So, except for such large or small powers, a result with at most 40 significant bits is
exact. Examples are log10(1000) and power(9, 0.5).

Notation: a logarithm splits x = 2^e m with a whole e and √½ ≤ m < √2, and uses s = (m - 1)/(m + 1)
and z = s². An exponential splits x = k ln 2 + r with a whole k, so that exp(x) = 2^k exp(r).

Source:
    Muller, Elementary Functions (2016), §11.3 for the reductions of the argument; Veltkamp (1968)
    for the rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TypeAlias

from sqlglot import Expr as Parsed
from sqlglot import exp

from leastnoise.tables.expressions.tree import Call, Constant, Expression, as_number
from leastnoise.tables.expressions.words import check_arguments

Read: TypeAlias = Callable[[object], Expression]
KEPT_BITS = 40
MOST_FACTORS = 64
"""Powers with a constant whole exponent up to this size are products."""
_WORDS: Mapping[type[Parsed], str] = {exp.Ln: "ln", exp.Exp: "exp"}
_BASES = {2: "log2", 10: "log10"}

# ln 2 as a sum. The first part has 33 bits, so that its product with an exponent is exact.
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_LOG2_E, _LOG10_E = float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.bcb7b1526e50ep-2")
_ROOT_HALF = math.sqrt(0.5)
_LOG_TERMS, _EXP_TERMS = 11, 14
_MOST_EXP, _LEAST_EXP = 710.0, -708.0
"""Above the first, exp is too large for float64; below the second its result is 0."""
_LARGE = 2.0**64
"""For |y| from this size on, |y ln x| > 710, since |ln x| ≥ 2^-53 for x ≠ 1: see `_MOST_EXP`."""


def _function(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this")
    word = _WORDS[type(node)]
    return Call(word, (as_number(read(node.this), word),), "float")


def _log(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this", "expression")
    if node.args.get("expression") is None:
        raise ValueError(
            "log(x) is the natural logarithm in some databases, and the logarithm to base 10 in "
            "others. Write ln(x) or log10(x)."
        )
    base = read(node.this)
    word = (
        _BASES.get(base.value)
        if isinstance(base, Constant) and isinstance(base.value, int)
        else None
    )
    if word is None:
        raise ValueError("log takes the bases 2 and 10. For another base, write ln(x) / ln(base).")
    return Call(word, (as_number(read(node.args["expression"]), word),), "float")


def _power(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this", "expression")
    both = (as_number(read(part), "power") for part in (node.this, node.args["expression"]))
    return Call("power", tuple(both), "float")


READERS: Mapping[type[Parsed], Callable[[Parsed, Read], Expression]] = {
    **dict.fromkeys(_WORDS, _function),
    exp.Log: _log,
    exp.Pow: _power,
}


def _number(value: float) -> Constant:
    return Constant(float(value), "float")


_ZERO, _ONE, _NULL = _number(0), _number(1), Constant(None, "null")


def _float(operator: str, first: Expression, second: Expression) -> Call:
    return Call(f"f{operator}", (first, second), "float")


def _let(value: Expression) -> Call:
    """Bind the value to a name, so that it is computed once."""
    return Call("let", (value,), "float")


def _holds(first: Expression, operator: str, second: float) -> Call:
    return Call(operator, (first, _number(second)), "bool")


def _case(*arguments: Expression) -> Call:
    """A CASE expression from conditions and values in turn, then the default."""
    return Call("case", arguments, "float")


def _step(value: Expression, first: float, steps: Mapping[float, float]) -> Call:
    constants = [_number(number) for step in steps.items() for number in step]
    return Call("step", (value, _number(first), *constants), "float")


def _polynomial(value: Expression, coefficients: list[float]) -> Expression:
    """The value of a polynomial by Horner's rule; `coefficients` begin with the constant."""
    last, *others = (_number(number) for number in reversed(coefficients))
    return reduce(lambda total, term: _float("+", _float("*", total, value), term), others, last)


def _round(value: Expression) -> Expression:
    """The value rounded to 40 significant bits, by Veltkamp's splitting."""
    scaled = _float("*", value, _number(2.0 ** (53 - KEPT_BITS) + 1))
    return _float("+", scaled, _float("-", value, scaled))


def _logarithm(value: Expression) -> Expression:
    """The natural logarithm of a value x > 0, before rounding; NULL for other values.

    With x = 2^e m, ln x = e ln 2 + ln m and ln m = 2 artanh s = s (2 + 2z/3 + 2z²/5 + …).
    """
    positive = _case(_holds(value, ">", 0.0), value, _NULL)
    coarse = {2.0 ** (64 * j): j for j in range(-15, 16)}
    factor = _step(positive, 2.0**1023, {at: 2.0 ** (-64 * j) for at, j in coarse.items()})
    high = _step(positive, -1023.0, {at: 64.0 * j for at, j in coarse.items()})
    scaled = _let(_float("*", positive, factor))
    fine = {_ROOT_HALF * 2.0**k: k for k in range(-50, 65)}
    mantissa = _let(
        _float("*", scaled, _step(scaled, 2.0**51, {at: 2.0**-k for at, k in fine.items()}))
    )
    low = _step(scaled, -51.0, {at: float(k) for at, k in fine.items()})
    exponent = _let(_float("+", high, low))
    s = _let(_float("/", _float("-", mantissa, _ONE), _float("+", mantissa, _ONE)))
    z = _let(_float("*", s, s))
    terms = [2 / (2 * k + 1) for k in range(_LOG_TERMS)]
    of_mantissa = _float("*", s, _polynomial(z, terms))
    rest = _float("+", _float("*", exponent, _number(_LN2_LOW)), of_mantissa)
    return _let(_float("+", _float("*", exponent, _number(_LN2_HIGH)), rest))


def _exponential(value: Expression) -> Expression:
    """The exponential of a value, rounded to 40 bits: 0 below -708, and NULL if it is too large.

    With x = k ln 2 + r and |r| ≤ (ln 2)/2, it is 2^k exp(r). 2^k is a product of two powers, since
    k may be 1024.
    """
    tiny, large = _holds(value, "<", _LEAST_EXP), _holds(value, ">", _MOST_EXP)
    x = _case(tiny, _NULL, large, _NULL, value)
    whole = _float("+", _float("*", x, _number(_LOG2_E)), _number(0.5))
    k = Call("floor", (_let(whole),), "int")
    reduced = _float("-", x, _float("*", k, _number(_LN2_HIGH)))
    r = _let(_float("-", reduced, _float("*", k, _number(_LN2_LOW))))
    mantissa = _round(_let(_polynomial(r, [1 / math.factorial(n) for n in range(_EXP_TERMS)])))
    blocks = [64.0 * j - 1022 for j in range(32)]
    block = _step(k, blocks[0], {at: at for at in blocks[1:]})
    power = _step(k, 2.0 ** blocks[0], {at: 2.0**at for at in blocks[1:]})
    rest = _let(_float("-", k, block))
    digits = _step(rest, 1.0, {float(n): 2.0**n for n in range(1, 64)})
    result = Call("*", (_let(_float("*", mantissa, digits)), _let(power)), "float")
    return _case(tiny, _ZERO, result)


def _rounded_logarithm(factor: float) -> Callable[[Expression], Expression]:
    """A function for the natural logarithm times a `factor`, rounded to 40 bits."""

    def lower(value: Expression) -> Expression:
        natural = _logarithm(value)
        return _let(_round(natural if factor == 1 else _let(_float("*", natural, _number(factor)))))

    return lower


def _raise_to(value: Expression, exponent: Expression) -> Expression:
    """The power of a value: a product for a constant whole exponent up to `MOST_FACTORS` in size.

    For any other exponent y, the power of x > 0 is exp(y ln x). The power of 0 is 0 for y > 0 and 1
    for y = 0. All else is NULL.
    """
    factors = exponent.value if isinstance(exponent, Constant) else None
    if isinstance(factors, int) and abs(factors) <= MOST_FACTORS:
        product = _product(value, abs(factors))
        return product if factors >= 0 else Call("/", (_ONE, product), "float")
    clamped = _case(
        *(_holds(exponent, ">", _LARGE), _number(_LARGE)),
        *(_holds(exponent, "<", -_LARGE), _number(-_LARGE)),
        exponent,
    )
    zero = _holds(value, "=", 0.0)
    return _case(
        *(Call("and", (zero, _holds(exponent, ">", 0.0)), "bool"), _ZERO),
        *(Call("and", (zero, _holds(exponent, "=", 0.0)), "bool"), _ONE),
        _exponential(_let(_float("*", clamped, _logarithm(value)))),
    )


def _product(value: Expression, factors: int) -> Expression:
    """The power of a value with a whole exponent `factors`, by repeated squaring.

    The squarings follow the binary digits of `factors` after the first.
    """
    if factors == 0:
        return _case(Call("is null", (value,), "bool"), _NULL, _ONE)
    total = value
    for bit in f"{factors:b}"[1:]:
        total = Call("*", (total, total), "float")
        if bit == "1":
            total = Call("*", (total, value), "float")
    return total


LOWERED: Mapping[str, Callable[..., Expression]] = {
    "ln": _rounded_logarithm(1),
    "log2": _rounded_logarithm(_LOG2_E),
    "log10": _rounded_logarithm(_LOG10_E),
    "exp": _exponential,
    "power": _raise_to,
}
