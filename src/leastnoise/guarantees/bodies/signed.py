"""`Signed` and `Differences`: bodies for a record that is added or removed, or replaced.

Notation: T is the one-sided set `of`, D its dimension. P(x) and Q(x) are the least multiples of T
that must be added and removed to move by x. N is the gauge of the body. U is a random point that is
uniform in the body, and U_i its coordinate i. P and Q without an argument are P(U) and Q(U). s is
the shape and weights[s] the weight of `VolumeSplit`; γ_s is defined there, and t = D − s.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb

from leastnoise._record import field, record
from leastnoise.balls.core import PLAIN_BITS, ball, precision
from leastnoise.guarantees.bodies.base import Body, Point, nearest
from leastnoise.guarantees.bodies.one_sided import (
    A_ONE_SIDED,
    Balls,
    Coordinate,
    OneSided,
    VolumeSplit,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Moments = tuple[NDArray[np.float64], NDArray[np.float64] | None]


@record()
class _OfOneSided(Body):
    """A body whose gauge N(x) depends only on P(x) and Q(x)."""

    of: OneSided = field(converter=A_ONE_SIDED, scales=True)

    @property
    def dimension(self) -> int:
        """The dimension of T."""
        return self.of.dimension

    @property
    def second_moments(self) -> NDArray[np.float64]:
        return self._moments[0]

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        return self._moments[1]

    @cached_property
    def _moments(self) -> Moments:
        with precision(PLAIN_BITS):
            pieces = self.of.pieces()
            return _uniform_moments(pieces, self._uniform(pieces))

    @abstractmethod
    def _uniform(self, pieces: VolumeSplit) -> _Uniform:
        """The law of the shape and the moments of P and Q, at the current precision."""


@final
@record()
class Signed(_OfOneSided):
    """The hull of T and −T, for a set T = `of` of moves: N(x) = P(x) + Q(x).

    A unit that is added moves the release by a vector of T, a unit that is removed by a vector of
    −T. For counts, no unit moves one coordinate up and another down, so the body is smaller than
    one that ignores the signs.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> hexagon = Signed(of=Counts(queries=2))
    >>> hexagon.gauge([1, 1]), hexagon.gauge([1, -1]), round(3 * hexagon.second_moment, 9)
    (Fraction(1, 1), Fraction(2, 1), 1.666666667)
    """

    kind: ClassVar[str] = "signed"

    def power(self, x: Point, exponent: int) -> Fraction | None:
        parts = self.of.powers(x, 1)
        return None if parts is None else (parts[0] + parts[1]) ** exponent

    def enclosure(self, x: Point) -> arb:
        added, removed = self.of.enclosures(x)
        return added + removed

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        added, removed = self.of.moves(points)
        return added + removed

    def volume(self) -> arb:
        """The volume Σ_s weights[s]/D!, since ∫ γ_s(P)·γ_t(Q) over P + Q <= 1 is 1/D!."""
        return sum(self.of.pieces().weights, ball(0)) / ball(self.dimension + 1).gamma()

    def _uniform(self, pieces: VolumeSplit) -> _Uniform:
        """The law of the shape and the moments of P and Q.

        Given s, (P, Q, 1 − P − Q) is Dirichlet(s, t, 1) distributed.
        """
        d = self.dimension
        total = sum(pieces.weights, ball(0))
        return _Uniform(
            shares=tuple(weight / total for weight in pieces.weights),
            pp=_ratios(d, lambda s, _: s * (s + 1), (d + 1) * (d + 2)),
            pq=_ratios(d, lambda s, t: s * t, (d + 1) * (d + 2)),
            qq=_ratios(d, lambda _, t: t * (t + 1), (d + 1) * (d + 2)),
            p=_ratios(d, lambda s, _: s, d + 1),
            q=_ratios(d, lambda _, t: t, d + 1),
            apart=_mean_distances(d),
        )

    @property
    def corner_count(self) -> int | None:
        """Twice the number of corners of T; None if T has no finite set of corners."""
        count = self.of.corner_count
        return None if count is None else 2 * count

    def _is_inside(self, x: Point, bound: Fraction) -> bool:
        # shifts lie in T or −T, and there the decision of T itself is exact more often
        if self.of.removes_nothing(x):
            return self.of.adds_at_most(x, bound)
        negative = tuple(-value for value in x)
        if self.of.removes_nothing(negative):
            return self.of.adds_at_most(negative, bound)
        return super()._is_inside(x, bound)

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, Signed) and self.of.contains(other.of)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        for corner in self.of.corners():
            yield corner
            yield tuple(-value for value in corner)


@final
@record()
class Differences(_OfOneSided):
    """The body T − T, for a set T = `of` of moves: N(x) = max(P(x), Q(x)).

    A unit is replaced by another, and the vectors of both lie in T (theory/bodies.md §6).

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> Differences(of=Counts(queries=3, most=1)).gauge([1, "0.5", -1])
    Fraction(3, 2)
    """

    kind: ClassVar[str] = "differences"

    @property
    def degrees(self) -> tuple[int, ...]:
        return (self.of.degree,)

    def power(self, x: Point, exponent: int) -> Fraction | None:
        parts = self.of.powers(x, exponent)
        return None if parts is None else max(parts)

    def enclosure(self, x: Point) -> arb:
        added, removed = self.of.enclosures(x)
        return added.max(removed)

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        added, removed = self.of.moves(points)
        return np.maximum(added, removed)

    def volume(self) -> arb:
        """The volume Σ_s weights[s]/(s!t!), since ∫ γ_s(P)·γ_t(Q) over P, Q <= 1 is 1/(s!t!)."""
        return sum(_volumes(self.of.pieces()), ball(0))

    def _uniform(self, pieces: VolumeSplit) -> _Uniform:
        """The law of the shape and the moments of P and Q.

        Given s, P ~ Beta(s, 1) and Q ~ Beta(t, 1) are independent.
        """
        d, volumes = self.dimension, _volumes(pieces)
        total = sum(volumes, ball(0))
        first = tuple(ball(Fraction(s, s + 1)) for s in range(d + 1))
        second = tuple(ball(Fraction(s, s + 2)) for s in range(d + 1))
        pairs = list(zip(first, first[::-1], strict=True))
        return _Uniform(
            shares=tuple(volume / total for volume in volumes),
            pp=second,
            pq=tuple(a * b for a, b in pairs),
            qq=second[::-1],
            p=first,
            q=first[::-1],
            # max(P, Q) ~ Beta(D, 1), and |P − Q| = 2 max(P, Q) − P − Q
            apart=tuple(ball(Fraction(2 * d, d + 1)) - a - b for a, b in pairs),
        )

    @property
    def corner_count(self) -> int | None:
        """The number of ordered pairs of different points among 0 and the corners of T.

        The differences of these pairs include all extreme points. None if T has no finite set of
        corners.
        """
        count = self.of.corner_count
        return None if count is None else (count + 1) * count

    def _is_inside(self, x: Point, bound: Fraction) -> bool:
        # max(P, Q) <= bound is decided for P and Q separately; Q(x) = P(−x)
        negative = tuple(-value for value in x)
        return self.of.adds_at_most(x, bound) and self.of.adds_at_most(negative, bound)

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, Differences) and self.of.contains(other.of)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        points = [(Fraction(0),) * self.dimension, *self.of.corners()]
        for a, b in itertools.permutations(points, 2):
            yield tuple(p - q for p, q in zip(a, b, strict=True))


@final
@dataclass(frozen=True, kw_only=True)
class _Uniform:
    """The law of the shape s, and the moments of P and Q given s, for a uniform point of a body.

    `shares[s]` is the probability of s. `pp`, `pq` and `qq` are the means of P², PQ and Q² given s.
    `p` and `q` are the means of P and Q, and `apart` is the mean of |P − Q|.
    """

    shares: Balls
    pp: Balls
    pq: Balls
    qq: Balls
    p: Balls
    q: Balls
    apart: Balls


def _uniform_moments(pieces: VolumeSplit, law: _Uniform) -> Moments:
    """The moments E U_i² and E|U_i| of all coordinates i, as two arrays.

    The second array is None if some E|U_i| has no closed form.
    """
    seconds, firsts, known = [], [], True
    for cell, copies in pieces.layout:
        seconds.append(np.tile([_second(coordinate, law) for coordinate in cell], copies))
        first = [_first(coordinate, law) for coordinate in cell]
        known = known and None not in first
        firsts.append(np.tile([value or 0.0 for value in first], copies))
    return np.concatenate(seconds), np.concatenate(firsts) if known else None


def _second(coordinate: Coordinate, law: _Uniform) -> float:
    unit = arb(coordinate.unit.numerator) / coordinate.unit.denominator
    total = _mean(law, ((coordinate.pp, law.pp), (coordinate.pq, law.pq), (coordinate.qq, law.qq)))
    return nearest(unit**2 * total)


def _first(coordinate: Coordinate, law: _Uniform) -> float | None:
    if coordinate.p is None or coordinate.q is None or coordinate.apart is None:
        return None
    unit = arb(coordinate.unit.numerator) / coordinate.unit.denominator
    total = _mean(
        law, ((coordinate.p, law.p), (coordinate.q, law.q), (coordinate.apart, law.apart))
    )
    return nearest(unit * total)


def _mean(law: _Uniform, pairs: tuple[tuple[Balls, Balls], ...]) -> arb:
    total = arb(0)
    for given, moment in pairs:
        for share, a, b in zip(law.shares, given, moment, strict=True):
            total += share * a * b
    return total


def _volumes(pieces: VolumeSplit) -> Balls:
    """The volume weights[s]/(s!t!) of the part of `Differences` with each shape s = 0 … D."""
    factorials = [ball(s + 1).gamma() for s in range(len(pieces.weights))]
    return tuple(
        weight / (a * b)
        for weight, a, b in zip(pieces.weights, factorials, reversed(factorials), strict=True)
    )


def _ratios(d: int, count: Callable[[int, int], int], of: int) -> tuple[arb, ...]:
    return tuple(ball(Fraction(count(s, d - s), of)) for s in range(d + 1))


def _mean_distances(d: int) -> tuple[arb, ...]:
    """The mean of |P − Q| for a uniform point of `Signed`, given each shape s = 0 … d; d is D.

    λ = P/(P + Q) ~ Beta(s, t) is independent of P + Q ~ Beta(D, 1). So the mean of |P − Q| is D/(D
    + 1)·E|2λ − 1|.
    """
    above, above_next = _upper_halves(d), _upper_halves(d + 1)
    distances = []
    for s in range(d + 1):
        # E(2λ − 1)₊ = 2·(s/D)·P(Beta(s + 1, t) > ½) − P(λ > ½), and E|y| = 2 E y₊ − E y
        positive = ball(Fraction(2 * s, d)) * above_next[s + 1] - above[s]
        distances.append((2 * positive - ball(Fraction(2 * s - d, d))) * d / (d + 1))
    return tuple(distances)


def _upper_halves(n: int) -> list[arb]:
    """The probability that a Beta(s, n − s) variable exceeds ½, for each s = 0 … n.

    It is the probability of at most s − 1 heads in n − 1 fair tosses.
    """
    total, term = arb(0), arb(1) / 2 ** (n - 1)
    probabilities = [arb(0)]
    for s in range(1, n + 1):
        total += term
        term = term * (n - s) / s
        probabilities.append(total)
    return probabilities
