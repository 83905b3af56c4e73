"""Exact numbers as users write them, and enclosures of reals by two floats.

A `str` is the decimal or ratio that it spells, and an `int` is itself. A `float` x is the decimal
that it prints, `Fraction(repr(x))`, never its binary value: `0.1` means 1/10. numpy's scalars are
read in the same way, a `float32` as its own shortest decimal: `numpy.float32(0.1)` also means 1/10.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np

from leastnoise import _validate
from leastnoise._record import field, real, record
from leastnoise.errors import InvalidArgument, show_value

_END = real(hint="Round it outward first.")


@record(kw_only=False)
class Interval:
    """A pair of floats that enclose a real number, ends included.

    Code that creates an interval has to round outward: `lower` down and `upper` up.

    Args:
        lower: A float at most the number.
        upper: A float at least the number.

    Raises:
        InvalidArgument: lower > upper, or an end is no float.

    Examples:
        >>> Interval(0.25, 0.5).certainly_at_most(Fraction(1, 2))
        True
    """

    lower: float = field(converter=_END)
    upper: float = field(converter=_END)

    def _check_together(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidArgument(
                name="interval", value=(self.lower, self.upper), expected="lower <= upper"
            )

    @property
    def width(self) -> float:
        """The difference `upper - lower`, rounded up."""
        return math.nextafter(self.upper - self.lower, math.inf) if self.upper > self.lower else 0.0

    def certainly_at_most(self, bound: Exact) -> bool:
        """True only if the enclosed number is at most `bound`; compared exactly.

        Args:
            bound: An exact number as in a budget: a float is the decimal that it prints.

        Returns:
            True if upper <= bound.

        Raises:
            InvalidArgument: The bound is malformed.

        """
        most = of_ints(bound) if isinstance(bound, Fraction) else exact(bound, name="bound")
        return math.isfinite(self.upper) and Fraction(self.upper) <= most

    def contains(self, value: Fraction | float) -> bool:
        """True if `value` lies between the ends; compared exactly.

        Args:
            value: A Fraction, or a float, which is taken as the binary number that it is.

        Returns:
            True if lower <= value <= upper.

        Raises:
            InvalidArgument: The value is no real number.

        """
        if isinstance(value, Fraction):
            return self.lower <= of_ints(value) <= self.upper
        return self.lower <= _validate.real(value, name="value") <= self.upper

    def encloses(self, other: Interval) -> bool:
        """True if all of `other` lies between the ends.

        Args:
            other: Another interval.

        Returns:
            True if `other` is a part of this interval.

        Raises:
            InvalidArgument: `other` is no interval.

        """
        inner = _validate.instance(other, Interval, name="other", like="an Interval")
        return self.lower <= inner.lower and inner.upper <= self.upper


Exact = str | int | float | Decimal | Fraction
"""The types in which a privacy number may be given."""

# Magnitudes are kept inside the range of normal floats, so that every later conversion is safe,
# and a text like "1e999999999" can't make Python build a number of a gigabyte.
LARGEST = Fraction(10) ** 300
SMALLEST = 1 / LARGEST
# The range of lengths, scales and rates whose squares and products are normal floats.
SMALLEST_SQUARED, LARGEST_SQUARED = Fraction(1, 10**140), Fraction(10**140)
_MAX_CHARACTERS = 1300
_MAX_BITS = 2000  # for numerator and denominator each, so that their text stays short
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_NARROW: tuple[type, ...] = (np.float32, np.float16)
_RATIO = re.compile(r"[+-]?[0-9]+/[0-9]+")


def exact(value: Exact, *, name: str) -> Fraction:
    """Read `value` as the Fraction that it spells.

    Raises InvalidArgument, which names `name`, if the value is refused. Text must be a decimal or a
    ratio, without blanks around it, of at most 1,300 characters. Infinities, NaN, and sizes outside
    [1e-300, 1e300] except 0 are refused, and numerators or denominators of more than 2000 bits. So
    are bools, complex numbers and arrays, and `numpy.longdouble`, since it differs between
    machines.

    >>> exact("1e-5", name="delta")
    Fraction(1, 100000)
    >>> exact(0.1, name="epsilon")
    Fraction(1, 10)
    """
    number = _parse(value, name=name)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MAX_BITS:
        raise InvalidArgument(
            name=name,
            value="a number of very many digits",
            expected=f"{name} of at most 600 digits",
        )
    if number != 0 and not SMALLEST <= abs(number) <= LARGEST:
        raise InvalidArgument(
            name=name, value=show_value(value), expected=f"1e-300 <= |{name}| <= 1e300"
        )
    return number


def exact_where(
    value: Exact, *, name: str, holds: Callable[[Fraction], bool], expected: str
) -> Fraction:
    """Read `value` exactly; raises InvalidArgument with the text `expected` unless `holds(value)`.

    >>> exact_where("0.5", name="gamma", holds=lambda gamma: gamma <= 1, expected="gamma <= 1")
    Fraction(1, 2)
    """
    number = exact(value, name=name)
    if not holds(number):
        raise InvalidArgument(name=name, value=str(value)[:40], expected=expected)
    return number


def exact_rows(rows: Sequence[Sequence[Exact]], *, name: str) -> tuple[tuple[Fraction, ...], ...]:
    """Read rows of numbers as Fractions; raises InvalidArgument like `exact`.

    >>> exact_rows([["0.5", 1]], name="points")
    ((Fraction(1, 2), Fraction(1, 1)),)
    """
    like = "rows of numbers, such as [[1, 0], [0, 1]]"
    listed = _validate.items(rows, name=name, like=like)
    return tuple(
        tuple(exact(value, name=name) for value in _validate.items(row, name=name, like=like))
        for row in listed
    )


def _parse(value: Exact, *, name: str) -> Fraction:
    if isinstance(value, Fraction):
        return of_ints(value)
    text = _text_of(value)
    if text is None and (whole := _validate.as_int(value)) is not None:
        return Fraction(whole)
    if text is not None and len(text) <= _MAX_CHARACTERS:
        if _DECIMAL.fullmatch(text):
            return Fraction(text)
        if _RATIO.fullmatch(text) and int(text.split("/")[1]) != 0:
            return Fraction(text)
        if text.lower().lstrip("+-") in {"nan", "snan", "inf", "infinity"}:
            raise InvalidArgument(name=name, value=text, expected=f"a finite {name}")
    raise InvalidArgument(
        name=name,
        value=show_value(value),
        expected="a decimal number",
        hint=_validate.number_like(text)
        or f"Write {name} as a decimal number, such as 0.5 or 1e-5.",
    )


def of_ints(number: Fraction) -> Fraction:
    """Convert `number` to a Fraction of Python ints; numpy's ints could overflow in arithmetic."""
    if type(number) is Fraction and type(number.numerator) is type(number.denominator) is int:
        return number
    return Fraction(operator.index(number.numerator), operator.index(number.denominator))


