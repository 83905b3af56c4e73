"""Blocks that share a gauge: (Σ (N_i/r_i)^p)^(1/p) with Σ r_i^(−p) <= 1.

Which powers are rational, and whether sums of them are at most 1, is decided exactly.

notation: p the exponent, None for ∞; r_i the radii. What Γ(n/p + a) gives for p = ∞ is its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpz

from leastnoise import _validate
from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import NUMBERS, decide_in_balls, positive
from leastnoise.guarantees.exact import Exact, exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST_TERM = 1_000


def exponent_of(value: Exact | None, *, name: str = "exponent") -> Fraction | None:
    """Return p exactly, None for ∞; raises InvalidArgument unless 1 <= p <= 1000 is simple."""
    if value is None:
        return None
    p = exact(value, name=name)
    if not 1 <= p <= _LARGEST_TERM or max(p.numerator, p.denominator) > _LARGEST_TERM:
        raise InvalidArgument(
            name=name,
            value=str(value)[:40],
            expected="1 <= exponent, a ratio of whole numbers up to 1,000, or None for infinity",
        )
    return p


def radii_of(radii: Sequence[Exact], *, name: str, record: Any, parts: str) -> tuple[Fraction, ...]:
    """Return the r_i exactly; raises InvalidArgument unless Σ r_i^(−p) <= 1 is proved.

    `parts` names the record's field of what they are the radii of.
    """
    exponent, count = exponent_of(record.exponent), len(getattr(record, parts))
    found = tuple(
        positive(radius, name=name) for radius in _validate.items(radii, name=name, like=NUMBERS)
    )
    if len(found) != count:
        raise InvalidArgument(
            name=name, value=f"{len(found)} numbers", expected=f"one for each of {count} parts"
        )
    fits = (
        min(found) >= 1
        if exponent is None
        else sum_at_most_one([(1 / radius, exponent) for radius in found])
    )
    if not fits:
        raise InvalidArgument(
            name=name,
            value=", ".join(f"{float(radius):g}" for radius in found[:5]),
            expected="the sum of radii^(−exponent) to be at most 1",
            hint="Only then does the body hold a unit that moves all the blocks.",
        )
    return found


def combine(values: Sequence[arb], *, exponent: Fraction | None) -> arb:
    """Return (Σ v^p)^(1/p), the maximum for p = ∞, for v >= 0."""
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    if exponent is None or largest.is_zero():
        return largest
    p = ball(exponent)
    powers = [_power(value, p) for value in values]
    return sum(powers, ball(0)) ** (1 / p)


def _power(value: arb, p: arb) -> arb:
    # a ball that reaches 0 has no logarithm: 0 <= v^p <= (its upper end)^p
    if value > 0:
        return value**p
    top = arb(value.upper())
    return (top**p).union(arb(0)) if top > 0 else arb(0)


def combine_floats(
    values: Sequence[NDArray[np.float64]], *, exponent: Fraction | None
) -> NDArray[np.float64]:
    """Return `combined` in floats, elementwise."""
    stacked = np.stack(values)
    largest = stacked.max(axis=0)
    if exponent is None:
        return largest
    # ratios to the largest, so that no power overflows
    ratios = stacked / np.where(largest > 0, largest, 1.0)
    p = float(exponent)
    return largest * (ratios**p).sum(axis=0) ** (1 / p)


def gamma(size: int, *, rise: int, exponent: Fraction | None) -> arb:
    """Return Γ(size/p + rise) for rise >= 1; (rise − 1)! for p = ∞."""
    return (ball(rise) if exponent is None else ball(size / exponent + rise)).gamma()


def rise(size: int, *, order: int, exponent: Fraction | None) -> arb:
    """Return Γ((size + order)/p)/Γ(size/p), order 1 or 2; 0 for size = 0; for p = ∞ its limit.

    That of two sizes is E B^(order/p) for B ~ Beta(s/p, (S − s)/p): rise(s)/rise(S).
    """
    if size == 0:
        return arb(0)
    if exponent is None:
        return ball(Fraction(size, size + order))
    if exponent == 1:
        return ball(size * (size + 1) if order == 2 else size)
    return ball((size + order) / exponent).gamma() / ball(size / exponent).gamma()


Radical = tuple[Fraction, Fraction]
"""A base >= 0 and an exponent > 0."""


def raise_rational(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Return base^exponent for base >= 0, exponent > 0 if it is rational, else None.

    >>> raise_rational(Fraction(1, 8), Fraction(2, 3)), raise_rational(Fraction(2), Fraction(1, 2))
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
        value = raise_rational(base, exponent)
        if value is None:
            rest.append((base, exponent))
        else:
            rational += value
    if not rest:
        return rational <= 1
    return decide_in_balls(
        lambda: sum((ball(base) ** ball(exponent) for base, exponent in rest), ball(rational)),
        Fraction(1),
    )
