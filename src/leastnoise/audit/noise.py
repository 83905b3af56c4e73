"""Two detectors that look for what the claimed noise and the claimed sensitivity can't do.

**noise**, goodness of fit: whether the outputs are a fixed number plus the claimed noise. Where the
noise is known far less has to be seen than an event that refutes (ε, δ): 5 % less of a Gaussian for
(1, 1e-5) is seen in 10⁵ draws by P(Y > u), and in 3·10⁹ by its δ at ε = 1
(benchmarks/bench_audit.py). Thresholds u are quantiles of a tenth of the outputs, and P(Y > u) is
counted on the others. Where the noise is centred isn't assumed: c is enclosed by the median, and
the claim refuted if there is no such c, or none of its enclosure agrees with the count. Outputs
that the noise has with probability 0 refute it as they are: NaN, ±inf, and fractions where it is
whole.

**sensitivity**: whether the outputs on two neighbouring inputs are further apart than the claimed
sensitivity. With the claimed noise, outputs are c + X on one input and c' + X on the other. Both
centres are enclosed, each by a median of its own, and the claim refuted if even the nearest centres
are further apart than Δ in its norm. Outputs that have no centre with that noise refute the claim
as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise.audit import binomial
from leastnoise.audit.claim import Finding
from leastnoise.audit.law import (
    Centre,
    ClaimedLaw,
    Sample,
    centre_of,
    claimed_law,
    cut_points,
    noise_of,
    refute_outright,
    show_point,
)
from leastnoise.audit.power import MISS, TailTest, centre_reach, least_scale, least_thinning
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer

if TYPE_CHECKING:
    from leastnoise.audit.claim import Subject

_TAILS = (0.0005, 0.005, 0.02, 0.06, 0.12, 0.2, 0.35)
_PROBABILITIES = [*_TAILS, *(1 - p for p in reversed(_TAILS))]
_MOST_DIMENSION = 1000  # of outputs whose centres are told apart


def detect_noise(subject: Subject) -> Finding:
    """Return the finding of the test of goodness of fit."""
    law = claimed_law(subject.claim, subject.dimension)
    claim = noise_of(subject.claim)
    found = Finding(
        detector="noise", verdict="not tried", claim=claim, statement="", error=float(subject.error)
    )
    if isinstance(law, str):
        return replace(found, claim="the noise", statement=law)
    samples, level = _samples(law, subject)
    tested = [_Tested.of(law, sample, level) for sample in samples]
    refuted = (said for one in tested if (said := one.refuted_by(law, claim)))
    if (statement := next(refuted, None)) is not None:
        verdict = "violation"
    elif any(one.centre.is_known for one in tested):
        verdict, statement = "nothing found", f"The counts agree with {claim}."
    else:
        return replace(found, statement="Where the noise is centred can't be told in so few draws.")
    return replace(
        found,
        verdict=verdict,
        statement=statement,
        would_detect=_would_detect(law, tested, error=level),
    )


@final
@dataclass(frozen=True, kw_only=True)
class _Threshold:
    """P(Y > u), counted and claimed, as enclosures; u less the sample's anchor."""

    u: float
    counted: tuple[float, float]
    claimed: tuple[float, float]

    @property
    def gap(self) -> float:
        """How far the enclosures are apart; at most 0 if they meet."""
        return max(self.claimed[0] - self.counted[1], self.counted[0] - self.claimed[1])


