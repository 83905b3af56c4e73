"""A lower bound on the loss of purely private noise, from volumes (theory/bodies.md §8).

The bound uses the staircase whose moment is smallest over all positions γ of its edges.

Notation: N >= 0 is the gauge (generalised norm) of staircase noise in D dimensions, with density ∝
r^(D−1)·q^⌊r + 1 − γ⌋ at r, where q = e^(−ε) and 0 < γ <= 1. E is the mean, p the order of the
moment (1 or 2), and S_n(γ) = Σ_{k>=0} q^k (k + γ)^n. The polynomial P(u) = ε^(D+p)·S_{D+p}(γ)/(D +
p)!, with u = εγ, has degree D + p and positive coefficients; P^(i) is its i-th derivative.

The moment is E N^p = D/(D + p)·S_{D+p}/S_D = D(D + 1)…(D + p − 1)/ε^p · P/P^(p). The coefficients
of P follow from the generating function Σ_n S_n(γ) z^n/n! = e^(γz)/(1 − q e^z).
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
"""The proved lower bound is smaller than the moment at the guessed best γ by this fraction."""
_MOST_PIECES = 2_000  # no proof has needed more than 300
_LOOKS, _GRID = 8, 24
_DIP = Bisection(halvings=60)


@final
@dataclass(frozen=True)
class StaircaseMoment:
    """The moment E N^p as a function of γ, at the current precision, for fixed ε, D and p."""

    epsilon: Fraction
    dimension: int
    factor: arb
    above: tuple[arb_poly, ...]
    """The functions P^(i)/i!, i = 0, 1, …: the coefficients of a Taylor expansion of P."""
    below: tuple[arb_poly, ...]
    """The same functions for P^(p) instead of P."""

    @classmethod
    def of(cls, *, epsilon: Fraction, dimension: int, power: int) -> Self:
        """The function for D = `dimension` and p = `power`.

        Raises ArithmeticError if 16,384 bits don't suffice to enclose it well.
        """
        degree = dimension + power
        for bits in precisions(ctx.prec, 1 << 14):
            with precision(bits):
                inverse = _inverse_series(epsilon, degree)
                if min(term.rel_accuracy_bits() for term in inverse) >= PLAIN_BITS:
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
            above=_list_expansions(polynomial),
            below=_list_expansions(divisor),
        )

    def at(self, gamma: Fraction) -> arb:
        """Enclose E N^p at γ = `gamma`."""
        u = ball(self.epsilon * gamma)
        return self.factor * self.above[0](u) / self.below[0](u)

    def approximate_minimum(self) -> arb:
        """Enclose the smallest of E N^p at a few γ, which is never below the minimum over all γ."""
        smallest = self._smallest()
        values = [self.at(Fraction(smallest ** (i / _LOOKS))) for i in range(_LOOKS + 1)]
        return min(values, key=lambda value: float(value.log()))

    def _smallest(self) -> float:
        """The smallest γ to try: a quarter of e^(−ε/(D + p)).

        For large ε the best γ is near e^(−ε/(D + p)), where γ^(D+p) ~ q.
        """
        return math.exp(-float(self.epsilon) / self.above[0].degree()) / 4

    def best(self) -> Fraction:
        """A guess of the γ at which E N^p is smallest; nothing is promised."""
        smallest = self._smallest()
        grid = {smallest ** (1 - i / _GRID) for i in range(_GRID)}
        edges = [0.0, *sorted(grid | {i / _GRID for i in range(1, _GRID + 1)})]
        values = [float(self.at(Fraction(gamma)).mid()) for gamma in edges]
        best = min(range(len(edges)), key=values.__getitem__)
        # γ = 0 is the staircase of γ = 1: its neighbours are on both sides
        sides = {0, len(edges) - 1} if best in {0, len(edges) - 1} else {best}
        candidates = [
            self._dip(edges[max(side - 1, 0)], edges[min(side + 1, len(edges) - 1)])
            for side in sides
        ]
        return min(candidates, key=lambda gamma: float(self.at(gamma).mid()))

    def _dip(self, low: float, high: float) -> Fraction:
        """Approximate the γ in [low, high] with the smallest E N^p, if it has one minimum there."""
        return Fraction(_DIP.close(lambda gamma: self._rises(Fraction(gamma)), low, high)[1])

    def _rises(self, gamma: Fraction) -> bool:
        u = ball(self.epsilon * gamma)
        return bool(self.above[1](u) * self.below[0](u) > self.above[0](u) * self.below[1](u))

    def prove_least(self, guess: Fraction) -> arb | None:
        """A lower bound on E N^p over all 0 < γ <= 1; None if the proof fails.

        The bound is (1 − SLACK) times E N^p at the `guess`. Let κ be (1 − SLACK)·P/P^(p) at the
        guess. The interval (0, 1] is cut into pieces until P − κP^(p) >= 0 is proved on each.
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
        """True only if P >= κP^(p) is proved for all γ in [low, high]; κ = `kappa`.

        Both sides increase, so P(low) >= κP^(p)(high) is enough. So is a Taylor expansion of the
        difference around the middle, in u: c_0 + c_1 t + c_2 t² + … for |t| <= h. It is at least
        c_0 − |c_1|h + min(0, c_2 − r)h², where r is the sum of the other |c_i|h^(i−2).
        """
        first, last = ball(self.epsilon * low), ball(self.epsilon * high)
        if self.above[0](first) >= kappa * self.below[0](last):
            return True
        middle, h = ball(self.epsilon * (low + high) / 2), ball(self.epsilon * (high - low) / 2)
        rising = [expansion(middle) for expansion in self.above]
        falling = [kappa * expansion(middle) for expansion in self.below]
        differences = [a - b for a, b in zip(rising, falling, strict=True)]
        rest = _bound_remainder(rising, h, self.above[0](last))
        rest += _bound_remainder(falling, h, kappa * self.below[0](last))
        for order in range(3, len(differences)):
            rest += abs(differences[order]) * h**order
        bend = differences[2] * h**2 - rest
        smallest = differences[0] - abs(differences[1]) * h + bend.min(arb(0))
        return bool(smallest >= 0)


