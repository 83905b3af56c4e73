"""Whether the outputs on two neighbouring inputs are further apart than the claimed sensitivity.

With the claimed noise, outputs are c + X on one input and c' + X on the other. Both centres are
enclosed, each by a median of its own, and the claim refuted if even the nearest centres are further
apart than Δ in its norm. Outputs that have no centre with that noise refute the claim as they are.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.audit.finding import Finding
from leastnoise.audit.law import Sample, centre_of, claimed_law
from leastnoise.audit.power import MISS, centre_reach
from leastnoise.audit.refuted import noise_of, outright
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer

if TYPE_CHECKING:
    from leastnoise.audit.law import Centre, ClaimedLaw
    from leastnoise.audit.subject import Subject

_MOST_DIMENSION = 1000


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
    found = Finding(
        detector="sensitivity", verdict="not tried", claim=claim, statement=why,
        error=float(subject.error),
    )  # fmt: skip
    if why or isinstance(law, str) or bound is None:
        return found
    level = subject.error / (6 * subject.dimension)  # two inputs: two bounds of c, and `strange`
    gaps = _gaps(law, subject, level)
    if isinstance(gaps, str):
        return replace(found, verdict="violation", statement=gaps)
    known = [gap for gap in gaps if gap is not None]
    if len(known) < len(gaps):
        return replace(
            found, statement="Where the outputs are centred can't be told in so few draws."
        )
    in_l1 = isinstance(sensitivity, L1)
    norm = sum(known) if in_l1 else _l2(known)
    refuted = norm > bound
    statement = f"The centres may be {_words.at_least(bound)} apart."
    if refuted:
        statement = (
            f"The outputs on the two inputs are at least {_words.at_most(norm)} apart, more than "
            f"{_words.at_least(bound)}."
        )
    return replace(
        found,
        verdict="violation" if refuted else "nothing found",
        statement=statement,
        would_detect=_would_detect(law, float(bound), subject, 2 * level),
    )


def _gaps(law: ClaimedLaw, subject: Subject, level: Fraction) -> list[Fraction | None] | str:
    """Return how far apart the centres of each coordinate are, or what refutes the noise."""
    gaps: list[Fraction | None] = []
    noise = noise_of(subject.claim)
    for index in range(subject.dimension):
        ends: list[tuple[float, Centre]] = []
        for outputs in subject.outputs:
            sample = Sample.of(outputs[:, index], law)
            centre = centre_of(law, sample, 2 * level)
            if refuted := outright(law, sample, centre, level=level, noise=noise):
                return refuted
            ends.append((sample.anchor, centre))
        gaps.append(_gap(*ends))
    return gaps


def _gap(one: tuple[float, Centre], other: tuple[float, Centre]) -> Fraction | None:
    """Return a lower bound of the distance of two centres, each less its anchor.

    None if one of them may be anywhere.
    """
    if not (one[1].is_known and other[1].is_known):
        return None
    lows, highs = (
        [Fraction(anchor) + Fraction(end) for anchor, end in ends]
        for ends in (
            [(anchor, centre.low) for anchor, centre in (one, other)],
            [(anchor, centre.high) for anchor, centre in (one, other)],
        )
    )
    return max(Fraction(0), lows[1] - highs[0], lows[0] - highs[1])


def _would_detect(law: ClaimedLaw, bound: float, subject: Subject, level: Fraction) -> str:
    """Say how far beyond Δ the centres are found to be with a probability of 99 %.

    Of each coordinate either end may lie as far from c as it does but for an equal share of the
    1 %. In floats, for the report alone.
    """
    tenth, count = subject.draws // 10, subject.dimension
    reach = sum(
        centre_reach(
            law, sizes=(tenth, subject.draws - tenth), error=level, miss=MISS / (2 * count)
        )
    )
    reach *= count if isinstance(subject.claim.sensitivity, L1) else math.sqrt(count)
    needed = bound + reach
    if law.whole and count == 1 and math.isfinite(needed):
        needed = math.floor(needed) + 1.0
    if not math.isfinite(needed):
        return "No distance would have been found at this number of draws."
    return (
        f"It would have found a distance of {_words.at_least(needed)} (with probability >= 99 %)."
    )


def _l2(gaps: list[Fraction]) -> Fraction:
    """Return √Σ gap², rounded down."""
    square = sum(gap * gap for gap in gaps)
    return square / root_above(square) if square else Fraction(0)
