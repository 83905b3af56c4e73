"""Vectors of random reals: floats with a proved error, and balls from the same bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.entropy.base import NEAR, TINY, Block, Sampler
from leastnoise.entropy.lazy import LazyReal, LazyUniform, OrderedUniforms, decide
from leastnoise.entropy.smooth_quantiles import ETA, EXPONENTIAL, WORD_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """Floats that estimate reals: each is off by at most `error`, and at most `reach` in size.

    Both bounds are proved. They don't hold where `beyond` is True: there the float has no meaning.
    The caller may modify the arrays.
    """

    values: NDArray[np.float64]
    beyond: NDArray[np.bool_]
    error: float
    reach: float


class Reals(ABC):
    """`size` random reals, each a fixed function of an infinite fair bit string."""

    size: int

    @abstractmethod
    def floats(self, start: int, stop: int) -> Estimates:
        """Estimates of the entries `start` … `stop` − 1."""

    @abstractmethod
    def enclose(self, index: int, bits: int) -> arb:
        """A ball that contains entry `index`, from at least `bits` bits of each of its uniforms.

        It behaves like `LazyReal.enclose` for one entry.
        """


@final
class RealsSampler(Sampler):
    """A sampler whose coordinates are the entries of `reals`, in order."""

    def __init__(self, reals: Reals) -> None:
        self._reals = reals
        self._next = 0

    def draw(self, count: int) -> Block:
        start, self._next = self._next, self._next + count
        estimates = self._reals.floats(start, start + count)
        return Block(
            estimates=estimates.values,
            beyond=estimates.beyond,
            error=estimates.error,
            reach=estimates.reach,
            enclose=lambda index, bits: self._reals.enclose(start + index, bits),
        )


@final
class LazyFunction(LazyReal):
    """A real that is computed from others: `function(bits)` encloses it.

    Balls are cached, as many reals may share this one.
    """

    def __init__(self, function: Callable[[int], arb]) -> None:
        self._function = function
        self._balls: dict[int, arb] = {}

    def enclose(self, bits: int) -> arb:
        if bits not in self._balls:
            self._balls[bits] = self._function(bits)
        return self._balls[bits]


def one_of(reals: Reals, index: int) -> LazyReal:
    """Return the entry `index` of `reals` as a `LazyReal`."""
    if isinstance(reals, Listed):
        return reals.items[index]
    return LazyFunction(lambda bits: reals.enclose(index, bits))


@final
class Listed(Reals):
    """A vector of given lazy reals; each float is computed in balls, which takes about 10 µs."""

    def __init__(self, items: Sequence[LazyReal]) -> None:
        self.items = items
        self.size = len(items)
        self._floats: NDArray[np.float64] | None = None

    def floats(self, start: int, stop: int) -> Estimates:
        if self._floats is None:
            self._floats = np.array([nearest(item) for item in self.items], dtype=np.float64)
        values = self._floats[start:stop].copy()
        reach = float(np.abs(values).max(initial=0.0))
        return Estimates(
            values=values,
            beyond=np.zeros(values.size, dtype=bool),
            error=1.001 * NEAR * reach + TINY,
            reach=reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        return self.items[index].enclose(bits)


def nearest(number: LazyReal) -> float:
    """A float within 2^-50·|x| + 2^-1000 of a lazy real x, proved in balls."""

    def question(bits: int) -> float | None:
        enclosure = number.enclose(bits)
        candidate = float(enclosure.mid())
        allowed = abs(enclosure) * arb(NEAR) + arb((1, -1000))
        return candidate if abs(arb(candidate) - enclosure) <= allowed else None

    return decide(question)


# Independent reals of one or more words each: uniforms, signs, gammas of integer shape.


_ONE = np.uint64(1)
_SIGN = np.uint64(63)


@final
class _Uniforms63:
    """Lazy uniforms whose first 63 bits are the upper 63 bits of given words.

    Each uniform is created only once, so that its later bits are the same every time.
    """

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
    """Independent uniforms on (0, 1), or on (−1, 1) if `signed`: a word's lowest bit is the sign.

    Proof of `error`: let k be a word's upper 63 bits. The uniform is (k + V)/2^63 with V in (0, 1).
    Its float is fl(k)/2^63, where fl(k) is k rounded to a float, and |fl(k) − k| <= 2^9. So the
    float is within 2^-54 + 2^-63 of the uniform.
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
    """Independent gammas of an integer shape: sums of `shape` exponentials.

    Proof of `error`: a float from the table is within ETA of its exponential, and at most 12. A sum
    of `shape` terms, in any order, rounds by at most shape·2^-53 of itself.
    """

    def __init__(self, count: int, entropy: Entropy, *, shape: int) -> None:
        self.size = count
        self._shape = shape
        self._words = entropy.words(count * shape)
        self._lazy = _Uniforms63(self._words, entropy)

    def floats(self, start: int, stop: int) -> Estimates:
        shape = self._shape
        table_values = EXPONENTIAL.look_up(self._words[start * shape : stop * shape] >> _ONE)
        values, beyond = table_values.values, table_values.beyond
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


