"""ε(δ), the smallest ε >= 0 with δ(ε) <= δ, from a δ(ε) that is only known within bounds.

δ(ε) falls, so that one ε that is proved private is an upper bound of ε(δ), and one that is proved
to leak more than δ a lower bound. Where neither is proved, the interval stays open: no end is ever
moved to an ε that is merely undecided. The search is in floats and believes nothing: it looks for
the smallest ε at which the proof succeeds, and for the largest at which the opposite is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from leastnoise.balls.core import ball, precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import MAX_EPSILON
from leastnoise.guarantees.interval import Interval
from leastnoise.noise.releases import ProvedDelta
from leastnoise.numerics.roots import IncreasingRoot

_WIDTH = 5e-13  # relative, of each end around the place where the proof's answer turns
_FIRST_STEP = 0.25  # of ln ε, where nothing is known about the root
_LEAST_EPSILON = 1e-300  # ε below it counts as 0
LARGEST = 1e30  # ε; no composition that is served needs so much
_FAR = 1e4  # stands for ln 0 and ln ∞, beyond the logarithm of every δ that can be asked for
_HARDLY = 1e-300  # stands for an undecided comparison whose floats are equal

Proved = Callable[[Fraction], ProvedDelta]
"""What is proved of δ at an ε."""


def enclose_epsilon(proved: Proved, delta: Fraction, *, family: str) -> Interval:
    """Return an interval that contains ε(delta), as narrow as what is `proved` of δ allows.

    0 is its lower end where it isn't proved that δ(0) is above `delta`. Raises NotApplicable,
    naming `family`, if no ε up to 100,000 is proved to be enough.
    """
    known = cache(proved)
    if known(Fraction(0)).certainly_at_most(delta):
        return Interval(0.0, 0.0)
    enough = 1.0
    while not known(Fraction(enough)).certainly_at_most(delta):
        enough *= 2
        if enough > 2 * MAX_EPSILON:
            why = f"no epsilon up to {MAX_EPSILON:,} is proved to be enough for that delta"
            raise NotApplicable(family=family, why=why)
    if not known(Fraction(0)).certainly_above(delta):
        rough = 1e-2  # the same beside a lower end of 0, which leaves the width as it is
        return Interval(
            0.0, find_first_private(known, delta, near=enough, step=_FIRST_STEP, width=rough)
        )
    high = find_first_private(known, delta, near=enough, step=_FIRST_STEP)
    return Interval(find_last_leaking(known, delta, near=high), high)


def find_first_private(
    proved: Proved, delta: Fraction, *, near: float, step: float = _WIDTH, width: float = _WIDTH
) -> float:
    """Return the smallest ε found, from `near` on, at which δ is proved to be at most `delta`.

    `step` is how far from `near` the search looks first, and `width` how closely it looks in the
    end, both in ln ε. Raises NotApplicable if there is none.
    """
    if near < _LEAST_EPSILON:
        if proved(Fraction(0)).certainly_at_most(delta):
            return 0.0
        near, step = 1.0, _FIRST_STEP

    def over(minus_log: float) -> float:
        epsilon = math.exp(-minus_log)
        if epsilon > LARGEST:
            raise no_epsilon()
        if epsilon < _LEAST_EPSILON:
            return _FAR
        found = proved(Fraction(epsilon))
        size = _log_ratio(found, delta, upper=True)
        return min(size, 0.0) if found.certainly_at_most(delta) else max(size, _HARDLY)

    return math.exp(
        -IncreasingRoot(tolerance=width, first_step=step).find(over, guess=-math.log(near))
    )


def no_epsilon() -> NotApplicable:
    """Return the error for a composition of which no ε is proved."""
    return NotApplicable(family="composition", why="no epsilon was proved for that delta")


def find_last_leaking(proved: Proved, delta: Fraction, *, near: float) -> float:
    """Return the largest ε found, from `near` on, at which δ is proved above `delta`, or 0."""
    if near < _LEAST_EPSILON:
        return 0.0

    def over(log: float) -> float:
        epsilon = math.exp(log)
        if epsilon < _LEAST_EPSILON:
            return -_FAR
        found = proved(Fraction(epsilon))
        size = -_log_ratio(found, delta, upper=False)
        return min(size, 0.0) if found.certainly_above(delta) else max(size, _HARDLY)

    found = math.exp(
        IncreasingRoot(tolerance=_WIDTH, first_step=_WIDTH).find(over, guess=math.log(near))
    )
    return found if found >= _LEAST_EPSILON else 0.0


def _log_ratio(found: ProvedDelta, delta: Fraction, *, upper: bool) -> float:
    """Approximate ln of a bound on δ over `delta`: where to look next."""
    bound = found.upper if upper else found.lower
    if not bound.is_finite():
        return _FAR if upper else -_FAR
    with precision():
        end = bound.upper() if upper else bound.lower()
        if not (delta and end > 0):
            return _FAR if end > 0 else -_FAR
        return max(-_FAR, min(float((end / ball(delta)).log().mid()), _FAR))
