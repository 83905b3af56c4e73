"""What can be added or removed: signs are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

from flint import arb

from leastnoise._record import field, record
from leastnoise.balls.core import ball, precision
from leastnoise.guarantees.bodies.base import BITS, Body, Field, Point
from leastnoise.guarantees.bodies.one_sided import A_ONE_SIDED, OneSided
from leastnoise.guarantees.bodies.uniform import Uniform, uniform_moments
from leastnoise.guarantees.exact import Exact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@final
@record()
class Signed(Body):
    """The hull of T and −T: N(x) = P(x) + Q(x). notation: T = of.

    A unit that is added moves the release by a vector of T, one that is removed by one of −T; never
    up in one coordinate and down in another at once. That makes the body smaller than the one
    without signs.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> hexagon = Signed(of=Counts(queries=2))
    >>> hexagon.gauge([1, 1]), hexagon.gauge([1, -1]), round(3 * hexagon.second_moment, 9)
    (Fraction(1, 1), Fraction(2, 1), 1.666666667)
    """

    kind: ClassVar[str] = "signed"
    fields: ClassVar[Mapping[str, Field]] = MappingProxyType({"of": Field.ONE_SIDED})
    of: OneSided = field(converter=A_ONE_SIDED)

    @property
    def dimension(self) -> int:
        """That of T."""
        return self.of.dimension

    def power(self, x: Point, exponent: int) -> Fraction | None:
        found = self.of.powers(x, 1)
        return None if found is None else (found[0] + found[1]) ** exponent

    def enclosure(self, x: Point) -> arb:
        added, removed = self.of.enclosures(x)
        return added + removed

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        added, removed = self.of.moves(points)
        return added + removed

    def volume(self) -> arb:
        """It is Σ_s weights[s]/D!, since γ_s and γ_(D−s) over P + Q <= 1 have 1/D!."""
        return sum(self.of.pieces().weights, ball(0)) / ball(self.dimension + 1).gamma()

    @property
    def second_moments(self) -> NDArray[np.float64]:
        return self._moments[0]

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Given s, (P, Q, 1 − P − Q) is Dirichlet(s, t, 1), s + t = D."""
        d = self.dimension
        with precision(BITS):
            pieces = self.of.pieces()
            total = sum(pieces.weights, ball(0))
            law = Uniform(
                shares=tuple(weight / total for weight in pieces.weights),
                pp=_over(d, lambda s, _: s * (s + 1), (d + 1) * (d + 2)),
                pq=_over(d, lambda s, t: s * t, (d + 1) * (d + 2)),
                qq=_over(d, lambda _, t: t * (t + 1), (d + 1) * (d + 2)),
                p=_over(d, lambda s, _: s, d + 1),
                q=_over(d, lambda _, t: t, d + 1),
                apart=_apart(d),
            )
            return uniform_moments(pieces, law)

    @property
    def corner_count(self) -> int | None:
        """T's and −T's."""
        count = self.of.corner_count
        return None if count is None else 2 * count

    def times(self, factor: Exact) -> Self:
        return type(self)(of=self.of.times(factor))

    def _decided(self, x: Point, bound: Fraction) -> bool:
        # on T and −T themselves, where shifts lie, T's own decision is exact more often
        if self.of.removes_nothing(x):
            return self.of.adds_at_most(x, bound)
        turned = tuple(-value for value in x)
        if self.of.removes_nothing(turned):
            return self.of.adds_at_most(turned, bound)
        return super()._decided(x, bound)

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, Signed) and self.of.contains(other.of)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        for corner in self.of.corners():
            yield corner
            yield tuple(-value for value in corner)


def _over(d: int, count: Callable[[int, int], int], of: int) -> tuple[arb, ...]:
    return tuple(ball(Fraction(count(s, d - s), of)) for s in range(d + 1))


def _apart(d: int) -> tuple[arb, ...]:
    """E|P − Q| for each s.

    With λ = P/(P + Q) ~ Beta(s, t), independent of P + Q ~ Beta(D, 1): E|P − Q| = D/(D + 1)·E|2λ −
    1|, and λ > ½ has the probability of at most s − 1 heads in D − 1 fair tosses.
    """
    above, above_next = _beyond_half(d), _beyond_half(d + 1)
    found = []
    for s in range(d + 1):
        # E(2λ − 1)₊ = 2·(s/D)·P(Beta(s + 1, t) > ½) − P(λ > ½), and E|y| = 2 E y₊ − E y
        positive = ball(Fraction(2 * s, d)) * above_next[s + 1] - above[s]
        found.append((2 * positive - ball(Fraction(2 * s - d, d))) * d / (d + 1))
    return tuple(found)


def _beyond_half(n: int) -> list[arb]:
    """P(Beta(s, n − s) > ½) for s = 0 … n, the chance of at most s − 1 heads in n − 1 tosses."""
    total, term = arb(0), arb(1) / 2 ** (n - 1)
    found = [arb(0)]
    for s in range(1, n + 1):
        total += term
        term = term * (n - s) / s
        found.append(total)
    return found
