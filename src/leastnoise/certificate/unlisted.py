"""Certificates for groups that nobody listed: of rows from a count on, or of keys alone.

The keys are data. A group that nobody is in can't be named; one that a single unit is in may be
published, with a small probability that counts as δ (theory/release.md §9). Either a group's noisy
row is published from a noisy count on; or its key alone, and no number, with a probability that
depends on how many units have it, by a coin of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import ClassVar, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise import _validate
from leastnoise._record import field, instance_of, record, takes, whole
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls.core import PLAIN_BITS, ball, float_above, precision
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.of_tables import TableCertificate
from leastnoise.errors import InvalidArgument, NotApplicable, NotCertified, NotRegistered
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval, exact
from leastnoise.guarantees.fields import FractionField, IntsField
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.noise.question import Releases
from leastnoise.noise.registry import part_of, registered_family
from leastnoise.numerics.bisection import Bisection

_ROW_ASSUMPTION = (
    "a group's row is published only if its noisy count, as it is published, reaches the "
    "threshold, or by a fair coin of that chance if it is one step of the grid below; nothing is "
    "said of other groups, not even how many there are"
)
_COIN = 2**20  # chances are so many parts of it


@final
@record()
class ThresholdCertificate(TableCertificate):
    """The statement: publishing the rows of groups that nobody listed meets `budget`.

    A group's row is its numbers plus the `noise`, drawn anew for each group. It is published if the
    number at `coordinate`, rounded to the noise's grid, is at least `threshold`; one step of the
    grid below it is, too, with the probability `chance_below`, by a fresh coin. `noise` is a
    certificate about as many draws as a unit may be in groups (its `compositions`), each for what a
    unit that is there or not adds to one row; to the count it adds at most `reach`.

    notation: k groups, p₁ the chance that the row of a group with this unit alone is published,
    p_j = 1 − (1 − p₁)^j, δ_m(ε) of m draws. Where j of a unit's groups have nobody else, the other
    k − j are noise that is post-processed: δ = max_j p_j + (1 − p_j)·δ_(k−j)(ε), with add-remove
    `neighbours`. With replace-one ones it is shown at ε/2 and δ/(1 + e^(ε/2)), through the table
    without either unit.
    """

    kind: ClassVar[str] = "threshold-certificate"
    assumption: ClassVar[str] = _ROW_ASSUMPTION
    noise: Certificate = field(converter=instance_of(Certificate, like="a Certificate"))
    threshold: FractionField = field(converter=takes(exact))
    reach: FractionField = field(converter=takes(exact), default=Fraction(1))
    chance_below: FractionField = field(converter=takes(exact), default=Fraction(0))
    coordinate: int = field(converter=whole(least=0), default=0)

    @property
    def groups(self) -> int:
        """In how many groups a unit may be."""
        return self.noise.compositions

    @property
    def sampling_rate(self) -> Fraction:
        """That of the noise: what is stated is about whole tables, where it is 1."""
        return self.noise.sampling_rate

    def verify(self) -> Interval:
        self.noise.verify()
        return super().verify()

    def chance_alone(self) -> arb:
        """Return a ball no point of which is below p₁: reach + X is published."""
        at, below = self._reached(0), self.chance_below
        return at if not below else ball(1 - below) * at + ball(below) * self._reached(1)

    def _reached(self, steps: int) -> arb:
        """Enclose P(reach + X is, rounded, so many steps below the threshold at least)."""
        noise, grid = self.noise.noise, self.noise.grid
        if registered_family(type(noise)).beyond is None:
            why = "the chance of a large error isn't proved for it"
            raise NotApplicable(family=noise.name, why=why)
        if grid is None:
            raise NotApplicable(family=noise.name, why="its grid has to be known")
        # A little less than half of the grid below: noise on whole numbers may be at the very half,
        # which is rounded up, and P(X > t) leaves out X = t.
        edge = Fraction(1, 2**40)  # of the grid
        t = self.threshold - self.reach - grid * (steps + Fraction(1, 2) + edge)
        if t < 0:
            return arb(1)
        return part_of(type(noise), "beyond")(noise, t, self.coordinate)

    def _delta(self) -> tuple[float, str]:
        if why := self._why_unfit():
            return 1.0, why
        epsilon = self.budget.epsilon
        replaced = self.neighbours == "replace-one"
        with precision(PLAIN_BITS):
            factor = 1 + ball(epsilon / 2).exp() if replaced else arb(1)
            try:
                alone, worst = self.chance_alone(), arb(0)
            except (NotApplicable, NotRegistered) as error:
                return 1.0, str(error)
            for new in range(self.groups + 1):
                published = 1 - (1 - alone) ** new
                rest = self._of_draws(self.groups - new, epsilon / 2 if replaced else epsilon)
                found = factor * (published + (1 - published) * rest)
                if not found <= ball(self.budget.delta):
                    return 1.0, (
                        f"Not proved: with {new} of {self.groups} groups that no other unit is in, "
                        "delta may be larger than the budget's."
                    )
                worst = worst.max(found)
        return float_above(worst), ""

    def _why_unfit(self) -> str:
        """Return why such a statement isn't about this noise; "" if it is."""
        noise = self.noise
        if noise.sampling_rate != 1 or noise.geometry is not None:
            return "Groups that nobody listed are for whole tables, and noise without a geometry."
        if not self.coordinate < noise.dimension:
            return "There is no such coordinate."
        if not 0 <= self.chance_below < 1:
            return "A coin falls with a probability: expected 0 <= chance_below < 1."
        if self.reach <= 0:
            return "A unit adds something to the count of its groups: expected reach > 0."
        if noise.neighbours != "add-remove":
            return "The certificate of the noise has to be about a unit that is there or not."
        return ""

    def _of_draws(self, draws: int, epsilon: Fraction) -> arb:
        """Return a number that δ(ε) of so many draws is at most."""
        if draws == 0:
            return arb(0)
        noise = self.noise
        if noise.proved and not noise.budget.delta and noise.budget.epsilon <= epsilon:
            return arb(0)  # all draws together are purely private, and so are some
        return _bound_draws(noise.one_release.times(draws), epsilon)


