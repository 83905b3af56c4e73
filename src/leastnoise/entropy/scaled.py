"""Laws of the form X_i/g = S·(±Q(U_i)): a common factor, fair signs, independent uniforms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.entropy.base import Block, Sampler, left_to_balls
from leastnoise.entropy.inverse import WORD_BITS, InverseSurvival
from leastnoise.entropy.lazy import GUARD, LazyMagnitude, LazyReal, LazyUniform, decide

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy

SETTLED_BITS = 2048
"""Of a factor that several processes share. A coordinate of d needs more with a probability below
d·2^-1900: its rounding then stays undecided, which is an error."""
_FACTOR_ERROR = 2.0**-50  # relative; nearest floats are within 2^-53, so this always gets decided
_TINY = 2.0**-900  # absolute: above what underflow can cost, far below any grid's half step


@final
class ScaledSampler(Sampler):
    """Draws S·(±Q(U_i)), S > 0 a lazy real that all coordinates share; 1 if there is no `factor`.

    A coordinate is one 64-bit word: the lowest bit is the sign, the others the first 63 of U_i.
    """

    def __init__(
        self, *, quantile: InverseSurvival, entropy: Entropy, factor: LazyReal | None = None
    ) -> None:
        self._factor = factor
        self._quantile = quantile
        self._entropy = entropy
        self._factor_float: float | None = None
        self._factor_balls: dict[int, arb] = {}

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
            error=factor * (1.001 * found.error + 2.0**-49 * found.reach) + _TINY,
            reach=factor * found.reach * 1.001 + _TINY,
            enclose=enclose,
        )

    def coordinate(self, word: int) -> tuple[LazyMagnitude, int]:
        """Return the lazy magnitude and the sign of the coordinate whose first bits are `word`."""
        uniform = LazyUniform(self._entropy, prefix=word >> 1, known=WORD_BITS)
        return LazyMagnitude(self._quantile, uniform), -1 if word & 1 else 1

    def factor_ball(self, bits: int) -> arb:
        """Enclose S; the same for all coordinates, so once a precision."""
        if self._factor is None:
            return arb(1)
        if bits not in self._factor_balls:
            self._factor_balls[bits] = self._factor.enclose(bits)
        return self._factor_balls[bits]


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
class Constant(LazyReal):
    """A rational number: no bits, and as tight as the precision."""

    def __init__(self, value: Fraction) -> None:
        self._value = value

    def enclose(self, bits: int) -> arb:
        del bits
        return ball(self._value)


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
        allowed = enclosure * arb(_FACTOR_ERROR) + arb((1, -1000))
        return candidate if abs(arb(candidate) - enclosure) <= allowed else None

    return decide(question)
