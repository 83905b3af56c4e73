"""The smallest ε that a noise law gives at a δ, as a proved interval."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.certify.prove import prove_hidden
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import MAX_EPSILON
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.interval import Interval
from leastnoise.noise.base import Noise

_RELATIVE_WIDTH = 1e-12


def enclose_epsilon(noise: Noise, hidden: Hidden, delta: Fraction) -> Interval:
    """Return an interval that contains the smallest ε >= 0 with δ(ε) <= `delta`.

    By bisection between floats: δ(ε) falls in ε, and every decision is a proof. Raises
    NotApplicable if the law has no such ε (a Gaussian at delta = 0) or none below 100,000.
    """
    if why := type(noise).why_not(dimension=noise.dimension, delta=delta):
        raise NotApplicable(family=noise.name, why=why)

    def private(epsilon: float) -> bool:
        proved = prove_hidden(noise, hidden, Fraction(epsilon))
        return proved.certainly_at_most(delta)

    def leaks(epsilon: float) -> bool:
        return prove_hidden(noise, hidden, Fraction(epsilon)).certainly_above(delta)

    if private(0.0):
        return Interval(0.0, 0.0)
    low, high = 0.0, 1.0
    while not private(high):
        low, high = (high if leaks(high) else low), 2 * high
        if high > 2 * MAX_EPSILON:
            raise NotApplicable(family=noise.name, why=f"it needs epsilon > {MAX_EPSILON:,}")
    while high - low > _RELATIVE_WIDTH * high:
        middle = (low + high) / 2
        if private(middle):
            high = middle
        elif leaks(middle):
            low = middle
        else:  # so close to the answer that no precision tells; the interval stands
            break
    return Interval(low, high)