def find_threshold(
    *,
    budget: Budget,
    noise: Certificate,
    reach: Fraction,
    coordinate: int,
    neighbours: Neighbours,
    most: int,
) -> ThresholdCertificate:
    """Return the statement with the least threshold on the noise's grid, up to `most`.

    On a coarse grid with the largest chance below it, too. Raises NotCertified if none is proved.
    """
    grid = noise.grid
    if grid is None:
        raise NotApplicable(family=noise.noise.name, why="its grid has to be known")

    @cache
    def prove(steps: int, heads: int = 0) -> ThresholdCertificate:
        return ThresholdCertificate(
            budget=budget,
            noise=noise,
            threshold=steps * grid,
            reach=reach,
            coordinate=coordinate,
            neighbours=neighbours,
            chance_below=Fraction(heads, _COIN),
        ).prove()

    def holds(steps: int, heads: int = 0) -> bool:
        try:
            prove(steps, heads)
        except NotCertified:
            return False
        return True

    low = -(-reach // grid)  # at the reach the chance is ½ at least, and it falls from there
    first, last = low + max(1, round(reach / grid)), 2 * math.ceil(most / grid)
    found = Bisection().beyond(holds, low, first, most=last)
    if found is None:
        why = f"No threshold up to {most:,} is enough for this noise and budget."
        raise NotCertified(interval=None, why=why)
    threshold = found[1]
    fine = 2**6  # steps of a grid in one unit, from which on a chance between two is worth nothing
    coins = _COIN if grid * fine > reach else 1
    heads, _ = Bisection().close(lambda heads: not holds(threshold, heads), 0, coins)
    return prove(threshold, heads)


@lru_cache(maxsize=4096)
def _bound_draws(draws: Releases, epsilon: Fraction) -> arb:
    """Return an upper bound of δ(ε) of these draws; a search for a threshold asks often."""
    return prove_composed((draws,), epsilon).upper


_KEY_ASSUMPTION = (
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
    that for a unit that comes and for one that goes. By basic composition it is also at most
    k·δ_1(ε/k), with δ_1 the δ of one key. With replace-one `neighbours` it is shown at ε/2 and
    δ/(1 + e^(ε/2)), through the table without either unit.
    """

    kind: ClassVar[str] = "keys-certificate"
    assumption: ClassVar[str] = _KEY_ASSUMPTION
    groups: int = field(converter=whole(most=MOST_GROUPS), default=1)
    chances: IntsField = field(converter=takes(_checked_chances))
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
        replaced = self.neighbours == "replace-one"
        epsilon = self.budget.epsilon / 2 if replaced else self.budget.epsilon

        def for_neighbours(delta: float) -> float:
            if replaced and math.isfinite(delta):
                with precision(PLAIN_BITS):
                    return float_above((1 + ball(epsilon).exp()) * ball(Fraction(delta)))
            return delta

        def fits(delta: float) -> bool:
            return math.isfinite(delta) and Fraction(delta) <= self.budget.delta

        delta = for_neighbours(bound_apart(self.chances, self.groups, epsilon))
        if not fits(delta) and self.groups > 1:
            points = (_TOP + _BOTTOM + math.ceil(self.budget.epsilon)) << self.bits
            work = 4 * len(self.chances) * self.groups * points
            if points > _MOST_POINTS or work > _MOST_WORK:
                return 1.0, "Too many chances, groups and steps of the lattice to prove."
            delta = for_neighbours(bound_delta(self.chances, self.groups, epsilon, self.bits))
        if not fits(delta):
            return 1.0, "Not proved: delta may be larger than the budget's."
        return delta, ""


def bound_delta(chances: Sequence[int], groups: int, epsilon: Fraction, bits: int) -> float:
    """Return a number that δ(ε) is at most, where units are added or removed.

    `chances` are π(1), π(2), … in parts of 2^52, the last of them 1.
    """
    if groups == 1:
        return bound_apart(chances, 1, epsilon)
    return max(_on_lattice(way, groups, epsilon, bits) for way in _both_ways(chances))


def bound_apart(chances: Sequence[int], groups: int, epsilon: Fraction) -> float:
    """An upper bound on δ(ε) by basic composition: k times the δ of one key at ε/k."""
    each = max(_exactly(way, epsilon / groups) for way in _both_ways(chances))
    return each if groups == 1 else math.nextafter(groups * each, math.inf)


def _both_ways(chances: Sequence[int]) -> set[frozenset[Pair]]:
    """The pairs of chances (with a unit, without it), and the same pairs in the other order."""
    steps = list(pairwise((0, *chances)))
    return {_alike((more, less) for less, more in steps), _alike(steps)}


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
