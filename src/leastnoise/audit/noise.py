"""Goodness of fit: whether the outputs are a fixed number plus the claimed noise.

Where the noise is known far less has to be seen than an event that refutes (ε, δ): 5 % less of a
Gaussian for (1, 1e-5) is seen in 10⁵ draws by P(Y > u), and in 3·10⁹ by its δ at ε = 1
(benchmarks/bench_audit.py).

Thresholds u are quantiles of a tenth of the outputs, and P(Y > u) is counted on the others. Where
the noise is centred isn't assumed: c is enclosed by the median, and the claim refuted if there is
no such c, or none of its enclosure agrees with the count. Outputs that the noise has with
probability 0 refute it as they are: NaN, ±inf, and fractions where it is whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise.audit import binomial
from leastnoise.audit.finding import Finding
from leastnoise.audit.law import Centre, ClaimedLaw, Sample, centre_of, claimed_law, cut_points
from leastnoise.audit.power import least_scale
from leastnoise.audit.refuted import noise_of, outright, point
from leastnoise.audit.thinned import TailTest, least_thinning

if TYPE_CHECKING:
    from leastnoise.audit.subject import Subject

_TAILS = (0.0005, 0.005, 0.02, 0.06, 0.12, 0.2, 0.35)
_PROBABILITIES = [*_TAILS, *(1 - p for p in reversed(_TAILS))]
_MOST_COORDINATES = 8


def detect(subject: Subject) -> Finding:
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
        if said := outright(law, self.sample, self.centre, level=self.level, noise=claim):
            return said
        worst = max(self.thresholds, key=lambda one: one.gap, default=None)
        if worst is None or worst.gap <= 0:
            return ""
        low, high = _words.at_most(worst.counted[0]), _words.at_least(worst.counted[1])
        least, most = _words.at_most(worst.claimed[0]), _words.at_least(worst.claimed[1])
        where = point(self.sample.anchor, worst.u, near=law.spread / 10)
        return (
            f"P(Y > {where}) is between {low} and {high}, and with {claim} it would be between "
            f"{least} and {most}."
        )


def _level(error: Fraction, points: int) -> Fraction:
    """Return the level of each bound: two of each point, two of c, and one of `strange`."""
    return error / (2 * points + 3)


def _samples(law: ClaimedLaw, subject: Subject) -> tuple[list[Sample], Fraction]:
    """Return the sample of either input and each coordinate, and the error level of each."""
    coordinates = range(min(subject.dimension, _MOST_COORDINATES))
    samples = [
        Sample.of(outputs[:, index], law) for outputs in subject.outputs for index in coordinates
    ]
    return samples, subject.error / len(samples)


def _would_detect(law: ClaimedLaw, tested: list[_Tested], *, error: Fraction) -> str:
    """Say which smaller scale would have been found; on whole numbers, which thinner tail."""
    sizes = tested[0].sample.chosen.size, tested[0].sample.counted.size
    if not law.whole:
        level = min(one.level for one in tested)
        share = least_scale(law, [1 - p for p in _TAILS], sizes=sizes, level=level)
        if share is None:
            return "No smaller scale would have been found at this number of draws."
        return (
            f"It would have found noise that is {_words.at_least(100 * (1 - share))} % smaller "
            "(with probability >= 99 %)."
        )
    level = _level(error, 2 * len(_PROBABILITIES))  # another audit has so many points at most
    found = least_thinning(TailTest(law=law, tails=_TAILS, sizes=sizes, level=level))
    if found is None:
        return "No thinner tail would have been found at this number of draws."
    return (
        f"It would have found that {_words.at_least(100 * found.share)} % of the outputs more than "
        f"{found.above:.6g} above the centre of the noise are drawn again from the others (with "
        "probability >= 99 %)."
    )
