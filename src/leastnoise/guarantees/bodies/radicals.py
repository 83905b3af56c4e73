"""Powers of rational numbers with rational exponents: which are rational, and sums against 1."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpz

from leastnoise.balls.core import ball
from leastnoise.guarantees.bodies.base import decided_in_balls

Radical = tuple[Fraction, Fraction]
"""A base >= 0 and an exponent > 0."""


def rational_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Return base^exponent for base >= 0, exponent > 0 if it is rational, else None.

    >>> rational_power(Fraction(1, 8), Fraction(2, 3)), rational_power(Fraction(2), Fraction(1, 2))
    (Fraction(1, 4), None)
    """
    # in lowest terms p/q has a rational n-th root just when p and q are n-th powers
    numerator = _root(base.numerator, exponent.denominator)
    denominator = _root(base.denominator, exponent.denominator)
    if numerator is None or denominator is None:
        return None
    return Fraction(numerator, denominator) ** exponent.numerator


def _root(number: int, degree: int) -> int | None:
    root = int(fmpz(number).root(degree))
    return root if root**degree == number else None


def sum_at_most_one(radicals: Sequence[Radical]) -> bool:
    """Return whether Σ base^exponent <= 1, exactly.

    Real positive radicals of rationals have a rational sum only if each is rational (Besicovitch
    1940). So a sum with an irrational term is never 1, and balls of growing precision decide it;
    a distance from 1 below 4096 bits counts as above.
    """
    rational, rest = Fraction(0), []
    for base, exponent in radicals:
        value = rational_power(base, exponent)
        if value is None:
            rest.append((base, exponent))
        else:
            rational += value
    if not rest:
        return rational <= 1
    return decided_in_balls(
        lambda: sum((ball(base) ** ball(exponent) for base, exponent in rest), ball(rational)),
        Fraction(1),
    )
