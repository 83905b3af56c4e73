"""An enclosure of a real number by two floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from leastnoise.errors import InvalidArgument


@dataclass(frozen=True)
class Interval:
    """A pair of floats with the truth between them, ends included.

    Whoever makes one rounds outward: `lower` down and `upper` up.

    >>> Interval(0.25, 0.5).certainly_at_most(Fraction(1, 2))
    True
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        """Refuse NaN and reversed ends."""
        if not self.lower <= self.upper:
            raise InvalidArgument(
                name="interval", value=(self.lower, self.upper), expected="lower <= upper"
            )

    @property
    def width(self) -> float:
        """`upper - lower`, rounded up."""
        return math.nextafter(self.upper - self.lower, math.inf) if self.upper > self.lower else 0.0

    def certainly_at_most(self, bound: Fraction | int) -> bool:
        """Return True only if the truth is at most `bound`; compared exactly."""
        return math.isfinite(self.upper) and Fraction(self.upper) <= bound

    def contains(self, value: Fraction | float) -> bool:
        """Return True if `value` lies between the ends; compared exactly."""
        return Fraction(self.lower) <= Fraction(value) <= Fraction(self.upper)

    def encloses(self, other: Interval) -> bool:
        """Return True if all of `other` lies between the ends."""
        return self.lower <= other.lower and other.upper <= self.upper
