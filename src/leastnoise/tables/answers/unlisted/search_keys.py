"""By which chances keys that nobody listed are published, where nothing else is said of them.

notation: π(n) the chance of a key of n units, k the groups that a unit is in at most, n₅₀ and n₉₅
from how many units on it is ½ and .95.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from leastnoise.balls.core import PLAIN_BITS, ball, float_below, precision
from leastnoise.certificate.unlisted import CERTAIN, FINEST, MOST_UNITS, KeysCertificate
from leastnoise.errors import InvalidArgument, NotCertified, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.numerics.bisection import Bisection
from leastnoise.tables.answers.unlisted.search import (
    find_claims_of_units,
    find_least,
    published,
)
from leastnoise.tables.layout.limits import FewGroups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.layout.layout import Layout

NEARLY = Fraction(19, 20)
_COARSE = 9  # bits of the lattice at ε = 1
_KEPT = Fraction(98, 100)  # of δ, where chances are those of counts
_MOST_EPSILON = 300  # beyond it e^ε may be no float, and chances hardly rise faster
_MOST_HALF = 2**10  # units: n₅₀ is sought up to there, where a unit is in several groups
_MOST_WORK = 2**28  # products of one proof, up to which all shapes are tried
Shape = tuple[float, float, float]
_SHAPES: tuple[Shape, ...] = tuple(product((1.0, 0.7, 1.4), (1.8, 2.2, 2.6, 1.5), (0.12, 0.06)))
"""How much faster π rises where it is small or near 1, as a part of what does for most k; how that
is bent; and which part of δ/k is left for a key of one unit. See `_chances`."""


def find_keys(budget: Budget, layout: Layout) -> KeysCertificate:
    """Return the best statement for the keys of a layout; raises Refused if none is proved."""
    way = layout.bounding
    if not isinstance(way, FewGroups):
        raise TypeError("a unit is in few of the groups that nobody listed")
    found = find_chances(budget, way.groups, layout.neighbours)
    if found is None:
        raise Refused(
            f"The query {layout.label!r}: no chances are proved by which keys that nobody listed "
            "could be published at this part of the budget. Raise epsilon or delta, or lower "
            "max_groups."
        )
    return found


@lru_cache(maxsize=64)
def find_chances(budget: Budget, groups: int, neighbours: Neighbours) -> KeysCertificate | None:
    """Return the statement with the least n₅₀, of these with the least n₉₅; None if none is proved.

    Of one group a unit, that is there or not, nothing publishes a key with more probability. Of
    several it is the best of three: chances of a shape that is searched for, those of the same
    query with a count that isn't published, and those of one group at an even part of the budget.
    The first is best where ε is small, the others where it is large.
    """
    if groups == 1:
        return _of_one(budget, neighbours)
    searched = _of_several(budget, groups, neighbours)
    found = [*_of_counts(budget, groups, neighbours), _of_parts(budget, groups, neighbours)]
    proved = [one for one in (searched, *found) if one is not None]
    return min(proved, key=lambda one: _ranked(one.chances), default=None)


def _of_counts(
    budget: Budget, groups: int, neighbours: Neighbours
) -> Iterator[KeysCertificate | None]:
    """Yield the chances of keys whose units would be counted with noise and a threshold.

    They have a little less than the budget: the proof rounds the loss of each key up.
    """
    less = Budget(
        epsilon=budget.epsilon * (1 - Fraction(groups, 2**_COARSE)), delta=budget.delta * _KEPT
    )
    for claim in find_claims_of_units(less, groups, neighbours):
        chances = [math.floor(published(claim, 1) * CERTAIN)]
        # what the last of them lacks counts as δ, as the first one does
        while CERTAIN - chances[-1] > chances[0] and len(chances) <= MOST_UNITS:
            chances.append(math.floor(published(claim, len(chances) + 1) * CERTAIN))
        yield _proved(budget, [*chances, CERTAIN], groups, neighbours)


def _of_parts(budget: Budget, groups: int, neighbours: Neighbours) -> KeysCertificate | None:
    """Return the chances of one group a unit at ε/k and δ/k; None if that isn't proved."""
    part = one_way(budget, neighbours).share(Fraction(1, groups))
    chances = _rising(part)
    return _proved(budget, chances, groups, neighbours)


def _of_one(budget: Budget, neighbours: Neighbours) -> KeysCertificate | None:
    """Return π(n + 1) = min(e^ε·π(n) + δ, 1 − e^−ε·(1 − π(n) − δ)), each rounded down."""
    return _proved(budget, _rising(one_way(budget, neighbours)), 1, neighbours)


