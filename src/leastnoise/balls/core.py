"""Helpers for python-flint's balls: precision, conversions, and functions that it lacks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock

from flint import acb, arb, ctx, fmpq

UNIT = 2.0**-53
"""A bound on the relative error of one operation on floats."""
PLAIN_BITS = 128
"""The precision for a few steps with little cancellation; other code states its own, and why."""
AMPLE_BITS = 2 * PLAIN_BITS
"""The precision of closed forms in which half of the bits may cancel."""
POINTS_PER_STD = 64
"""The default number of lattice steps in a standard deviation of the loss.

Errors fall with the square of this number.
"""
PRECISE = 2.0**-960
"""A float far above the smallest normal float, 2^-1022: larger floats have full precision."""


class _PrecisionLock:
    """A lock for python-flint's process-wide precision: one proof at a time.

    A forked child gets its own lock, since a thread of the parent may hold the old lock forever.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        if hasattr(os, "register_at_fork"):  # missing on Windows, which has no fork either
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = RLock()


_PRECISION_LOCK = _PrecisionLock()


@contextmanager
def precision(bits: int = 128) -> Iterator[None]:
    """Evaluate balls with `bits` bits inside the block; other threads wait.

    128 bits are far more than it takes to compare a bound with a fraction or a float.

    >>> with precision(200):
    ...     ball(Fraction(1, 3)).rad() < ball(Fraction(1, 10**55))
    True
    """
    with _PRECISION_LOCK.lock, ctx.workprec(bits):
        yield


def precisions(first: int, most: int) -> Iterator[int]:
    """Yield increasing numbers of bits, each twice the previous, up to `most`."""
    while first <= most:
        yield first
        first *= 2


def ball(number: Fraction | int) -> arb:
    """The ball that encloses `number` at the current precision.

    Args:
        number: An exact number.

    Returns:
        Its enclosure.

    """
    fraction = number if isinstance(number, Fraction) else Fraction(number)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def falls_through(f: Callable[[arb], arb]) -> Callable[[arb], bool | None]:
    """Return a condition on x: True if f(x) < 0 is certain, and False if f(x) > 0 is certain.

    It is None, undecided, if the enclosure of f(x) contains 0. A bisection uses it to find a point
    where f falls through 0.
    """

    def below(x: arb) -> bool | None:
        value = f(x)
        return True if value < 0 else False if value > 0 else None

    return below


def at_most_one(delta: arb) -> arb:
    """The smaller of 1 and the upper end of `delta`, exactly; 1 if `delta` isn't finite."""
    return delta.upper().min(arb(1)) if delta.is_finite() else arb(1)


def float_below(x: arb) -> float:
    """A float that is certainly at most every point of `x`.

    It is −inf if `x` isn't finite, or if no finite float is certainly below. `float(x.lower())`
    alone rounds to nearest, so steps down follow until the float is certainly below.
    """
    return 0.0 - float_above(-x)  # 0 − 0, so that an exact zero has no negative sign


def float_above(x: arb) -> float:
    """A float that is certainly at least every point of `x`.

    It is +inf if `x` isn't finite, or if no finite float is certainly above.
    """
    if not x.is_finite():
        return math.inf
    candidate = float(x.upper())
    while math.isfinite(candidate) and not x <= arb(candidate):
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def bessel_k_ratio(twice_order: int, z: arb) -> arb:
    """Enclose ρ_ν = K_ν(z)/K_{ν+1}(z) for ν = twice_order/2 >= 0 and z > 0.

    K_ν is the modified Bessel function of the second kind. By theory/noise.md §6, ρ_{ν+1} = 1/(ρ_ν
    + 2(ν+1)/z), an order-reversing contraction of [0, 1] with factor ρ_ν ρ_{ν+1} < (z/(ν + √(ν² +
    z²)))². Iterated from all of [0, 1] at a low enough order, it ends in an enclosure as narrow as
    the precision. If ν isn't high enough for that, the iteration starts from ρ of order −½ or 0,
    which is known.
    """
    rough = float(z.mid())
    half = twice_order / 4  # lower orders contract less: the factor at half the order is used
    contraction = (rough / (half + math.hypot(half, rough))) ** 2
    shrinks = 1e-300 < contraction < 1
    steps = ctx.prec / -math.log2(contraction) + 2 if shrinks else math.inf
    if steps + 1 < half:
        order, ratio = twice_order - 2 * math.ceil(steps), arb(0.5, 0.5)
    elif twice_order % 2:
        order, ratio = -1, arb(1)  # K_{−½} = K_{½}
    else:
        order, ratio = 0, z.bessel_k(0) / z.bessel_k(1)
    while order < twice_order:
        ratio = 1 / (ratio + (order + 2) / z)
        order += 2
    return ratio


def positive_integral(f: Callable[[acb], acb], first: arb, last: arb, *, bits: int) -> arb:
    """Enclose ∫ f over [first, last] for an entire f that is positive there.

    The aim is a relative width of about 2^-bits. The quadrature of Johansson (2018) splits until it
    meets an absolute goal, and wastes effort on a far tail if the goal is too low. So the goal
    starts at 2^-bits, as if f were near 1 somewhere. While the result is too wide, it is lowered to
    2^-bits times the smaller of the result and the old goal, at most five times. The result
    encloses the integral for any goal.
    """
    goal, total = arb(2) ** -bits, arb.nan()
    for _ in range(6):
        total = acb.integral(
            lambda x, _: f(x), first, last, rel_tol=arb(2) ** -bits, abs_tol=goal
        ).real
        if total.rel_accuracy_bits() >= bits - 4:
            break
        size = total.mid() if total > 0 else goal
        goal = arb(min(size, goal) * arb(2) ** -bits).mid()
    return total


FACTOR_BITS = 128
"""Designs and their proofs round e^ε·2^FACTOR_BITS to an integer, at a cost of a relative
2^-120."""


def exponential_between(epsilon: Fraction, *, bits: int) -> tuple[int, int]:
    """Integers a <= e^epsilon · 2^bits <= b, at most 2 apart, for 0 <= epsilon <= 100,000.

    >>> low, high = exponential_between(Fraction(1), bits=8)
    >>> low <= 2.718281828 * 256 <= high
    True
    """
    # the ball has to be narrower than 1 after the multiplication: log2 e^ε < 1.5 ε bits more
    with precision(bits + int(1.5 * float(epsilon)) + 64):
        scaled = ball(epsilon).exp() * ball(2**bits)
        low, high = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
    if low is None or high is None:  # the chosen precision excludes this
        raise ArithmeticError("e^epsilon could not be enclosed")
    return int(low), int(high)
