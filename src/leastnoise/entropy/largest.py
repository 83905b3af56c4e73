"""Permute-and-flip: which of several public candidates has the largest noisy score, exactly.

The candidate of the largest E_i − penalty_i, for independent standard exponentials E_i, is what
permute-and-flip returns (McKenna & Sheldon 2020; Ding et al. 2021, Theorem 5). All exponentials are
drawn: a sampler by rejection would take a time that tells the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyExponential, decide

if TYPE_CHECKING:
    from leastnoise.entropy.source import Entropy


def place_of_largest(penalties: Sequence[Fraction], entropy: Entropy) -> int:
    """Return the i with the largest E_i − penalties[i]; at least one candidate is given.

    Decided in balls: those that may be the largest are refined until one certainly is. How often
    that is needed beyond 60 bits depends on chance, and a little on the penalties.
    """
    exponentials = [LazyExponential(entropy) for _ in penalties]
    left = list(range(len(penalties)))

    def question(bits: int) -> int | None:
        scores = {
            place: exponentials[place].enclose(bits) - ball(penalties[place]) for place in left
        }
        largest = max(scores.values(), key=lambda score: score.lower())
        left[:] = [place for place in left if not scores[place] < largest]
        return left[0] if len(left) == 1 else None

    return decide(question)
