"""Draws of the form X/g = R·D: a radius of any law and a uniform direction, refined one by one.

notation: d = dimension. The direction needs no norm of d normals, so that each coordinate refines
alone: the squares of a uniform unit vector, taken in pairs, are Dirichlet(1, …, 1), which are the
spacings D_j of sorted uniforms, and within a pair the angle is uniform: X = R√D_j (±cos(πU/2),
±sin(πU/2)). If d is odd, one coordinate has a square B ~ Beta(½, (d−1)/2) and the pairs share
1 − B.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.entropy.base import Block, Sampler
from leastnoise.entropy.lazy import LazyAnyGamma, LazyReal, LazyUniform
from leastnoise.entropy.ordered import OrderedUniforms
from leastnoise.entropy.quantiles import COSINE, ETA, WORD_BITS, look_up
from leastnoise.entropy.scaled import nearly

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy

_LEAST_SPACING = 2.0**-40  # smaller ones go to balls: their root has too few digits
_TINY = 2.0**-900  # above what underflow can cost
_ONES = np.uint64((1 << WORD_BITS) - 1)


@final
class _Part(LazyReal):
    """R√B or R√(1 − B), B = G/(G + H) for G ~ Gamma(½), H ~ Gamma((d−1)/2)."""

    def __init__(self, radius: LazyReal, mine: LazyReal, other: LazyReal) -> None:
        self._radius, self._mine, self._other = radius, mine, other

    def enclose(self, bits: int) -> arb:
        mine, other = self._mine.enclose(bits), self._other.enclose(bits)
        return self._radius.enclose(bits) * (mine / (mine + other)).sqrt()


@final
class SphericalSampler(Sampler):
    """Draws all coordinates at once and hands them out in order: pairs, then the odd one."""

    def __init__(self, radius: LazyReal, dimension: int, entropy: Entropy) -> None:
        pairs = dimension // 2
        shared, self._single = radius, None
        if dimension % 2:
            self._single, shared = radius, radius
            self._single_negative = entropy.bits(1) == 1
            if pairs:
                one = LazyAnyGamma(entropy, shape=Fraction(1, 2))
                rest = LazyAnyGamma(entropy, shape=Fraction(pairs))
                self._single = _Part(radius, one, rest)
                shared = _Part(radius, rest, one)
        self._shared = _Shared(shared)
        self._spacings = _Spacings(pairs, entropy)
        self._angles = _Angles(pairs, entropy)
        self._next = 0

    def draw(self, count: int) -> Block:
        """Return the next `count` coordinates; see `Sampler.draw`.

        Proof of `error`. With S = R√(1−B), s = fl(S), D a spacing >= 2^-40 and D̂ its 64-bit
        difference: |D̂ − D| <= 2^-64 + 2^-53 D̂, so |fl(√D̂) − √D| <= 2^-43.9 + 2^-52 √D̂, and
        |ρ̂ − ρ| <= s·2^-43.8 + 2^-49 ρ̂ for ρ = S√D. Then |fl(ρ̂ĉ) − ρc| <= ρ̂(η + 2^-52) +
        |ρ̂ − ρ| for |ĉ − c| <= η, |c| <= 1.
        """
        start, stop = self._next, self._next + count
        self._next = stop
        first, last = start // 2, min((stop + 1) // 2, self._spacings.count)
        width, small = self._spacings.floats(first, last)
        rho = self._shared.as_float * np.sqrt(width)
        cosines, beyond = self._angles.floats(first, last)
        offset = start - 2 * first
        estimates = np.zeros(count)
        outside = np.ones(count, dtype=bool)  # the odd coordinate, if it is here, goes to balls
        found = (cosines * rho[:, None]).reshape(-1)[offset : offset + count]
        estimates[: found.size] = found
        flags = (beyond | small[:, None]).reshape(-1)[offset : offset + count]
        outside[: flags.size] = flags
        largest = float(rho.max(initial=0.0))
        return Block(
            estimates=estimates,
            beyond=outside,
            error=1.001 * (largest * (ETA + 2.0**-48) + self._shared.as_float * 2.0**-43) + _TINY,
            reach=1.001 * largest + _TINY,
            enclose=lambda index, bits: self._enclose(start + index, bits),
        )

    def _enclose(self, index: int, bits: int) -> arb:
        pair, odd = divmod(index, 2)
        if pair == self._spacings.count and self._single is not None:
            value = self._single.enclose(bits)
            return -value if self._single_negative else value
        rho = self._shared.ball(bits) * self._spacings.enclose(pair, bits).sqrt()
        return rho * self._angles.enclose(pair, odd, bits)


@final
class _Shared:
    """A lazy factor of all pairs: its float, and its ball once a precision."""

    def __init__(self, factor: LazyReal) -> None:
        self._factor = factor
        self.as_float = nearly(factor)
        self._balls: dict[int, arb] = {}

    def ball(self, bits: int) -> arb:
        """Enclose the factor."""
        if bits not in self._balls:
            self._balls[bits] = self._factor.enclose(bits)
        return self._balls[bits]


@final
class _Spacings:
    """`count` spacings of sorted uniforms on (0, 1), each end refined on demand."""

    def __init__(self, count: int, entropy: Entropy) -> None:
        self.count = count
        self._ends = OrderedUniforms(max(count - 1, 0), entropy)

    def floats(self, first: int, last: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return spacings first … last−1 from the words, and whether each is too small."""
        ends = np.zeros(last - first + 1, dtype=np.uint64)
        low, high = max(first - 1, 0), min(last, self._ends.words.size)
        inside = self._ends.words[low:high]
        begin = 1 if first == 0 else 0
        ends[begin : begin + inside.size] = inside
        # the last end, 1, is the word 0, and unsigned differences wrap; a lone spacing is all
        width = (ends[1:] - ends[:-1]).astype(np.float64) * 2.0**-64
        if self.count == 1:
            width[:] = 1.0
        return width, width < _LEAST_SPACING

    def enclose(self, index: int, bits: int) -> arb:
        """Enclose one spacing."""
        above = arb(1) if index == self.count - 1 else self._ends.enclose(index, bits)
        return above if index == 0 else above - self._ends.enclose(index - 1, bits)


