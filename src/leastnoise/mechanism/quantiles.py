"""Quantiles chosen among public candidates by permute-and-flip, as a certificate says.

notation: L rows below a candidate's part, E in it, n in all; a level a is p/q.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from leastnoise.entropy.largest import place_of_largest
from leastnoise.entropy.source import Entropy, SystemEntropy

if TYPE_CHECKING:
    from collections.abc import Sequence

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
