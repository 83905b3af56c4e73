"""Certificates for unlisted groups: publishing rows above a threshold, or keys alone.

The keys of unlisted groups are data. A group without units is never published. A group with a
single unit is published only with a small probability, which counts as δ (theory/release.md §9).
There are two methods. With a threshold, a group's noisy row is published if its noisy count reaches
the threshold. With keys alone, only the key is published, by an independent coin, with a
probability that depends on the number of units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise import _validate
from leastnoise._record import field, instance_of, optional, record, takes, whole
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
_COIN = 2**20  # chances are multiples of 1/_COIN
_SUM = "sum"  # the coordinate, if the sum of all numbers decides


@final
@record()
class ThresholdCertificate(TableCertificate):
    """The statement that publishing the rows of unlisted groups meets `budget`.

    A group's row is its numbers plus `noise`, drawn anew for each group. It is published if the
    number at `coordinate`, rounded to the noise's grid, is at least `threshold`. If `coordinate` is
    None, the sum of all numbers in the row decides. If the deciding number is one grid step below
    the threshold, the row is published with probability `chance_below`, by a fresh coin. The
    certificate `noise` has as many `compositions` as a unit may have groups. That certificate is
    about a unit that is added to or removed from a row, which changes the deciding number by at
    most `reach`.

    *Proof.* Let a unit be in k groups, and let p be the probability that the row of a group with
    this unit alone is published. If j of the groups have no other unit, the probability that one of
    their rows is published is p_j = 1 − (1 − p)^j. The other k − j draws are noise with
    post-processing; let δ_(k−j) be their δ at ε. So with add-remove `neighbours` δ is at most the
    largest p_j + (1 − p_j)·δ_(k−j) over j = 0, …, k. With replace-one neighbours one unit is
    removed, and then another is added: δ is (1 + e^(ε/2)) times that bound at ε/2.
    """

    kind: ClassVar[str] = "threshold-certificate"
    assumption: ClassVar[str] = _ROW_ASSUMPTION
    noise: Certificate = field(converter=instance_of(Certificate, like="a Certificate"))
    threshold: FractionField = field(converter=takes(exact))
    reach: FractionField = field(converter=takes(exact), default=Fraction(1))
    chance_below: FractionField = field(converter=takes(exact), default=Fraction(0))
    coordinate: int | None = field(converter=optional(whole(least=0)), default=0)

    @staticmethod
    def write_field(value: Any) -> Any:
        """The JSON value of a field; "sum" for a coordinate that is None."""
        return _SUM if value is None else TableCertificate.write_field(value)

    @staticmethod
    def read_field(value: object, kind: Any, *, where: str) -> Any:
        """Read the output of `write_field` for a field of this `kind`."""
        if where == "coordinate":
            return None if value == _SUM else TableCertificate.read_field(value, int, where=where)
        return TableCertificate.read_field(value, kind, where=where)

    @property
    def groups(self) -> int:
        """The number of groups that a unit may be in."""
        return self.noise.compositions

    @property
    def sampling_rate(self) -> Fraction:
        """The noise's sampling rate, which must be 1."""
        return self.noise.sampling_rate

    def verify(self) -> Interval:
        self.noise.verify()
        return super().verify()

    def chance_alone(self) -> arb:
        """An upper bound on the probability of publishing the row of a group with a single unit.

        The deciding number of such a row is at most `reach` plus noise. The upper end of the ball
        is the bound.
        """
        at, below = self._chance_of_reaching(0), self.chance_below
        if not below:
            return at
        return ball(1 - below) * at + ball(below) * self._chance_of_reaching(1)

    def _chance_of_reaching(self, steps: int) -> arb:
        """An upper bound on the probability that `reach` plus noise reaches a value.

        The sum is rounded to the grid, and the value is `threshold` − `steps`·grid. The upper end
        of the ball is the bound. Raises NotApplicable if the noise has no known tail, or no grid,
        or if the sum of all numbers decides and the grid is above 1.
        """
        noise, grid = self.noise.noise, self.noise.grid
        if registered_family(type(noise)).part(self._tail) is None:
            why = "the probability of a large error isn't proved for this noise"
            raise NotApplicable(family=noise.name, why=why)
        if grid is None:
            raise NotApplicable(family=noise.name, why="its grid has to be known")
        if self.coordinate is None and grid > 1:
            why = "the sum of all numbers decides only if none is rounded: its grid is at most 1"
            raise NotApplicable(family=noise.name, why=why)
        # Slightly more than half a grid step below: noise on whole numbers may lie exactly at the
        # half, which is rounded up, and P(X > t) excludes X = t.
        edge = Fraction(1, 2**40)  # of the grid
        t = self.threshold - self.reach - grid * (steps + Fraction(1, 2) + edge)
        return arb(1) if t < 0 else self.beyond(t)

    def beyond(self, t: Fraction) -> arb:
        """Enclose the probability that the noise in the deciding number exceeds t >= 0."""
        noise = self.noise.noise
        of = () if self.coordinate is None else (self.coordinate,)
        return part_of(type(noise), self._tail)(noise, t, *of)

    @property
    def _tail(self) -> str:
        """The name of the family's function that `beyond` calls."""
        return "total_beyond" if self.coordinate is None else "beyond"

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
                rest = self._bound_draws(self.groups - new, epsilon / 2 if replaced else epsilon)
                delta = factor * (published + (1 - published) * rest)
                if not delta <= ball(self.budget.delta):
                    return 1.0, (
                        f"Not proved: if {new} of a unit's {self.groups} groups have no other "
                        "unit, delta may exceed the budget."
                    )
                worst = worst.max(delta)
        return float_above(worst), ""

    def _why_unfit(self) -> str:
        """The reason why the statement can't be about this noise; "" if it can."""
        noise = self.noise
        if noise.sampling_rate != 1 or noise.geometry is not None:
            return "Unlisted groups need whole tables, and noise without a geometry."
        if self.coordinate is not None and not self.coordinate < noise.dimension:
            return "There is no such coordinate."
        if not 0 <= self.chance_below < 1:
            return "chance_below is a probability: expected 0 <= chance_below < 1."
        if self.reach <= 0:
            return "reach is the largest change of a count by one unit: expected reach > 0."
        if noise.neighbours != "add-remove":
            return "The certificate of the noise must be about add-remove neighbours."
        return ""

    def _bound_draws(self, draws: int, epsilon: Fraction) -> arb:
        """An upper bound on the δ at `epsilon` of this number of draws."""
        if draws == 0:
            return arb(0)
        noise = self.noise
        if noise.proved and not noise.budget.delta and noise.budget.epsilon <= epsilon:
            return arb(0)  # all draws together are purely private, so fewer are too
        return _bound_draws(noise.one_release.times(draws), epsilon)


