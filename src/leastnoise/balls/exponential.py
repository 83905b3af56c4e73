"""e^ε between two rationals of a common power-of-two denominator."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.balls.core import ball, precision


def exponential_between(epsilon: Fraction, *, bits: int) -> tuple[int, int]:
    """Return whole a <= e^epsilon · 2^bits <= b, at most 2 apart, for 0 <= epsilon <= 100,000.

    >>> low, high = exponential_between(Fraction(1), bits=8)
    >>> low <= 2.718281828 * 256 <= high
    True
    """
    # the ball has to be narrower than 1 after the multiplication: log2 e^ε < 1.5 ε bits more
    with precision(bits + int(1.5 * float(epsilon)) + 64):
        scaled = ball(epsilon).exp() * ball(2**bits)
        low, high = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
    if low is None or high is None:  # the precision rules it out
        raise ArithmeticError("e^epsilon could not be enclosed")
    return int(low), int(high)