def is_power_of_two(number: Fraction) -> bool:
    """True if `number` is 2^m for an integer m, which may be negative."""
    top, bottom = number.numerator, number.denominator
    return number > 0 and top & (top - 1) == 0 and bottom & (bottom - 1) == 0


def _text_of(value: object) -> str | None:
    """The decimal text of a float, a Decimal or a str; None for integers and other values."""
    if isinstance(value, float):  # also numpy.float64, whose repr is not a number
        return float.__repr__(value)
    if isinstance(value, str | Decimal):
        return str(value)
    if isinstance(value, _NARROW):  # str() would follow numpy's print options
        return np.format_float_scientific(cast("Any", value))
    return None


def decimal_text(number: Fraction) -> str:
    """A short text that `exact` reads back as `number`.

    It is a decimal, or a ratio if no finite decimal exists that is short enough for `exact`.

    >>> [decimal_text(Fraction(text)) for text in ("0.00001", "5/2", "1/3")]
    ['1e-5', '2.5', '1/3']
    """
    twos, fives, rest = _valuation(number.denominator)
    if rest != 1:
        return f"{number.numerator}/{number.denominator}"
    places = max(twos, fives)
    digits = str(abs(number.numerator) * 10**places // number.denominator)
    padded = digits.rjust(places + 1, "0")
    plain = f"{padded[:-places]}.{padded[-places:]}" if places else padded
    stripped = digits.rstrip("0") or "0"
    scientific = f"{stripped}e{len(digits) - len(stripped) - places}"
    sign = "-" if number < 0 else ""
    text = sign + (scientific if len(plain) > 6 and len(scientific) < len(plain) else plain)
    # a dyadic fraction may have a long decimal: one digit for each bit of the denominator
    return text if len(text) <= _MAX_CHARACTERS else f"{number.numerator}/{number.denominator}"


def _valuation(denominator: int) -> tuple[int, int, int]:
    """The exponents of 2 and 5 in `denominator`, and the remaining factor."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return twos, fives, rest


def root_above(square: Fraction) -> Fraction:
    """The root √square, exactly if it is rational; otherwise larger by at most 2^−60, relative.

    >>> root_above(Fraction(9, 4))
    Fraction(3, 2)
    """
    # √(p/q) = √(pq)/q, and p/q in lowest terms has a rational root if and only if pq is a square.
    product = square.numerator * square.denominator
    root = math.isqrt(product)
    if root * root == product:
        return Fraction(root, square.denominator)
    # pq >= 2, so one unit of isqrt(pq·4^64) is less than 2^−64 of it.
    return Fraction(math.isqrt(product << 128) + 1, square.denominator << 64)


def printed_at_least(number: Fraction) -> float:
    """A float whose printed decimal is at least `number`, and equals it if possible.

    >>> printed_at_least(Fraction(3, 10)), Fraction(str(printed_at_least(Fraction(2, 3)))) >= 2 / 3
    (0.3, True)
    """
    nearest = float(number)
    return nearest if Fraction(repr(nearest)) >= number else math.nextafter(nearest, math.inf)


def float_at_most(number: Fraction) -> float:
    """The largest float that is at most `number`.

    >>> Fraction(float_at_most(Fraction(1, 10))) <= Fraction(1, 10)
    True
    """
    return 0.0 - float_at_least(-number)  # never −0.0


def float_at_least(number: Fraction) -> float:
    """The smallest float that is at least `number`.

    >>> Fraction(float_at_least(Fraction(1, 3))) > Fraction(1, 3)
    True
    """
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def few_digits_at_least(value: float, digits: int = 6) -> Fraction:
    """The smallest decimal with `digits` significant digits that is at least `value` >= 0.

    >>> few_digits_at_least(2 / 3, digits=2)
    Fraction(67, 100)
    """
    if not value:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return -(-Fraction(value) // unit) * unit
