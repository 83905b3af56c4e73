"""A certificate for groups that nobody listed, of which the keys are published, and no number.

Each key is published with a probability that depends on how many units have it, by a coin of its
own (theory/release.md §9).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from leastnoise import _validate
from leastnoise._record import field, record, takes, whole
from leastnoise.balls.core import PLAIN_BITS, ball, float_above, precision
from leastnoise.certificate.of_tables import TableCertificate
from leastnoise.errors import InvalidArgument

_ASSUMPTION = (
    "each key that a unit has is published by a fair coin of its own, of the chance that the table "
    "gives the number of its units; nothing is said of other keys, not even how many there are"
)
CERTAIN_BITS = 52
CERTAIN = 2**CERTAIN_BITS
"""Chances are so many parts of it: they, and what they lack of 1, are floats without rounding."""
MOST_UNITS, MOST_GROUPS, FINEST = 2**14, 2**8, 14
_MOST_WORK, _MOST_POINTS = 2**34, 2**22  # products of a proof, some seconds; of a lattice
_TOP, _BOTTOM = 8, 4  # of the lattice: losses so far above ε, and so far below 0


def _checked_chances(value: object, *, name: str) -> tuple[int, ...]:
    given = _validate.instance(value, (tuple, list), name=name, like="a tuple of whole numbers")
    chances = tuple(
        _validate.whole(one, name=f"{name}[{place}]", least=0, most=CERTAIN)
        for place, one in enumerate(given)
    )
    if not 1 <= len(chances) <= MOST_UNITS or chances[-1] != CERTAIN:
        expected = f"at most {MOST_UNITS:,} chances, the last of them 2^{CERTAIN_BITS}"
        raise InvalidArgument(name=name, value=f"{len(chances):,} chances", expected=expected)
    return chances


@final
@record()
class KeysCertificate(TableCertificate):
    """The statement: publishing keys that nobody listed, by these `chances`, meets `budget`.

    A key of n units is published with the probability `chances[n − 1]`/2^52, by a coin of its own;
    one of more units than there are chances always is, one of none never. A unit has at most so
    many keys as there are `groups`. Losses are rounded up to multiples of 2^−`bits`.

    notation: π(n) the chance of n units, k groups, P and Q the two chances of one bit, with a unit
    and without it. V_0(x) = (1 − e^(ε−x))₊, V_j(x) = max over n of V_(j−1)(x) and
    Σ P(o)·V_(j−1)(x + ln(P(o)/Q(o))), o whether the key is published: δ = V_k(0), the larger of
    that for a unit that comes and for one that goes. With replace-one `neighbours` it is shown at
    ε/2 and δ/(1 + e^(ε/2)), through the table without either unit.
    """

    kind: ClassVar[str] = "keys-certificate"
    assumption: ClassVar[str] = _ASSUMPTION
    groups: int = field(converter=whole(most=MOST_GROUPS), default=1)
    chances: tuple[int, ...] = field(converter=takes(_checked_chances))
    bits: int = field(converter=whole(least=0, most=FINEST), default=8)

    def chance(self, units: int) -> Fraction:
        """Return the probability that a key of so many units is published."""
        if not units:
            return Fraction(0)
        return Fraction(self.chances[min(units, len(self.chances)) - 1], CERTAIN)

    def first(self, chance: Fraction) -> int:
        """Return from how many units on a key is published with that probability at least."""
        least = chance * CERTAIN
        return next(place for place, one in enumerate(self.chances, 1) if one >= least)

    def _delta(self) -> tuple[float, str]:
        points = (_TOP + _BOTTOM + math.ceil(self.budget.epsilon)) << self.bits
        work = 4 * len(self.chances) * self.groups * points
        if self.groups > 1 and (points > _MOST_POINTS or work > _MOST_WORK):
            return 1.0, "Too many chances, groups and steps of the lattice to prove."
        replaced = self.neighbours == "replace-one"
        epsilon = self.budget.epsilon / 2 if replaced else self.budget.epsilon
        with precision(PLAIN_BITS):
            found = bound_delta(self.chances, self.groups, epsilon, self.bits)
            if replaced and math.isfinite(found):
                found = float_above((1 + ball(epsilon).exp()) * ball(Fraction(found)))
        if math.isinf(found) or Fraction(found) > self.budget.delta:
            return 1.0, "Not proved: delta may be larger than the budget's."
        return found, ""


def bound_delta(chances: Sequence[int], groups: int, epsilon: Fraction, bits: int) -> float:
    """Return a number that δ(ε) is at most, where units are added or removed.

    `chances` are π(1), π(2), … in parts of 2^52, the last of them 1.
    """
    steps = list(pairwise((0, *chances)))
    ways = {_alike((more, less) for less, more in steps), _alike(steps)}
    if groups == 1:
        return max(_exactly(way, epsilon) for way in ways)
    return max(_on_lattice(way, groups, epsilon, bits) for way in ways)


Pair = tuple[int, int]


def _alike(pairs: Iterable[Pair]) -> frozenset[Pair]:
    """Return the pairs of chances that a key is published; one that it isn't says the same."""
    return frozenset(min((p, q), (CERTAIN - p, CERTAIN - q)) for p, q in pairs)


