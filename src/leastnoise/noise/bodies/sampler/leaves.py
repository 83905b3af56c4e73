"""Independent reals with a word or more each: uniforms, signs, gammas of whole shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.entropy.lazy import LazyUniform
from leastnoise.entropy.quantiles import ETA, EXPONENTIAL, WORD_BITS, look_up
from leastnoise.noise.bodies.sampler.reals import Estimates, Reals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy

_ONE = np.uint64(1)
_SIGN = np.uint64(63)


@final
class _Uniforms63:
    """Lazy uniforms whose first 63 bits are the upper ones of a word; each is made but once."""

    def __init__(self, words: NDArray[np.uint64], entropy: Entropy) -> None:
        self._words = words
        self._entropy = entropy
        self._lazy: dict[int, LazyUniform] = {}

    def enclose(self, index: int, bits: int) -> arb:
        if index not in self._lazy:
            prefix = int(self._words[index]) >> 1
            self._lazy[index] = LazyUniform(self._entropy, prefix=prefix, known=WORD_BITS)
        return self._lazy[index].enclose(bits)


@final
class Uniforms(Reals):
    """Uniform on (0, 1), or on (−1, 1) if `signed`: the lowest bit of a word is the sign.

    `error`: a word's upper 63 bits k give fl(k)/2^63, U = (k + V)/2^63 with V in (0, 1), and
    |fl(k) − k| <= 2^9: it is within 2^-54 + 2^-63 of U.
    """

    def __init__(self, count: int, entropy: Entropy, *, signed: bool = False) -> None:
        self.size = count
        self._words = entropy.words(count)
        self._lazy = _Uniforms63(self._words, entropy)
        self._signed = signed

    def floats(self, start: int, stop: int) -> Estimates:
        words = self._words[start:stop]
        values = (words >> _ONE).view(np.int64).astype(np.float64)
        values *= 2.0**-WORD_BITS
        if self._signed:
            raw = values.view(np.uint64)
            raw ^= words << _SIGN
        beyond = np.zeros(values.size, dtype=bool)
        return Estimates(values=values, beyond=beyond, error=2.0**-53, reach=1.0)

    def enclose(self, index: int, bits: int) -> arb:
        value = self._lazy.enclose(index, bits)
        return -value if self._signed and int(self._words[index]) & 1 else value


@final
class Signs(Reals):
    """Fair signs, ±1."""

    def __init__(self, count: int, entropy: Entropy) -> None:
        self.size = count
        octets = entropy.words(-(-count // 64)).view(np.uint8)
        self._values = np.unpackbits(octets, count=count).astype(np.float64)
        self._values *= -2.0
        self._values += 1.0

    def floats(self, start: int, stop: int) -> Estimates:
        values = self._values[start:stop].copy()
        return Estimates(
            values=values, beyond=np.zeros(values.size, dtype=bool), error=0.0, reach=1.0
        )

    def enclose(self, index: int, bits: int) -> arb:
        del bits
        return arb(self._values[index])


@final
class Gammas(Reals):
    """Gamma(shape, 1), shape whole: sums of `shape` exponentials.

    `error`: each is within ETA, and at most 12 where the table serves it; sums of so many, in any
    order, round by at most shape·2^-53 of themselves.
    """

    def __init__(self, count: int, entropy: Entropy, *, shape: int) -> None:
        self.size = count
        self._shape = shape
        self._words = entropy.words(count * shape)
        self._lazy = _Uniforms63(self._words, entropy)

    def floats(self, start: int, stop: int) -> Estimates:
        shape = self._shape
        found = look_up(EXPONENTIAL, self._words[start * shape : stop * shape] >> _ONE)
        values, beyond = found.values, found.beyond
        if shape > 1:
            values = values.reshape(-1, shape).sum(axis=1)
            beyond = np.any(beyond.reshape(-1, shape), axis=1, keepdims=False)
        reach = 1.001 * shape * EXPONENTIAL.reach
        error = 1.001 * shape * (ETA + 2.0**-53 * reach)
        return Estimates(values=values, beyond=beyond, error=error, reach=reach)

    def enclose(self, index: int, bits: int) -> arb:
        first = index * self._shape
        return sum(
            (-self._lazy.enclose(i, bits).log() for i in range(first, first + self._shape)), arb(0)
        )
