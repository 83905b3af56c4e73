"""Permute-and-flip: which of several public candidates has the largest noisy score, exactly.

The candidate of the largest E_i − penalty_i, for independent standard exponentials E_i, is what
permute-and-flip returns (McKenna & Sheldon 2020; Ding et al. 2021, Theorem 5). All exponentials are
drawn: a sampler by rejection would take a time that tells the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.entropy.base import WORD_BITS
from leastnoise.entropy.lazy import LazyMagnitude, LazyUniform, decide
from leastnoise.entropy.quantiles import EXPONENTIAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy

_SLACK = 2.0**-39  # absolute: the table's error, 2^-40, and roundings of E < 12
_RELATIVE = 2.0**-51  # of a penalty: its own rounding, and those of two sums


def place_of_largest(penalties: Sequence[Fraction], entropy: Entropy) -> int:
    """Return the i with the largest E_i − penalties[i]; at least one candidate is given.

    A word of 64 bits is drawn for each. Floats of proved error leave out those that certainly
    aren't the largest; the others are decided in balls, refined until one certainly is. How often
    that needs further bits depends on chance, and a little on the penalties.
    """
    words = entropy.words(len(penalties)) >> np.uint64(1)
    left = _contenders(words, np.array([float(one) for one in penalties]))
    exponentials = {
        place: LazyMagnitude(
            EXPONENTIAL, LazyUniform(entropy, prefix=int(words[place]), known=WORD_BITS)
        )
        for place in left
    }

    def question(bits: int) -> int | None:
        scores = {
            place: exponentials[place].enclose(bits) - ball(penalties[place]) for place in left
        }
        largest = max(scores.values(), key=lambda score: score.lower())
        left[:] = [place for place in left if not scores[place] < largest]
        return left[0] if len(left) == 1 else None

    return decide(question)


def _contenders(words: NDArray[np.uint64], penalties: NDArray[np.float64]) -> list[int]:
    """Return the places of all that may be the largest: those beyond the table are among them."""
    found = EXPONENTIAL.look_up(words)
    scores = found.values - penalties
    slack = _SLACK + _RELATIVE * np.abs(penalties)
    least = np.max((scores - slack)[~found.beyond], initial=-np.inf)
    return np.flatnonzero(found.beyond | (scores + slack >= least)).tolist()