def _inverse_series(epsilon: Fraction, degree: int) -> list[arb]:
    """The power series of 1/(1 − q e^(εt)) in t: its coefficients up to t^degree.

    Newton's iteration computes them from the series of the denominator.
    """
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


def _list_expansions(polynomial: arb_poly) -> tuple[arb_poly, ...]:
    expansions = [polynomial]
    orders = 12  # of a Taylor expansion; the rest is bounded by sums of positive terms
    for order in range(1, orders):
        expansions.append(expansions[-1].derivative() * (1 / arb(order)))
    return tuple(expansions)


def _bound_remainder(terms: list[arb], h: arb, end: arb) -> arb:
    """Enclose the rest of a Taylor sum Σ c_i h^i after its first terms, if no c_i is negative.

    `terms` has the first coefficients c_0, c_1, …, and `end` is the value of the whole sum.
    """
    known = arb(0)
    for term in reversed(terms):
        known = known * h + term
    return (end - known).max(arb(0))


def _cut(low: Fraction, high: Fraction) -> Fraction:
    """The point at which a piece of (0, 1] is cut in two.

    This is the middle. If the ends are far apart, it is their geometric mean, and `high`/64 if
    `low` is 0.
    """
    if not low:
        return high / 64
    return Fraction(math.sqrt(low * high)) if high > 4 * low else (low + high) / 2


_TIMES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64)
_FIELDS = ("sensitivity", "dimension", "coordinates", "times", "gamma")


