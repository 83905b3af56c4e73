"""A lower bound on the loss of purely private noise, from volumes (theory/bodies.md §8).

It rests on one on the moments of a staircase, over all places of its edges. notation: N >= 0 has
the density ∝ r^(D−1)·q^⌊r + 1 − γ⌋, q = e^(−ε), 0 < γ <= 1: the gauge of a staircase in D
dimensions. With S_n(γ) = Σ_{k>=0} q^k (k + γ)^n, E N^p = D/(D + p)·S_{D+p}/S_D.

Σ_n S_n(γ) z^n/n! = e^(γz)/(1 − q e^z), so that P(u) = ε^(D+p)·S_{D+p}(γ)/(D + p)!, u = εγ, is a
polynomial with positive coefficients, and E N^p = D(D + 1)…(D + p − 1)/ε^p · P/P^(p).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self, final

from flint import arb, arb_poly, ctx

from leastnoise._record import A_DIMENSION, field, record, takes, whole
from leastnoise.balls.core import AMPLE_BITS, PLAIN_BITS, ball, float_below, precision, precisions
from leastnoise.certificate.records import (
    exact_fields,
    number,
    number_text,
    read_record,
    require_type,
    write_record,
)
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.exact import exact
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.projections import Projections, projections_of
from leastnoise.guarantees.sensitivity import A_SENSITIVITY, Sensitivity
from leastnoise.numerics.bisection import Bisection

SLACK = 2.0**-24
"""How far, relatively, what is proved is below the moment at the γ that was thought best."""
_MOST_PIECES = 2_000  # 300 were needed at most
_LOOKS, _GRID = 8, 24
_DIP = Bisection(halvings=60)


@final
@dataclass(frozen=True)
class StaircaseMoment:
    """γ ↦ E N^p at the current precision, for one ε, D and p."""

    epsilon: Fraction
    dimension: int
    factor: arb
    above: tuple[arb_poly, ...]
    """P and its derivatives over their factorials: coefficients of Taylor expansions."""
    below: tuple[arb_poly, ...]
    """The same of P^(p)."""

    @classmethod
    def of(cls, *, epsilon: Fraction, dimension: int, power: int) -> Self:
        """Return the moment; raises ArithmeticError if 16,384 bits don't do for it."""
        degree = dimension + power
        for bits in precisions(ctx.prec, 1 << 14):
            with precision(bits):
                inverse = _inverse_series(epsilon, degree)
                if min(one.rel_accuracy_bits() for one in inverse) >= PLAIN_BITS:
                    break
        else:
            raise ArithmeticError("the moments of a staircase could not be enclosed")
        coefficients, factorial = [], arb(1)
        for i in range(degree + 1):
            coefficients.append(inverse[degree - i] / factorial)
            factorial *= i + 1
        polynomial = arb_poly(coefficients)
        divisor = polynomial
        for _ in range(power):
            divisor = divisor.derivative()
        rising = math.prod(dimension + i for i in range(power))
        return cls(
            epsilon=epsilon,
            dimension=dimension,
            factor=rising / ball(epsilon) ** power,
            above=_expansions(polynomial),
            below=_expansions(divisor),
        )

    def at(self, gamma: Fraction) -> arb:
        """Enclose E N^p."""
        u = ball(self.epsilon * gamma)
        return self.factor * self.above[0](u) / self.below[0](u)

    def roughly(self) -> arb:
        """Enclose the least E N^p of a few γ: about the least of all γ, and no smaller."""
        smallest = self._smallest()
        values = [self.at(Fraction(smallest ** (i / _LOOKS))) for i in range(_LOOKS + 1)]
        return min(values, key=lambda value: float(value.log()))

    def _smallest(self) -> float:
        """Return about e^(−ε/(D + p)): near that the best γ is for large ε, where γ^(D+p) ~ q."""
        return math.exp(-float(self.epsilon) / self.above[0].degree()) / 4

    def best(self) -> Fraction:
        """Guess the γ at which E N^p is least; nothing is promised."""
        smallest = self._smallest()
        grid = {smallest ** (1 - i / _GRID) for i in range(_GRID)}
        edges = [0.0, *sorted(grid | {i / _GRID for i in range(1, _GRID + 1)})]
        values = [float(self.at(Fraction(gamma)).mid()) for gamma in edges]
        best = min(range(len(edges)), key=values.__getitem__)
        # γ = 0 is the staircase of γ = 1: its neighbours are on both sides
        sides = {0, len(edges) - 1} if best in {0, len(edges) - 1} else {best}
        found = [
            self._dip(edges[max(side - 1, 0)], edges[min(side + 1, len(edges) - 1)])
            for side in sides
        ]
        return min(found, key=lambda gamma: float(self.at(gamma).mid()))

    def _dip(self, low: float, high: float) -> Fraction:
        """Return the minimum of E N^p on [low, high], if it falls and then rises there."""
        return Fraction(_DIP.close(lambda gamma: self._rises(Fraction(gamma)), low, high)[1])

    def _rises(self, gamma: Fraction) -> bool:
        u = ball(self.epsilon * gamma)
        return bool(self.above[1](u) * self.below[0](u) > self.above[0](u) * self.below[1](u))

    def least(self, guess: Fraction) -> arb | None:
        """Return a lower bound of E N^p over all 0 < γ <= 1; None if none is proved.

        It is E N^p at `guess` less `SLACK`. With κ = P/P^(p) there, so much less, (0, 1] is cut
        into pieces until P − κP^(p) >= 0 is proved on each.
        """
        u = ball(self.epsilon * guess)
        kappa = (self.above[0](u) / self.below[0](u) * (1 - arb(SLACK))).lower()
        edges = [Fraction(0), *(edge for edge in (guess / 2, 2 * guess) if edge < 1), Fraction(1)]
        pieces = list(pairwise(edges))
        for _ in range(_MOST_PIECES):
            if not pieces:
                return self.factor * kappa
            low, high = pieces.pop()
            if not self._holds(kappa, low, high):
                cut = _cut(low, high)
                pieces += [(low, cut), (cut, high)]
        return None

    def _holds(self, kappa: arb, low: Fraction, high: Fraction) -> bool:
        """Return True only if P >= κP^(p) on [low, high].

        Both sides rise, so that P(low) >= κP^(p)(high) is enough. So is a Taylor expansion around
        the middle, c_0 + c_1 t + c_2 t² + …, |t| <= h: it is at least c_0 − |c_1|h + min(0, c_2 −
        r)h², r the sum of the other |c_i|h^(i−2).
        """
        first, last = ball(self.epsilon * low), ball(self.epsilon * high)
        if self.above[0](first) >= kappa * self.below[0](last):
            return True
        middle, h = ball(self.epsilon * (low + high) / 2), ball(self.epsilon * (high - low) / 2)
        rising = [one(middle) for one in self.above]
        falling = [kappa * one(middle) for one in self.below]
        found = [a - b for a, b in zip(rising, falling, strict=True)]
        rest = _beyond(rising, h, self.above[0](last))
        rest += _beyond(falling, h, kappa * self.below[0](last))
        for order in range(3, len(found)):
            rest += abs(found[order]) * h**order
        bend = found[2] * h**2 - rest
        least = found[0] - abs(found[1]) * h + bend.min(arb(0))
        return bool(least >= 0)


