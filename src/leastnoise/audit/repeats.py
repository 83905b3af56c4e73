"""Repeated randomness: outputs that repeat others, although every draw should be fresh.

Every test compares two rates. If draws are independent with one law, disjoint pairs of draws are
equal with the probability c of a coincidence, which is counted on pairs far apart. Differences and
sums of two draws, or of two independent coordinates, are equal with probability at most c. (By
Young's inequality the law p∗q of a sum of draws with the laws p and q has ‖p∗q‖₂ <= ‖p‖₂.) A rate
that is certainly above c is a finding. Pairs are taken from two calls, forks, threads or processes,
at the same index and up to 4 apart. They are also taken from draws up to 8 apart in one run, and
from coordinates of one draw.

Signs show dependence without repetition: two independent draws both exceed a fixed number at a
known rate. If the coordinates should be independent, pairs of coordinates are tested too.

For a vector there is one more test: does the difference of two coordinates tell the inputs apart?
Noise that is used twice cancels there. That refutes (ε, δ).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise.audit import binomial
from leastnoise.audit.claim import Finding
from leastnoise.audit.events import Feature, choose, judge
from leastnoise.audit.twice import run_twice
from leastnoise.noise.draw import has_independent_coordinates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from leastnoise.audit.claim import Subject

_LAGS = range(1, 9)
_COMPARED_COORDINATES = 6


def detect_repeats(subject: Subject) -> Finding:
    """Test for repeated randomness.

    Half of the error level is for repetitions and signs, half for differences of coordinates.
    """
    half = subject.error / 2
    with np.errstate(all="ignore"):  # outputs may be inf or NaN
        tests = [*_repeats(subject), *_signs(subject)]
    level = half / (4 * max(1, len(tests)))
    worst = next((test for test in tests if test.refutes(level)), None)
    cancelled = _test_differences(replace(subject, error=half))
    names = len({test.name for test in tests})
    finding = Finding(
        detector="repeats",
        verdict="nothing found",
        claim="every draw is fresh",
        statement=f"No repetition was found by {names} tests.",
        error=float(subject.error),
        would_detect=_would_detect(tests, level),
    )
    if worst is not None:
        return replace(finding, verdict="violation", statement=worst.statement(level))
    if cancelled is not None and cancelled.verdict == "violation":
        return replace(
            cancelled,
            claim=finding.claim,
            error=finding.error,
            would_detect=finding.would_detect,
        )
    return finding


@final
@dataclass(frozen=True, kw_only=True)
class _Test:
    """The counts of a test, which compares the rate of repetitions with a rate by chance.

    `equal` is the number of equal pairs among `pairs`. For comparison, an event happened by chance
    in `expected` of `trials`: a coincidence, or a draw above the median. The rate by chance is the
    probability of this event to the power `power`. With `two_sided`, too few equal pairs are a
    finding, too.
    """

    name: str
    equal: int
    pairs: int
    expected: int
    trials: int
    power: int = 1
    two_sided: bool = False

    def refutes(self, level: Fraction) -> bool:
        """True if the rate of repetitions is certainly above the rate by chance.

        With `two_sided`, also if it is certainly below. `level` is the error level of each bound.
        """
        counted, chance = self._bounds(level)
        above = counted[0] > chance[1]
        return above or (self.two_sided and counted[1] < chance[0])

    def _bounds(self, level: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
        return tuple(
            (
                Fraction(binomial.lower(k, n, level)) ** power,
                Fraction(binomial.upper(k, n, level)) ** power,
            )
            for k, n, power in (
                (self.equal, self.pairs, 1),
                (self.expected, self.trials, self.power),
            )
        )

    def statement(self, level: Fraction) -> str:
        """The bounds on both rates, as a sentence."""
        counted, chance = self._bounds(level)
        return (
            f"{self.name}: the rate is between {_words.round_down(counted[0])} and "
            f"{_words.round_up(counted[1])}, by chance it would be between "
            f"{_words.round_down(chance[0])} and {_words.round_up(chance[1])}."
        )


def _repeats(subject: Subject) -> Iterator[_Test]:
    """Yield the tests for equal outputs, and for equal differences and sums of outputs."""
    coordinates = subject.coordinates(_COMPARED_COORDINATES)
    outputs = subject.outputs[0]
    chance = [_collisions(outputs[:, index]) for index in coordinates]
    most_drawn = 5000  # outputs of each repeated run
    count = min(subject.draws, most_drawn)
    shifts = range(-4, 5)
    for name, (first, second) in run_twice(subject, count):
        for index in coordinates:
            for shift in shifts:
                y, z = _align(first[:, index], second[:, index], shift)
                yield _make_test(f"Outputs of {name} are equal", y == z, chance[index])
    for index in coordinates:
        yield from _repeats_of_draws(outputs[:, index], chance[index])
    if has_independent_coordinates(subject.claim.noise):
        # dependent coordinates may have a known sum
        for i, j in combinations(range(len(chance)), 2):
            for word, sign in (("Differences", -1), ("Sums", 1)):
                equal = _equal_sums(outputs[:, i], sign * outputs[:, j])
                if equal is not None:
                    yield _make_test(f"{word} of coordinates {i} and {j} repeat", equal, chance[i])


def _repeats_of_draws(column: NDArray[np.float64], chance: tuple[int, int]) -> Iterator[_Test]:
    for lag in _LAGS:
        y, z = _pair_at_lag(column, lag)
        yield _make_test("Pairs of equal draws in one run", y == z, chance)
        for word, other in (("Differences", -z), ("Sums", z)):
            if (equal := _equal_sums(y, other)) is not None:
                yield _make_test(f"{word} of draws of one run repeat", equal, chance)


def _make_test(name: str, equal: NDArray[np.bool_], chance: tuple[int, int]) -> _Test:
    return _Test(
        name=name, equal=int(equal.sum()), pairs=equal.size, expected=chance[0], trials=chance[1]
    )


def _collisions(column: NDArray[np.float64]) -> tuple[int, int]:
    """The number of equal pairs among disjoint pairs far apart, and the number of pairs."""
    half = column.size // 2
    return int((column[:half] == column[half : 2 * half]).sum()), half


def _align(
    y: NDArray[np.float64], z: NDArray[np.float64], shift: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pair each draw of one run with a draw of the other run, `shift` places later.

    The pairs (y[i], z[i + shift]) are disjoint because y and z are different runs.
    """
    if shift < 0:
        return y[-shift:], z[:shift]
    return y[: y.size - shift], z[shift:]


