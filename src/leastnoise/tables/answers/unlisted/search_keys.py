"""The search for the probabilities with which unlisted keys are published without numbers.

Notation: π(n) is the probability ("chance") that a key of n units is published. k is the largest
number of groups of a unit. n₅₀ and n₉₅ are the smallest n with π(n) ≥ ½ and π(n) ≥ .95. Chances are
whole multiples of 1/CERTAIN.
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
    publication_chance,
)
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.layout.layout import Layout

NEARLY = Fraction(19, 20)
_COARSE = 9  # a proof rounds privacy losses up to a lattice with steps of about 2^−9·ε
_KEPT = Fraction(98, 100)  # part of δ for noisy counts; the rest is for the proof's rounding
_MOST_EPSILON = 300  # beyond it e^ε may overflow, and chances hardly rise faster
_MOST_HALF = 2**10  # units: the largest n₅₀ of a search, if a unit is in several groups
_MOST_WORK = 2**28  # products in one proof, up to which all shapes are tried
Shape = tuple[float, float, float]
_SHAPES: tuple[Shape, ...] = tuple(product((1.0, 0.7, 1.4), (1.8, 2.2, 2.6, 1.5), (0.12, 0.06)))
"""The shapes that the search tries: growth, bend and part, as in `_chances`.

Growth is how much faster ln(π/(1 − π)) rises near 0 and 1, relative to a value that suits most k.
Bend is the power by which this growth sets in. Part is the share of δ/k in each step of π.
"""


def find_keys(budget: Budget, layout: Layout) -> KeysCertificate:
    """The best certificate for the keys of a layout. Raises Refused if no certificate is proved."""
    bounding = layout.bounding
    if not isinstance(bounding, InUnlistedGroups):
        raise TypeError("a unit is in few of the groups that nobody listed")
    certificate = find_chances(budget, bounding.groups, layout.neighbours)
    if certificate is None:
        raise Refused(
            f"The query {layout.label!r}: with this part of the budget, no mechanism is proved for "
            "keys that nobody listed. Raise epsilon or delta, or lower max_groups."
        )
    return certificate


@lru_cache(maxsize=64)
def find_chances(budget: Budget, groups: int, neighbours: Neighbours) -> KeysCertificate | None:
    """Find the best certificate of chances, as `_rank` ranks them; None if none is proved.

    If a unit is in one group and is added or removed, no mechanism publishes a key with higher
    probability, except for rounding. For several groups, three kinds of chances are compared:
    chances of a searched shape, the chances that a threshold on a noisy count gives, and the
    chances for one group at 1/k of the budget.
    """
    if groups == 1:
        return _prove_best_chances(budget, neighbours)
    searched = _search_chances(budget, groups, neighbours)
    others = [
        *_prove_chances_of_counts(budget, groups, neighbours),
        _prove_divided_chances(budget, groups, neighbours),
    ]
    proved = [certificate for certificate in (searched, *others) if certificate is not None]
    return min(proved, key=lambda certificate: _rank(certificate.chances), default=None)


def _prove_chances_of_counts(
    budget: Budget, groups: int, neighbours: Neighbours
) -> Iterator[KeysCertificate | None]:
    """Yield a certificate of the chances that a threshold on noisy counts of units would give.

    There is a certificate for each noise, or None if the chances aren't proved. The noise has
    slightly less than the budget, since the proof rounds the loss of each key up.
    """
    less = Budget(
        epsilon=budget.epsilon * (1 - Fraction(groups, 2**_COARSE)), delta=budget.delta * _KEPT
    )
    for claim in find_claims_of_units(less, groups, neighbours):
        chances = [math.floor(publication_chance(claim, 1) * CERTAIN)]
        # the last step, to a chance of 1, counts as δ like the first step, from a chance of 0
        while CERTAIN - chances[-1] > chances[0] and len(chances) <= MOST_UNITS:
            chances.append(math.floor(publication_chance(claim, len(chances) + 1) * CERTAIN))
        yield _prove(budget, [*chances, CERTAIN], groups, neighbours)


def _prove_divided_chances(
    budget: Budget, groups: int, neighbours: Neighbours
) -> KeysCertificate | None:
    """The certificate of the chances for one group at 1/k of the budget; None if it isn't proved.

    For replace-one neighbours, this is 1/k of `one_way_budget`.
    """
    part = one_way_budget(budget, neighbours).share(Fraction(1, groups))
    chances = _raise_chances(part)
    return _prove(budget, chances, groups, neighbours)


def _prove_best_chances(budget: Budget, neighbours: Neighbours) -> KeysCertificate | None:
    """The certificate of the largest chances at `one_way_budget`, for units in one group.

    π(n + 1) = min(e^ε·π(n) + δ, 1 − e^−ε·(1 − π(n) − δ)), each value rounded down. For add-remove
    neighbours no larger chances are possible, except for this rounding. None if they aren't proved.
    """
    return _prove(budget, _raise_chances(one_way_budget(budget, neighbours)), 1, neighbours)


def _raise_chances(budget: Budget) -> list[int]:
    """The chances of `_prove_best_chances` for this `budget`, in parts of 1/CERTAIN.

    They are π(1), π(2), … up to the first 1, or until there are too many for a certificate.
    """
    with precision(PLAIN_BITS):
        factor = Fraction(float_below(ball(min(budget.epsilon, _MOST_EPSILON)).exp()))
    chances, part = [0], math.floor(budget.delta * CERTAIN)
    while chances[-1] < CERTAIN and len(chances) <= MOST_UNITS:
        last = chances[-1]
        falls = CERTAIN - max(CERTAIN - last - part, 0) / factor
        chances.append(min(math.floor(factor * last) + part, math.floor(falls), CERTAIN))
    return chances[1:]


def one_way_budget(budget: Budget, neighbours: Neighbours) -> Budget:
    """The budget for adding or removing one unit.

    For add-remove neighbours it is the whole `budget`. A replacement is a removal and an addition,
    so that each must meet less: see `KeysCertificate`.
    """
    if neighbours == "add-remove":
        return budget
    half = budget.epsilon / 2
    with precision(PLAIN_BITS):
        delta = float_below(ball(budget.delta) / (1 + ball(half).exp()))
    return Budget(epsilon=half, delta=Fraction(delta))


def _search_chances(budget: Budget, groups: int, neighbours: Neighbours) -> KeysCertificate | None:
    """The best certificate that a search among the shapes `_SHAPES` finds.

    None if the first shape isn't proved, or if n₅₀ would be too large to search (`_MOST_HALF`).
    """
    half_budget = one_way_budget(budget, neighbours)

    def prove(
        half: int, shape: Shape, best: KeysCertificate | None = None
    ) -> KeysCertificate | None:
        chances = _chances(half, shape, groups, half_budget)
        if best and _rank(chances)[:2] >= _rank(best.chances)[:2]:
            return None
        return _prove(budget, chances, groups, neighbours)

    least = find_least(half_budget, "add-remove") or 1  # no mechanism has a smaller n₅₀
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
        while half > 1 and (certificate := prove(half - 1, shape)) is not None:
            best, half = certificate, half - 1
    return best


def _rank(chances: Sequence[int]) -> tuple[int, int, int]:
    """The rank of `chances`; the smallest is best.

    It is n₅₀, then n₉₅, then 1 − π(n₅₀) in parts of 1/CERTAIN.
    """
    half, nearly = (
        bisect_left(chances, math.ceil(CERTAIN * probability))
        for probability in (Fraction(1, 2), NEARLY)
    )
    return half + 1, nearly + 1, CERTAIN - chances[half]


def _prove(
    budget: Budget, chances: Sequence[int], groups: int, neighbours: Neighbours
) -> KeysCertificate | None:
    """The proved certificate of these chances, in parts of 1/CERTAIN; None if it isn't proved."""
    epsilon = float(budget.epsilon)
    finer = math.ceil(-math.log2(epsilon)) if epsilon else FINEST
    bits = min(max(_COARSE + finer, 0), FINEST)
    try:
        return KeysCertificate(
            budget=budget, chances=tuple(chances), groups=groups, bits=bits, neighbours=neighbours
        ).prove()
    except (
        NotCertified,
        InvalidArgument,
    ):  # InvalidArgument: there are too many chances for a certificate
        return None


