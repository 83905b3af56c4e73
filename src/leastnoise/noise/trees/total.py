"""Enclosures of the tail of the total: the sum of all cells of an even tree, in balls.

Notation: level 0 is the root, and level L has the cells. A node of level l has b children and the
rate r_l = shares[l]/scale. A_l is the law of its sum if only the weights of the node and of the
nodes below it count (see `levels`). So A_0 is the law of the total Z. A^{*b} is the law of the sum
of b independent draws of A. Σ is over all integers t, and P is a probability.

For each level, numbers B_l with 0 <= B_l(t) <= A_l(t) are computed within a window; beyond it they
are 0. Since A_l is a law, A_l − B_l has a mass of ℓ_l = 1 − ΣB_l. A_L is known, and B_L is a part
of it. On the levels above, C = B_{l+1}^{*b} is at most A_{l+1}^{*b} everywhere, and its mass is
smaller by f = 1 − ΣC. The weights e^(−r_l|t|) are at most 1. So κ_l, the sum of the weighted
A_{l+1}^{*b}, lies between κ = ΣC(t)e^(−r_l|t|) and κ + f. Hence B_l(t) = C(t)e^(−r_l|t|)/(κ + f) is
at most A_l(t) (theory/noise.md §11).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from flint import arb, arb_poly

from leastnoise.balls.core import AMPLE_BITS, ball, precision
from leastnoise.errors import NotApplicable
from leastnoise.noise.trees.law import Agreeing

_LOST_BITS = 128
"""Windows drop less than about 2^-128 of a law, far less than any δ."""
_WIDEST = 1 << 16
"""The widest window of a cell, for which a proof takes some seconds."""


def total_beyond(noise: Agreeing, t: Fraction) -> arb:
    """Enclose P(Z > t) for t >= 0, where Z is the sum of all cells.

    Raises NotApplicable if nodes of a level differ, and for noise that is too wide.
    """
    tails, lost = _tails(noise)
    first = math.floor(t) + 1
    known = tails[first] if first < len(tails) else arb(0)
    # A_0 − B_0 is symmetric: at most half of it lies beyond t >= 0
    return known + lost / 2 * arb(0.5, 0.5)


@lru_cache(maxsize=16)
def _tails(noise: Agreeing) -> tuple[tuple[arb, ...], arb]:
    """Lower bounds on P(Z >= t) for t = 0, 1, …, and the missing mass ℓ_0 = 1 − ΣB_0.

    The bounds are the sums of B_0(u) over u >= t. Raises NotApplicable like `total_beyond`.
    """
    if not noise.even:
        raise NotApplicable(family=noise.name, why="the nodes of a level of its tree are not alike")
    *rates, cell_rate = (share / noise.scale for share in noise.shares)
    reach = math.ceil(_LOST_BITS * math.log(2) / float(cell_rate)) + 1
    if reach > _WIDEST:
        why = f"its cells reach {reach:,}, more than {_WIDEST:,}: raise epsilon"
        raise NotApplicable(family=noise.name, why=why)
    with precision(AMPLE_BITS):
        law = _weights(cell_rate, reach)
        half = ball(cell_rate) / 2
        law = law * (half.sinh() / half.cosh())
        for rate, b in zip(reversed(rates), reversed(noise.branches), strict=True):
            sums = _power(law, b)
            missed = _missed(sums)
            weights = _weights(rate, sums.degree() // 2)
            weighed = [x * w for x, w in zip(sums.coeffs(), weights.coeffs(), strict=True)]
            law = arb_poly(weighed) * (1 / (sum(weighed, arb(0)) + missed))
        coefficients = law.coeffs()
        upwards = coefficients[: law.degree() // 2 - 1 : -1]
        return tuple(accumulate(upwards))[::-1], _missed(law)


def _weights(rate: Fraction, reach: int) -> arb_poly:
    """The weights e^(−rate·|t|) for |t| <= `reach`, as a polynomial.

    The weight of t is the coefficient of x^(t + reach).
    """
    factor = ball(-rate).exp()
    half = [*accumulate(range(reach), lambda weight, _: weight * factor, initial=arb(1))]
    return arb_poly([*half[:0:-1], *half])


def _power(law: arb_poly, count: int) -> arb_poly:
    """Lower bounds, within a window, on the law of the sum of `count` independent draws."""
    result: arb_poly | None = None
    for bit in f"{count:b}":
        result = None if result is None else _within_window(result * result)
        if bit == "1":
            result = law if result is None else _within_window(result * law)
    return law if result is None else result


def _within_window(law: arb_poly) -> arb_poly:
    """The law without its two tails, each of a mass below about 2^-128."""
    coefficients = law.coeffs()
    least, dropped, mass = arb(2) ** -_LOST_BITS, 0, arb(0)
    while dropped < len(coefficients) // 2 and (mass := mass + coefficients[dropped]) < least:
        dropped += 1
    return arb_poly(coefficients[dropped : len(coefficients) - dropped])


def _missed(law: arb_poly) -> arb:
    """The mass that lower bounds on a law miss: 1 − Σ law(t), at least 0."""
    return (1 - law(arb(1))).max(arb(0))
