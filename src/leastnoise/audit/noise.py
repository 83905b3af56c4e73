"""Goodness of fit: whether the outputs are a fixed number plus the claimed noise.

Where the noise is known far less has to be seen than an event that refutes (ε, δ): 5 % less of a
Gaussian for (1, 1e-5) is seen in 10⁵ draws by P(Y > u), and in 3·10⁹ by its δ at ε = 1
(benchmarks/bench_audit.py).

Thresholds u are quantiles of a tenth of the outputs, and P(Y > u) is counted on the others. Where
the noise is centred isn't assumed: c is enclosed by the median, and the claim refuted if no c of
its enclosure agrees with the count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise.audit import binomial
from leastnoise.audit.finding import Finding
from leastnoise.audit.law import ClaimedLaw, centre_bounds, claimed_law, cut_points
from leastnoise.audit.power import detectable_below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.audit.subject import Subject

_TAILS = (0.0005, 0.005, 0.02, 0.06, 0.12, 0.2, 0.35)
_PROBABILITIES = [*_TAILS, *(1 - p for p in reversed(_TAILS))]
_MOST_COORDINATES = 8


def detect(subject: Subject) -> Finding:
    """Return the finding of the test of goodness of fit."""
    law = claimed_law(subject.claim, subject.dimension)
    error = float(subject.error)
    if isinstance(law, str):
        return Finding(
            detector="noise", verdict="not tried", claim="the noise", statement=law, error=error
        )
    tested = [one for sample in _samples(subject) for one in _count(law, *sample)]
    worst = max(tested, key=lambda one: one.gap, default=None)
    refuted = worst is not None and worst.gap > 0
    named = subject.claim.noise
    claim = f"{named.name} noise of scale {_words.number(named.scale)}" if named else "the noise"
    if worst is not None and refuted:
        statement = worst.statement(claim)
    else:
        statement = f"The counts agree with {claim}."
    return Finding(
        detector="noise",
        verdict="violation" if refuted else "nothing found",
        claim=claim,
        statement=statement,
        error=error,
        would_detect=_would_detect(law, tested),
    )


@final
@dataclass(frozen=True, kw_only=True)
class _Threshold:
    """P(Y > u), counted and claimed, as enclosures; c the least and largest centre."""

    u: float
    centre: tuple[float, float]
    counted: tuple[float, float]
    claimed: tuple[float, float]
    trials: int
    level: Fraction

    @property
    def gap(self) -> float:
        """How far the enclosures are apart; at most 0 if they meet."""
        return max(self.claimed[0] - self.counted[1], self.counted[0] - self.claimed[1])

    def statement(self, claim: str) -> str:
        """Return in words that they don't meet."""
        if self.centre[0] > self.centre[1]:
            return f"No whole number fits as the centre of {claim}."
        low, high = _words.at_most(self.counted[0]), _words.at_least(self.counted[1])
        least, most = _words.at_most(self.claimed[0]), _words.at_least(self.claimed[1])
        return (
            f"P(Y > {self.u:.6g}) is between {low} and {high}, and with {claim} it would be "
            f"between {least} and {most}."
        )


def _samples(
    subject: Subject,
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], Fraction]]:
    """Return for either input and each coordinate the tenth to choose on, the rest, the level."""
    tenth = subject.draws // 10
    coordinates = range(min(subject.dimension, _MOST_COORDINATES))
    level = subject.error / (2 * len(coordinates))
    return [
        (outputs[:tenth, index], outputs[tenth:, index], level)
        for outputs in subject.outputs
        for index in coordinates
    ]


def _count(
    law: ClaimedLaw, chosen: NDArray[np.float64], counted: NDArray[np.float64], error: Fraction
) -> list[_Threshold]:
    points = cut_points(chosen, _PROBABILITIES)
    level = error / (2 * len(points) + 2)
    low, high = centre_bounds(law, chosen, counted, 2 * level)
    found: list[_Threshold] = []
    for u in points:
        above = int((counted > u).sum())
        if low > high:  # no whole number is a centre
            claimed = (2.0, 2.0)
        elif math.isinf(low) or math.isinf(high):
            claimed = (0.0, 1.0)
        else:  # 1 - p is rounded to nearest
            most, least = law.distribution(u - low)[1], law.distribution(u - high)[0]
            claimed = (math.nextafter(1 - most, -1.0), math.nextafter(1 - least, 2.0))
        found.append(
            _Threshold(
                u=u,
                centre=(low, high),
                counted=(
                    binomial.lower(above, counted.size, level),
                    binomial.upper(above, counted.size, level),
                ),
                claimed=claimed,
                trials=counted.size,
                level=level,
            )
        )
    return found


def _would_detect(law: ClaimedLaw, tested: list[_Threshold]) -> str:
    """Say which smaller scale would have been found, at the threshold where that is the nearest."""
    best = 0.0
    for one in tested:
        middle = (one.centre[0] + one.centre[1]) / 2
        if not math.isfinite(middle) or one.u <= middle or not 0 < one.claimed[0] < 1:
            continue
        rate = detectable_below(one.claimed[0], one.trials, level=float(one.level))
        if rate is not None and rate > 0:
            wider = law.inverse_above(1 - rate)  # where the claimed noise has that probability
            best = max(best, (one.u - middle) / wider if math.isfinite(wider) else 0.0)
    if not 0 < best < 1:
        return "No smaller scale would have been found at this number of draws."
    return (
        f"It would have found noise that is {_words.at_least(100 * (1 - best))} % smaller (with "
        "probability >= 99 %)."
    )
