"""Functions for bodies with several parts: sums under a cap, and combined gauges of blocks.

A condition "at most k" on a sum changes volumes and moments. In these functions S_p is a sum of p
independent variables y_1, …, y_p that are uniform on [0, 1], and F_p(t) is the probability that S_p
<= t. E[z; S_p <= t] is the mean of a variable z that is set to 0 where S_p > t.

The gauges N_i of blocks of coordinates combine to (Σ (N_i/r_i)^p)^(1/p) with Σ r_i^(−p) <= 1. In
these functions p is the exponent, None for ∞, and r_i are the radii. The functions decide exactly
if a power is rational, and if a sum of powers is at most 1. For p = ∞, functions of Γ(n/p + a)
return their limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from typing import TYPE_CHECKING, Any, final

import numpy as np
from flint import arb, arb_poly, fmpz

from leastnoise import _validate
from leastnoise.balls.core import ball, precision, precisions
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import NUMBERS, decide_in_balls, positive
from leastnoise.guarantees.exact import Exact, exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_WORK = 1_000_000
"""The largest product of coordinates and cap; its terms take one or two seconds."""


@final
@dataclass(frozen=True, kw_only=True)
class CappedCubes:
    """The volumes and moments of the sets T_p = {y ∈ [0, 1]^p : Σ y_i <= k} for p = 0 … largest.

    volumes[p] is the volume V_p of T_p, and V_0 = 1. firsts[p] and seconds[p] are the means of y_1
    and of y_1² for a uniform point y of T_p; they are 0 for p = 0.
    """

    volumes: tuple[arb, ...]
    firsts: tuple[arb, ...]
    seconds: tuple[arb, ...]


def capped_cubes(*, largest: int, cap: int) -> CappedCubes:
    """Compute the volumes and moments of `CappedCubes` at the current precision.

    `cap` is the largest sum k >= 1. For n = 1 and 2, the Laplace transform in t of E[y_1^n; S_p <=
    t] is φ^(p−1)·∫₀¹ yⁿe^(−sy)dy/s. Here φ = (1 − e^(−s))/s is the transform of a uniform variable.
    Each factor 1/s is φ/(1 − e^(−s)), and 1/(1 − e^(−s)) is a sum over t, t − 1, …. So at t = k all
    moments follow from F_p, F_(p+1) and F_(p+2) at integers.
    """
    if cap >= largest:
        half, third = arb(1) / 2, arb(1) / 3
        return CappedCubes(
            volumes=(arb(1),) * (largest + 1),
            firsts=(arb(0),) + (half,) * largest,
            seconds=(arb(0),) + (third,) * largest,
        )
    sums = _cumulative(largest=largest + 2, cap=cap)
    volumes, firsts, seconds = [arb(1)], [arb(0)], [arb(0)]
    for at, above, two_above in zip(sums, sums[1:], sums[2:], strict=False):
        volumes.append(at.at_cap)
        # E[y; S_p <= k] = Σ_{n<=k} F_(p+1)(n) − Σ_{n<k} F_p(n)
        firsts.append((above.below + above.at_cap - at.below) / at.at_cap)
        # E[y²; S_p <= k] = 2 Σ_{n<=k} (k − n + 1) F_(p+2)(n) − 2 Σ_{n<k} (k − n) F_(p+1)(n)
        #                   − Σ_{n<k} F_p(n)
        twice = two_above.weighted + two_above.below + two_above.at_cap - above.weighted
        seconds.append((2 * twice - at.below) / at.at_cap)
    return CappedCubes(volumes=tuple(volumes), firsts=tuple(firsts), seconds=tuple(seconds))


@final
@dataclass(frozen=True)
class _Cumulative:
    """Sums of the distribution function F_p at integers, for one p and the cap k.

    `at_cap` is F_p(k), `below` the sum of F_p(n) over n < k, and `weighted` the sum of (k −
    n)·F_p(n) over n < k.
    """

    at_cap: arb
    below: arb
    weighted: arb


def _cumulative(*, largest: int, cap: int) -> list[_Cumulative]:
    """List the sums of `_Cumulative` for p = 1 … largest and k = `cap`.

    They follow from the law of ⌊S_p⌋, which is i with probability A(p, i)/p!, where A are the
    Eulerian numbers. Their recursion A(p, i) = (i + 1) A(p−1, i) + (p − i) A(p−1, i−1) has only
    positive terms, so no digits cancel.
    """
    sums = []
    floors = [arb(1)] + [arb(0)] * (cap - 1)
    for p in range(1, largest + 1):
        if p > 1:
            for i in range(min(p, cap) - 1, 0, -1):
                floors[i] = ((i + 1) * floors[i] + (p - i) * floors[i - 1]) / p
            floors[0] /= p
        at_cap = below = weighted = arb(0)
        for i, share in enumerate(floors[:p]):
            remaining = cap - 1 - i
            at_cap += share
            below += remaining * share
            weighted += remaining * (remaining + 1) // 2 * share
        sums.append(_Cumulative(at_cap, below, weighted))
    return sums


def share_below(*, sizes: tuple[int, int], last: int, cap: int) -> arb:
    """The probability that a sum of independent Beta variables M_j is at most `cap`.

    With `sizes` = (n, q), n of the M_j are Beta(q, 1), and one more is Beta(`last`, 1). The Laplace
    transform of Beta(q, 1) in s is q!·s^(−q)(1 − e^(−s) Σ_{i<q} s^i/i!). Each term of the product
    of these transforms is inverted to a power of max(cap − l, 0), where l is a whole number. The
    terms alternate in sign, so the precision grows until 100 bits of the sum are right. Raises
    InvalidArgument if that takes more than about 200,000 bits.
    """
    for bits in precisions(192, 1 << 18):
        with precision(bits):
            wanted = _alternating_sum(count=sizes[0], shape=sizes[1], last=last, cap=cap)
        if wanted.rel_accuracy_bits() >= 100:
            return wanted
    raise InvalidArgument(name="most", value=cap, expected="fewer cells, or a smaller cap")


def _alternating_sum(*, count: int, shape: int, last: int, cap: int) -> arb:
    degree = count * shape + last
    factor, last_factor = _partial_exponential(shape), _partial_exponential(last)
    before, powers, total = arb_poly([0]), arb_poly([1]), arb(0)  # powers of `factor`: l − 1 and l
    for reach in range(min(cap, count + 2)):
        product = powers * ball(comb(count, reach))
        if reach > 0:
            product += before * last_factor * ball(comb(count, reach - 1))
        before, powers = powers, powers * factor
        part, span = arb(0), arb(cap - reach)
        # Σ_i c_i span^(degree − i)/(degree − i)!
        power = span**degree / ball(degree + 1).gamma()
        for i, coefficient in enumerate(product.coeffs()):
            part += coefficient * power
            power *= (degree - i) / span
        total += part if reach % 2 == 0 else -part
    return total * ball(factorial(shape)) ** count * ball(factorial(last))


def _partial_exponential(size: int) -> arb_poly:
    """The polynomial in s that consists of the first `size` terms of the series of e^s."""
    return arb_poly([1 / ball(factorial(i)) for i in range(size)])


_LARGEST_TERM = 1_000


def exponent_of(value: Exact | None, *, name: str = "exponent") -> Fraction | None:
    """Read the exponent p exactly, None for ∞.

    Raises InvalidArgument unless p >= 1 is a ratio of integers up to 1,000.
    """
    if value is None:
        return None
    p = exact(value, name=name)
    if not 1 <= p <= _LARGEST_TERM or max(p.numerator, p.denominator) > _LARGEST_TERM:
        raise InvalidArgument(
            name=name,
            value=str(value)[:40],
            expected="1 <= exponent, a ratio of integers up to 1,000, or None for infinity",
        )
    return p


def radii_of(radii: Sequence[Exact], *, name: str, record: Any, parts: str) -> tuple[Fraction, ...]:
    """Read the radii exactly; raises InvalidArgument unless Σ r_i^(−p) <= 1 is proved.

    For p = ∞ all r_i must be at least 1. `record` has the `exponent` p, and `parts` names its field
    whose entries have these radii.
    """
    exponent, count = exponent_of(record.exponent), len(getattr(record, parts))
    exact_radii = tuple(
        positive(radius, name=name) for radius in _validate.items(radii, name=name, like=NUMBERS)
    )
    if len(exact_radii) != count:
        raise InvalidArgument(
            name=name,
            value=f"{len(exact_radii)} numbers",
            expected=f"one for each of {count} parts",
        )
    fits = (
        min(exact_radii) >= 1
        if exponent is None
        else sum_at_most_one([(1 / radius, exponent) for radius in exact_radii])
    )
    if not fits:
        raise InvalidArgument(
            name=name,
            value=", ".join(f"{float(radius):g}" for radius in exact_radii[:5]),
            expected="the sum of radii^(−exponent) to be at most 1",
            hint="With a larger sum, noise of this shape would not protect a person who changes "
            "all blocks.",
        )
    return exact_radii


def combine(values: Sequence[arb], *, exponent: Fraction | None) -> arb:
    """Combine values v >= 0 to the ball (Σ v^p)^(1/p), which is their maximum for p = ∞."""
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    if exponent is None or largest.is_zero():
        return largest
    p = ball(exponent)
    powers = [_power(value, p) for value in values]
    return sum(powers, ball(0)) ** (1 / p)


def _power(value: arb, p: arb) -> arb:
    # a ball that contains 0 has no logarithm, so use 0 <= v^p <= (upper end)^p
    if value > 0:
        return value**p
    top = arb(value.upper())
    return (top**p).union(arb(0)) if top > 0 else arb(0)


def combine_floats(
    values: Sequence[NDArray[np.float64]], *, exponent: Fraction | None
) -> NDArray[np.float64]:
    """Combine values like `combine`, but in floats and elementwise."""
    stacked = np.stack(values)
    largest = stacked.max(axis=0)
    if exponent is None:
        return largest
    # ratios to the largest, so that no power overflows
    ratios = stacked / np.where(largest > 0, largest, 1.0)
    p = float(exponent)
    return largest * (ratios**p).sum(axis=0) ** (1 / p)


def gamma(size: int, *, rise: int, exponent: Fraction | None) -> arb:
    """The number Γ(size/p + rise) for a whole `rise` >= 1; for p = ∞ it is (rise − 1)!."""
    return (ball(rise) if exponent is None else ball(size / exponent + rise)).gamma()


def rise(size: int, *, order: int, exponent: Fraction | None) -> arb:
    """The quotient Γ((size + order)/p)/Γ(size/p) for order 1 or 2; 0 for size = 0.

    For p = ∞ it is the limit, size/(size + order). Two such quotients give the moments of a
    variable B ~ Beta(s/p, (S − s)/p) with s < S: the mean of B^(order/p) is rise(s)/rise(S).
    """
    if size == 0:
        return arb(0)
    if exponent is None:
        return ball(Fraction(size, size + order))
    if exponent == 1:
        return ball(size * (size + 1) if order == 2 else size)
    return ball((size + order) / exponent).gamma() / ball(size / exponent).gamma()


Radical = tuple[Fraction, Fraction]
"""The base >= 0 and the exponent > 0 of a power."""


def raise_rational(base: Fraction, exponent: Fraction) -> Fraction | None:
    """The power base^exponent if it is rational, else None; base >= 0, exponent > 0.

    >>> raise_rational(Fraction(1, 8), Fraction(2, 3)), raise_rational(Fraction(2), Fraction(1, 2))
    (Fraction(1, 4), None)
    """
    # p/q in lowest terms has a rational n-th root if and only if p and q are n-th powers
    numerator = _root(base.numerator, exponent.denominator)
    denominator = _root(base.denominator, exponent.denominator)
    if numerator is None or denominator is None:
        return None
    return Fraction(numerator, denominator) ** exponent.numerator


def _root(number: int, degree: int) -> int | None:
    root = int(fmpz(number).root(degree))
    return root if root**degree == number else None


def sum_at_most_one(radicals: Sequence[Radical]) -> bool:
    """True only if Σ base^exponent <= 1; False is exact unless the sum is extremely near 1.

    Positive real radicals of rationals have a rational sum only if each is rational (Besicovitch
    1940). So a sum with an irrational term is never 1, and balls of growing precision decide on
    which side it lies. A sum that 4096 bits can't separate from 1 is taken to be larger.
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