def _chances(half: int, shape: Shape, groups: int, budget: Budget) -> tuple[int, ...]:
    """The chances π(1), π(2), … of one shape, in parts of 1/CERTAIN; π(`half`) is ½.

    Below ½, let ln(π/(1 − π)) = −x. Each step to the next smaller n raises x by s·(1 +
    g·(x/x₁)^bend) and then lowers π by δ₀, until π would be 0. Here δ₀ = part·δ/k·e^(−(ε − 1)₊/k),
    x₁ = −ln δ₀ and g = growth·2·k^(2/3). The step s is about the smallest with which π(0) is 0.
    Above ½, chances mirror these: π(half + i) = 1 − π(half − i). `KeysCertificate` proves that the
    chances are private.
    """
    growth, bend, part = shape
    beyond = min(max(float(budget.epsilon) - 1, 0.0), 300.0)
    least = part * float(budget.delta) / groups * math.exp(-beyond / groups)
    growth *= 2 * groups ** (2 / 3)

    def fall(step: float) -> list[float]:
        chances = [0.5]
        while chances[-1] > 0 and len(chances) <= half + 1:
            x = math.log1p(-chances[-1]) - math.log(chances[-1])
            x += step * (1 + growth * (x / -math.log(least)) ** bend)
            chances.append(1 / (1 + math.exp(min(x, 700.0))) - least)
        return chances[:-1]

    _, step = Bisection(halvings=30).close(lambda step: len(fall(step)) <= half, 0.0, 64.0)
    # nine digits, which the floats of another machine give as well
    below = [round(float(f"{chance:.9g}") * CERTAIN) for chance in fall(step)[:0:-1]]
    return (*below, CERTAIN // 2, *(CERTAIN - chance for chance in reversed(below)), CERTAIN)
