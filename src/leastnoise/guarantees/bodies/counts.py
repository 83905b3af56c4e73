"""Counting queries: what one row can add to the counts of d conditions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb

from leastnoise import _validate
from leastnoise._record import field, record, takes, whole
from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import Point, positive
from leastnoise.guarantees.bodies.capped import MOST_WORK, capped_cubes
from leastnoise.guarantees.bodies.one_sided import MOST_CELLS, Coordinate, OneSided, Pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _most(most: int | None, *, name: str, record: Counts) -> int:
    d = record.queries
    return d if most is None else _validate.whole(most, name=name, most=d)


@final
@record()
class Counts(OneSided):
    """T = [0, b]^d ∩ {Σ x_i <= k·b}: d conditions, of which a row meets at most k.

    notation: d = queries, k = most (d if not given), b = bound; g(y) = max(max y_i, Σ y_i/k)/b,
    P(x) = g(x⁺), Q(x) = g(x⁻). Raises InvalidArgument unless 1 <= k <= d <= 100,000, and where
    1 < k < d and k·d > 1,000,000.

    >>> Counts(queries=3, most=2).powers([Fraction(1), Fraction(1), Fraction(-1)], 1)
    (Fraction(1, 1), Fraction(1, 1))
    """

    kind: ClassVar[str] = "counts"
    queries: int = field(converter=whole(most=MOST_CELLS))
    most: int = field(converter=takes(_most, of_record=True), default=None)
    bound: Fraction = field(converter=takes(positive), default=1, scales=True)

    def _check_together(self) -> None:
        d = _validate.dimension(self.queries)
        if self.most < d and self.most * d > MOST_WORK:
            raise InvalidArgument(
                name="most",
                value=self.most,
                expected=f"most · queries <= {MOST_WORK:,}",
                hint="Noise for most = queries protects it too.",
            )

    @property
    def dimension(self) -> int:
        """The number of conditions."""
        return self.queries

    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction]:
        added = self._gauge([value for value in x if value > 0])
        removed = self._gauge([-value for value in x if value < 0])
        return added**exponent, removed**exponent

    def _gauge(self, y: list[Fraction]) -> Fraction:
        if not y:
            return Fraction(0)
        return max(*y, sum(y, Fraction(0)) / self.most) / self.bound

    def enclosures(self, x: Point) -> tuple[arb, arb]:
        added, removed = self.powers(x, 1)
        return ball(added), ball(removed)

    def moves(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        added, removed = np.maximum(points, 0.0), np.maximum(-points, 0.0)
        bound = float(self.bound)
        return self._floats(added) / bound, self._floats(removed) / bound

    def _floats(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(y.max(axis=-1), y.sum(axis=-1) / self.most)

    def pieces(self) -> Pieces:
        """They are weights[s] = d!·V_s·V_(d−s)·b^d, V_s as in `CappedCubes`.

        Given s, a coordinate is above 0 with probability s/d, and is then P times one of the cone
        measure of T_s, whose second moment is (s + 2)/s of the uniform law's.
        """
        d = self.queries
        cubes = capped_cubes(largest=d, cap=self.most)
        whole_volume = ball(d + 1).gamma() * ball(self.bound) ** d
        weights = tuple(
            whole_volume * above * below
            for above, below in zip(cubes.volumes, reversed(cubes.volumes), strict=True)
        )
        second = tuple((s + 2) * moment / d for s, moment in enumerate(cubes.seconds))
        first = tuple((s + 1) * moment / d for s, moment in enumerate(cubes.firsts))
        none = (arb(0),) * (d + 1)
        one = Coordinate(
            unit=self.bound,
            pp=second,
            pq=none,
            qq=second[::-1],
            p=first,
            q=first[::-1],
            apart=none,
        )
        return Pieces(weights=weights, layout=(((one,), d),))

    @property
    def corner_count(self) -> int:
        """Every nonempty set of at most k conditions; 2^d at the most."""
        if self.most == self.queries:
            return 2**self.queries - 1
        return sum(math.comb(self.queries, size) for size in range(1, self.most + 1))

    def contains(self, other: OneSided) -> bool:
        if isinstance(other, Counts) and other.queries == self.queries:
            return other.bound <= self.bound and other.most * other.bound <= self.most * self.bound
        return super().contains(other)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        for size in range(1, self.most + 1):
            for chosen in itertools.combinations(range(self.queries), size):
                yield tuple(self.bound if i in chosen else Fraction(0) for i in range(self.queries))
