"""How well any test can tell neighbours apart, from a privacy profile known at some ε.

A test that rejects one of two neighbours with probability α although it is the truth (its type I
error) keeps the other with probability f(α) at least (type II), where f is the trade-off function

    f(α) = sup over ε >= 0 of max(0, 1 − δ(ε) − e^ε α, e^(−ε)(1 − δ(ε) − α))

(Dong, Roth & Su 2022, Proposition 2.12; of two pairs that aren't each other's mirror images, the
larger δ counts). Since δ falls in ε, finitely many ε enclose the supremum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from flint import arb

from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.guarantees.interval import Interval

_BITS = 128


def type_two_error(
    alpha: Fraction, epsilons: Sequence[Fraction], deltas: Sequence[Interval]
) -> Interval:
    """Return an interval that contains f(alpha), 0 <= alpha <= 1.

    `epsilons` rise from 0, and `deltas` enclose δ there. The more there are, the narrower it is.
    """
    with precision(_BITS):
        a = ball(alpha)
        exps = [ball(epsilon).exp() for epsilon in epsilons]
        low = [1 - arb(delta.upper) for delta in deltas]
        high = [1 - arb(delta.lower) for delta in deltas]
        above = [
            float_below(end)
            for exp, rest in zip(exps, low, strict=True)
            for end in (rest - exp * a, (rest - a) / exp)
        ]
        # for ε between two of them, e^ε is that of the first at least, and δ that of the second;
        # beyond the last, 1 − δ is at most 1
        pieces = [(exp, rest) for (exp, _), (_, rest) in pairwise(zip(exps, high, strict=True))]
        below = [
            float_above(end)
            for exp, rest in [*pieces, (exps[-1], arb(1))]
            for end in (rest - exp * a, (rest - a) / exp)
        ]
    return Interval(max(0.0, *above), min(max(0.0, *below), float_above(1 - ball(alpha))))
