"""Random reals whose bits are drawn on demand, and decisions about them that are always certain.

A lazy real is a fixed function of an infinite fair bit string. It is known by nested enclosures.
Comparing it means enclosing it more tightly until the result is certain (theory/release.md §1, §2).
Redrawing instead of refining would bias the law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np
from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.entropy.base import WORD_BITS
from leastnoise.entropy.smooth_quantiles import EXPONENTIAL, HALF_NORMAL
from leastnoise.errors import RandomnessError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.base import InverseSurvival
    from leastnoise.entropy.source import Entropy

# The precisions, in bits. At 60 bits only a coordinate's first word is needed. At the last one a
# decision is still open with probability below 2^-15000 for every law of theory/release.md §2, or
# because of a bug. Then nothing is published.
LEVELS = tuple(60 << doubling for doubling in range(9))
GUARD = 64  # extra bits of working precision, so that an enclosure is as tight as its random bits


Answer = TypeVar("Answer")


def decide(question: Callable[[int], Answer | None]) -> Answer:
    """Call `question(bits)` with more and more bits, and return the first result that isn't None.

    `question` is called at a working precision of bits + 64. It must return None unless its result
    is certain. Raises RandomnessError if the result is None at the last precision, too.
    """
    for bits in LEVELS:
        with precision(bits + GUARD):
            answer = question(bits)
        if answer is not None:
            return answer
    raise RandomnessError(
        f"A random draw could not be decided with {LEVELS[-1]} bits of precision. Nothing was "
        "published."
    )


def certainly_less(x: arb, y: arb) -> bool | None:
    """True if x < y for all points of the balls, False if x >= y for all; otherwise None."""
    if x < y:
        return True
    return False if x >= y else None


class LazyReal(ABC):
    """A real number that can be enclosed ever more tightly."""

    @abstractmethod
    def enclose(self, bits: int) -> arb:
        """A ball that contains the number, from at least `bits` random bits.

        The ball is computed at the caller's working precision. All balls of one lazy real contain
        the same number. The ball is NaN if the number can't be bounded with these bits.
        """


@final
class LazyUniform(LazyReal):
    """Uniform on (0, 1): `prefix` has its first `known` bits, the others come from `entropy`."""

    def __init__(self, entropy: Entropy, *, prefix: int = 0, known: int = 0) -> None:
        self._entropy = entropy
        self._prefix = prefix
        self._known = known

    def enclose(self, bits: int) -> arb:
        """The ball [prefix, prefix + 1]/2^known, after drawing bits until `known` >= `bits`.

        See `LazyReal.enclose`.
        """
        if self._known < bits:
            fresh = bits - self._known
            self._prefix = self._prefix << fresh | self._entropy.bits(fresh)
            self._known = bits
        exponent = -self._known - 1
        return arb((2 * self._prefix + 1, exponent), (1, exponent))


@final
class LazyMagnitude(LazyReal):
    """The magnitude of a draw by inversion: Q(U) >= 0 for a lazy uniform U.

    Q is the inverse of the survival function, in `quantile`, so the magnitude exceeds Q(u) with
    probability u.
    """

    def __init__(self, quantile: InverseSurvival, uniform: LazyUniform) -> None:
        self._quantile = quantile
        self._uniform = uniform

    def enclose(self, bits: int) -> arb:
        return self._quantile.enclose(self._uniform.enclose(bits))


def word_magnitude(
    word: int, quantile: InverseSurvival, entropy: Entropy
) -> tuple[LazyMagnitude, int]:
    """The magnitude and the sign (±1) of a draw whose first 64 random bits are `word`.

    The lowest bit of `word` is the sign. Later bits come from `entropy`.
    """
    uniform = LazyUniform(entropy, prefix=word >> 1, known=WORD_BITS)
    return LazyMagnitude(quantile, uniform), -1 if word & 1 else 1


@final
class CachedReal(LazyReal):
    """A lazy real that caches its enclosures, one for each number of bits.

    An enclosure has the working precision of the first call with its number of bits. The cache is
    for a number that many coordinates share, such as a common factor.
    """

    def __init__(self, number: LazyReal) -> None:
        self._number = number
        self._balls: dict[int, arb] = {}

    def enclose(self, bits: int) -> arb:
        if bits not in self._balls:
            self._balls[bits] = self._number.enclose(bits)
        return self._balls[bits]


@final
class LazyExponential(LazyReal):
    """The standard exponential law, as −ln U for a lazy uniform U."""

    def __init__(self, entropy: Entropy) -> None:
        self._magnitude = LazyMagnitude(EXPONENTIAL, LazyUniform(entropy))

    def enclose(self, bits: int) -> arb:
        return self._magnitude.enclose(bits)


@final
class LazyNormal(LazyReal):
    """The standard normal law: a fair sign times the half-normal quantile of a lazy uniform."""

    def __init__(self, entropy: Entropy) -> None:
        self._negative = entropy.bits(1) == 1
        self._magnitude = LazyMagnitude(HALF_NORMAL, LazyUniform(entropy))

    def enclose(self, bits: int) -> arb:
        magnitude = self._magnitude.enclose(bits)
        return -magnitude if self._negative else magnitude


@final
class LazyGamma(LazyReal):
    """The law Gamma(shape, 1) for shape >= 1 by Marsaglia & Tsang (2000), exactly.

    Let c = shape − 1/3 and V = (1 + X/(3√c))³ for a normal X. X and a uniform U are accepted if V >
    0 and ln U < X²/2 + c − cV + c ln V. Then cV has the density ∝ x^(shape−1) e^(−x) exactly. For
    the right side is ln of the ratio of that law's density to the proposal's, up to a constant, and
    is at most 0. Acceptance is decided in balls, and the accepted cV is a function of X's bits
    only, so it can be refined without end. At least 95 % of the proposals are accepted.
    """

    def __init__(self, entropy: Entropy, *, shape: Fraction) -> None:
        self._c = shape - Fraction(1, 3)
        self._normal = LazyNormal(entropy)
        while not self._is_accepted(LazyUniform(entropy)):
            self._normal = LazyNormal(entropy)

    def enclose(self, bits: int) -> arb:
        c = ball(self._c)
        return c * self._root(c, self._normal.enclose(bits)) ** 3

    @staticmethod
    def _root(c: arb, x: arb) -> arb:
        return 1 + x / (3 * c.sqrt())

    def _is_accepted(self, uniform: LazyUniform) -> bool:
        def question(bits: int) -> bool | None:
            c, x = ball(self._c), self._normal.enclose(bits)
            root = self._root(c, x)
            if not root > 0:
                return False if root <= 0 else None
            # c − cV + c ln V loses about log2(c) bits; `decide` then asks again with more bits
            bound = x**2 / 2 + c * (1 - root**3 + 3 * root.log())
            return certainly_less(uniform.enclose(bits).log(), bound)

        return decide(question)


@final
class LazyAnyGamma(LazyReal):
    """The law Gamma(shape, 1) for any shape > 0.

    For a shape below 1 it is Gamma(shape + 1) times U^(1/shape), for an independent uniform U.
    """

    def __init__(self, entropy: Entropy, *, shape: Fraction) -> None:
        self._shape = shape
        self._boost = LazyUniform(entropy) if shape < 1 else None
        self._gamma = LazyGamma(entropy, shape=shape + 1 if shape < 1 else shape)

    def enclose(self, bits: int) -> arb:
        gamma = self._gamma.enclose(bits)
        if self._boost is None:
            return gamma
        return gamma * (self._boost.enclose(bits).log() / ball(self._shape)).exp()


@final
class OrderedUniforms:
    """Independent uniforms in `rows` rows of `count` each, sorted within each row.

    `words` holds the first 64 bits of each uniform, row after row.
    """

    def __init__(self, count: int, entropy: Entropy, *, rows: int = 1) -> None:
        self._entropy = entropy
        self._count = count
        drawn = entropy.words(rows * count).reshape(rows, count)
        self.words: NDArray[np.uint64] = np.sort(drawn, axis=1).reshape(-1)
        self._lazy: dict[int, LazyUniform] = {}
        self._split_ties()

    def _split_ties(self) -> None:
        """Draw more bits for equal words of a row, and sort these uniforms by them."""
        for index in np.flatnonzero(self.words[1:] == self.words[:-1]).tolist():
            start = index // self._count * self._count
            row = self.words[start : start + self._count]
            run = start + np.flatnonzero(row == self.words[index])
            # the equal word is in the next row, or these ties were split before
            if run.size == 1 or int(run[0]) in self._lazy:
                continue
            known, tails = 0, [0] * run.size
            while len(set(tails)) < run.size:
                tails = [tail << 64 | self._entropy.bits(64) for tail in tails]
                known += 64
            for index_in_run, tail in zip(run.tolist(), sorted(tails), strict=True):
                prefix = int(self.words[index_in_run]) << known | tail
                self._lazy[index_in_run] = LazyUniform(
                    self._entropy, prefix=prefix, known=64 + known
                )

    def enclose(self, index: int, bits: int) -> arb:
        """Enclose one uniform; see `LazyReal.enclose`."""
        if index not in self._lazy:
            prefix = int(self.words[index])
            self._lazy[index] = LazyUniform(self._entropy, prefix=prefix, known=64)
        return self._lazy[index].enclose(bits)
