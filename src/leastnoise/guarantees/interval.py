"""An enclosure of a real number by two floats."""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise import _validate
from leastnoise._record import field, real, record
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact, of_ints

_END = real(hint="Round it outward first.")


@record(kw_only=False)
class Interval:
    """A pair of floats with the truth between them, ends included.

    Whoever makes one rounds outward: `lower` down and `upper` up.

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
        """`upper - lower`, rounded up."""
        return math.nextafter(self.upper - self.lower, math.inf) if self.upper > self.lower else 0.0

    def certainly_at_most(self, bound: Exact) -> bool:
        """Return True only if the truth is at most `bound`; compared exactly.

        `bound` is a number as in a budget: a float is the decimal that it prints.
        """
        most = of_ints(bound) if isinstance(bound, Fraction) else exact(bound, name="bound")
        return math.isfinite(self.upper) and Fraction(self.upper) <= most

    def contains(self, value: Fraction | float) -> bool:
        """Return True if `value` lies between the ends; compared exactly.

        A float is the binary number that it is, as the ends are.
        """
        if isinstance(value, Fraction):
            return self.lower <= of_ints(value) <= self.upper
        return self.lower <= _validate.real(value, name="value") <= self.upper

    def encloses(self, other: Interval) -> bool:
        """Return True if all of `other` lies between the ends."""
        inner = _validate.instance(other, Interval, name="other", like="an Interval")
        return self.lower <= inner.lower and inner.upper <= self.upper