@final
class _Angles:
    """For each pair ±cos(πU/2), ±sin(πU/2): a word for U and a sign, a word for the other sign."""

    def __init__(self, count: int, entropy: Entropy) -> None:
        self._entropy = entropy
        self._words, self._signs = entropy.words(count), entropy.words(count)
        self._lazy: dict[int, LazyUniform] = {}

    def floats(self, first: int, last: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return cosine and sine, shape (last − first, 2), and where they mean nothing."""
        words = self._words[first:last]
        fraction = words >> np.uint64(1)
        cosine, sine = look_up(COSINE, fraction), look_up(COSINE, _ONES - fraction)
        values = np.stack([cosine.values, sine.values], axis=1)
        raw = values.view(np.uint64)
        raw[:, 0] ^= words << np.uint64(63)
        raw[:, 1] ^= self._signs[first:last] << np.uint64(63)
        return values, np.stack([cosine.beyond, sine.beyond], axis=1)

    def enclose(self, pair: int, odd: int, bits: int) -> arb:
        """Enclose the cosine (odd = 0) or the sine (odd = 1) of a pair."""
        word = int(self._words[pair])
        if pair not in self._lazy:
            self._lazy[pair] = LazyUniform(self._entropy, prefix=word >> 1, known=WORD_BITS)
        angle = self._lazy[pair].enclose(bits) * arb.pi() / 2
        sign = int(self._signs[pair]) if odd else word
        value = angle.sin() if odd else angle.cos()
        return -value if sign & 1 else value
