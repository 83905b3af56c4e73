"""One draw by two routes: float estimates where they suffice, or balls for every coordinate.

Laws that are drawn by inversion have a third route, an oracle in mpmath: `truth(u)` is the
|X|/scale with P(|X|/scale > truth(u)) = u.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from mpmath import mpf, nstr, workdps

from leastnoise.balls.core import precision
from leastnoise.entropy.base import Block, Sampler
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy
from leastnoise.mechanism.rounding import default_grid, exponent_of, round_sums
from leastnoise.noise.base import Noise
from leastnoise.noise.draw import make_sampler

FULL = 1 << 63
Truth = Callable[[Any], Any]


class OnlyBalls(Sampler):
    """The same draw without float estimates: balls decide every coordinate."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler

    def draw(self, count: int) -> Block:
        block = self.sampler.draw(count)
        return replace(block, beyond=np.ones(count, dtype=bool), estimates=np.zeros(count))


class Counting(Sampler):
    """The same draw; `asked` holds the coordinates that needed balls."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.asked: set[tuple[int, int]] = set()
        self.blocks = 0

    def draw(self, count: int) -> Block:
        block = self.sampler.draw(count)
        number = self.blocks
        self.blocks += 1

        def enclose(index: int, bits: int) -> arb:
            self.asked.add((number, index))
            return block.enclose(index, bits)

        return replace(block, enclose=enclose)


class GivenWords(Entropy):
    """A source that returns the given 64-bit words, then seeded bits."""

    def __init__(self, words: Sequence[int], *, seed: int = 1) -> None:
        self._given = b"".join(word.to_bytes(8, "little") for word in words)
        self._later = InsecureSeededEntropy(seed)

    def _read(self, size: int) -> bytes:
        taken, self._given = self._given[:size], self._given[size:]
        missing = size - len(taken)
        return taken + (self._later._read(missing) if missing else b"")


def random_words(count: int, seed: int) -> list[int]:
    """`count` words of 63 bits."""
    return [int(word) >> 1 for word in InsecureSeededEntropy(seed).words(count)]


def random_values(count: int, seed: int) -> np.ndarray:
    """`count` numbers from 0 to 128."""
    return InsecureSeededEntropy(seed).words(count) / 2.0**57


def is_negative(index: int) -> bool:
    """True if `block_of` makes this coordinate negative."""
    return index % 5 == 0


def block_of(noise: Noise, words: Sequence[int], grid: Fraction) -> Block:
    """A block whose first coordinates have these 63-bit words; it is long enough for a table."""
    signed = [word << 1 | is_negative(index) for index, word in enumerate(words)]
    sampler = make_sampler(noise, grid=grid, entropy=GivenWords([*signed, *[1 << 62] * 100]))
    return sampler.draw(len(signed) + 100)


def dishonest(noise: Noise, truth: Truth, words: Sequence[int]) -> int:
    """The number of estimates that are further from the truth than their error allows.

    Each word is tried with the smallest and the largest later bits.
    """
    grid = default_grid(noise)
    block = block_of(noise, words, grid)
    wrong = 0
    with workdps(60):
        unit = _in_steps(noise, grid)
        for index in np.flatnonzero(~block.beyond[: len(words)]).tolist():
            estimate = mpf(float(block.estimates[index])) * (-1 if is_negative(index) else 1)
            for u in (mpf(words[index]) / FULL, mpf(words[index] + 1) / FULL):  # V is in between
                wrong += abs(estimate - unit * truth(u)) > block.error
            wrong += abs(estimate) > block.reach * (1 + 2.0**-40)
    return int(wrong)


def told_by_balls(noise: Noise, truth: Truth, words: Sequence[int]) -> int:
    """The number of words whose first bits give an enclosure; assert that it contains the truth."""
    grid = default_grid(noise)
    block = block_of(noise, words, grid)
    text = 0
    for index, word in enumerate(words):
        with precision(124):
            enclosure = block.enclose(index, 60)
        if enclosure.is_nan():
            continue
        text += 1
        with workdps(60):
            x = truth((mpf(word) + 0.5) / FULL) * _in_steps(noise, grid)
            digits = nstr(-x if is_negative(index) else x, 50)
        with precision(250):
            slack = (abs(arb(digits)) + 1) * arb(2) ** -150
            assert enclosure.overlaps(arb(digits, slack))
    return text


def _in_steps(noise: Noise, grid: Fraction) -> Any:
    unit = noise.scale / grid
    return mpf(unit.numerator) / unit.denominator


def assert_routes_agree(
    noise: Noise, entropy: Callable[[], Entropy], values: np.ndarray, *, bits: int = 20
) -> int:
    """Assert that both routes release the same; return the number of coordinates decided by balls.

    The grid is 2^-bits standard deviations. There is at most one block: the bits that balls read
    after it would shift the words of a second block.
    """
    assert values.size <= 1 << 14
    exponent = exponent_of(default_grid(noise)) + 20 - bits
    counting, only = (
        wrap(make_sampler(noise, grid=Fraction(2) ** exponent, entropy=entropy()))
        for wrap in (Counting, OnlyBalls)
    )
    first, second = (round_sums(sampler, exponent, values) for sampler in (counting, only))
    assert np.array_equal(first, second)
    assert isinstance(counting, Counting)
    return len(counting.asked)