def _pair_at_lag(column: NDArray[Any], lag: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Pair draws of one run that are `lag` places apart; the pairs are disjoint."""
    blocks = column[: column.size // (2 * lag) * 2 * lag].reshape(-1, 2, lag)
    return blocks[:, 0].ravel(), blocks[:, 1].ravel()


def _equal_sums(y: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """True for each disjoint pair of sums y + z, far apart, whose two sums are equal.

    None if a sum isn't exact (Knuth's TwoSum), because sums of large outputs are equal by rounding.
    """
    sums = y + z
    part = sums - y
    if ((y - (sums - part)) + (z - part)).any():
        return None
    half = sums.size // 2
    return sums[:half] == sums[half : 2 * half]


def _signs(subject: Subject) -> Iterator[_Test]:
    """Yield the tests for draws, or coordinates, that exceed the median together.

    Too often and too rarely are both findings.
    """
    coordinates = subject.coordinates(_COMPARED_COORDINATES)
    tenth = subject.draws // 10
    outputs = subject.outputs[0]
    above = outputs[tenth:] > np.median(outputs[:tenth], axis=0)
    for index in coordinates:
        column = above[:, index]
        for lag in _LAGS:
            y, z = _pair_at_lag(column, lag)
            yield _Test(
                name=f"Draws {lag} apart are above the median together",
                equal=int((y & z).sum()), pairs=y.size,
                expected=int(column.sum()), trials=column.size, power=2, two_sided=True,
            )  # fmt: skip
    if has_independent_coordinates(subject.claim.noise):
        for i, j in combinations(coordinates, 2):
            half = above.shape[0] // 2
            # the pairs (Y_i, Y_j) come from one draw in the first half, from two in the second
            separate = above[half : 2 * half, i] & np.roll(above[half : 2 * half, j], half // 2)
            together = above[:half, i] & above[:half, j]
            yield _Test(
                name=f"Coordinates {i} and {j} are above the median together",
                equal=int(together.sum()), pairs=half, expected=int(separate.sum()), trials=half,
                two_sided=True,
            )  # fmt: skip


def _test_differences(subject: Subject) -> Finding | None:
    """Test events about the difference of two coordinates; None in one dimension."""
    coordinates = subject.coordinates(_COMPARED_COORDINATES)
    features = [_difference(i, j, subject) for i, j in combinations(coordinates, 2)]
    if not features:
        return None
    with np.errstate(all="ignore"):
        return judge(choose(features, subject), subject, detector="repeats")


def _difference(i: int, j: int, subject: Subject) -> Feature:
    """Label an output by the difference of its coordinates i and j, if this value is frequent.

    All other differences share one label.
    """
    seen = [_most_frequent(outputs[:, i] - outputs[:, j]) for outputs in subject.first]
    values = np.unique(np.concatenate(seen))

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        difference = outputs[:, i] - outputs[:, j]
        index = np.searchsorted(values, difference).clip(0, max(0, values.size - 1))
        return np.where(values[index] == difference, index, values.size)

    name = f"the difference of coordinates {i} and {j}"
    return Feature(name=name, cells=values.size + 1, labels=labels)


def _most_frequent(column: NDArray[np.float64]) -> NDArray[np.float64]:
    values, counts = np.unique(column, return_counts=True)
    return values[np.argsort(-counts, kind="stable")[:64]]


def _would_detect(tests: Sequence[_Test], level: Fraction) -> str:
    """A sentence that states the least detected share of repeated outputs, if any is detected."""
    from leastnoise.audit.power import detectable_rate  # noqa: PLC0415 (scipy, for this alone)

    runs = [test for test in tests if test.name.startswith("Outputs of ")]
    if not runs:
        return ""
    smallest = min(runs, key=lambda test: test.pairs)
    chance = binomial.upper(smallest.expected, smallest.trials, level)
    trials = smallest.pairs, smallest.trials
    rate = detectable_rate(chance, trials, epsilon=0.0, delta=0.0, level=float(level))
    if rate is None:
        return "No share of repeated outputs would have been found at this number of draws."
    return (
        f"The test would have found that {_words.round_up(100 * rate)} % of two runs' outputs "
        "repeat (with probability >= 99 %)."
    )