def _outcomes(pair: Pair) -> Iterator[Pair]:
    """Yield the chances of either outcome."""
    yield pair
    yield CERTAIN - pair[0], CERTAIN - pair[1]


def _exactly(pairs: Iterable[Pair], epsilon: Fraction) -> float:
    """Return the largest Σ (P − e^ε·Q)₊ of one key."""
    with precision(PLAIN_BITS):
        factor = ball(epsilon).exp()
        sums = (
            sum(max(float_above(p - factor * q), 0.0) for p, q in _outcomes(pair)) for pair in pairs
        )
        return max(sums) / CERTAIN  # one of the two is 0


def _on_lattice(pairs: Iterable[Pair], groups: int, epsilon: Fraction, bits: int) -> float:
    """Return V_k(0) at most: losses rounded up, ε down, and every sum of products up.

    V rises in x. Above the lattice it is 1, below it that of the lowest point, at most.
    """
    start = (_BOTTOM << bits) + math.floor(epsilon * 2**bits)
    value = np.concatenate([np.zeros(start + 1), _above_epsilon(bits)])
    size = len(value)
    moves = [
        [(p / CERTAIN, max(_loss(p, q, bits, size), -size)) for p, q in _outcomes(pair) if p]
        for pair in pairs
    ]
    at_start = start - math.floor(epsilon * 2**bits)
    # of a product of two floats, the sum of two such and of this product itself
    rounded_up, underflow = 1 + 2.0**-50, 1e-300
    for _ in range(groups):
        wide = np.concatenate([np.full(size, value[0]), value, np.ones(size)])
        best = value.copy()
        for move in moves:
            term: NDArray[np.float64] = sum(
                (chance * wide[size + loss : 2 * size + loss] for chance, loss in move),
                start=np.zeros(size),
            )
            np.maximum(best, term, out=best)
        value = np.minimum(best * rounded_up + underflow, 1.0)
    return float(value[at_start])


def _loss(p: int, q: int, bits: int, most: int) -> int:
    """Return ln(p/q) in steps of the lattice, rounded up; `most` where it is more, or q = 0."""
    if not q:
        return most
    with precision(PLAIN_BITS):
        steps = (ball(Fraction(p, q)).log() * 2**bits).upper().ceil().unique_fmpz()
    return most if steps is None else min(int(steps), most)


@lru_cache(maxsize=8)
def _above_epsilon(bits: int) -> NDArray[np.float64]:
    """Return 1 − e^−x at most, at the points of the lattice above 0."""
    with precision(PLAIN_BITS):
        points = (ball(Fraction(-place, 2**bits)).exp() for place in range(1, (_TOP << bits) + 1))
        return np.array([float_above(1 - one) for one in points])
