"""Choose quantiles among public candidates by permute-and-flip, as their certificate states.

Notation: n is the number of rows, L the rows below a part of a candidate, and E the rows in it. A
level is a = p/q, a fraction in lowest terms.
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
from leastnoise.entropy.smooth_quantiles import EXPONENTIAL
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
    """Draw a candidate for each level of `claim`, for one group; return the candidates' indices.

    `counts` has an integer for each candidate: its rows, counted in fractions 1/`unit` of a row.
    Raises ValueError for another number of counts. Each candidate is cut into `claim.parts` parts,
    over which its rows are spread evenly, and a draw chooses a part. If draws are nested, the later
    draws below and above an earlier quantile each get half of the rows of the part that it chose.
    So a row's share depends on no other row.

    Indices don't decrease as levels increase: independent draws are sorted. `entropy` is for tests.
    """
    if len(counts) != claim.candidates:
        raise ValueError(f"Expected {claim.candidates} counts, got {len(counts)}.")
    source = entropy or SystemEntropy()
    chosen: dict[int, int] = {}
    choices = claim.choices
    halvings = 1 + max(choice.depth for choice in choices)
    masses = [count << halvings for count in counts for _ in range(claim.parts)]
    scale = unit * claim.parts << halvings
    for index in sorted(range(len(choices)), key=lambda index: choices[index].depth):
        choice = choices[index]
        first, masses_between = _masses_between(masses, choice, choices, chosen)
        factor = claim.rates[index] / (choice.level.denominator * scale)
        penalties = [factor * score for score in scores(masses_between, choice.level)]
        chosen[index] = first + index_of_largest(penalties, source)
    return sorted(part_index // claim.parts for part_index in chosen.values())


def scores(masses: Sequence[int], level: Fraction) -> list[int]:
    """The score of each part, a penalty: its distance in rows from the level's quantile, times q.

    It is the integer q·max(L − an, an − L − E). A part that contains the quantile has a negative
    score, the lower the more rows would have to move for another. `masses` has the rows per part.
    """
    p, q = level.numerator, level.denominator
    wanted = p * sum(masses)
    return [
        max(q * (upto - mass) - wanted, wanted - q * upto)
        for mass, upto in zip(masses, accumulate(masses), strict=True)
    ]


def _masses_between(
    masses: Sequence[int],
    choice: Choice,
    choices: Sequence[Choice],
    chosen: dict[int, int],
) -> tuple[int, list[int]]:
    """The index of the first part that a draw may choose, and the rows in each allowed part.

    The allowed parts are consecutive. The rows of a part are halved once for each earlier draw that
    chose it.
    """
    first = 0 if choice.below is None else chosen[choice.below]
    last = len(masses) - 1 if choice.above is None else chosen[choice.above]
    between = list(masses[first : last + 1])
    for index in _list_ancestors(choice, choices):
        if first <= chosen[index] <= last:
            between[chosen[index] - first] >>= 1
    return first, between


def _list_ancestors(choice: Choice, choices: Sequence[Choice]) -> set[int]:
    """The indices of all draws on which `choice` depends, directly or through others.

    Each of these draws has split the rows at the part that it chose.
    """
    ancestors: set[int] = set()
    pending = [choice.below, choice.above]
    while pending:
        index = pending.pop()
        if index is not None and index not in ancestors:
            ancestors.add(index)
            pending += [choices[index].below, choices[index].above]
    return ancestors


# Quantiles from noisy counts of public candidates: deterministic post-processing.
#
# Notation: F̂_g is the noisy number of rows at the first g candidates, n̂ the noisy number of all
# rows, and D_g = F̂_g − a·n̂ for a level a. Without noise a quantile is a candidate g with
# D_{g−1} <= 0 <= D_g.


def read_quantiles(counts: Sequence[int], levels: Sequence[Fraction], *, total: int) -> list[int]:
    """Estimate the candidate at each level's quantile from noisy counts; return its index.

    D_g is the noisy number of rows at the first g candidates, minus level·`total`. The chosen
    candidate is the first g with D_g >= 0 after isotonic regression of D. The regression follows
    from sums: g is the first index for which the sum of all D before it is smallest. If the sum of
    all D is the smallest, g is the last candidate. `counts` has a noisy count for each candidate,
    and `total` is the noisy number of all rows. A negative `total` counts as 0, so that indices
    don't decrease as levels increase.
    """
    before = [0, *accumulate(accumulate(counts))]  # before[g] = F̂_1 + … + F̂_g
    wanted = max(total, 0)
    indices: list[int] = []
    for level in levels:
        p, q = level.numerator * wanted, level.denominator
        least = min(range(len(before)), key=lambda g, p=p, q=q: q * before[g] - p * g)
        indices.append(min(least, len(counts) - 1))
    return indices


def read_interval(
    counts: Sequence[int],
    level: Fraction,
    half_widths: NDArray[np.float64],
    *,
    total: int,
    index: int,
) -> tuple[int, int]:
    """The indices of the first and last candidate of a 95 % confidence interval for a quantile.

    D_g is as in `read_quantiles`. `half_widths` has an entry h_g for g = 0 … len(counts). By
    symmetry, the error of D_g exceeds h_g to one side with a probability of at most 2.5 %. The g-th
    candidate stays if D_g >= −h_g and D_{g−1} <= h_{g−1}. For a true quantile both hold with a
    probability of at least 95 %, whatever the rows are. The published candidate, `index`, always
    stays.
    """
    sums = np.array([0, *accumulate(counts)], dtype=np.float64) - float(level) * total
    possible = np.flatnonzero((sums[1:] >= -half_widths[1:]) & (sums[:-1] <= half_widths[:-1]))
    indices = [index, *possible.tolist()]
    return min(indices), max(indices)


# Permute-and-flip: the public candidate with the largest noisy score, exactly.
#
# The candidate of the largest E_i − penalty_i, for independent standard exponentials E_i, is what
# permute-and-flip returns (McKenna & Sheldon 2020; Ding et al. 2021, Theorem 5). All exponentials
# are drawn: the running time of a rejection sampler would reveal the scores.


def index_of_largest(penalties: Sequence[Fraction], entropy: Entropy) -> int:
    """Draw the index i with the largest E_i − penalties[i], for independent exponentials E_i.

    There is at least one candidate. A word of 64 bits is drawn for each. Floats with a proved error
    exclude candidates that certainly aren't the largest. Balls decide between the others, with more
    bits until one certainly is the largest. The number of bits, and so the running time, depends on
    chance and slightly on the penalties.
    """
    words = entropy.words(len(penalties)) >> np.uint64(1)
    contenders = _contenders(words, np.array([float(penalty) for penalty in penalties]))
    exponentials = {
        index: LazyMagnitude(
            EXPONENTIAL, LazyUniform(entropy, prefix=int(words[index]), known=WORD_BITS)
        )
        for index in contenders
    }

    def question(bits: int) -> int | None:
        scores = {
            index: exponentials[index].enclose(bits) - ball(penalties[index])
            for index in contenders
        }
        largest = max(scores.values(), key=lambda score: score.lower())
        contenders[:] = [index for index in contenders if not scores[index] < largest]
        return contenders[0] if len(contenders) == 1 else None

    return decide(question)


def _contenders(words: NDArray[np.uint64], penalties: NDArray[np.float64]) -> list[int]:
    """The indices of all candidates that may be the largest.

    A candidate whose word lies beyond the table of exponentials always counts as one of them.
    """
    exponentials = EXPONENTIAL.look_up(words)
    scores = exponentials.values - penalties
    # absolute: the table's error 2^-40 and roundings of E < 12; relative to a penalty: its
    # rounding, and the roundings of two sums
    slack = 2.0**-39 + 2.0**-51 * np.abs(penalties)
    least = np.max((scores - slack)[~exponentials.beyond], initial=-np.inf)
    return np.flatnonzero(exponentials.beyond | (scores + slack >= least)).tolist()
