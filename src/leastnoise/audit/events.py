"""Events that tell two inputs apart: chosen on one half of the outputs, tested on the other.

notation: P, Q the laws of the output on two neighbouring inputs; S an event; n outputs of each;
p, q = P(S), Q(S); p₋, q₊ their Clopper–Pearson bounds.

(ε, δ)-DP says p <= e^ε q + δ for every S. An event that was fixed before its outputs were counted
refutes it if p₋ > e^ε q₊ + δ. All bounds of one detector hold together, so that they also give a
lower bound of δ at every ε, p₋ − e^ε q₊, and of ε at δ, ln((p₋ − δ)/q₊).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise import _words
from leastnoise.audit import binomial
from leastnoise.audit.claim import Finding
from leastnoise.audit.power import detectable_rate
from leastnoise.balls.core import PLAIN_BITS, ball, float_below, precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.claim import Subject

    Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


@final
@dataclass(frozen=True, kw_only=True)
class Feature:
    """A map of outputs to the labels 0 … cells − 1, fixed before the second half is looked at.

    `ordered` says that unions of neighbouring labels are events worth trying. Where it takes long,
    only the first `most` outputs are labelled.
    """

    name: str
    cells: int
    labels: Callable[[NDArray[np.float64]], NDArray[np.intp]]
    ordered: bool = False
    most: int | None = None

    def counts(self, outputs: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many outputs have each label."""
        return np.bincount(self.labels(outputs[: self.most]), minlength=self.cells)


@final
@dataclass(frozen=True, kw_only=True)
class Event:
    """S: the outputs whose label is among `chosen`; more likely under input `likely`, 0 or 1."""

    feature: Feature
    chosen: NDArray[np.bool_]
    likely: int

    @property
    def key(self) -> tuple[str, bytes, int]:
        """What tells it from other events."""
        return self.feature.name, self.chosen.tobytes(), self.likely


def choose(features: Sequence[Feature], subject: Subject) -> tuple[Event, ...]:
    """Return the most promising events on the first half, at most ten.

    For either input the best at each of a fixed grid of ε (0, ε/2, ε, 2ε), and the one with the
    largest ratio. Promise is a guess in floats at the bounds on the second half; it proves nothing.
    """
    best: dict[tuple[int, int], tuple[float, Event]] = {}
    for feature in features:
        counts = [feature.counts(outputs) for outputs in subject.first]
        for likely in (0, 1):
            for place, found in _best(counts[likely], counts[1 - likely], feature, subject):
                value, chosen = found
                if value > best.get((likely, place), (-np.inf, None))[0]:
                    event = Event(feature=feature, chosen=chosen, likely=likely)
                    best[likely, place] = (value, event)
    distinct = {event.key: event for _, event in best.values()}
    return tuple(distinct.values())


def _best(
    likely: NDArray[np.int64], other: NDArray[np.int64], feature: Feature, subject: Subject
) -> list[tuple[int, tuple[float, NDArray[np.bool_]]]]:
    """Return the best union of labels for each aim, as (aim, (promise, which labels))."""
    from scipy.special import ndtri  # noqa: PLC0415 (the command line's help needn't pay)

    z = -float(ndtri(float(subject.error) / 40))
    epsilon, delta = float(subject.claim.epsilon), float(subject.claim.delta)
    found: list[tuple[int, tuple[float, NDArray[np.bool_]]]] = []
    for order in _orders(likely, other, ordered=feature.ordered):
        p, q = (np.cumsum(counts[order]) for counts in (likely, other))
        n, m = max(1, int(p[-1])), max(1, int(q[-1]))
        low = np.maximum(p - z * np.sqrt(p), 0) / n
        high = np.minimum((q + z * np.sqrt(q) + z * z / 2) / m, 1)
        aims = [low - np.exp(min(rate * epsilon, 600)) * high for rate in (0, 0.5, 1, 2)]
        aims.append(np.log(np.maximum(low - delta, 1e-300) / high))
        for place, promise in enumerate(aims):
            last = int(np.argmax(promise))
            chosen = np.zeros(likely.size, dtype=bool)
            chosen[order[: last + 1]] = True
            found.append((place, (float(promise[last]), chosen)))
    return found