def find_threshold(
    *,
    budget: Budget,
    noise: Certificate,
    reach: Fraction,
    coordinate: int | None,
    neighbours: Neighbours,
    most: int,
) -> ThresholdCertificate:
    """The certificate with the smallest proved threshold, a multiple of the grid.

    The arguments except `most` are fields of the certificate. On a coarse grid, its `chance_below`
    is the largest proved multiple of 2^−20. Raises NotApplicable
    if the grid isn't known. Raises NotCertified if the search finds no proved threshold up to about
    twice `most`.
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

    low = -(-reach // grid)  # at the reach the probability is at least ½, and falls from there
    first, last = low + max(1, round(reach / grid)), 2 * math.ceil(most / grid)
    bracket = Bisection().beyond(holds, low, first, most=last)
    if bracket is None:
        raise NotCertified(
            interval=None,
            why=f"No threshold up to {most:,} protects unlisted groups with this noise and "
            "budget. Raise epsilon or delta.",
        )
    threshold = bracket[1]
    fine = 2**6  # where the reach is 64 grid steps or more, a coin gains nothing
    coins = _COIN if grid * fine > reach else 1
    heads, _ = Bisection().close(lambda heads: not holds(threshold, heads), 0, coins)
    return prove(threshold, heads)


@lru_cache(maxsize=4096)
def _bound_draws(draws: Releases, epsilon: Fraction) -> arb:
    """An upper bound on the δ at `epsilon` of these draws, cached for the search for thresholds."""
    return prove_composed((draws,), epsilon).upper


_KEY_ASSUMPTION = (
    "each key that a unit has is published by a fair coin of its own, of the chance that the table "
    "gives the number of its units; nothing is said of other keys, not even how many there are"
)
CERTAIN_BITS = 52
CERTAIN = 2**CERTAIN_BITS
"""Probabilities are multiples of 1/CERTAIN, so that p and 1 − p are floats without rounding."""
MOST_UNITS, MOST_GROUPS, FINEST = 2**14, 2**8, 14
"""The largest number of chances, of groups, and of `bits`."""
_MOST_WORK, _MOST_POINTS = 2**34, 2**22  # products in a proof (some seconds); lattice points
_TOP, _BOTTOM = 8, 4  # the lattice reaches from −_BOTTOM to ε + _TOP


def _check_chances(value: object, *, name: str) -> tuple[int, ...]:
    given = _validate.instance(value, (tuple, list), name=name, like="a tuple of whole numbers")
    chances = tuple(
        _validate.whole(chance, name=f"{name}[{index}]", least=0, most=CERTAIN)
        for index, chance in enumerate(given)
    )
    if not 1 <= len(chances) <= MOST_UNITS or chances[-1] != CERTAIN:
        expected = f"at most {MOST_UNITS:,} chances, the last of them 2^{CERTAIN_BITS}"
        raise InvalidArgument(name=name, value=f"{len(chances):,} chances", expected=expected)
    return chances


@final
@record()
class KeysCertificate(TableCertificate):
    """The statement that publishing unlisted keys, with these `chances`, meets `budget`.

    A key of n units is published with probability `chances[n − 1]`/2^52, by a coin of its own. A
    key with more units than there are chances is always published; a key without units never is. A
    unit has at most `groups` keys. Losses are rounded up to multiples of 2^−`bits`.

    *Proof.* A unit has at most k = `groups` keys. A key has two outcomes o: it is published, or it
    isn't. For a key of n units, let P(o) and Q(o) be their probabilities with one of these units
    and without it. V_j(x) is the largest δ that j more keys can cause after a privacy loss of x. So
    V_0(x) = max(0, 1 − e^(ε−x)). V_j(x) is the larger of V_(j−1)(x) and the maximum over n of Σ_o
    P(o)·V_(j−1)(x + ln(P(o)/Q(o))). δ = V_k(0) for a removed unit; for an added one, P and Q change
    places. By basic composition δ is also at most k times the δ of one key at ε/k. With replace-one
    `neighbours` one unit is removed, and then another is added: δ is (1 + e^(ε/2)) times that bound
    at ε/2.
    """

    kind: ClassVar[str] = "keys-certificate"
    assumption: ClassVar[str] = _KEY_ASSUMPTION
    groups: int = field(converter=whole(most=MOST_GROUPS), default=1)
    chances: IntsField = field(converter=takes(_check_chances))
    bits: int = field(converter=whole(least=0, most=FINEST), default=8)

    def chance(self, units: int) -> Fraction:
        """The probability that a key with this number of units is published."""
        if not units:
            return Fraction(0)
        return Fraction(self.chances[min(units, len(self.chances)) - 1], CERTAIN)

    def first(self, chance: Fraction) -> int:
        """The smallest number of units whose keys are published with at least this probability."""
        least = chance * CERTAIN
        return next(units for units, value in enumerate(self.chances, 1) if value >= least)

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

        delta = for_neighbours(bound_basic(self.chances, self.groups, epsilon))
        if not fits(delta) and self.groups > 1:
            points = (_TOP + _BOTTOM + math.ceil(self.budget.epsilon)) << self.bits
            work = 4 * len(self.chances) * self.groups * points
            if points > _MOST_POINTS or work > _MOST_WORK:
                return 1.0, "Too many chances, groups and steps of the lattice to prove."
            delta = for_neighbours(bound_delta(self.chances, self.groups, epsilon, self.bits))
        if not fits(delta):
            return 1.0, "Not proved: delta may exceed the budget."
        return delta, ""


def bound_delta(chances: Sequence[int], groups: int, epsilon: Fraction, bits: int) -> float:
    """An upper bound on the δ at `epsilon` of publishing keys, if one unit is added or removed.

    A key of n units is published with probability chances[n − 1]/2^52. The last of the `chances` is
    2^52, and holds for all larger n. A unit has at most `groups` keys. For several groups, losses
    are rounded up to multiples of 2^−`bits`.
    """
    if groups == 1:
        return bound_basic(chances, 1, epsilon)
    return max(
        _bound_on_lattice(pairs, groups, epsilon, bits) for pairs in _both_directions(chances)
    )


def bound_basic(chances: Sequence[int], groups: int, epsilon: Fraction) -> float:
    """An upper bound on the δ at `epsilon` by basic composition.

    It is `groups` times the δ of one key at `epsilon`/`groups`.
    """
    single = max(_delta_of_one_key(pairs, epsilon / groups) for pairs in _both_directions(chances))
    return single if groups == 1 else math.nextafter(groups * single, math.inf)


def _both_directions(chances: Sequence[int]) -> set[frozenset[Pair]]:
    """The pairs of probabilities to compose if a unit is removed, and the pairs if one is added.

    For a removed unit, a pair has the probabilities of publishing a key with this unit and without
    it. For an added unit, the two change places.
    """
    steps = list(pairwise((0, *chances)))
    return {_distinct_pairs((more, less) for less, more in steps), _distinct_pairs(steps)}


Pair = tuple[int, int]


def _distinct_pairs(pairs: Iterable[Pair]) -> frozenset[Pair]:
    """The pairs without duplicates.

    (p, q) and (1 − p, 1 − q), in units of 1/CERTAIN, count as duplicates.
    """
    return frozenset(min((p, q), (CERTAIN - p, CERTAIN - q)) for p, q in pairs)


def _outcomes(pair: Pair) -> Iterator[Pair]:
    """Yield the pair (p, q) of each outcome: the key is published, or it isn't."""
    yield pair
    yield CERTAIN - pair[0], CERTAIN - pair[1]