@final
@dataclass(frozen=True, kw_only=True)
class _Tested:
    """What was counted of a sample; each bound but for a probability of `level`."""

    sample: Sample
    centre: Centre
    thresholds: tuple[_Threshold, ...]
    level: Fraction

    @classmethod
    def of(cls, law: ClaimedLaw, sample: Sample, error: Fraction) -> _Tested:
        """Count; all bounds together but for a probability of `error`."""
        points = cut_points(sample.chosen, _PROBABILITIES, law.beside)
        level = _level(error, len(points))
        centre = centre_of(law, sample, 2 * level)
        found: list[_Threshold] = []
        for u in points if centre.is_known else []:
            above = int((sample.counted > u).sum())
            # 1 - p is rounded to nearest
            most = law.distribution(u - centre.low)[1]
            least = law.distribution(u - centre.high)[0]
            found.append(
                _Threshold(
                    u=u,
                    counted=(
                        binomial.lower(above, sample.counted.size, level),
                        binomial.upper(above, sample.counted.size, level),
                    ),
                    claimed=(math.nextafter(1 - most, -1.0), math.nextafter(1 - least, 2.0)),
                )
            )
        return cls(sample=sample, centre=centre, thresholds=tuple(found), level=level)

    def refuted_by(self, law: ClaimedLaw, claim: str) -> str:
        """Return in words what the claimed noise can't do, empty if there is nothing."""
        if said := refute_outright(law, self.sample, self.centre, level=self.level, noise=claim):
            return said
        worst = max(self.thresholds, key=lambda one: one.gap, default=None)
        if worst is None or worst.gap <= 0:
            return ""
        low, high = _words.round_down(worst.counted[0]), _words.round_up(worst.counted[1])
        least, most = _words.round_down(worst.claimed[0]), _words.round_up(worst.claimed[1])
        where = show_point(self.sample.anchor, worst.u, near=law.spread / 10)
        return (
            f"P(Y > {where}) is between {low} and {high}, and with {claim} it would be between "
            f"{least} and {most}."
        )


def _level(error: Fraction, points: int) -> Fraction:
    """Return the level of each bound: two of each point, two of c, and one of `strange`."""
    return error / (2 * points + 3)


def _samples(law: ClaimedLaw, subject: Subject) -> tuple[list[Sample], Fraction]:
    """Return the sample of either input and each coordinate, and the error level of each."""
    samples = [
        Sample.of(outputs[:, index], law)
        for outputs in subject.outputs
        for index in subject.coordinates()
    ]
    return samples, subject.error / len(samples)


def _would_detect(law: ClaimedLaw, tested: list[_Tested], *, error: Fraction) -> str:
    """Return the sentence on the smaller scale, or thinner tail, that would have been found."""
    sizes = tested[0].sample.chosen.size, tested[0].sample.counted.size
    if not law.whole:
        level = min(one.level for one in tested)
        share = least_scale(law, [1 - p for p in _TAILS], sizes=sizes, level=level)
        if share is None:
            return "No smaller scale would have been found at this number of draws."
        return (
            f"It would have found noise that is {_words.round_up(100 * (1 - share))} % smaller "
            "(with probability >= 99 %)."
        )
    level = _level(error, 2 * len(_PROBABILITIES))  # another audit has so many points at most
    found = least_thinning(TailTest(law=law, tails=_TAILS, sizes=sizes, level=level))
    if found is None:
        return "No thinner tail would have been found at this number of draws."
    return (
        f"It would have found that {_words.round_up(100 * found.share)} % of the outputs more than "
        f"{found.above:.6g} above the centre of the noise are drawn again from the others (with "
        "probability >= 99 %)."
    )


def detect_sensitivity(subject: Subject) -> Finding:
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
    statement = f"The centres may be {_words.round_up(bound)} apart."
    if refuted:
        statement = (
            f"The outputs on the two inputs are at least {_words.round_down(norm)} apart, more "
            f"than {_words.round_up(bound)}."
        )
    return replace(
        found,
        verdict="violation" if refuted else "nothing found",
        statement=statement,
        would_detect=_would_detect_distance(law, float(bound), subject, 2 * level),
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
            if refuted := refute_outright(law, sample, centre, level=level, noise=noise):
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


def _would_detect_distance(law: ClaimedLaw, bound: float, subject: Subject, level: Fraction) -> str:
    """Return the sentence on the least distance beyond Δ that is found with a probability of 99 %.

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
        f"It would have found a distance of {_words.round_up(needed)} (with probability >= 99 %)."
    )


def _l2(gaps: list[Fraction]) -> Fraction:
    """Return √Σ gap², rounded down."""
    square = sum(gap * gap for gap in gaps)
    return square / root_above(square) if square else Fraction(0)
