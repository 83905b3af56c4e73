"""Draws of the form X/g = R·Z/‖Z‖: a radius of any law and, independent of it, a direction.

notation: Z standard normal in R^d, n = ‖Z‖, Q̂ᵢ the table's value of |Zᵢ|, η = ETA. Z/n is uniform
on the sphere and independent of R, so X is the spherical law with that radius (theory/release.md
§2). All words are drawn at once, since every coordinate depends on all of them through n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.entropy.base import Block, Sampler
from leastnoise.entropy.lazy import LazyMagnitude, LazyReal, LazyUniform
from leastnoise.entropy.quantiles import ETA, HALF_NORMAL, WORD_BITS, look_up
from leastnoise.entropy.scaled import nearly

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy

_SUMMED = 256  # squares that are summed in floats; `math.fsum` adds up the chunks
_SUM_ERROR = 2.0**-45  # relative: (256 + 2)·2^-53, halved by the root
_SMALLEST_NORM = 2.0**-20  # below it floats are left alone; no draw has been there
_TINY = 2.0**-900  # absolute: above what underflow can cost, far below any grid's half step


@final
class DirectionSampler(Sampler):
    """Draws `radius`·Z/‖Z‖ in R^dimension; the radius is a lazy real >= 0, in units of the grid.

    A coordinate is one 64-bit word, as in `ScaledSampler`, and decided like there: by floats unless
    it is too close to call, which happens to about one in 60,000. The first one that is costs an
    enclosure of all of Z, about 10 µs a coordinate.

    >>> from fractions import Fraction
    >>> from leastnoise.entropy.source import InsecureSeededEntropy
    >>> from leastnoise.entropy.scaled import Constant
    >>> entropy = InsecureSeededEntropy(1)
    >>> sampler = DirectionSampler(radius=Constant(Fraction(5)), dimension=3, entropy=entropy)
    >>> round(float(np.linalg.norm(sampler.draw(3).estimates)), 9)
    5.0
    """

    def __init__(self, *, radius: LazyReal, dimension: int, entropy: Entropy) -> None:
        self._normals = _Normals(entropy.words(dimension), entropy)
        self._radius = radius
        self._radius_float = nearly(radius)
        self._factors: dict[int, arb] = {}
        self._next = 0

    def draw(self, count: int) -> Block:
        """Return the next `count` coordinates; see `Sampler.draw`.

        Proof of `error`. Let n̂ be the float norm; |n̂ − n| <= e (`_Normals.norm`). As |Zᵢ| <= n,
        |Q̂ᵢ/n̂ − |Zᵢ|/n| <= |Q̂ᵢ − |Zᵢ||/n̂ + (|Zᵢ|/n)|n − n̂|/n̂ <= (η + e·min(1, r/(n̂ − e)))/n̂
        with r the reach of the table. With s = fl(R), |s − R| <= 2^-50 R + 2^-1000, the quotient
        and the product add 2^-49 of what the estimate can be, min(r s/n̂, 1.001 s), and 2^-900. The
        floats that evaluate the bound are wrong by a relative 2^-48: 1.001 covers it.
        """
        words = self._normals.words[self._next : self._next + count]
        first, self._next = self._next, self._next + count
        norm, norm_error = self._normals.norm()
        values, beyond = _estimates(words)
        reach = HALF_NORMAL.reach
        usable = norm > _SMALLEST_NORM
        factor = self._radius_float / norm if usable else 0.0
        share = min(1.0, reach / (norm - norm_error)) if usable else 1.0
        values *= factor
        values.view(np.uint64)[:] ^= words << np.uint64(63)
        largest = min(factor * reach, self._radius_float) * 1.001 + _TINY
        error = factor * (ETA + norm_error * share) + largest * 2.0**-49
        return Block(
            estimates=values,
            beyond=beyond if usable else np.ones_like(beyond),
            error=1.001 * error + _TINY,
            reach=largest,
            enclose=lambda index, bits: (
                self._factor(bits) * self._normals.enclose(first + index, bits)
            ),
        )

    def _factor(self, bits: int) -> arb:
        """Enclose R/‖Z‖; the same for all coordinates, so once a precision."""
        if bits not in self._factors:
            self._factors[bits] = self._radius.enclose(bits) / self._normals.enclose_norm(bits)
        return self._factors[bits]


@final
class _Normals:
    """The coordinates of Z, as floats and as balls made of the same bits."""

    def __init__(self, words: NDArray[np.uint64], entropy: Entropy) -> None:
        self.words = words
        self._entropy = entropy
        self._lazy: dict[int, tuple[LazyMagnitude, int]] = {}
        self._norm: tuple[float, float] | None = None

    def norm(self) -> tuple[float, float]:
        """Return n̂ and a proved bound e on |n̂ − n|.

        The floats Q̂ᵢ are within η of |Zᵢ| each, so their norm is within η√d of n; those beyond the
        table are rounded balls, which are nearer than that. Squares and sums of 256 of them are
        right to (256 + 1)·2^-53 in any order, `fsum` and the root to 2^-53 each.
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
                values[index] = nearly(self._coordinate(start + index)[0])
            yield from (
                float(chunk @ chunk)
                for chunk in np.split(values, range(_SUMMED, len(values), _SUMMED))
            )

    def enclose(self, index: int, bits: int) -> arb:
        """Enclose Zᵢ."""
        magnitude, sign = self._coordinate(index)
        return sign * magnitude.enclose(bits)

    def enclose_norm(self, bits: int) -> arb:
        """Enclose n."""
        squares = arb(0)
        for index in range(len(self.words)):
            squares += self.enclose(index, bits) ** 2
        return squares.sqrt()

    def _coordinate(self, index: int) -> tuple[LazyMagnitude, int]:
        """Return the lazy |Zᵢ| and the sign; remembered, so that it is the same bits every time."""
        if index not in self._lazy:
            word = int(self.words[index])
            uniform = LazyUniform(self._entropy, prefix=word >> 1, known=WORD_BITS)
            self._lazy[index] = LazyMagnitude(HALF_NORMAL, uniform), -1 if word & 1 else 1
        return self._lazy[index]


def _estimates(words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return |Zᵢ| as floats, and where they are beyond the table (and mean nothing)."""
    found = look_up(HALF_NORMAL, words >> np.uint64(1))
    return found.values, found.beyond