def _inverse_series(epsilon: Fraction, degree: int) -> list[arb]:
    """Return the coefficients of 1/(1 − q e^(εt)) up to t^degree, by Newton's iteration."""
    rate = ball(epsilon)
    term = (-rate).exp()
    series = [-(-rate).expm1()]
    for i in range(1, degree + 1):
        term = term * rate / i
        series.append(-term)
    whole, inverse, known = arb_poly(series), arb_poly([1 / series[0]]), 1
    while known <= degree:
        known *= 2
        error = (inverse * whole.truncate(known)).truncate(known)
        inverse = (inverse * (2 - error)).truncate(known)
    return inverse.coeffs()[: degree + 1]


def _expansions(polynomial: arb_poly) -> tuple[arb_poly, ...]:
    found = [polynomial]
    orders = 12  # of a Taylor expansion; what is beyond is bounded by sums of positive terms
    for order in range(1, orders):
        found.append(found[-1].derivative() * (1 / arb(order)))
    return tuple(found)


def _beyond(terms: list[arb], h: arb, end: arb) -> arb:
    """Return Σ c_i h^i over all orders that `terms` lack, the value at the end less theirs."""
    known = arb(0)
    for term in reversed(terms):
        known = known * h + term
    return (end - known).max(arb(0))


def _cut(low: Fraction, high: Fraction) -> Fraction:
    """Return the middle of a piece, or e^(middle of the logarithms) if its ends are far apart."""
    if not low:
        return high / 64
    return Fraction(math.sqrt(low * high)) if high > 4 * low else (low + high) / 2


_TIMES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64)
_FIELDS = ("sensitivity", "dimension", "coordinates", "times", "gamma")


