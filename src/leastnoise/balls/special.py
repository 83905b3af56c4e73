"""Enclosures that python-flint lacks: ratios of Bessel functions, positive integrals, e^ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import acb, arb, ctx

from leastnoise.balls.core import ball, precision


def bessel_k_ratio(twice_order: int, z: arb) -> arb:
    """Enclose ρ_ν = K_ν(z)/K_{ν+1}(z) for ν = twice_order/2 >= 0 and z > 0.

    theory/noise.md §6: ρ_{ν+1} = 1/(ρ_ν + 2(ν+1)/z), an order-reversing contraction of [0, 1] with
    factor ρ_ν ρ_{ν+1} < (z/(ν + √(ν² + z²)))². Started from all of [0, 1] enough orders below, it
    ends in an enclosure as narrow as the precision; from order −½ or 0 if there aren't enough.
    """
    rough = float(z.mid())
    half = twice_order / 4  # it contracts less at lower orders: counted at half the order, and kept
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
    """Enclose ∫ f over [first, last] for an entire f that is positive there, to about 2^-bits.

    The quadrature of Johansson (2018) splits until an absolute goal is met, and wastes its effort
    on a far tail if that goal is far too low. So the goal starts at 2^-bits (f is near 1 somewhere)
    and follows the size that is found. The result encloses the integral whatever the goal was.
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
"""Of e^ε in whole numbers, in designs and their proofs: rounding costs a relative 2^-120."""


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
