"""ε(δ) and trade-off curves, computed from a δ(ε) that is only known within bounds.

Notation: A and B are the laws of the outputs under the null hypothesis and under the alternative of
a test. δ_AB(ε) is the largest A(S) − e^ε B(S) over sets S of outputs. T(α) is the smallest type II
error of a test whose type I error is α.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import final

from flint import arb

from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import MAX_EPSILON
from leastnoise.guarantees.exact import Interval
from leastnoise.noise.question import ProvedDelta
from leastnoise.numerics.searches import LOG_ZERO, IncreasingRoot

# ε(δ), the smallest ε >= 0 with δ(ε) <= δ, from a δ(ε) that is only known within bounds.
#
# δ(ε) falls, so an ε that is proved private is an upper bound on ε(δ), and an ε that is proved to
# leak more than δ is a lower bound. No end is ever moved to an ε for which neither is proved. The
# search runs in floats, and trusts none: it looks for the smallest ε at which the proof succeeds,
# and for the largest ε at which the opposite is proved.


_WIDTH = 5e-13  # relative, of each end around the ε at which the proof's answer changes
_FIRST_STEP = 0.25  # of ln ε, if nothing is known about the root
_LEAST_EPSILON = 1e-300  # ε below it counts as 0
LARGEST = 1e30  # the largest ε that is searched; no supported composition needs a larger one
_FAR = -LOG_ZERO  # stands for ln 0 and ln ∞, beyond the logarithm of every valid δ
_HARDLY = 1e-300  # stands for an undecided comparison whose floats are equal

Proved = Callable[[Fraction], ProvedDelta]
"""A function ε ↦ the proved bounds on δ(ε)."""


def enclose_epsilon(proved: Proved, delta: Fraction, *, family: str) -> Interval:
    """Enclose ε(delta), from the `proved` bounds on δ.

    If the bounds on δ(0) don't decide whether it is above `delta`, the lower end is 0, and the
    upper end is only accurate to 1 %. Raises NotApplicable, naming `family`, if δ isn't proved to
    be at most `delta` at any of ε = 1, 2, 4, …, 131,072.
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
        rough = 1e-2  # relative width; with a lower end of 0, the interval stays wide anyway
        return Interval(
            0.0, find_first_private(known, delta, near=enough, step=_FIRST_STEP, width=rough)
        )
    high = find_first_private(known, delta, near=enough, step=_FIRST_STEP)
    return Interval(find_last_leaking(known, delta, near=high), high)


