"""What can be replaced: one unit's additions instead of another's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np
from flint import arb

from leastnoise._record import field, record
from leastnoise.balls.core import ball, precision
from leastnoise.guarantees.bodies.base import BITS, Body, Field, Point
from leastnoise.guarantees.bodies.one_sided import A_ONE_SIDED, OneSided
from leastnoise.guarantees.bodies.uniform import Uniform, uniform_moments
from leastnoise.guarantees.exact import Exact

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@record()
class Differences(Body):
    """T − T: N(x) = max(P(x), Q(x)). notation: T = of.

    One unit's vector is replaced by another's, both in T (theory/bodies.md §6).

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> Differences(of=Counts(queries=3, most=1)).gauge([1, "0.5", -1])
    Fraction(3, 2)
    """

    kind: ClassVar[str] = "differences"
    fields: ClassVar[Mapping[str, Field]] = MappingProxyType({"of": Field.ONE_SIDED})
    of: OneSided = field(converter=A_ONE_SIDED)

    @property
    def dimension(self) -> int:
        """That of T."""
        return self.of.dimension

    @property
    def degrees(self) -> tuple[int, ...]:
        return (self.of.degree,)

    def power(self, x: Point, exponent: int) -> Fraction | None:
        found = self.of.powers(x, exponent)
        return None if found is None else max(found)

    def enclosure(self, x: Point) -> arb:
        added, removed = self.of.enclosures(x)
        return added.max(removed)

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        added, removed = self.of.moves(points)
        return np.maximum(added, removed)

    def volume(self) -> arb:
        """It is Σ_s weights[s]/(s!(D − s)!)."""
        return sum(self._volumes(), ball(0))

    def _volumes(self) -> tuple[arb, ...]:
        weights = self.of.pieces().weights
        factorials = [ball(s + 1).gamma() for s in range(len(weights))]
        return tuple(
            weight / (a * b)
            for weight, a, b in zip(weights, factorials, reversed(factorials), strict=True)
        )

    @property
    def second_moments(self) -> NDArray[np.float64]:
        return self._moments[0]

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Given s, P ~ Beta(s, 1) and Q ~ Beta(t, 1) are independent, s + t = D."""
        d = self.dimension
        with precision(BITS):
            pieces, volumes = self.of.pieces(), self._volumes()
            total = sum(volumes, ball(0))
            first = [ball(Fraction(s, s + 1)) for s in range(d + 1)]
            second = tuple(ball(Fraction(s, s + 2)) for s in range(d + 1))
            pairs = list(zip(first, reversed(first), strict=True))
            law = Uniform(
                shares=tuple(volume / total for volume in volumes),
                pp=second,
                pq=tuple(a * b for a, b in pairs),
                qq=second[::-1],
                p=tuple(first),
                q=tuple(reversed(first)),
                # max(P, Q) ~ Beta(D, 1), and |P − Q| is twice that less P + Q
                apart=tuple(ball(Fraction(2 * d, d + 1)) - a - b for a, b in pairs),
            )
            return uniform_moments(pieces, law)

    @property
    def corner_count(self) -> int | None:
        """Two of T's corners and 0, in either order: among them all extreme points."""
        count = self.of.corner_count
        return None if count is None else (count + 1) * count

    def times(self, factor: Exact) -> Self:
        return type(self)(of=self.of.times(factor))

    def _decided(self, x: Point, bound: Fraction) -> bool:
        # max(P, Q) <= bound, each decided alone; Q(x) = P(−x)
        turned = tuple(-value for value in x)
        return self.of.adds_at_most(x, bound) and self.of.adds_at_most(turned, bound)

    def _contains_by_structure(self, other: Body) -> bool:
        return isinstance(other, Differences) and self.of.contains(other.of)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        points = [(Fraction(0),) * self.dimension, *self.of.corners()]
        for a, b in itertools.permutations(points, 2):
            yield tuple(p - q for p, q in zip(a, b, strict=True))