@final
@record()
class BodyWitness:
    """A proof of a lower bound by a volume: the volume of all sums of some shifts.

    Notation: S is the set of shifts of `sensitivity` in R^`dimension`. The proof adds n = `times`
    shifts, and keeps j = `coordinates` of their numbers. S_j is the set of shifts of these j
    numbers, and n·S_j = S_j + … + S_j. ρ is the radius of the ball of R^j with the volume of n·S_j,
    X the noise of the j numbers, and m_j(ε) the smallest moment E N^p of a staircase in j
    dimensions.

    Noise that is ε-DP for S is nε-DP for n·S, and so is the noise of any j numbers. So E‖X‖₂^p >=
    ρ^p·m_j(nε) (theory/bodies.md §8). The mean over all sets of j numbers gives E‖X‖₂² of all
    numbers. For L2 sensitivity, n = 1 and j = `dimension`, the staircase in ‖x‖₂ attains the bound.

    `gamma` is a guess of the γ at which the staircase's moment is smallest. A bad guess can only
    make the proof fail.
    """

    sensitivity: Sensitivity = field(converter=A_SENSITIVITY)
    dimension: int = field(converter=A_DIMENSION)
    coordinates: int = field(converter=whole())
    times: int = field(converter=whole())
    gamma: FractionField = field(converter=takes(exact))

    def bound(self, *, epsilon: Fraction, power: int) -> Fraction:
        """A lower bound on E Σ_i |X_i|^power of ε-DP noise X, rounded down to a float.

        The sum is over all `dimension` numbers. Raises CertificateRejected if nothing is proved.
        That includes power 1 with j > 1, since E‖X‖₁ is not E‖X‖₂.
        """
        projections = self._check_projections(epsilon, power)
        with precision(AMPLE_BITS):
            moment = StaircaseMoment.of(
                epsilon=self.times * epsilon, dimension=self.coordinates, power=power
            )
            smallest = moment.prove_least(self.gamma)
            if smallest is None:
                raise CertificateRejected(
                    "The lower bound isn't proved: gamma in its proof is too far from the best "
                    "value."
                )
            value = float_below(
                _factor(projections, coordinates=self.coordinates, times=self.times, power=power)
                * smallest
            )
        if not math.isfinite(value):
            raise CertificateRejected("The lower bound is too large for a floating-point number.")
        return Fraction(value)

    def _check_projections(self, epsilon: Fraction, power: int) -> Projections:
        """The projections of the shifts, from which their volumes follow.

        Raises CertificateRejected if no volume is known, or if a field of the witness is out of its
        range.
        """
        projections = projections_of(self.sensitivity, dimension=self.dimension)
        if projections is None:
            raise CertificateRejected(
                "The lower bound isn't proved: it needs a volume that isn't known for this "
                "sensitivity."
            )
        if not (
            fits(projections, epsilon, coordinates=self.coordinates, times=self.times, power=power)
            and 0 < self.gamma <= 1
        ):
            raise CertificateRejected(
                "The lower bound isn't proved: in its proof, coordinates, times or gamma are out "
                "of range for this loss and epsilon."
            )
        return projections

    def record(self) -> dict[str, object]:
        """The witness as JSON values, exactly."""
        return {
            "sensitivity": write_record(self.sensitivity),
            "dimension": self.dimension,
            "coordinates": self.coordinates,
            "times": self.times,
            "gamma": number_text(self.gamma),
        }

    @classmethod
    def from_record(cls, record: object) -> BodyWitness:
        """Read a result of `record`; raises CertificateRejected or InvalidArgument otherwise."""
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
    """The witness with the largest bound among a few candidates; None if there is no candidate.

    A candidate uses one coordinate or, for power 2, as many as possible, but at most 256. For power
    2 and a ball, whose bound for all coordinates is attained, only as many as possible are tried.
    If `Projections.grows`, growing numbers n of shifts are tried while the bound rises, and
    otherwise only n = 1.
    """
    projections = projections_of(sensitivity, dimension=dimension)
    if projections is None:
        return None
    with precision(AMPLE_BITS):
        candidates = [
            candidate
            for j in _coordinates(projections, power)
            for candidate in _list_candidates(projections, epsilon, j, power)
        ]
        if not candidates:
            return None
        _, times, moment = max(candidates, key=lambda candidate: candidate[0])
        return BodyWitness(
            sensitivity=sensitivity,
            dimension=dimension,
            coordinates=moment.dimension,
            times=times,
            gamma=moment.best(),
        )


def _list_candidates(
    projections: Projections, epsilon: Fraction, coordinates: int, power: int
) -> list[tuple[float, int, StaircaseMoment]]:
    """Candidates for the number n of added shifts, growing while the bound rises.

    Each is a triple: an approximate ln of the bound, n, and the moment of the staircase for n.
    """
    candidates: list[tuple[float, int, StaircaseMoment]] = []
    for n in _TIMES if projections.grows else _TIMES[:1]:
        if not fits(projections, epsilon, coordinates=coordinates, times=n, power=power):
            break
        moment = StaircaseMoment.of(epsilon=n * epsilon, dimension=coordinates, power=power)
        factor = _factor(projections, coordinates=coordinates, times=n, power=power)
        value = float((factor * moment.approximate_minimum()).log())
        if candidates and value <= candidates[-1][0]:
            break
        candidates.append((value, n, moment))
    return candidates


def _coordinates(projections: Projections, power: int) -> set[int]:
    if power == 1:
        return {1}
    # the bound of a ball is attained with all of its coordinates
    most_tried = 256  # coordinates of other sets, where more gain little
    return (
        {projections.largest}
        if projections.is_attained
        else {1, min(projections.largest, most_tried)}
    )


def fits(
    projections: Projections, epsilon: Fraction, *, coordinates: int, times: int, power: int
) -> bool:
    """True if a bound from this many coordinates and shifts exists, and takes little work."""
    least_epsilon, most_epsilon = Fraction(1, 10**100), 500  # of all times together
    most_work = 20_000  # coordinates · ε: a second
    return (
        1 <= coordinates <= min(projections.largest, 1_000)
        and 1 <= times <= _TIMES[-1]
        and epsilon >= least_epsilon
        and times * epsilon <= most_epsilon
        and coordinates * times * epsilon <= most_work
        and (power == 2 or coordinates == 1)
    )


def _factor(projections: Projections, *, coordinates: int, times: int, power: int) -> arb:
    """The factor ρ^power·(numbers/j), which turns m_j(nε) into the bound for all numbers.

    Each number is in the fraction j/numbers of all sets of j numbers.
    """
    return projections.radius(coordinates, times=times) ** power * projections.numbers / coordinates
