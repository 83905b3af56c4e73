"""Balls of python-flint: precision, exact numbers in, outward floats out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock

from flint import arb, ctx, fmpq

UNIT = 2.0**-53
"""The relative error of one operation on floats, at most."""
PLAIN_BITS = 128
"""The precision of a few steps that hardly cancel. What needs more says how much, and why."""
AMPLE_BITS = 2 * PLAIN_BITS
"""The precision of closed forms in which half of the bits may cancel."""
PRECISE = 2.0**-960
"""Floats above it have all their digits, after a few products too."""


class _Turn:
    """python-flint keeps its precision in a process-wide context: one proof at a time.

    A forked child gets a lock of its own: the parent's may be held by a thread that it lacks.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork either
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = RLock()


_TURN = _Turn()


@contextmanager
def precision(bits: int = 128) -> Iterator[None]:
    """Evaluate balls with `bits` bits inside the block; other threads wait.

    128 are far more than it takes to compare what is proved with a fraction or a float.

    >>> with precision(200):
    ...     ball(Fraction(1, 3)).rad() < ball(Fraction(1, 10**55))
    True
    """
    with _TURN.lock, ctx.workprec(bits):
        yield


def precisions(first: int, most: int) -> Iterator[int]:
    """Yield bits, each twice as many as before, up to `most`."""
    while first <= most:
        yield first
        first *= 2


def ball(number: Fraction | int) -> arb:
    """Return the ball that encloses `number` at the current precision."""
    fraction = number if isinstance(number, Fraction) else Fraction(number)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def falls_through(f: Callable[[arb], arb]) -> Callable[[arb], bool | None]:
    """Return the condition that f is below 0, for a search: None where that can't be told."""

    def below(x: arb) -> bool | None:
        value = f(x)
        return True if value < 0 else False if value > 0 else None

    return below


def at_most_one(delta: arb) -> arb:
    """Return the upper end of `delta`, no more than 1, as an exact number."""
    return delta.upper().min(arb(1)) if delta.is_finite() else arb(1)


def float_below(x: arb) -> float:
    """Return a float that is certainly at most every point of `x`; −inf if there is none.

    `float(x.lower())` rounds to nearest, so one step down follows unless it is certainly below.
    """
    return 0.0 - float_above(-x)  # 0 − 0, so that an exact zero has no sign


def float_above(x: arb) -> float:
    """Return a float that is certainly at least every point of `x`; +inf if there is none."""
    if not x.is_finite():
        return math.inf
    candidate = float(x.upper())
    while math.isfinite(candidate) and not x <= arb(candidate):
        candidate = math.nextafter(candidate, math.inf)
    return candidate
