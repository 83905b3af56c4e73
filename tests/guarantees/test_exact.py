from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import decimal_text, exact, root_above


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("1e-5", Fraction(1, 100_000)),
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),  # the decimal that prints, not the binary value
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (Decimal("2.50"), Fraction(5, 2)),
        (7, Fraction(7)),
        ("1/3", Fraction(1, 3)),
        (Fraction(2, 7), Fraction(2, 7)),
        (".5", Fraction(1, 2)),
        (np.str_("0.25"), Fraction(1, 4)),
        # numpy's narrower floats are the decimals that they print, not those of their float64
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.float32("1e-40"), Fraction(1, 10**40)),
        (np.uint8(200), Fraction(200)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    ],
)
def test_reads_what_is_written(value: str | float, meant: Fraction) -> None:
    read = exact(value, name="x")
    assert read == meant
    assert type(read) is Fraction
    assert type(read.numerator) is type(read.denominator) is int


def test_a_fraction_of_numpy_ints_does_not_wrap() -> None:
    number = exact(Fraction(cast("int", np.uint8(200))), name="x")
    assert number * 2 == 400
    assert type(number.numerator) is int


def test_print_options_do_not_change_a_float() -> None:
    with np.printoptions(legacy="1.13"):
        assert exact(cast("float", np.float32(0.12345679)), name="x") == Fraction("0.12345679")


@pytest.mark.parametrize(
    "value",
    ["", "abc", "nan", "inf", float("nan"), float("inf"), "1e999", "1e-999", "1e9999999999", "1/0",
     True, None, [1], " 1 ", "1\n", b"1", np.True_, np.longdouble("0.1"), np.ma.masked,
     np.array(1), np.array(0.5), np.timedelta64(3), 1j, np.complex64(1), np.float32("nan"),
     np.float16("inf"), Decimal("nan"), Decimal("sNaN"), Decimal("-Infinity"), object(), np.uint8,
     "0x10", "1_000", "9" * 900, "1,5", Fraction(10) ** 301,
     pytest.param(Fraction(10**700 + 1, 10**700), id="700 digits"),
     pytest.param(10**5000, id="5000 digits"), "\u0661"],
)  # fmt: skip
def test_refuses_and_names_the_argument(value: object) -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        exact(value, name="epsilon")  # pyright: ignore[reportArgumentType]


@settings(derandomize=True)
@given(st.fractions(max_denominator=10**9))
def test_text_round_trip(number: Fraction) -> None:
    assert Fraction(exact(decimal_text(number), name="x")) == number


def test_text_of_a_long_dyadic_fraction_is_read_back() -> None:
    number = exact(Fraction(2**1999 + 1, 2**1999), name="x")
    assert exact(decimal_text(number), name="x") == number


@settings(derandomize=True)
@given(st.integers(-(10**12), 10**12), st.integers(-40, 40))
def test_text_of_decimals_is_a_decimal(digits: int, exponent: int) -> None:
    number = digits * Fraction(10) ** exponent
    text = decimal_text(number)
    assert "/" not in text
    assert exact(text, name="x") == number


@settings(derandomize=True)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**12))
def test_roots_are_above_and_close(square: Fraction) -> None:
    assert root_above(square**2) == square
    root = root_above(square)
    assert square <= root**2 <= square * (1 + Fraction(1, 2**60))
