"""Draws of a radius of any law times an independent uniform direction, in two ways.

Notation: X is the noise in R^d, g its grid, and R the radius in units of the grid, a lazy real. Q̂ᵢ
is the float of |Zᵢ| from the Taylor table, within η = ETA of it, and fl(y) the float near y.

`DirectionSampler` draws X/g = R·Z/‖Z‖, where Z is standard normal in R^d and n = ‖Z‖. Z/n is
uniform on the sphere and independent of R, so X is the spherical law with that radius
(theory/release.md §2). All words are drawn at once, since every coordinate depends on all of them
through n.

`SphericalSampler` draws X/g without the norm of d normals, so each coordinate can be refined
separately. The squares of a uniform unit vector, taken in pairs, are Dirichlet(1, …, 1): the
spacings D_j of sorted uniforms. Within pair j the angle is uniform: its coordinates are
R√D_j·(±cos(πU/2), ±sin(πU/2)), with U uniform. If d is odd, one coordinate has a square B ~ Beta(½,
(d−1)/2), relative to R², and the pairs share 1 − B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.entropy.base import TINY, Block, Sampler
from leastnoise.entropy.lazy import (
    CachedReal,
    LazyAnyGamma,
    LazyMagnitude,
    LazyReal,
    LazyUniform,
    OrderedUniforms,
    word_magnitude,
)
from leastnoise.entropy.scaled import nearest_positive_float
from leastnoise.entropy.smooth_quantiles import COSINE, ETA, HALF_NORMAL, WORD_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy

_ONES = np.uint64((1 << WORD_BITS) - 1)
_SUMMED = 256  # squares that are summed in floats; `math.fsum` adds the chunks
_SUM_ERROR = 2.0**-45  # relative: (256 + 2)·2^-53, halved by the root


@final
class _RadiusPart(LazyReal):
    """The radius of a part of the coordinates: R√B or R√(1 − B), with B ~ Beta(½, (d−1)/2).

    B = G/(G + H) for independent G ~ Gamma(½) and H ~ Gamma((d−1)/2). For the odd coordinate `mine`
    is G and `other` is H; for the pairs `mine` is H and `other` is G.
    """

    def __init__(self, radius: LazyReal, mine: LazyReal, other: LazyReal) -> None:
        self._radius, self._mine, self._other = radius, mine, other

    def enclose(self, bits: int) -> arb:
        mine, other = self._mine.enclose(bits), self._other.enclose(bits)
        return self._radius.enclose(bits) * (mine / (mine + other)).sqrt()


@final
class SphericalSampler(Sampler):
    """Draws of `radius` times a uniform direction in R^dimension, coordinate by coordinate.

    The coordinates of the pairs come first, in order, and an odd one last.
    """

    def __init__(self, radius: LazyReal, dimension: int, entropy: Entropy) -> None:
        pairs = dimension // 2
        shared, self._single = radius, None
        if dimension % 2:
            self._single, shared = radius, radius
            self._single_negative = entropy.bits(1) == 1
            if pairs:
                half_gamma = LazyAnyGamma(entropy, shape=Fraction(1, 2))
                rest = LazyAnyGamma(entropy, shape=Fraction(pairs))
                self._single = _RadiusPart(radius, half_gamma, rest)
                shared = _RadiusPart(radius, rest, half_gamma)
        self._shared = CachedReal(shared)
        self._shared_float = nearest_positive_float(shared)
        self._spacings = _Spacings(pairs, entropy)
        self._angles = _Angles(pairs, entropy)
        self._next = 0

    def draw(self, count: int) -> Block:
        """The next `count` coordinates; see `Sampler.draw`.

        Proof of `error`. For a pair let S = R√(1−B), or R for an even d, s = fl(S), D >= 2^-40 its
        spacing and D̂ the 64-bit difference of its ends. |D̂ − D| <= 2^-64 + 2^-53 D̂, so |fl(√D̂) −
        √D| <= 2^-43.9 + 2^-52 √D̂. For ρ = S√D with the float ρ̂, |ρ̂ − ρ| <= s·2^-43.8 + 2^-49
        ρ̂. Let c be the cosine or sine, and ĉ its float: |ĉ − c| <= η, |c| <= 1. Then |fl(ρ̂ĉ) −
        ρc| <= ρ̂(η + 2^-52) + |ρ̂ − ρ|.
        """
        start, stop = self._next, self._next + count
        self._next = stop
        first, last = start // 2, min((stop + 1) // 2, self._spacings.count)
        width, small = self._spacings.floats(first, last)
        rho = self._shared_float * np.sqrt(width)
        cosines, beyond = self._angles.floats(first, last)
        offset = start - 2 * first
        estimates = np.zeros(count)
        outside = np.ones(count, dtype=bool)  # balls decide the odd coordinate
        values = (cosines * rho[:, None]).reshape(-1)[offset : offset + count]
        estimates[: values.size] = values
        flags = (beyond | small[:, None]).reshape(-1)[offset : offset + count]
        outside[: flags.size] = flags
        largest = float(rho.max(initial=0.0))
        return Block(
            estimates=estimates,
            beyond=outside,
            error=1.001 * (largest * (ETA + 2.0**-48) + self._shared_float * 2.0**-43) + TINY,
            reach=1.001 * largest + TINY,
            enclose=lambda index, bits: self._enclose(start + index, bits),
        )

    def _enclose(self, index: int, bits: int) -> arb:
        pair, odd = divmod(index, 2)
        if pair == self._spacings.count and self._single is not None:
            value = self._single.enclose(bits)
            return -value if self._single_negative else value
        rho = self._shared.enclose(bits) * self._spacings.enclose(pair, bits).sqrt()
        return rho * self._angles.enclose(pair, odd, bits)


@final
class _Spacings:
    """The `count` spacings between 0, `count` − 1 sorted uniforms on (0, 1), and 1."""

    def __init__(self, count: int, entropy: Entropy) -> None:
        self.count = count
        self._ends = OrderedUniforms(max(count - 1, 0), entropy)

    def floats(self, first: int, last: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The spacings first … last−1 as floats, and flags for those too small for floats."""
        ends = np.zeros(last - first + 1, dtype=np.uint64)
        low, high = max(first - 1, 0), min(last, self._ends.words.size)
        inside = self._ends.words[low:high]
        begin = 1 if first == 0 else 0
        ends[begin : begin + inside.size] = inside
        # the last end, 1, is the word 0, as unsigned differences wrap; a single spacing is 1
        width = (ends[1:] - ends[:-1]).astype(np.float64) * 2.0**-64
        if self.count == 1:
            width[:] = 1.0
        least_spacing = 2.0**-40  # balls decide smaller ones: their root has too few digits
        return width, width < least_spacing

    def enclose(self, index: int, bits: int) -> arb:
        """Enclose one spacing."""
        above = arb(1) if index == self.count - 1 else self._ends.enclose(index, bits)
        return above if index == 0 else above - self._ends.enclose(index - 1, bits)


