"""What the exact rounding needs to know of a draw, and what a magnitude offers to be drawn.

notation: Q the inverse of the survival function, P(|X| > Q(u)) = u; w the first 63 bits of a
uniform u, so u = (w + V)/2^63 with V in (0, 1) the later bits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.errors import RandomnessError

if TYPE_CHECKING:
    from numpy.typing import NDArray


WORD_BITS = 63
TINY = 2.0**-900  # absolute: above what underflow can cost, far below any grid's half step
NEAR = 2.0**-50  # relative; nearest floats are within 2^-53, so this always gets decided


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Some consecutive coordinates of one ideal draw, in units of the grid: x_i = X_i/g.

    `estimates` has shape (n,). Where `beyond` is False, |estimates_i − x_i| <= `error`, a proved
    bound, and |estimates_i| <= `reach`; elsewhere the estimate means nothing.
    `enclose(i, bits)` is a ball that contains x_i, made of at least `bits` random bits (the block's
    own, and fresh ones once those are used up) at the caller's precision; it shrinks as `bits`
    grows. Not to be used by several threads.
    """

    estimates: NDArray[np.float64]
    beyond: NDArray[np.bool_]
    error: float
    reach: float
    enclose: Callable[[int, int], arb]


def left_to_balls(count: int, enclose: Callable[[int, int], arb]) -> Block:
    """Return a block without estimates."""
    return Block(
        estimates=np.zeros(count),
        beyond=np.ones(count, dtype=bool),
        error=0.0,
        reach=0.0,
        enclose=enclose,
    )


class Sampler(ABC):
    """One draw of a noise vector; its coordinates are handed out in order, block by block."""

    @abstractmethod
    def draw(self, count: int) -> Block:
        """Return the next `count` coordinates."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Lookup:
    """Q̂ of many words: |Q̂ − Q(u)| <= `error`, a proved bound, and Q(u) <= `reach`.

    Both but for the words that are `beyond`, whose (finite) values mean nothing.
    """

    values: NDArray[np.float64]
    beyond: NDArray[np.bool_]
    error: float
    reach: float


class InverseSurvival(ABC):
    """A decreasing function Q from (0, 1] to [0, ∞): |X| = Q(U) for a uniform U."""

    @abstractmethod
    def enclose(self, u: arb) -> arb:
        """Return a ball that contains Q(u), NaN where `u` is too wide to tell."""

    @abstractmethod
    def look_up(self, words: NDArray[np.uint64]) -> Lookup | None:
        """Return Q̂ for 63-bit words, shape (n,), whatever the later bits; None if for no word."""


def nearest_word(probability: arb) -> int:
    """Return a whole number within 1 of 2^63·probability, proved in balls."""
    words = probability * arb((1, WORD_BITS))
    found = (words.mid() + arb(0.5)).floor().unique_fmpz()
    if found is None or not abs(words - arb(found)) <= 1:
        raise RandomnessError("A probability is known too vaguely; nothing was published.")
    return int(found)


def float_near(number: arb) -> float:
    """Return a float within a relative 2^-52 of a number >= 0, proved in balls, or else inf."""
    found = float(number.mid())
    return found if abs(number - arb(found)) <= number * arb(2.0**-52) else math.inf
