"""Trade-off curves: the least type II error of any test, enclosed from δ(ε) at finitely many ε.

notation: of two neighbours one is the null hypothesis, with outputs A, the other the alternative,
with outputs B; δ_AB(ε) = sup over sets S of A(S) − e^ε B(S). A test that rejects the null with
probability α although it is the truth (its type I error) keeps it with probability T(α) at least
although the alternative is (type II). The points (α, T(α)) are the lower edge of a convex set, and
its tangents of slope −e^ε, for every real ε, are 1 − δ_BA(ε) − e^ε α: what a test of B against A
can't beat. With δ_BA(−ε) = 1 − e^(−ε) + e^(−ε) δ_AB(ε),

    T(α) = sup over ε >= 0 of max(0, 1 − δ_BA(ε) − e^ε α, e^(−ε) (1 − δ_AB(ε) − α))

(Dong, Roth & Su 2022, Proposition 2.12, where δ_AB = δ_BA). Which hypothesis is the null matters
under sampling, where the two are different. Since δ falls in ε, finitely many ε enclose T(α).

The larger of the two δ at every ε, which is what (ε, δ)-privacy is about, gives less than either:
the largest convex function below both, and no test need come near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.guarantees.interval import Interval
from leastnoise.noise.releases import ProvedDelta


class Null(StrEnum):
    """What is true where a test errs by rejecting it: that a record is in the data, or isn't."""

    WITH = "with"
    WITHOUT = "without"
    EITHER = "either"


@final
@dataclass(frozen=True, kw_only=True)
class Tangents:
    """What is proved of δ_BA and of δ_AB at `epsilons`, which rise from 0.

    `lower` of all of them is about one pair of neighbours (A, B); `upper` about every pair.
    """

    epsilons: tuple[Fraction, ...]
    rejecting: tuple[ProvedDelta, ...]  # δ_BA
    keeping: tuple[ProvedDelta, ...]  # δ_AB

    def type_two_error(self, alpha: Fraction) -> Interval:
        """Return an interval that contains the least T(alpha) of all pairs, 0 <= alpha <= 1.

        From below by the tangents. From above, for ε between two of `epsilons`: e^ε is that of the
        first at least, and δ that of the second; beyond the last, 1 − δ is at most 1.
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
    falling = [one - exp * a for exp, one in zip(exps, rejected, strict=True)]
    return falling + [(one - a) / exp for exp, one in zip(exps, kept, strict=True)]


def least(curves: Sequence[Tangents], alpha: Fraction) -> Interval:
    """Return an interval that contains the least T(alpha) of all `curves`."""
    found = [curve.type_two_error(alpha) for curve in curves]
    return Interval(min(one.lower for one in found), min(one.upper for one in found))