@final
class _Angles:
    """Random directions in the plane, (±cos(πU/2), ±sin(πU/2)), one for each pair of coordinates.

    Each pair has two words: the first gives the uniform U and one sign, the second the other sign.
    """

    def __init__(self, count: int, entropy: Entropy) -> None:
        self._entropy = entropy
        self._words, self._signs = entropy.words(count), entropy.words(count)
        self._lazy: dict[int, LazyUniform] = {}

    def floats(self, first: int, last: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The cosine and sine of pairs first … last−1, shape (last − first, 2), as signed floats.

        The flags, of the same shape, mark values without meaning.
        """
        words = self._words[first:last]
        fraction = words >> np.uint64(1)
        cosine, sine = COSINE.look_up(fraction), COSINE.look_up(_ONES - fraction)
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


@final
class DirectionSampler(Sampler):
    """Draws of `radius`·Z/‖Z‖ in R^dimension; the radius is a lazy real >= 0, in units of the grid.

    A coordinate is one 64-bit word, as in `ScaledSampler`, and its rounding is decided in the same
    way. Floats decide it unless it is too close to call, as for about one coordinate in 60,000. The
    first such coordinate costs an enclosure of all of Z, about 10 µs per coordinate.

    >>> from fractions import Fraction
    >>> from leastnoise.entropy.source import InsecureSeededEntropy
    >>> from leastnoise.entropy.scaled import LazyRational
    >>> entropy = InsecureSeededEntropy(1)
    >>> sampler = DirectionSampler(radius=LazyRational(Fraction(5)), dimension=3, entropy=entropy)
    >>> round(float(np.linalg.norm(sampler.draw(3).estimates)), 9)
    5.0
    """

    def __init__(self, *, radius: LazyReal, dimension: int, entropy: Entropy) -> None:
        self._normals = _Normals(entropy.words(dimension), entropy)
        self._radius = radius
        self._radius_float = nearest_positive_float(radius)
        self._factors: dict[int, arb] = {}
        self._next = 0

    def draw(self, count: int) -> Block:
        """The next `count` coordinates; see `Sampler.draw`.

        Proof of `error`. Let n̂ be the float norm; |n̂ − n| <= e (`_Normals.norm`). As |Zᵢ| <= n,
        |Q̂ᵢ/n̂ − |Zᵢ|/n| <= |Q̂ᵢ − |Zᵢ||/n̂ + (|Zᵢ|/n)|n − n̂|/n̂ <= (η + e·min(1, r/(n̂ − e)))/n̂
        with r the reach of the table. With s = fl(R), |s − R| <= 2^-50 R + 2^-1000, the quotient
        and the product add 2^-49 of the largest estimate, min(r s/n̂, 1.001 s), and 2^-900. The
        floats that evaluate the bound have a relative error of 2^-48: 1.001 covers it.
        """
        words = self._normals.words[self._next : self._next + count]
        first, self._next = self._next, self._next + count
        norm, norm_error = self._normals.norm()
        values, beyond = _estimates(words)
        reach = HALF_NORMAL.reach
        smallest_norm = 2.0**-20  # floats aren't used for a smaller norm, which is very improbable
        usable = norm > smallest_norm
        factor = self._radius_float / norm if usable else 0.0
        share = min(1.0, reach / (norm - norm_error)) if usable else 1.0
        values *= factor
        values.view(np.uint64)[:] ^= words << np.uint64(63)
        largest = min(factor * reach, self._radius_float) * 1.001 + TINY
        error = factor * (ETA + norm_error * share) + largest * 2.0**-49
        return Block(
            estimates=values,
            beyond=beyond if usable else np.ones_like(beyond),
            error=1.001 * error + TINY,
            reach=largest,
            enclose=lambda index, bits: (
                self._factor(bits) * self._normals.enclose(first + index, bits)
            ),
        )

    def _factor(self, bits: int) -> arb:
        """Enclose the common factor R/‖Z‖ of all coordinates, once for each precision."""
        if bits not in self._factors:
            self._factors[bits] = self._radius.enclose(bits) / self._normals.enclose_norm(bits)
        return self._factors[bits]


@final
class _Normals:
    """The standard normal vector Z, as floats and as balls from the same bits."""

    def __init__(self, words: NDArray[np.uint64], entropy: Entropy) -> None:
        self.words = words
        self._entropy = entropy
        self._lazy: dict[int, tuple[LazyMagnitude, int]] = {}
        self._norm: tuple[float, float] | None = None

    def norm(self) -> tuple[float, float]:
        """The norm n of Z as a float n̂, and a proved bound e on |n̂ − n|.

        The floats Q̂ᵢ are within η of |Zᵢ| each, so their norm is within η√d of n. Values beyond
        the table are rounded balls, which are closer. Squares and sums of 256 of them have an error
        of (256 + 1)·2^-53 in any order, `fsum` and the root of 2^-53 each.
        """
        if self._norm is None:
            n = math.sqrt(math.fsum(self._sums_of_squares()))
            error = 1.001 * (ETA * math.sqrt(len(self.words)) + _SUM_ERROR * n)
            self._norm = n, error
        return self._norm

    def _sums_of_squares(self) -> Iterator[float]:
        for start in range(0, len(self.words), _SUMMED * _SUMMED):
            values, beyond = _estimates(self.words[start : start + _SUMMED * _SUMMED])
            for index in np.flatnonzero(beyond).tolist():
                values[index] = nearest_positive_float(self._coordinate(start + index)[0])
            yield from (
                float(chunk @ chunk)
                for chunk in np.split(values, range(_SUMMED, len(values), _SUMMED))
            )

    def enclose(self, index: int, bits: int) -> arb:
        """Enclose the coordinate Zᵢ with the given index."""
        magnitude, sign = self._coordinate(index)
        return sign * magnitude.enclose(bits)

    def enclose_norm(self, bits: int) -> arb:
        """Enclose the norm n of Z."""
        squares = arb(0)
        for index in range(len(self.words)):
            squares += self.enclose(index, bits) ** 2
        return squares.sqrt()

    def _coordinate(self, index: int) -> tuple[LazyMagnitude, int]:
        """The lazy magnitude |Zᵢ| and the sign of a coordinate.

        Both are cached, so that the coordinate has the same bits every time.
        """
        if index not in self._lazy:
            word = int(self.words[index])
            self._lazy[index] = word_magnitude(word, HALF_NORMAL, self._entropy)
        return self._lazy[index]


def _estimates(words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The magnitudes |Zᵢ| of these words as floats Q̂ᵢ, and flags for words beyond the table.

    A flagged value has no meaning.
    """
    table_values = HALF_NORMAL.look_up(words >> np.uint64(1))
    return table_values.values, table_values.beyond
