"""Laws of the form X_i/g = S·(±Q(U_i)): a common factor, fair signs, independent uniforms.

Also samplers of numbers that are drawn as lazy reals one by one, where balls decide every rounding.

Notation: X_i and g as in entropy/base.py, S > 0 the common factor, U_i uniforms. Q is the inverse
of the survival function of |X_i|/(gS).
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
from leastnoise.entropy.base import (
    NEAR,
    TINY,
    Block,
    InverseSurvival,
    Sampler,
    block_without_estimates,
)
from leastnoise.entropy.lazy import (
    GUARD,
    CachedReal,
    LazyMagnitude,
    LazyReal,
    LazyUniform,
    decide,
    word_magnitude,
)
from leastnoise.entropy.source import Entropy

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIXED_BITS = 2048
"""Bits of a factor that several processes share. With a probability below d·2^-1900 one of d
coordinates needs more; its rounding then stays undecided, which is an error."""


@final
class ScaledSampler(Sampler):
    """Draws of S·(±Q(U_i)) for coordinates i = 0, 1, …, which all share the lazy real S.

    S is 1 without a `factor`. A coordinate is one 64-bit word: the lowest bit is the sign, the
    others are the first 63 of U_i.

    Args:
        quantile: The function Q.
        entropy: The source of the words.
        factor: S, in units of the grid.
        factor_float: A float of S as `nearest_positive_float` returns it, if it is known.
    """

    def __init__(
        self,
        *,
        quantile: InverseSurvival,
        entropy: Entropy,
        factor: LazyReal | None = None,
        factor_float: float | None = None,
    ) -> None:

        self._factor = CachedReal(factor) if factor else None
        self._quantile = quantile
        self._entropy = entropy
        self._factor_float = factor_float

    def fixed_factor(self) -> FixedReal:
        """The factor S with enough bits for every rounding.

        Returns:
            A factor that can be sent to other processes.

        """
        with precision(FIXED_BITS + GUARD):
            return FixedReal.of(self.factor_ball(FIXED_BITS))

    def with_factor(self, factor: LazyReal) -> ScaledSampler:
        """A sampler of other coordinates of the draw, which shares the factor S.

        Args:
            factor: The factor S, such as `fixed_factor` returns it.

        Returns:
            The sampler.

        """
        return ScaledSampler(factor=factor, quantile=self._quantile, entropy=self._entropy)

    def draw(self, count: int) -> Block:
        """The next `count` coordinates; see `Sampler.draw`.

        Proof of `error`. Let fl(y) be the float of y, and s = fl(S) with |s − S| <= 2^-50 S +
        2^-1000. Let Q̂ be the looked-up value of Q, with the error η and the reach R of the lookup:
        |fl(sQ̂) − SQ| <= S|Q̂ − Q| + |s − S|Q̂ + 2^-53 s Q̂ <= s(1.0005 η + 2^-49 R) + 2^-900. The
        floats that evaluate the bound have a relative error of 2^-50: 1.001 covers it.
        """
        words = self._entropy.words(count)
        enclose = _Encloser(self, words)
        table_values = self._quantile.look_up(words >> np.uint64(1))
        if table_values is None:
            return block_without_estimates(count, enclose)
        if self._factor_float is None:  # only if needed: a single number is drawn in balls
            self._factor_float = nearest_positive_float(self._factor) if self._factor else 1.0
        factor = self._factor_float
        estimates = table_values.values
        estimates *= factor
        raw = estimates.view(np.uint64)
        raw ^= words << np.uint64(63)
        return Block(
            estimates=estimates,
            beyond=table_values.beyond,
            error=factor * (1.001 * table_values.error + 2.0**-49 * table_values.reach) + TINY,
            reach=factor * table_values.reach * 1.001 + TINY,
            enclose=enclose,
        )

    def coordinate(self, word: int) -> tuple[LazyMagnitude, int]:
        """The lazy magnitude and the sign of the coordinate whose first bits are `word`.

        Args:
            word: 64 bits.

        Returns:
            The magnitude, and 1 or −1.

        """
        return word_magnitude(word, self._quantile, self._entropy)

    def factor_ball(self, bits: int) -> arb:
        """Enclose the factor S.

        Args:
            bits: Number of random bits to use.

        Returns:
            The enclosure.

        """
        return arb(1) if self._factor is None else self._factor.enclose(bits)


@final
class _Encloser:
    """A cache of the lazy reals of coordinates, so that each has the same bits every time."""

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
    """A rational number as a lazy real: it needs no bits, and is as tight as the precision."""

    def __init__(self, value: Fraction) -> None:
        self._value = value

    def enclose(self, bits: int) -> arb:
        del bits
        return ball(self._value)


@final
class ScaledDraws:
    """A factory that makes one `ScaledSampler` for each draw, with a constant S.

    The float of S and the tables of Q are computed once for all draws. No random bit is kept.
    """

    def __init__(self, *, quantile: InverseSurvival, factor: Fraction | None = None) -> None:
        self._quantile = quantile
        self._factor = None if factor is None else CachedReal(LazyRational(factor))
        self._factor_float = None if self._factor is None else nearest_positive_float(self._factor)

    def __call__(self, entropy: Entropy) -> ScaledSampler:
        """A sampler of a new draw."""
        return ScaledSampler(
            quantile=self._quantile,
            entropy=entropy,
            factor=self._factor,
            factor_float=self._factor_float,
        )


@final
@dataclass(frozen=True, repr=False)
class FixedReal(LazyReal):
    """A number that was drawn before, as a ball whose middle and radius are fixed.

    It can be pickled, for other processes that share it. Its repr reveals nothing.
    """

    _middle: tuple[int, int]
    _radius: tuple[int, int]

    @classmethod
    def of(cls, enclosure: arb) -> FixedReal:
        """Fix a number as the ball `enclosure`, which contains it."""
        parts = [part.man_exp() for part in (enclosure.mid(), enclosure.rad())]
        middle, radius = ((int(mantissa), int(exponent)) for mantissa, exponent in parts)
        return cls(middle, radius)

    def enclose(self, bits: int) -> arb:
        """The fixed ball, whatever `bits` says: the number has no further bits."""
        del bits
        return arb(self._middle, self._radius)


def nearest_positive_float(number: LazyReal) -> float:
    """A float within 2^-50·x + 2^-1000 of a positive lazy real x, proved in balls."""

    def question(bits: int) -> float | None:
        enclosure = number.enclose(bits)
        candidate = float(enclosure.mid())
        allowed = enclosure * arb(NEAR) + arb((1, -1000))
        return candidate if abs(arb(candidate) - enclosure) <= allowed else None

    return decide(question)


@final
class LazySampler(Sampler):
    """Draws of `factor` times a new lazy real for each coordinate; each takes a millisecond."""

    def __init__(self, draw_one: Callable[[], LazyReal], *, factor: Fraction) -> None:
        self._draw_one = draw_one
        self._factor = factor

    def draw(self, count: int) -> Block:
        """The next `count` coordinates, in a block without float estimates."""
        values = [self._draw_one() for _ in range(count)]
        return block_without_estimates(
            count, lambda index, bits: ball(self._factor) * values[index].enclose(bits)
        )


def choose(entropy: Entropy, cumulative: Callable[[], Sequence[arb]]) -> int:
    """Draw an index j that is at most i with probability cumulative()[i].

    `cumulative` encloses these probabilities at the current precision; the last of them is 1. It is
    called again, at a higher precision, until a uniform lies certainly between two of them
    (theory/release.md §2).
    """
    uniform = LazyUniform(entropy)

    def question(bits: int) -> int | None:
        u, bounds = uniform.enclose(bits), cumulative()
        index = bisect_left(bounds, 1, hi=len(bounds) - 1, key=lambda bound: int(not bound <= u))
        above = index == len(bounds) - 1 or bounds[index] > u
        below = index == 0 or bounds[index - 1] <= u
        return index if above and below else None

    return decide(question)