def _orders(
    likely: NDArray[np.int64], other: NDArray[np.int64], *, ordered: bool
) -> list[NDArray[np.intp]]:
    """Return the orders in which labels are put together: by ratio, and from either end."""
    orders = [np.argsort(-(likely + 0.5) / (other + 0.5), kind="stable")]
    if ordered:
        every = np.arange(likely.size)
        outward = np.argsort(np.abs(every - (likely.size - 1) / 2), kind="stable")
        orders += [every, every[::-1], outward, outward[::-1]]
    return orders


@final
@dataclass(frozen=True, kw_only=True)
class Tested:
    """An event with p₋ and q₊, and what follows: lower bounds of ε at δ, and of δ at ε."""

    event: Event
    likely: float
    other: float
    refutes: bool
    epsilon_lower: float
    delta_lower: float


def judge(events: Sequence[Event], subject: Subject, *, detector: str) -> Finding:
    """Test the events on the second half; each bound at error/(2·events)."""
    level = subject.error / (2 * max(1, len(events)))
    tested = [_tested(event, subject, level) for event in events]
    said = _words.format_guarantee(subject.claim.epsilon, subject.claim.delta)
    if not tested:
        return Finding(
            detector=detector, verdict="not tried", claim=said, error=float(subject.error),
            statement="There is no event to test.",
        )  # fmt: skip
    best = max(tested, key=lambda one: (one.refutes, one.epsilon_lower, one.delta_lower))
    refuted = any(one.refutes for one in tested)
    statement = "No event was found that is too likely."
    if refuted:
        statement = (
            f"An event has probability >= {_words.round_down(best.likely)} on one input and <= "
            f"{_words.round_up(best.other)} on the other, so that ε >= "
            f"{_words.round_down(best.epsilon_lower)} at the claimed δ, and δ >= "
            f"{_words.round_down(best.delta_lower)} at the claimed ε. The event: "
            f"{int(best.event.chosen.sum())} of {best.event.feature.cells} classes of outputs by "
            f"{best.event.feature.name}."
        )
    return Finding(
        detector=detector,
        verdict="violation" if refuted else "nothing found",
        claim=said,
        statement=statement,
        error=float(subject.error),
        would_detect=_would_detect(tested, subject, level),
        epsilon_lower=max(one.epsilon_lower for one in tested),
        delta_lower=max(one.delta_lower for one in tested),
    )


def _tested(event: Event, subject: Subject, level: Fraction) -> Tested:
    sizes = [min(one.shape[0], event.feature.most or one.shape[0]) for one in subject.second]
    inside = [int(event.feature.counts(one)[event.chosen].sum()) for one in subject.second]
    p = binomial.lower(inside[event.likely], sizes[event.likely], level)
    q = binomial.upper(inside[1 - event.likely], sizes[1 - event.likely], level)
    epsilon, delta = subject.claim.epsilon, subject.claim.delta
    with precision(PLAIN_BITS):
        excess = arb(p) - ball(epsilon).exp() * arb(q)
        above = arb(p) - ball(delta)
        return Tested(
            event=event,
            likely=p,
            other=q,
            refutes=bool(excess > ball(delta)),
            epsilon_lower=max(0.0, float_below((above / arb(q)).log())) if above > 0 else 0.0,
            delta_lower=max(0.0, float_below(excess)),
        )


def _would_detect(tested: Sequence[Tested], subject: Subject, level: Fraction) -> str:
    """Return the sentence on the least ε that would have been found, at the best event."""
    epsilon, delta = float(subject.claim.epsilon), float(subject.claim.delta)
    found: list[tuple[float, float]] = []
    for one in tested:
        size = min(subject.second[0].shape[0], one.event.feature.most or subject.draws)
        rate = detectable_rate(
            one.other, (size, size), epsilon=epsilon, delta=delta, level=float(level)
        )
        if rate is not None:
            found.append((float(np.log((rate - delta) / one.other)), one.other))
    if not found:
        return "No event that was tested could have shown any violation at this number of draws."
    least, other = min(found)
    return (
        f"It would have found ε = {_words.round_up(least)} at the claimed δ (with probability "
        f">= 99 %) at an event of probability {_words.number(other)} on the other input."
    )
