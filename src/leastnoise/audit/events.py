"""Events that tell two inputs apart: chosen on one half of the outputs, tested on the other.

Notation: P and Q are the laws of the output on two neighbouring inputs, and S is an event, a set of
outputs. p = P(S) and q = Q(S); p₋ is the Clopper–Pearson lower bound on p, and q₊ the upper bound
on q, from n outputs on each input.

(ε, δ)-DP means p <= e^ε q + δ for every S. An event that was fixed before its outputs were counted
refutes it if p₋ > e^ε q₊ + δ. All bounds of one detector hold together. So they also give a lower
bound on δ at every ε, p₋ − e^ε q₊, and a lower bound on ε at δ, ln((p₋ − δ)/q₊).
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
    """A map from outputs to the labels 0 … cells − 1, fixed before the second half is read.

    With `ordered`, unions of neighbouring labels are tried as events, too. If `most` isn't None,
    only the first `most` outputs are labelled, since labelling is slow.
    """

    name: str
    cells: int
    labels: Callable[[NDArray[np.float64]], NDArray[np.intp]]
    ordered: bool = False
    most: int | None = None

    def counts(self, outputs: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of outputs with each label."""
        return np.bincount(self.labels(outputs[: self.most]), minlength=self.cells)


@final
@dataclass(frozen=True, kw_only=True)
class Event:
    """The event S that an output's label is one of the chosen labels.

    `chosen` is a mask over all labels. `likely` is the index, 0 or 1, of the input on which S
    should be likelier: p is its probability there, and q on the other input.
    """

    feature: Feature
    chosen: NDArray[np.bool_]
    likely: int

    @property
    def key(self) -> tuple[str, bytes, int]:
        """A key by which equal events are recognised."""
        return self.feature.name, self.chosen.tobytes(), self.likely


def choose(features: Sequence[Feature], subject: Subject) -> tuple[Event, ...]:
    """Choose at most ten events by the first half of the outputs: the most promising ones.

    For either input as the likelier input there are up to five events. These are the best events at
    0, ½, 1 and 2 times the claimed ε, and the event with the largest ratio of probabilities. The
    promise of an event is a float that predicts its bounds on the second half; it proves nothing.
    """
    best: dict[tuple[int, int], tuple[float, Event]] = {}
    for feature in features:
        counts = [feature.counts(outputs) for outputs in subject.first]
        for likely in (0, 1):
            candidates = _find_best(counts[likely], counts[1 - likely], feature, subject)
            for aim, (value, chosen) in candidates:
                if value > best.get((likely, aim), (-np.inf, None))[0]:
                    event = Event(feature=feature, chosen=chosen, likely=likely)
                    best[likely, aim] = (value, event)
    distinct = {event.key: event for _, event in best.values()}
    return tuple(distinct.values())


def _find_best(
    likely: NDArray[np.int64], other: NDArray[np.int64], feature: Feature, subject: Subject
) -> list[tuple[int, tuple[float, NDArray[np.bool_]]]]:
    """The most promising sets of labels, as entries (aim, (promise, mask of the chosen labels)).

    There is an entry for each order of `_orders` and each aim. Aims 0 to 3 stand for the four
    values of ε in `choose`: the promise predicts p₋ − e^ε q₊. Aim 4 stands for the ratio: the
    promise predicts ln((p₋ − δ)/q₊). `likely` and `other` count the outputs with each label, on the
    input where the event should be likelier and on the other input.
    """
    from scipy.special import ndtri  # noqa: PLC0415 (so that `leastnoise --help` stays fast)

    z = -float(ndtri(float(subject.error) / 40))
    epsilon, delta = float(subject.claim.epsilon), float(subject.claim.delta)
    candidates: list[tuple[int, tuple[float, NDArray[np.bool_]]]] = []
    for order in _orders(likely, other, ordered=feature.ordered):
        p, q = (np.cumsum(counts[order]) for counts in (likely, other))
        n, m = max(1, int(p[-1])), max(1, int(q[-1]))
        low = np.maximum(p - z * np.sqrt(p), 0) / n
        high = np.minimum((q + z * np.sqrt(q) + z * z / 2) / m, 1)
        aims = [low - np.exp(min(rate * epsilon, 600)) * high for rate in (0, 0.5, 1, 2)]
        aims.append(np.log(np.maximum(low - delta, 1e-300) / high))
        for aim, promise in enumerate(aims):
            last = int(np.argmax(promise))
            chosen = np.zeros(likely.size, dtype=bool)
            chosen[order[: last + 1]] = True
            candidates.append((aim, (float(promise[last]), chosen)))
    return candidates