@final
class Maxima(Reals):
    """The maximum of each group of `row` consecutive uniforms.

    Its law is Beta(row, 1), the law of the gauge of a uniform point of a box in `row` dimensions.
    If all estimates are within `error`, so is their maximum.
    """

    def __init__(self, uniforms: Uniforms, *, row: int) -> None:
        self.size = uniforms.size // row
        self._uniforms, self._row = uniforms, row

    def floats(self, start: int, stop: int) -> Estimates:
        row = self._row
        estimates = self._uniforms.floats(start * row, stop * row)
        return Estimates(
            values=estimates.values.reshape(-1, row).max(axis=1),
            beyond=np.any(estimates.beyond.reshape(-1, row), axis=1, keepdims=False),
            error=estimates.error,
            reach=estimates.reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        first = index * self._row
        largest = arb(0)
        for i in range(first, first + self._row):
            largest = largest.max(self._uniforms.enclose(i, bits))
        return largest


@final
class DirichletShares(Reals):
    """Dirichlet shares: `rows` rows, each the first `kept` entries of a draw of Dirichlet(shapes).

    There are at least two shapes, all integers. Σ shapes − 1 sorted uniforms cut (0, 1) into
    spacings. A share is the sum of as many adjacent spacings as its shape. Proof of `error`: each
    end of a share is known to 2^-64. The difference of two ends, an integer below 2^64 in units of
    2^-64, rounds by 2^-53 of itself.
    """

    def __init__(
        self, shapes: NDArray[np.int64], entropy: Entropy, *, kept: int, rows: int = 1
    ) -> None:
        self.size = rows * kept
        self._kept = kept
        self._cuts = np.append(0, np.cumsum(shapes))
        self._last = int(self._cuts[-1])
        self._ends = OrderedUniforms(self._last - 1, entropy, rows=rows)

    def floats(self, start: int, stop: int) -> Estimates:
        kept = self._kept
        first, last = start // kept, -(-stop // kept)
        here = slice(start - first * kept, stop - first * kept)
        # a single row may be very long, so it is sliced first
        cuts = self._cuts[here.start : here.stop + 1] if last - first == 1 else self._cuts
        cuts = cuts[: kept + 1]
        ends = np.zeros((last - first, cuts.size), dtype=np.uint64)
        # the end of (0, 1) is the word 0, as unsigned differences wrap
        inside = (cuts > 0) & (cuts < self._last)
        words = self._ends.words.reshape(-1, self._last - 1)
        ends[:, inside] = words[first:last, cuts[inside] - 1]
        values = (ends[:, 1:] - ends[:, :-1]).astype(np.float64).reshape(-1)
        if last - first > 1:
            values = values[here]
        values *= 2.0**-64
        reach = float(values.max(initial=0.0))
        return Estimates(
            values=values,
            beyond=np.zeros(values.size, dtype=bool),
            error=2.0**-63 + 2.0**-53 * reach,
            reach=reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        row, column = divmod(index, self._kept)
        return self._end(row, column + 1, bits) - self._end(row, column, bits)

    def _end(self, row: int, column: int, bits: int) -> arb:
        cut = int(self._cuts[column])
        if cut in (0, self._last):
            return arb(1 if cut else 0)
        return self._ends.enclose(row * (self._last - 1) + cut - 1, bits)