@final
@record()
class BodyWitness:
    """Which volume the bound rests on: that of n = `times` times all shifts of j = `coordinates`.

    notation: S the shifts of `sensitivity` in R^`dimension`, S_j those of j of its numbers, ρ the
    radius of the ball of R^j with the volume of n·S_j = S_j + … + S_j. Noise that is ε-DP for S is
    nε-DP for n·S, and so is that of j of its numbers. So these have E‖X‖^p >= ρ^p·m_j(nε), the
    least moment of a staircase (theory/bodies.md §8), and the mean over all sets of j numbers
    has E‖X‖² of all of them. `gamma` is about where the staircase's moment is least: a hint, on
    which nothing depends but whether the proof succeeds.

    For L2 sensitivity, with j = d, the bound is attained by the staircase in ‖x‖₂.
    """

    sensitivity: Sensitivity = field(converter=A_SENSITIVITY)
    dimension: int = field(converter=A_DIMENSION)
    coordinates: int = field(converter=whole())
    times: int = field(converter=whole())
    gamma: FractionField = field(converter=takes(exact))

    def bound(self, *, epsilon: Fraction, power: int) -> Fraction:
        """Return a lower bound of E Σ|X_i|^power, rounded down to a float.

        Raises CertificateRejected where nothing is proved: for power 1 and j > 1 too, since E‖X‖₁
        is not E‖X‖₂.
        """
        room = self._room(epsilon, power)
        with precision(AMPLE_BITS):
            moment = StaircaseMoment.of(
                epsilon=self.times * epsilon, dimension=self.coordinates, power=power
            )
            least = moment.least(self.gamma)
            if least is None:
                raise CertificateRejected("gamma is not near the staircase of the least moment.")
            found = float_below(
                _factor(room, coordinates=self.coordinates, times=self.times, power=power) * least
            )
        if not math.isfinite(found):
            raise CertificateRejected("The bound is beyond the range of floats.")
        return Fraction(found)

    def _room(self, epsilon: Fraction, power: int) -> Projections:
        """Return the projections that it is about; raises CertificateRejected."""
        room = projections_of(self.sensitivity, dimension=self.dimension)
        if room is None:
            raise CertificateRejected("No volume of these shifts is known.")
        if not (
            fits(room, epsilon, coordinates=self.coordinates, times=self.times, power=power)
            and 0 < self.gamma <= 1
        ):
            raise CertificateRejected("The witness of a lower bound is malformed.")
        return room

    def record(self) -> dict[str, object]:
        """Return the witness as JSON values, exactly."""
        return {
            "sensitivity": write_record(self.sensitivity),
            "dimension": self.dimension,
            "coordinates": self.coordinates,
            "times": self.times,
            "gamma": number_text(self.gamma),
        }

    @classmethod
    def from_record(cls, record: object) -> BodyWitness:
        """Read what `record` gave; raises CertificateRejected or InvalidArgument for others."""
        fields: dict[str, Any] = exact_fields(record, _FIELDS, where="witness")
        return cls(
            sensitivity=read_record(fields["sensitivity"], Sensitivity, where="sensitivity"),
            dimension=require_type(fields["dimension"], int, where="dimension"),
            coordinates=require_type(fields["coordinates"], int, where="coordinates"),
            times=require_type(fields["times"], int, where="times"),
            gamma=number(fields["gamma"], where="gamma"),
        )


def propose(
    sensitivity: Sensitivity, *, dimension: int, epsilon: Fraction, power: int
) -> BodyWitness | None:
    """Return the witness with the largest bound of some that are tried; None if there is none.

    Tried are one number at a time and as many as possible, and more times while that helps.
    """
    room = projections_of(sensitivity, dimension=dimension)
    if room is None:
        return None
    with precision(AMPLE_BITS):
        tried = [one for j in _coordinates(room, power) for one in _rising(room, epsilon, j, power)]
        if not tried:
            return None
        _, times, moment = max(tried, key=lambda one: one[0])
        return BodyWitness(
            sensitivity=sensitivity,
            dimension=dimension,
            coordinates=moment.dimension,
            times=times,
            gamma=moment.best(),
        )


def _rising(
    room: Projections, epsilon: Fraction, coordinates: int, power: int
) -> list[tuple[float, int, StaircaseMoment]]:
    """Return (ln of about the bound, n, the moment) for n = 1, 2, … as long as it rises."""
    found: list[tuple[float, int, StaircaseMoment]] = []
    for n in _TIMES if room.grows else _TIMES[:1]:
        if not fits(room, epsilon, coordinates=coordinates, times=n, power=power):
            break
        moment = StaircaseMoment.of(epsilon=n * epsilon, dimension=coordinates, power=power)
        factor = _factor(room, coordinates=coordinates, times=n, power=power)
        value = float((factor * moment.roughly()).log())
        if found and value <= found[-1][0]:
            break
        found.append((value, n, moment))
    return found


def _coordinates(room: Projections, power: int) -> set[int]:
    if power == 1:
        return {1}
    # the bound of a ball is attained with all of its coordinates
    most_tried = 256  # coordinates of what isn't a ball, where more gain little
    return {room.largest} if room.attained else {1, min(room.largest, most_tried)}


def fits(room: Projections, epsilon: Fraction, *, coordinates: int, times: int, power: int) -> bool:
    """Return whether a bound from so many coordinates and times is known and little work."""
    least_epsilon, most_epsilon = Fraction(1, 10**100), 500  # of all times together
    most_work = 20_000  # coordinates · ε: a second
    return (
        1 <= coordinates <= min(room.largest, 1_000)
        and 1 <= times <= _TIMES[-1]
        and epsilon >= least_epsilon
        and times * epsilon <= most_epsilon
        and coordinates * times * epsilon <= most_work
        and (power == 2 or coordinates == 1)
    )


def _factor(room: Projections, *, coordinates: int, times: int, power: int) -> arb:
    """Return ρ^power·(numbers/j): each number lies in j of so many sets of j."""
    return room.radius(coordinates, times=times) ** power * room.numbers / coordinates
