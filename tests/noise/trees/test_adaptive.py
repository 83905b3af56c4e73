"""The worst adversary, who chooses the next rows after each release, gains nothing at ε.

Two streams differ by one row, which the adversary puts into one of the next releases, or takes
away, after seeing all releases before (theory/series.md, Theorem 1). Until then both streams look
alike, so that dynamic programming over pasts finds the best choice: V(past) is the larger of what
the row gains now, Σ (p(y − s) − γ p(y))₊ over the outputs y with that past, and Σ V(longer past).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Generic, TypeVar

import numpy as np
import pytest

from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.next_leaf import start_sums, sums_after
from tests.noise.trees.oracle import sums_of
from tests.noise.trees.test_next_leaf import law_of

Number = TypeVar("Number", Fraction, float)
Outputs = tuple[int, ...]


class Streams(Generic[Number]):
    """All outputs of a tree with values in a `window`, and their probabilities without the row."""

    def __init__(self, mass: Callable[[Outputs], Number], releases: int, window: range) -> None:
        self.mass, self.releases, self.window = mass, releases, window

    def gain_of(self, past: Outputs, step: int, factor: Number) -> Number:
        """Σ (p(y − s) − factor·p(y))₊ over y with this past, if the row moves the next release."""
        size = len(past)
        gains = [
            self.mass((*y[:size], y[size] - step, *y[size + 1 :])) - factor * self.mass(y)
            for y in self._outputs(past)
        ]
        return sum((max(gain, 0 * gain) for gain in gains), 0 * factor)

    def best_gain(self, factor: Number, past: Outputs = ()) -> Number:
        """The gain of the best adaptive adversary."""
        if len(past) == self.releases:
            return 0 * factor
        now = max(self.gain_of(past, step, factor) for step in (1, -1))
        later = sum((self.best_gain(factor, (*past, y)) for y in self.window), 0 * factor)
        return max(now, later)

    def best_fixed_gain(self, factor: Number) -> Number:
        """The gain of the best adversary who chooses the release beforehand."""
        return max(
            sum((self.gain_of(past, step, factor) for past in self._pasts(index)), 0 * factor)
            for index in range(self.releases)
            for step in (1, -1)
        )

    def _pasts(self, length: int) -> Iterator[Outputs]:
        return product(self.window, repeat=length)

    def _outputs(self, past: Outputs) -> Iterator[Outputs]:
        rest = product(self.window, repeat=self.releases - len(past))
        return ((*past, *values) for values in rest)


ROUND = 5
"""Counts are modulo 5, and |x| is the distance to 0 around the circle, so all sums are finite."""
TREES = {
    "three releases": ((3,), (Fraction(3, 5), Fraction(1, 2))),
    "no root": ((3,), (Fraction(1), Fraction(1, 3))),
    "halves of two": ((2, 2), (Fraction(4, 5), Fraction(3, 4), Fraction(2, 3))),
}
"""Branches, and e^(−r) of each level, the root's first: p(z) ∝ Π e^(−r|sum of a node|)."""


def around(branches: tuple[int, ...], powers: tuple[Fraction, ...]) -> Streams[Fraction]:
    releases = math.prod(branches)

    @cache
    def weight(cells: Outputs) -> Fraction:
        levels = sums_of(np.array(cells), branches)
        sums = [[int(total) % ROUND for total in level] for level in levels]
        lengths = [sum(min(total, ROUND - total) for total in level) for level in sums]
        return math.prod(
            (power**length for power, length in zip(powers, lengths, strict=True)),
            start=Fraction(1),
        )

    whole = sum(weight(cells) for cells in product(range(ROUND), repeat=releases))

    def mass(cells: Outputs) -> Fraction:
        return weight(tuple(cell % ROUND for cell in cells)) / whole

    return Streams(mass, releases, range(ROUND))


@pytest.mark.grid
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_no_adversary_gains_anything_at_epsilon(
    tree: tuple[tuple[int, ...], tuple[Fraction, ...]],
) -> None:
    """Rationals are exact; e^ε is the product of e^r over the levels, and no less will do."""
    branches, powers = tree
    streams = around(branches, powers)
    most = 1 / math.prod(powers, start=Fraction(1))  # e^ε
    assert streams.best_gain(most) == 0
    for part in (Fraction(99, 100), Fraction(9, 10)):
        fixed, adaptive = streams.best_fixed_gain(part * most), streams.best_gain(part * most)
        assert 0 < fixed <= adaptive <= (1 - part) / (1 + 1 / most)  # randomised response's


def test_adaptive_adversaries_gain_more_below_epsilon() -> None:
    """The dynamic program therefore finds something, and only ε itself may be claimed."""
    streams = around(*TREES["halves of two"])
    factor = Fraction(9, 10) / math.prod(TREES["halves of two"][1], start=Fraction(1))
    assert streams.best_gain(factor) > streams.best_fixed_gain(factor)


def test_dynamic_programming_finds_the_best_of_all_adversaries() -> None:
    """Against all rules that say after each past whether, and how, the row comes next."""
    streams = around((2,), (Fraction(3, 5), Fraction(1, 2)))
    streams.window = range(3)
    factor = Fraction(2)
    first = max(streams.gain_of((), step, factor) for step in (1, -1))
    rules = product((0, 1, -1), repeat=3)  # after the first output: no row, or one of two steps
    waiting = max(
        sum(streams.gain_of((y,), step, factor) for y, step in enumerate(rule) if step)
        for rule in rules
    )
    assert streams.best_gain(factor) == max(first, waiting, 0)


def test_laws_of_the_program_give_no_adversary_anything() -> None:
    """The law of each turn, in the order of the releases, far into the tails."""
    noise = Agreeing(scale=1, branches=(3,), shares=("0.4", "0.6"))

    @cache
    def law(leaf: int, sums: tuple[int, ...]) -> dict[int, float]:
        return law_of(noise, leaf, sums)

    @cache
    def mass(cells: Outputs) -> float:
        sums, chance = start_sums(noise), 1.0
        for leaf, cell in enumerate(cells):
            chance *= law(leaf, sums)[cell]
            sums = sums_after(noise, leaf, sums, cell)
        return chance

    streams = Streams(mass, 3, range(-8, 9))
    most = math.exp(1)
    assert streams.best_gain(most * (1 + 1e-9)) == 0
    fixed, adaptive = streams.best_fixed_gain(0.9 * most), streams.best_gain(0.9 * most)
    assert 0.01 < fixed < adaptive < 0.1 / (1 + 1 / most)
