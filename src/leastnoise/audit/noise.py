"""Two detectors for outputs that contradict the claimed noise or the claimed sensitivity.

Notation: X is a coordinate of the claimed noise, c its centre on one input and c' on the other, and
Y a coordinate of an output.

**noise**, goodness of fit: are the outputs Y a fixed number c plus the claimed noise? This takes
far fewer draws than an event that refutes (ε, δ). A Gaussian for (1, 1e-5) that is 5 % too small
shows in 10⁵ draws by P(Y > u), and in 3·10⁹ by its δ at ε = 1 (benchmarks/bench_audit.py).
Thresholds u are quantiles of a tenth of the outputs, and P(Y > u) is counted on the others. The
centre of the noise isn't assumed: c is enclosed by the median. The claim is refuted if no such c
exists, or if the count at some threshold contradicts all c in the enclosure. Impossible outputs
refute it too: NaN, ±inf, and fractions if the noise is whole.

**sensitivity**: are the outputs on two neighbouring inputs further apart than the claimed
sensitivity? With the claimed noise, outputs are c + X on one input and c' + X on the other. Both
centres are enclosed, each by its median. The claim is refuted if even the nearest possible centres
are further apart than Δ in its norm, where Δ is the claimed sensitivity. Outputs without a centre
for that noise refute the claim too.
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
_MOST_DIMENSION = 1000  # of outputs whose centres are compared


def detect_noise(subject: Subject) -> Finding:
    """Run the test `noise`: are the outputs a fixed number plus the claimed noise?"""
    law = claimed_law(subject.claim, subject.dimension)
    claim = noise_of(subject.claim)
    finding = Finding(
        detector="noise", verdict="not tried", claim=claim, statement="", error=float(subject.error)
    )
    if isinstance(law, str):
        return replace(finding, claim="the noise", statement=law)
    samples, level = _samples(law, subject)
    tested = [_Tested.of(law, sample, level) for sample in samples]
    refutations = filter(None, (test.refute(law, claim) for test in tested))
    if (statement := next(refutations, None)) is not None:
        verdict = "violation"
    elif any(test.centre.is_known for test in tested):
        verdict, statement = "nothing found", f"The counts agree with {claim}."
    else:
        return replace(finding, statement="There are too few draws to find the noise's centre.")
    return replace(
        finding,
        verdict=verdict,
        statement=statement,
        would_detect=_would_detect(law, tested, error=level),
    )


@final
@dataclass(frozen=True, kw_only=True)
class _Threshold:
    """A threshold u, and the probability that an output exceeds it, enclosed in two ways.

    `counted` is the enclosure from the counts. `claimed` is the enclosure for the claimed noise at
    all possible centres. `u` is stored minus the sample's anchor.
    """

    u: float
    counted: tuple[float, float]
    claimed: tuple[float, float]

    @property
    def gap(self) -> float:
        """The distance between the two enclosures; at most 0 if they meet."""
        return max(self.claimed[0] - self.counted[1], self.counted[0] - self.claimed[1])


@final
@dataclass(frozen=True, kw_only=True)
class _Tested:
    """A tested sample: bounds on its centre, and on the probabilities above the thresholds.

    Each bound is wrong with probability at most `level`.
    """

    sample: Sample
    centre: Centre
    thresholds: tuple[_Threshold, ...]
    level: Fraction

    @classmethod
    def of(cls, law: ClaimedLaw, sample: Sample, error: Fraction) -> _Tested:
        """Count the outputs above each threshold.

        With a probability of at most `error` some bound is wrong.
        """
        points = cut_points(sample.chosen, _PROBABILITIES, law.beside)
        level = _level(error, len(points))
        centre = centre_of(law, sample, 2 * level)
        thresholds: list[_Threshold] = []
        for u in points if centre.is_known else []:
            above = int((sample.counted > u).sum())
            # 1 - p rounds to nearest
            most = law.distribution(u - centre.low)[1]
            least = law.distribution(u - centre.high)[0]
            thresholds.append(
                _Threshold(
                    u=u,
                    counted=(
                        binomial.lower(above, sample.counted.size, level),
                        binomial.upper(above, sample.counted.size, level),
                    ),
                    claimed=(math.nextafter(1 - most, -1.0), math.nextafter(1 - least, 2.0)),
                )
            )
        return cls(sample=sample, centre=centre, thresholds=tuple(thresholds), level=level)

    def refute(self, law: ClaimedLaw, claim: str) -> str:
        """A sentence that refutes the claimed noise; empty if nothing does."""
        sample, centre = self.sample, self.centre
        if refutation := refute_outright(law, sample, centre, level=self.level, noise=claim):
            return refutation
        worst = max(self.thresholds, key=lambda threshold: threshold.gap, default=None)
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
    """The error level of each bound.

    There are two bounds per threshold, two on the centre, and one for `strange`.
    """
    return error / (2 * points + 3)


def _samples(law: ClaimedLaw, subject: Subject) -> tuple[list[Sample], Fraction]:
    """A sample for each input and tested coordinate, and the error level for each sample."""
    samples = [
        Sample.of(outputs[:, index], law)
        for outputs in subject.outputs
        for index in subject.coordinates()
    ]
    return samples, subject.error / len(samples)


def _would_detect(law: ClaimedLaw, tested: list[_Tested], *, error: Fraction) -> str:
    """A sentence that states the least detected violation: a smaller scale or a thinner tail."""
    sizes = tested[0].sample.chosen.size, tested[0].sample.counted.size
    if not law.whole:
        level = min(test.level for test in tested)
        share = least_scale(law, [1 - p for p in _TAILS], sizes=sizes, level=level)
        if share is None:
            return "No smaller scale would have been found at this number of draws."
        return (
            f"The test would have found noise that is {_words.round_up(100 * (1 - share))} % "
            "smaller (with probability >= 99 %)."
        )
    level = _level(error, 2 * len(_PROBABILITIES))  # the largest number of points in any audit
    thinned = least_thinning(TailTest(law=law, tails=_TAILS, sizes=sizes, level=level))
    if thinned is None:
        return "No thinner tail would have been found at this number of draws."
    return (
        f"The test would have found that {_words.round_up(100 * thinned.share)} % of the outputs "
        f"more than {thinned.above:.6g} above the noise's centre are replaced by others (with "
        "probability >= 99 %)."
    )


def detect_sensitivity(subject: Subject) -> Finding:
    """Run the test `sensitivity`: are the two centres of the outputs too far apart?"""
    sensitivity = subject.claim.sensitivity
    law = claimed_law(subject.claim, subject.dimension)
    in_a_norm = isinstance(sensitivity, L1 | L2 | Integer)
    bound = getattr(sensitivity, "bound", None) if in_a_norm or subject.dimension == 1 else None
    claim = "the sensitivity" if sensitivity is None else _words.sensitivity(sensitivity)
    why = ""
    if isinstance(law, str):
        why = law
    elif bound is None:
        why = "The claim has no sensitivity in the l1 or l2 norm."
    elif subject.dimension > _MOST_DIMENSION:
        why = f"Outputs have more than {_MOST_DIMENSION:,} numbers."
    finding = Finding(
        detector="sensitivity", verdict="not tried", claim=claim, statement=why,
        error=float(subject.error),
    )  # fmt: skip
    if why or isinstance(law, str) or bound is None:
        return finding
    level = subject.error / (6 * subject.dimension)  # per input: two bounds on c, and `strange`
    gaps = _gaps(law, subject, level)
    if isinstance(gaps, str):
        return replace(finding, verdict="violation", statement=gaps)
    known = [gap for gap in gaps if gap is not None]
    if len(known) < len(gaps):
        return replace(finding, statement="There are too few draws to find the outputs' centres.")
    in_l1 = isinstance(sensitivity, L1)
    norm = sum(known) if in_l1 else _l2(known)
    refuted = norm > bound
    statement = f"The centres may be {_words.round_up(bound)} apart."
    if refuted:
        statement = (
            f"The centres of the outputs on the two inputs are at least {_words.round_down(norm)} "
            f"apart, but may be at most {_words.round_up(bound)} apart."
        )
    return replace(
        finding,
        verdict="violation" if refuted else "nothing found",
        statement=statement,
        would_detect=_would_detect_distance(law, float(bound), subject, 2 * level),
    )


def _gaps(law: ClaimedLaw, subject: Subject, level: Fraction) -> list[Fraction | None] | str:
    """Lower bounds on the distance of the two centres in each coordinate; None if unknown.

    Returns a sentence instead if the outputs on an input contradict the claimed noise at every
    centre.
    """
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


def _gap(first: tuple[float, Centre], second: tuple[float, Centre]) -> Fraction | None:
    """A lower bound on the distance of two centres, each enclosed relative to its anchor.

    None if a centre is unknown.
    """
    if not (first[1].is_known and second[1].is_known):
        return None
    lows, highs = (
        [Fraction(anchor) + Fraction(end) for anchor, end in ends]
        for ends in (
            [(anchor, centre.low) for anchor, centre in (first, second)],
            [(anchor, centre.high) for anchor, centre in (first, second)],
        )
    )
    return max(Fraction(0), lows[1] - highs[0], lows[0] - highs[1])


def _would_detect_distance(law: ClaimedLaw, bound: float, subject: Subject, level: Fraction) -> str:
    """A sentence that states the smallest distance beyond Δ that is detected with 99 % probability.

    The distance needs a lower bound on one centre and an upper bound on the other, in each
    coordinate. These bounds vary between audits, so they are replaced by pessimistic values. The
    probabilities of worse bounds are equal and sum to 1 %. `level` is the error level of the bounds
    on one centre. The distance is computed in floats, for the report only.
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
        f"The test would have found a distance of {_words.round_up(needed)} (with probability "
        ">= 99 %)."
    )


def _l2(gaps: list[Fraction]) -> Fraction:
    """The l2 norm √Σ gap², rounded down."""
    square = sum(gap * gap for gap in gaps)
    return square / root_above(square) if square else Fraction(0)
