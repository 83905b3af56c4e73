"""Rigorous integrals to a relative accuracy."""

from __future__ import annotations

from collections.abc import Callable

from flint import acb, arb

_ATTEMPTS = 6


def positive_integral(f: Callable[[acb], acb], first: arb, last: arb, *, bits: int) -> arb:
    """Enclose ∫ f over [first, last] for an entire f that is positive there, to about 2^-bits.

    The quadrature of Johansson (2018) splits until an absolute goal is met, and wastes its effort
    on a far tail if that goal is far too low. So the goal starts at 2^-bits (f is near 1 somewhere)
    and follows the size that is found. The result encloses the integral whatever the goal was.
    """
    goal, total = arb(2) ** -bits, arb.nan()
    for _ in range(_ATTEMPTS):
        total = acb.integral(
            lambda x, _: f(x), first, last, rel_tol=arb(2) ** -bits, abs_tol=goal
        ).real
        if total.rel_accuracy_bits() >= bits - 4:
            break
        size = total.mid() if total > 0 else goal
        goal = arb(min(size, goal) * arb(2) ** -bits).mid()
    return total
