"""Laws of the form X_i/g = S·(±Q(U_i)): a common factor, fair signs, independent uniforms.

And of numbers drawn as lazy reals one by one, where every rounding is decided in balls.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.entropy.base import NEAR, TINY, Block, InverseSurvival, Sampler, left_to_balls
from leastnoise.entropy.lazy import (
    GUARD,
    LazyMagnitude,
    LazyReal,
    LazyUniform,
    Remembered,
    decide,
    word_magnitude,
)
from leastnoise.entropy.source import Entropy

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETTLED_BITS = 2048
"""Of a factor that several processes share. A coordinate of d needs more with a probability below
d·2^-1900: its rounding then stays undecided, which is an error."""


@final
class ScaledSampler(Sampler):
    """Draws S·(±Q(U_i)), S > 0 a lazy real that all coordinates share; 1 if there is no `factor`.

    A coordinate is one 64-bit word: the lowest bit is the sign, the others the first 63 of U_i.
    """

    def __init__(
        self,
        *,
        quantile: InverseSurvival,
        entropy: Entropy,
        factor: LazyReal | None = None,
        factor_float: float | None = None,
    ) -> None:
        """Draw with a `factor` whose float, as `nearly` has it, may be known before."""
        self._factor = Remembered(factor) if factor else None
        self._quantile = quantile
        self._entropy = entropy
        self._factor_float = factor_float

    def settled_factor(self) -> Settled:
        """Return S, known to so many bits that no rounding will ask for more."""
        with precision(SETTLED_BITS + GUARD):
            return Settled.of(self.factor_ball(SETTLED_BITS))

    def sharing(self, factor: LazyReal) -> ScaledSampler:
        """Return a sampler of other coordinates of the draw whose S is `factor`."""
        return ScaledSampler(factor=factor, quantile=self._quantile, entropy=self._entropy)

    def draw(self, count: int) -> Block:
        """Return the next `count` coordinates; see `Sampler.draw`.

        Proof of `error`. Let s = fl(S), |s − S| <= 2^-50 S + 2^-1000, and η and R the error and
        the reach of what was looked up:
        |fl(sQ̂) − SQ| <= S|Q̂ − Q| + |s − S|Q̂ + 2^-53 s Q̂ <= s(1.0005 η + 2^-49 R) + 2^-900.
        The floats that evaluate the bound are wrong by a relative 2^-50: 1.001 covers it.
        """
        words = self._entropy.words(count)
        enclose = _Encloser(self, words)
        found = self._quantile.look_up(words >> np.uint64(1))
        if found is None:
            return left_to_balls(count, enclose)
        if self._factor_float is None:  # not before it is needed: one number is drawn in balls
            self._factor_float = nearly(self._factor) if self._factor else 1.0
        factor = self._factor_float
        estimates = found.values
        estimates *= factor
        raw = estimates.view(np.uint64)
        raw ^= words << np.uint64(63)
        return Block(
            estimates=estimates,
            beyond=found.beyond,
            error=factor * (1.001 * found.error + 2.0**-49 * found.reach) + TINY,
            reach=factor * found.reach * 1.001 + TINY,
            enclose=enclose,
        )

    def coordinate(self, word: int) -> tuple[LazyMagnitude, int]:
        """Return the lazy magnitude and the sign of the coordinate whose first bits are `word`."""
        return word_magnitude(word, self._quantile, self._entropy)

    def factor_ball(self, bits: int) -> arb:
        """Enclose S."""
        return arb(1) if self._factor is None else self._factor.enclose(bits)


@final
class _Encloser:
    """Remembers the lazy reals of the coordinates that needed one: the same bits every time."""

    def __init__(self, sampler: ScaledSampler, words: NDArray[np.uint64]) -> None:
        self._sampler = sampler
        self._words = words
        self._lazy: dict[int, tuple[LazyMagnitude, int]] = {}

    def __call__(self, index: int, bits: int) -> arb:
        if index not in self._lazy:
            self._lazy[index] = self._sampler.coordinate(int(self._words[index]))
        magnitude, sign = self._lazy[index]
        return sign * self._sampler.factor_ball(bits) * magnitude.enclose(bits)


@final
class LazyRational(LazyReal):
    """A rational number: no bits, and as tight as the precision."""

    def __init__(self, value: Fraction) -> None:
        self._value = value

    def enclose(self, bits: int) -> arb:
        del bits
        return ball(self._value)


@final
class ScaledDraws:
    """Makes a `ScaledSampler` of entropy, each for a draw of its own; S is a constant.

    What all draws share is worked out once: the float of S, and tables of Q. No bit is kept.
    """

    def __init__(self, *, quantile: InverseSurvival, factor: Fraction | None = None) -> None:
        self._quantile = quantile
        self._factor = None if factor is None else Remembered(LazyRational(factor))
        self._factor_float = None if self._factor is None else nearly(self._factor)

    def __call__(self, entropy: Entropy) -> ScaledSampler:
        """Return a sampler of a new draw."""
        return ScaledSampler(
            quantile=self._quantile,
            entropy=entropy,
            factor=self._factor,
            factor_float=self._factor_float,
        )


@final
@dataclass(frozen=True, repr=False)
class Settled(LazyReal):
    """A number that was drawn before, as a ball of two dyadic numbers: no more bits will come.

    It can be pickled, for other processes that share it. Its repr tells nothing.
    """

    _middle: tuple[int, int]
    _radius: tuple[int, int]

    @classmethod
    def of(cls, enclosure: arb) -> Settled:
        """Return the number that `enclosure` contains."""
        parts = [part.man_exp() for part in (enclosure.mid(), enclosure.rad())]
        middle, radius = ((int(mantissa), int(exponent)) for mantissa, exponent in parts)
        return cls(middle, radius)

    def enclose(self, bits: int) -> arb:
        """Beyond `SETTLED_BITS` it shrinks no more."""
        del bits
        return arb(self._middle, self._radius)


def nearly(number: LazyReal) -> float:
    """Return a float within 2^-50·x + 2^-1000 of a positive lazy real x, proved in balls."""

    def question(bits: int) -> float | None:
        enclosure = number.enclose(bits)
        candidate = float(enclosure.mid())
        allowed = enclosure * arb(NEAR) + arb((1, -1000))
        return candidate if abs(arb(candidate) - enclosure) <= allowed else None

    return decide(question)


@final
class LazySampler(Sampler):
    """Draws factor·Y_i, each Y_i a lazy real of its own; about a millisecond a coordinate."""

    def __init__(self, draw_one: Callable[[], LazyReal], *, factor: Fraction) -> None:
        self._draw_one = draw_one
        self._factor = factor

    def draw(self, count: int) -> Block:
        """There are no estimates, so all of them are `beyond`."""
        values = [self._draw_one() for _ in range(count)]
        return left_to_balls(
            count, lambda index, bits: ball(self._factor) * values[index].enclose(bits)
        )


def choose(entropy: Entropy, cumulative: Callable[[], Sequence[arb]]) -> int:
    """Return J with P(J <= j) = cumulative()[j], decided in balls; the last one is 1.

    `cumulative` encloses the probabilities at the current precision; it is asked again, more
    precisely, until a uniform lies certainly between two of them (theory/release.md §2).
    """
    uniform = LazyUniform(entropy)

    def question(bits: int) -> int | None:
        u, bounds = uniform.enclose(bits), cumulative()
        index = bisect_left(bounds, 1, hi=len(bounds) - 1, key=lambda bound: int(not bound <= u))
        above = index == len(bounds) - 1 or bounds[index] > u
        below = index == 0 or bounds[index - 1] <= u
        return index if above and below else None

    return decide(question)
