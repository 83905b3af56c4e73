"""Quantiles chosen among public candidates by permute-and-flip, as a certificate says.

notation: L rows below a candidate's part, E in it, n in all; a level a is p/q.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.entropy.base import WORD_BITS
from leastnoise.entropy.lazy import LazyMagnitude, LazyUniform, decide
from leastnoise.entropy.quantiles import EXPONENTIAL
from leastnoise.entropy.source import Entropy, SystemEntropy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.quantiles import Choice, QuantileCertificate


def choose_quantiles(
    claim: QuantileCertificate,
    counts: Sequence[int],
    *,
    unit: int = 1,
    entropy: Entropy | None = None,
) -> list[int]:
    """Return the chosen candidate, by place, of each level of `claim` in one group.

    `counts` holds a whole number a candidate: so many `unit`-ths of a row lie at it. Those of a
    candidate are spread evenly over its parts, and those of a chosen part are halved between what
    lies below and above it: what becomes of a row depends on no other. Places don't fall as levels
    rise; where draws of their own did, they are sorted. `entropy` is for tests.
    """
    if len(counts) != claim.candidates:
        raise ValueError(f"Expected {claim.candidates} counts, got {len(counts)}.")
    source = entropy or SystemEntropy()
    chosen: dict[int, int] = {}
    choices = claim.choices
    halvings = 1 + max(one.depth for one in choices)
    masses = [count << halvings for count in counts for _ in range(claim.parts)]
    scale = unit * claim.parts << halvings
    for index in sorted(range(len(choices)), key=lambda index: choices[index].depth):
        one = choices[index]
        first, own = _between(masses, one, choices, chosen)
        factor = claim.rates[index] / (one.level.denominator * scale)
        penalties = [factor * score for score in scores(own, one.level)]
        chosen[index] = first + place_of_largest(penalties, source)
    return sorted(place // claim.parts for place in chosen.values())


def scores(masses: Sequence[int], level: Fraction) -> list[int]:
    """Return q·max(0, L − an, an − L − E) of each part."""
    p, q = level.numerator, level.denominator
    wanted = p * sum(masses)
    return [
        max(0, q * (upto - mass) - wanted, wanted - q * upto)
        for mass, upto in zip(masses, accumulate(masses), strict=True)
    ]


def _between(
    masses: Sequence[int],
    one: Choice,
    choices: Sequence[Choice],
    chosen: dict[int, int],
) -> tuple[int, list[int]]:
    """Return the first part that is left for a draw, and what lies in each that is.

    A part that was chosen before is halved, once each time that it was.
    """
    first = 0 if one.below is None else chosen[one.below]
    last = len(masses) - 1 if one.above is None else chosen[one.above]
    own = list(masses[first : last + 1])
    for place in _ends(one, choices):
        if first <= chosen[place] <= last:
            own[chosen[place] - first] >>= 1
    return first, own


def _ends(one: Choice, choices: Sequence[Choice]) -> set[int]:
    """Return all draws on the way to this one: each halved the rows at the part that it chose."""
    found: set[int] = set()
    left = [one.below, one.above]
    while left:
        place = left.pop()
        if place is not None and place not in found:
            found.add(place)
            left += [choices[place].below, choices[place].above]
    return found


# Quantiles read off noisy counts of public candidates: post-processing, and the same anywhere.
#
# notation: F̂_g the noisy number of rows at the first g candidates, n̂ that of all; D_g = F̂_g −
# a·n̂ for a level a. Without noise a quantile is a candidate g with D_{g−1} <= 0 <= D_g.


def read_quantiles(counts: Sequence[int], levels: Sequence[Fraction], *, total: int) -> list[int]:
    """Return the place of each level's candidate: the first where isotonic regression has D >= 0.

    That is where the sum of all D before it is least, first of all: no pool of candidates on either
    side has a mean on the wrong one. `counts` are noisy, one a candidate. The last candidate stands
    for no such place, and a `total` below 0 counts as 0, so that places don't fall as levels rise.
    """
    before = [0, *accumulate(accumulate(counts))]  # before[g] = F̂_1 + … + F̂_g
    wanted = max(total, 0)
    found: list[int] = []
    for level in levels:
        p, q = level.numerator * wanted, level.denominator
        least = min(range(len(before)), key=lambda g, p=p, q=q: q * before[g] - p * g)
        found.append(min(least, len(counts) - 1))
    return found


def read_interval(
    counts: Sequence[int],
    level: Fraction,
    half_widths: NDArray[np.float64],
    *,
    total: int,
    place: int,
) -> tuple[int, int]:
    """Return the places of the first and the last candidate that noise doesn't rule out.

    `half_widths` are h_g, g = 0, …, B: by symmetry D_g is off by more than h_g to one side with 2.5
    % at most. Candidate g stays where D_g >= −h_g and D_{g−1} <= h_{g−1}: of a true quantile both
    hold with 95 %, whatever the rows. `place`, that of the quantile, stays as well.
    """
    sums = np.array([0, *accumulate(counts)], dtype=np.float64) - float(level) * total
    kept = np.flatnonzero((sums[1:] >= -half_widths[1:]) & (sums[:-1] <= half_widths[:-1]))
    every = [place, *kept.tolist()]
    return min(every), max(every)


# Permute-and-flip: which of several public candidates has the largest noisy score, exactly.
#
# The candidate of the largest E_i − penalty_i, for independent standard exponentials E_i, is what
# permute-and-flip returns (McKenna & Sheldon 2020; Ding et al. 2021, Theorem 5). All exponentials
# are drawn: a sampler by rejection would take a time that tells the scores.


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
    # absolute: the table's error, 2^-40, and roundings of E < 12; relative to a penalty: its own
    # rounding, and those of two sums
    slack = 2.0**-39 + 2.0**-51 * np.abs(penalties)
    least = np.max((scores - slack)[~found.beyond], initial=-np.inf)
    return np.flatnonzero(found.beyond | (scores + slack >= least)).tolist()
