"""The grid: released values are multiples of g, a power of two that never depends on data.

notation: s = the standard deviation of one coordinate, for noise on the whole numbers 1 at least.
Rounding the sum is post-processing, so any fixed g keeps the guarantee (theory/release.md §1); it
adds g²/12 to a coordinate's variance.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from leastnoise.noise.base import Noise

DEFAULT_BITS = 20  # g²/12 is then below 2^-43 of the variance
# At 30 bits the rounding is nearly always decided in floats. A finer grid would only be slower:
# past 52 bits no float64 could hold the result.
FINEST_BITS = 30


def default_grid(noise: Noise) -> Fraction:
    """Return g = 2^(⌊log₂ s⌋ − 20).

    >>> from leastnoise.noise.gaussian.law import Gaussian
    >>> default_grid(Gaussian(scale=3)) == Fraction(2) ** -19
    True
    """
    # ⌊x/2⌋ = ⌊⌊x⌋/2⌋: no root of s² is needed
    return Fraction(2) ** (_floor_log2(_variance(noise)) // 2 - DEFAULT_BITS)


def check_grid(grid: Fraction, noise: Noise) -> None:
    """Raise InvalidArgument unless `grid` is a power of two and at least s·2^-30."""
    if not is_power_of_two(grid):
        raise InvalidArgument(
            name="grid",
            value=_short(grid),
            expected="grid to be a power of two, like 1/1024 or 4",
            hint=f"Near the default is {_short(default_grid(noise))}; leave grid out to use it.",
        )
    least_square = _variance(noise) / 4**FINEST_BITS
    if grid**2 < least_square:
        finest = Fraction(2) ** (_floor_log2(least_square) // 2)
        finest = finest if finest**2 >= least_square else 2 * finest
        raise InvalidArgument(
            name="grid",
            value=_short(grid),
            expected=f"grid >= 2^-{FINEST_BITS} standard deviations of the noise",
            hint=f"{_short(finest)} and every larger power of two will do.",
        )


def is_power_of_two(number: Fraction) -> bool:
    """Return whether `number` is 2^m for a whole m."""
    top, bottom = number.numerator, number.denominator
    return number > 0 and top & (top - 1) == 0 and bottom & (bottom - 1) == 0


def exponent_of(grid: Fraction) -> int:
    """Return m, given 2^m."""
    return grid.numerator.bit_length() - grid.denominator.bit_length()


def _variance(noise: Noise) -> Fraction:
    """s², from the variance at scale 1: scale² may be outside the range of floats.

    For noise on the whole numbers 1 at least, however rarely it isn't 0: values are cut off at 2^61
    grid steps, and unless that is a whole number too, what is left of them shows through the noise.
    """
    variance = noise.scale**2 * Fraction(noise.scaled(1 / noise.scale).variance)
    return max(variance, Fraction(1)) if noise.for_whole_numbers else variance


def _floor_log2(number: Fraction) -> int:
    guess = exponent_of(number)  # within 1
    return guess if Fraction(2) ** guess <= number else guess - 1


def _short(number: Fraction) -> str:
    """Powers of two beyond six digits are shown as such."""
    if is_power_of_two(number) and not 10**-6 < number < 10**6:
        return f"2^{exponent_of(number)}"
    return str(number)[:40]