def _rising(own: Budget) -> list[int]:
    """Return the chances of `_of_one`, where a unit is there or not."""
    with precision(PLAIN_BITS):
        factor = Fraction(float_below(ball(min(own.epsilon, _MOST_EPSILON)).exp()))
    chances, part = [0], math.floor(own.delta * CERTAIN)
    while chances[-1] < CERTAIN and len(chances) <= MOST_UNITS:
        last = chances[-1]
        falls = CERTAIN - max(CERTAIN - last - part, 0) / factor
        chances.append(min(math.floor(factor * last) + part, math.floor(falls), CERTAIN))
    return chances[1:]


def one_way(budget: Budget, neighbours: Neighbours) -> Budget:
    """Return the budget for a unit that is there or not; see `KeysCertificate`."""
    if neighbours == "add-remove":
        return budget
    half = budget.epsilon / 2
    with precision(PLAIN_BITS):
        delta = float_below(ball(budget.delta) / (1 + ball(half).exp()))
    return Budget(epsilon=half, delta=Fraction(delta))


def _of_several(budget: Budget, groups: int, neighbours: Neighbours) -> KeysCertificate | None:
    own = one_way(budget, neighbours)

    def prove(
        half: int, shape: Shape, best: KeysCertificate | None = None
    ) -> KeysCertificate | None:
        chances = _chances(half, shape, groups, own)
        if best and _ranked(chances)[:2] >= _ranked(best.chances)[:2]:
            return None
        return _proved(budget, chances, groups, neighbours)

    least = find_least(own, "add-remove") or 1  # of fewer no mechanism does
    if 2 * least > _MOST_HALF:
        return None
    first = Bisection().beyond(
        lambda half: prove(half, _SHAPES[0]) is not None, least - 1, 2 * least, most=_MOST_HALF
    )
    best = None if first is None else prove(first[1], _SHAPES[0])
    if best is None:
        return None
    points = 2**best.bits * (math.ceil(budget.epsilon) + 12)
    shapes = _SHAPES if 4 * len(best.chances) * groups * points < _MOST_WORK else ()
    for shape in shapes:
        half = len(best.chances) // 2
        best = prove(half, shape, best) or best
        while half > 1 and (found := prove(half - 1, shape)) is not None:
            best, half = found, half - 1
    return best


def _ranked(chances: Sequence[int]) -> tuple[int, int, int]:
    """Return n₅₀, n₉₅, and the chance that a key of n₅₀ isn't published."""
    half, nearly = (
        bisect_left(chances, math.ceil(CERTAIN * one)) for one in (Fraction(1, 2), NEARLY)
    )
    return half + 1, nearly + 1, CERTAIN - chances[half]


def _proved(
    budget: Budget, chances: Sequence[int], groups: int, neighbours: Neighbours
) -> KeysCertificate | None:
    epsilon = float(budget.epsilon)
    finer = math.ceil(-math.log2(epsilon)) if epsilon else FINEST
    bits = min(max(_COARSE + finer, 0), FINEST)
    try:
        return KeysCertificate(
            budget=budget, chances=tuple(chances), groups=groups, bits=bits, neighbours=neighbours
        ).prove()
    except (NotCertified, InvalidArgument):  # InvalidArgument: too many chances
        return None


def _chances(half: int, shape: Shape, groups: int, own: Budget) -> tuple[int, ...]:
    """Return π(1), π(2), …, of which that of `half` is ½ and all are as far from it as opposite.

    From ½ down, ln(π/(1 − π)) = −x falls by s·(1 + g·(x/x₁)^bend), and π by δ₀ more, up to the
    first that isn't above 0. x₁ is that of δ₀ = part·δ/k·e^(−(ε − 1)₊/k), g = growth·2·k^(2/3),
    and s as small as serves. That it is private is another matter, which `KeysCertificate` proves.
    """
    growth, bend, part = shape
    beyond = min(max(float(own.epsilon) - 1, 0.0), 300.0)
    least = part * float(own.delta) / groups * math.exp(-beyond / groups)
    growth *= 2 * groups ** (2 / 3)

    def fall(step: float) -> list[float]:
        chances = [0.5]
        while chances[-1] > 0 and len(chances) <= half + 1:
            x = math.log1p(-chances[-1]) - math.log(chances[-1])
            x += step * (1 + growth * (x / -math.log(least)) ** bend)
            chances.append(1 / (1 + math.exp(min(x, 700.0))) - least)
        return chances[:-1]

    _, step = Bisection(halvings=30).close(lambda step: len(fall(step)) <= half, 0.0, 64.0)
    # to nine digits, which another machine's floats give as well
    below = [round(float(f"{one:.9g}") * CERTAIN) for one in fall(step)[:0:-1]]
    return (*below, CERTAIN // 2, *(CERTAIN - one for one in reversed(below)), CERTAIN)
