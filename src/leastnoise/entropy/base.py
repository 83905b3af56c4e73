"""Interfaces: draws of noise that can be rounded exactly, and magnitudes drawn by inversion.

Notation: X is a coordinate of the ideal noise, g the grid to which it is rounded, and x = X/g. Q is
the inverse of the survival function of a magnitude, such as |X| or |x|: it exceeds Q(u) with
probability u. A uniform u has the first 63 bits w (its word), so u = (w + V)/2^63 with V in (0, 1)
from the later bits.
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
TINY = 2.0**-900  # absolute error: above any underflow, far below half a step of any grid
NEAR = 2.0**-50  # relative error; the nearest float is within 2^-53, so balls can always prove it


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Some consecutive coordinates x_i of one ideal draw, in units of the grid.

    `estimates` has shape (n,). Where `beyond` is False, |estimates_i − x_i| <= `error`, a proved
    bound, and |estimates_i| <= `reach`; elsewhere the estimate has no meaning. `enclose(i, bits)`
    is a ball that contains x_i, from at least `bits` random bits (the block's bits, then fresh
    ones) at the caller's precision; it shrinks as `bits` grows. Not for use by several threads.
    """

    estimates: NDArray[np.float64]
    beyond: NDArray[np.bool_]
    error: float
    reach: float
    enclose: Callable[[int, int], arb]


def block_without_estimates(count: int, enclose: Callable[[int, int], arb]) -> Block:
    """A block of `count` coordinates without float estimates: balls decide every rounding."""
    return Block(
        estimates=np.zeros(count),
        beyond=np.ones(count, dtype=bool),
        error=0.0,
        reach=0.0,
        enclose=enclose,
    )


class Sampler(ABC):
    """One draw of a noise vector, whose coordinates come in order, block by block."""

    @abstractmethod
    def draw(self, count: int) -> Block:
        """Draw the next `count` coordinates of this draw."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Lookup:
    """Floats near Q(u) for many words, with one proved bound `error` on all their errors.

    `values` and `beyond` have one entry for each word. Where `beyond` is False, |value − Q(u)| <=
    `error` and Q(u) <= `reach`; elsewhere the (finite) value has no meaning.
    """

    values: NDArray[np.float64]
    beyond: NDArray[np.bool_]
    error: float
    reach: float


class InverseSurvival(ABC):
    """A magnitude drawn by inversion: Q(U) for a uniform U.

    Q never increases. It maps (0, 1] to [0, ∞), and is the inverse of the magnitude's survival
    function.

    Source:
        theory/release.md §1.
    """

    @abstractmethod
    def enclose(self, u: arb) -> arb:
        """Enclose Q(u) in a ball; NaN if `u` is too wide.

        Args:
            u: A ball within (0, 1].

        Returns:
            The enclosure at the current precision.
        """

    @abstractmethod
    def look_up(self, words: NDArray[np.uint64]) -> Lookup | None:
        """Approximate Q(u) in floats for uniforms u with these first bits, whatever bits follow.

        Args:
            words: The first 63 bits w of each uniform, shape (n,).

        Returns:
            The values with a proved error; None if no floats are available (yet).
        """


def nearest_word(probability: arb) -> int:
    """An integer within 1 of 2^63·probability, near the word of the uniform u = `probability`.

    Raises RandomnessError if the ball is too wide to prove this.
    """
    words = probability * arb((1, WORD_BITS))
    nearest = (words.mid() + arb(0.5)).floor().unique_fmpz()
    if nearest is None or not abs(words - arb(nearest)) <= 1:
        raise RandomnessError(
            "The noise was not drawn, because a probability could not be computed exactly "
            "enough. Nothing was published."
        )
    return int(nearest)


def float_near(number: arb) -> float:
    """A float within a relative 2^-52 of a number >= 0; inf if the ball is too wide for that."""
    candidate = float(number.mid())
    return candidate if abs(number - arb(candidate)) <= number * arb(2.0**-52) else math.inf