def _orders(
    likely: NDArray[np.int64], other: NDArray[np.int64], *, ordered: bool
) -> list[NDArray[np.intp]]:
    """The orders in which labels are merged into events: by the ratio of counts, and by position.

    Only `ordered` labels are merged by position: from either end, from the middle outward, and from
    both ends inward.
    """
    orders = [np.argsort(-(likely + 0.5) / (other + 0.5), kind="stable")]
    if ordered:
        every = np.arange(likely.size)
        outward = np.argsort(np.abs(every - (likely.size - 1) / 2), kind="stable")
        orders += [every, every[::-1], outward, outward[::-1]]
    return orders


@final
@dataclass(frozen=True, kw_only=True)
class Tested:
    """The result of testing an event: `likely` is p₋, and `other` is q₊.

    `refutes` is True if they refute the claim. `epsilon_lower` and `delta_lower` are the lower
    bounds on ε and δ that follow.
    """

    event: Event
    likely: float
    other: float
    refutes: bool
    epsilon_lower: float
    delta_lower: float


def judge(events: Sequence[Event], subject: Subject, *, detector: str) -> Finding:
    """Test each event on the second half of the outputs.

    There are two bounds for each event, and each fails with probability at most error/(2·events).
    """
    level = subject.error / (2 * max(1, len(events)))
    tested = [_test_event(event, subject, level) for event in events]
    claim = _words.format_guarantee(subject.claim.epsilon, subject.claim.delta)
    if not tested:
        return Finding(
            detector=detector, verdict="not tried", claim=claim, error=float(subject.error),
            statement="There is no event to test.",
        )  # fmt: skip
    best = max(tested, key=lambda test: (test.refutes, test.epsilon_lower, test.delta_lower))
    refuted = any(test.refutes for test in tested)
    statement = "No event is too likely."
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
        claim=claim,
        statement=statement,
        error=float(subject.error),
        would_detect=_would_detect(tested, subject, level),
        epsilon_lower=max(test.epsilon_lower for test in tested),
        delta_lower=max(test.delta_lower for test in tested),
    )


def _test_event(event: Event, subject: Subject, level: Fraction) -> Tested:
    sizes = [
        min(outputs.shape[0], event.feature.most or outputs.shape[0]) for outputs in subject.second
    ]
    inside = [int(event.feature.counts(outputs)[event.chosen].sum()) for outputs in subject.second]
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
    """A sentence that states the smallest ε, if any, that a tested event would have revealed."""
    epsilon, delta = float(subject.claim.epsilon), float(subject.claim.delta)
    detectable: list[tuple[float, float]] = []
    for test in tested:
        size = min(subject.second[0].shape[0], test.event.feature.most or subject.draws)
        rate = detectable_rate(
            test.other, (size, size), epsilon=epsilon, delta=delta, level=float(level)
        )
        if rate is not None:
            detectable.append((float(np.log((rate - delta) / test.other)), test.other))
    if not detectable:
        return "No tested event could have shown a violation at this number of draws."
    least, other = min(detectable)
    return (
        f"The test would have found ε = {_words.round_up(least)} at the claimed δ (with "
        f"probability >= 99 %) at an event of probability {_words.number(other)} on the other "
        "input."
    )
