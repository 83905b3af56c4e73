"""Whether the outputs on two neighbouring inputs are further apart than the claimed sensitivity.

With the claimed noise, outputs are c + X on one input and c' + X on the other. Both centres are
enclosed, each by a median of its own, and the claim refuted if even the nearest centres are further
apart than Δ in its norm.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.audit.finding import Finding
from leastnoise.audit.law import centre_bounds, claimed_law
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer

if TYPE_CHECKING:
    from leastnoise.audit.subject import Subject

_MOST_DIMENSION = 1000
_SURE = 2.4  # normal quantile of 99 %, rounded up


def detect(subject: Subject) -> Finding:
    """Return the finding of the test of the sensitivity."""
    sensitivity = subject.claim.sensitivity
    law = claimed_law(subject.claim, subject.dimension)
    one_norm = isinstance(sensitivity, L1 | L2 | Integer)
    bound = getattr(sensitivity, "bound", None) if one_norm or subject.dimension == 1 else None
    claim = "the sensitivity" if sensitivity is None else _words.sensitivity(sensitivity)
    why = ""
    if isinstance(law, str):
        why = law
    elif bound is None:
        why = "The claim names no sensitivity in the l1 or l2 norm."
    elif subject.dimension > _MOST_DIMENSION:
        why = f"Outputs have more than {_MOST_DIMENSION:,} numbers."
    if why or isinstance(law, str) or bound is None:
        return Finding(
            detector="sensitivity", verdict="not tried", claim=claim, statement=why,
            error=float(subject.error),
        )  # fmt: skip
    tenth, level = subject.draws // 10, subject.error / (2 * subject.dimension)
    gaps: list[Fraction] = []
    widths: list[tuple[float, float]] = []
    for index in range(subject.dimension):
        ends = [
            centre_bounds(law, outputs[:tenth, index], outputs[tenth:, index], level)
            for outputs in subject.outputs
        ]
        gaps.append(_gap(ends[0], ends[1]))
        first, second = (max(0.0, high - low) for low, high in ends)
        widths.append((first, second))
    in_l1 = isinstance(sensitivity, L1)
    norm = sum(gaps) if in_l1 else _l2(gaps)
    needed = float(bound) + _reach(widths, level, in_l1=in_l1)
    refuted = norm > bound
    statement = f"The centres may be {_words.at_least(bound)} apart."
    if refuted:
        statement = (
            f"The outputs on the two inputs are at least {_words.at_most(norm)} apart, more than "
            f"{_words.at_least(bound)}."
        )
    return Finding(
        detector="sensitivity",
        verdict="violation" if refuted else "nothing found",
        claim=claim,
        statement=statement,
        error=float(subject.error),
        would_detect=f"It would have found a distance of {_words.at_least(needed)} "
        "(with probability >= 99 %).",
    )


def _gap(one: tuple[float, float], other: tuple[float, float]) -> Fraction:
    """Return a lower bound of the distance of two numbers between those bounds."""
    if not all(map(math.isfinite, (*one, *other))) or one[0] > one[1] or other[0] > other[1]:
        return Fraction(0)
    gaps = (Fraction(other[0]) - Fraction(one[1]), Fraction(one[0]) - Fraction(other[1]))
    return max(Fraction(0), *gaps)


def _reach(widths: list[tuple[float, float]], level: Fraction, *, in_l1: bool) -> float:
    """Return about how far beyond Δ the centres are found to be with a probability of 99 %.

    The ends of an enclosure of width w are w/2 from its median, which varies by w/2z, z the normal
    quantile of the level. In floats, for the report alone.
    """
    from scipy.special import ndtri  # noqa: PLC0415 (the command line's help needn't pay)

    z = -float(ndtri(float(level) / 2))
    halves = [sum(pair) / 2 for pair in widths]
    deviation = math.hypot(*(width / 2 / z for pair in widths for width in pair))
    size = math.fsum(halves) if in_l1 else math.hypot(*halves)
    return size + _SURE * deviation * (math.sqrt(len(widths)) if in_l1 else 1)


def _l2(gaps: list[Fraction]) -> Fraction:
    """Return √Σ gap², rounded down."""
    square = sum(gap * gap for gap in gaps)
    return square / root_above(square) if square else Fraction(0)