def find_first_private(
    proved: Proved, delta: Fraction, *, near: float, step: float = _WIDTH, width: float = _WIDTH
) -> float:
    """The smallest ε, searched from `near`, at which δ is proved to be at most `delta`.

    `step` is the first step of the search, and `width` its final accuracy, both in ln ε. Raises
    NotApplicable if the search finds no such ε.
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
        bounds = proved(Fraction(epsilon))
        size = _log_ratio(bounds, delta, upper=True)
        return min(size, 0.0) if bounds.certainly_at_most(delta) else max(size, _HARDLY)

    return math.exp(
        -IncreasingRoot(tolerance=width, first_step=step).find(over, guess=-math.log(near))
    )


def no_epsilon() -> NotApplicable:
    """The error to raise if no ε is proved for a composition."""
    return NotApplicable(family="composition", why="no epsilon was proved for that delta")


def find_last_leaking(proved: Proved, delta: Fraction, *, near: float) -> float:
    """The largest ε, searched from `near`, at which δ is proved to be above `delta`.

    It is 0 if no such ε is found.
    """
    if near < _LEAST_EPSILON:
        return 0.0

    def over(log: float) -> float:
        epsilon = math.exp(log)
        if epsilon < _LEAST_EPSILON:
            return -_FAR
        bounds = proved(Fraction(epsilon))
        size = -_log_ratio(bounds, delta, upper=False)
        return min(size, 0.0) if bounds.certainly_above(delta) else max(size, _HARDLY)

    last = math.exp(
        IncreasingRoot(tolerance=_WIDTH, first_step=_WIDTH).find(over, guess=math.log(near))
    )
    return last if last >= _LEAST_EPSILON else 0.0


def _log_ratio(bounds: ProvedDelta, delta: Fraction, *, upper: bool) -> float:
    """Approximate ln(bound/`delta`) for the upper or the lower bound on δ; it guides the search."""
    bound = bounds.upper if upper else bounds.lower
    if not bound.is_finite():
        return _FAR if upper else -_FAR
    with precision():
        end = bound.upper() if upper else bound.lower()
        if not (delta and end > 0):
            return _FAR if end > 0 else -_FAR
        return max(-_FAR, min(float((end / ball(delta)).log().mid()), _FAR))


# Trade-off curves: the least type II error of any test, enclosed from δ(ε) at finitely many ε.
#
# Of two neighbours one is the null hypothesis, with outputs A, the other the alternative, with
# outputs B. A test that rejects the null with probability α although it is true (its type I error)
# keeps it with probability at least T(α) although the alternative is true (type II). The points
# (α, T(α)) are the lower edge of a convex set. Its tangents of slope −e^ε, for every real ε, are
# 1 − δ_BA(ε) − e^ε α: no test of B against A gets below them. With
# δ_BA(−ε) = 1 − e^(−ε) + e^(−ε) δ_AB(ε),
#
# T(α) = sup over ε >= 0 of max(0, 1 − δ_BA(ε) − e^ε α, e^(−ε) (1 − δ_AB(ε) − α))
#
# (Dong, Roth & Su 2022, Proposition 2.12, where δ_AB = δ_BA). With sampling the two differ, and the
# choice of the null matters. Since δ falls in ε, finitely many ε enclose T(α).
#
# (ε, δ)-privacy is about the larger of the two δ at every ε. Its curve is below both: it is the
# largest convex function below them, and perhaps no test comes near it.


class Null(StrEnum):
    """The null hypothesis of a test: the record is in the data, or it isn't, or either of the two.

    With EITHER, the hypothesis with the smaller type II error counts.
    """

    WITH = "with"
    WITHOUT = "without"
    EITHER = "either"


@final
@dataclass(frozen=True, kw_only=True)
class Tangents:
    """Bounds on δ_BA and on δ_AB at `epsilons`. They determine tangents of a trade-off curve.

    `epsilons` rise from 0. All `lower` bounds are about one pair of neighbours (A, B); the `upper`
    bounds hold for every pair.
    """

    epsilons: tuple[Fraction, ...]
    rejecting: tuple[ProvedDelta, ...]  # δ_BA
    keeping: tuple[ProvedDelta, ...]  # δ_AB

    def type_two_error(self, alpha: Fraction) -> Interval:
        """Enclose the smallest type II error over all neighbours, at the type I error alpha.

        The tangents bound it from below. For the bound from above, take ε between two consecutive
        `epsilons`. Then e^ε is at least its value at the smaller one, and δ(ε) at least its value
        at the larger one. Beyond the last one, 1 − δ is at most 1.
        """
        with precision():
            a = ball(alpha)
            exps = [ball(epsilon).exp() for epsilon in self.epsilons]
            rejected = [1 - delta.upper for delta in self.rejecting]
            kept = [1 - delta.upper for delta in self.keeping]
            above = [float_below(end) for end in _lines(a, exps, rejected, kept)]
            rejected = [*(1 - delta.lower for delta in self.rejecting[1:]), arb(1)]
            kept = [*(1 - delta.lower for delta in self.keeping[1:]), arb(1)]
            below = [float_above(end) for end in _lines(a, exps, rejected, kept)]
            return Interval(max(0.0, *above), min(max(0.0, *below), float_above(1 - a)))


def _lines(a: arb, exps: Sequence[arb], rejected: Sequence[arb], kept: Sequence[arb]) -> list[arb]:
    """The values 1 − δ_BA − e^ε a and e^(−ε)(1 − δ_AB − a), of two lines for each ε.

    `rejected` are the numbers 1 − δ_BA, `kept` the numbers 1 − δ_AB, and `exps` the numbers e^ε.
    """
    falling = [end - exp * a for exp, end in zip(exps, rejected, strict=True)]
    return falling + [(end - a) / exp for exp, end in zip(exps, kept, strict=True)]


def enclose_least(curves: Sequence[Tangents], alpha: Fraction) -> Interval:
    """Enclose the smallest type II error of all `curves` at the type I error alpha."""
    errors = [curve.type_two_error(alpha) for curve in curves]
    return Interval(min(error.lower for error in errors), min(error.upper for error in errors))
