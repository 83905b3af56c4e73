"""Vectors of random reals: floats with a proved error, and balls made of the same bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.entropy.base import Block, Sampler
from leastnoise.entropy.lazy import LazyReal, decide

if TYPE_CHECKING:
    from numpy.typing import NDArray

TINY = 2.0**-900  # absolute: above what underflow can cost, far below any grid's half step
NEAR = 2.0**-50  # relative; nearest floats are within 2^-53, so this always gets decided


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """Floats x̂ of some reals x: |x̂ − x| <= `error`, a proved bound, and |x̂| <= `reach`.

    Both but for those that are `beyond`, whose floats mean nothing. The arrays are the caller's.
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
        """Return estimates of x_start … x_(stop−1)."""

    @abstractmethod
    def enclose(self, index: int, bits: int) -> arb:
        """Return a ball that contains x_index, from at least `bits` bits of each of its uniforms.

        See `LazyReal.enclose`.
        """


@final
class RealsSampler(Sampler):
    """Hands out reals in order."""

    def __init__(self, reals: Reals) -> None:
        self._reals = reals
        self._next = 0

    def draw(self, count: int) -> Block:
        start, self._next = self._next, self._next + count
        found = self._reals.floats(start, start + count)
        return Block(
            estimates=found.values,
            beyond=found.beyond,
            error=found.error,
            reach=found.reach,
            enclose=lambda index, bits: self._reals.enclose(start + index, bits),
        )


@final
class Computed(LazyReal):
    """A real that is computed from others: `function(bits)` encloses it.

    Balls are kept, as many reals may share this one.
    """

    def __init__(self, function: Callable[[int], arb]) -> None:
        self._function = function
        self._balls: dict[int, arb] = {}

    def enclose(self, bits: int) -> arb:
        if bits not in self._balls:
            self._balls[bits] = self._function(bits)
        return self._balls[bits]


def one_of(reals: Reals, index: int) -> LazyReal:
    """Return x_index alone."""
    if isinstance(reals, Listed):
        return reals.items[index]
    return Computed(lambda bits: reals.enclose(index, bits))


@final
class Listed(Reals):
    """Lazy reals one by one: a ball each, some 10 µs."""

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
    """Return a float within 2^-50·|x| + 2^-1000 of a lazy real x, proved in balls."""

    def question(bits: int) -> float | None:
        enclosure = number.enclose(bits)
        candidate = float(enclosure.mid())
        allowed = abs(enclosure) * arb(NEAR) + arb((1, -1000))
        return candidate if abs(arb(candidate) - enclosure) <= allowed else None

    return decide(question)