def _delta_of_one_key(pairs: Iterable[Pair], epsilon: Fraction) -> float:
    """An upper bound on the δ at `epsilon` of one key, the largest over `pairs`.

    A pair has the probabilities of publishing the key on the two neighbouring inputs. Let p and q
    be the probabilities of an outcome, published or not. Then δ is the sum of max(0, p − e^ε·q)
    over both outcomes.
    """
    with precision(PLAIN_BITS):
        factor = ball(epsilon).exp()
        sums = (
            sum(max(float_above(p - factor * q), 0.0) for p, q in _outcomes(pair)) for pair in pairs
        )
        return max(sums) / CERTAIN  # one of the two terms is 0


def _bound_on_lattice(pairs: Iterable[Pair], groups: int, epsilon: Fraction, bits: int) -> float:
    """An upper bound on V_k(0) of `KeysCertificate`, from V_j at the points of a lattice.

    The lattice consists of privacy losses that are multiples of 2^−`bits`. Losses are rounded up, ε
    down, and every sum of products up. V_j(x) increases with x: above the lattice it is at most 1,
    and below the lattice at most its value at the lowest point.
    """
    start = (_BOTTOM << bits) + math.floor(epsilon * 2**bits)
    value = np.concatenate([np.zeros(start + 1), _above_epsilon(bits)])
    size = len(value)
    moves = [
        [(p / CERTAIN, max(_loss(p, q, bits, size), -size)) for p, q in _outcomes(pair) if p]
        for pair in pairs
    ]
    at_start = start - math.floor(epsilon * 2**bits)
    # covers the rounding of a product of two floats, of a sum of two products, and of this product
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
    """The privacy loss ln(p/q) in steps of 2^−`bits`, rounded up; at most `most`."""
    if not q:
        return most
    with precision(PLAIN_BITS):
        steps = (ball(Fraction(p, q)).log() * 2**bits).upper().ceil().unique_fmpz()
    return most if steps is None else min(int(steps), most)


@lru_cache(maxsize=8)
def _above_epsilon(bits: int) -> NDArray[np.float64]:
    """Upper bounds on V_0 of `KeysCertificate` at losses above ε.

    They bound 1 − e^−x at the lattice points x = 2^−bits, 2·2^−bits, … up to _TOP.
    """
    with precision(PLAIN_BITS):
        points = (ball(Fraction(-step, 2**bits)).exp() for step in range(1, (_TOP << bits) + 1))
        return np.array([float_above(1 - point) for point in points])
