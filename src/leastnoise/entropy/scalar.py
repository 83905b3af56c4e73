"""Laws of single numbers, drawn as lazy reals: every rounding is decided in balls."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Block, Sampler, left_to_balls
from leastnoise.entropy.lazy import LazyReal, LazyUniform, decide
from leastnoise.entropy.source import Entropy


@final
class LazySampler(Sampler):
    """Draws factor·Y_i, each Y_i a lazy real of its own; about a millisecond a coordinate."""

    def __init__(self, draw_one: Callable[[], LazyReal], *, factor: Fraction) -> None:
        self._draw_one = draw_one
        self._factor = factor

    def draw(self, count: int) -> Block:
        """There are no estimates, so all of them are `beyond`."""
        values = [self._draw_one() for _ in range(count)]
        return left_to_balls(
            count, lambda index, bits: ball(self._factor) * values[index].enclose(bits)
        )


def choose(entropy: Entropy, cumulative: Callable[[], Sequence[arb]]) -> int:
    """Return J with P(J <= j) = cumulative()[j], decided in balls; the last one is 1.

    `cumulative` encloses the probabilities at the current precision; it is asked again, more
    precisely, until a uniform lies certainly between two of them (theory/release.md §2).
    """
    uniform = LazyUniform(entropy)

    def question(bits: int) -> int | None:
        u, bounds = uniform.enclose(bits), cumulative()
        index = bisect_left(bounds, 1, hi=len(bounds) - 1, key=lambda bound: int(not bound <= u))
        above = index == len(bounds) - 1 or bounds[index] > u
        below = index == 0 or bounds[index - 1] <= u
        return index if above and below else None

    return decide(question)
