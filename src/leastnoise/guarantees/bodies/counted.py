"""A set of what can be added, followed by the number of rows that were."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb

from leastnoise._record import field, record, takes
from leastnoise.balls.core import ball
from leastnoise.guarantees.bodies.base import Point, positive
from leastnoise.guarantees.bodies.one_sided import A_ONE_SIDED, Balls, Coordinate, OneSided, Pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@record()
class Counted(OneSided):
    """The hull of 0 and T₀ × {bound}: what T₀ holds, and one row that is counted along with it.

    notation: T₀ = of, P₀ and Q₀ its own; n the last coordinate over `bound`. In the cone
    {g₀(a) <= n}, x = a − b has P = max(P₀, Q₀ + n), and Q = P − n.

    Raises InvalidArgument unless bound > 0.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> Counted(of=Counts(queries=2), bound=1).holds([1, 0, 1])
    True
    """

    kind: ClassVar[str] = "counted"
    of: OneSided = field(converter=A_ONE_SIDED, scales=True)
    bound: Fraction = field(converter=takes(positive), default=1, scales=True)

    @property
    def dimension(self) -> int:
        """One more than T₀'s."""
        return self.of.dimension + 1

    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction] | None:
        found = self.of.powers(x[:-1], 1)
        if found is None:
            return None
        rows = x[-1] / self.bound
        added = max(found[0], found[1] + rows)
        return added**exponent, (added - rows) ** exponent

    def enclosures(self, x: Point) -> tuple[arb, arb]:
        added, removed = self.of.enclosures(x[:-1])
        rows = ball(x[-1] / self.bound)
        return added.max(removed + rows), removed.max(added - rows)

    def moves(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        added, removed = self.of.moves(points[..., :-1])
        rows = points[..., -1] / float(self.bound)
        return np.maximum(added, removed + rows), np.maximum(removed, added - rows)

    def pieces(self) -> Pieces:
        """They are weights[s] = bound·(weights₀[s] + weights₀[s − 1]).

        Volume {P₀ <= α, Q₀ <= β} = Σ w₀[s] α^s β^t/(s!t!), and n = α − β: the density of (α, β) is
        (∂α + ∂β) of it. Where P₀ = α < Q₀ + n is not met, Q₀ = β·Beta(t, 1); else the reverse.
        """
        inner = self.of.pieces()
        scale = ball(self.bound)
        reached = tuple(scale * weight for weight in (*inner.weights, arb(0)))  # P₀ = α, by s
        passed = tuple(scale * weight for weight in (arb(0), *inner.weights))  # Q₀ = β, by s + 1
        weights = tuple(a + b for a, b in zip(reached, passed, strict=True))
        layout = tuple(
            (tuple(_within(one, reached, passed) for one in cell), copies)
            for cell, copies in inner.layout
        )
        one, none = (arb(1),) * len(weights), (arb(0),) * len(weights)
        rows = Coordinate(
            unit=self.bound,
            pp=one,
            pq=tuple(-2 * value for value in one),
            qq=one,
            p=none,
            q=none,
            apart=one,
        )
        return Pieces(weights=weights, layout=(*layout, ((rows,), 1)))

    @property
    def corner_count(self) -> int | None:
        """Those of T₀, and a row that adds nothing else."""
        count = self.of.corner_count
        return None if count is None else count + 1

    def contains(self, other: OneSided) -> bool:
        if isinstance(other, Counted) and other.bound == self.bound:
            return self.of.contains(other.of)
        return super().contains(other)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        yield (Fraction(0),) * self.of.dimension + (self.bound,)
        for corner in self.of.corners():
            yield (*corner, self.bound)


def _within(one: Coordinate, reached: Balls, passed: Balls) -> Coordinate:
    """Return a coordinate's moments given P, Q and the shape s' of P.

    With P₀ = P, Q₀ is Q·Beta(t, 1), s = s', t = D' − s' − 1; with Q₀ = Q, P₀ is P·Beta(s, 1),
    s = s' − 1: a moment of order n is size/(size + n) of that at the end.
    """

    def mixed(moment: Balls, above: int, below: int) -> Balls:
        last = len(reached) - 1
        found = []
        for s in range(last + 1):
            total = arb(0)
            if s < last:
                total += reached[s] * moment[s] * _lowered(last - s - 1, below)
            if s > 0:
                total += passed[s] * moment[s - 1] * _lowered(s - 1, above)
            found.append(total / (reached[s] + passed[s]))
        return tuple(found)

    simple = one.p is not None and one.q is not None and one.apart is not None
    simple = simple and all(value.is_zero() for value in one.apart or ())
    return Coordinate(
        unit=one.unit,
        pp=mixed(one.pp, 2, 0),
        pq=mixed(one.pq, 1, 1),
        qq=mixed(one.qq, 0, 2),
        p=mixed(one.p, 1, 0) if simple and one.p else None,
        q=mixed(one.q, 0, 1) if simple and one.q else None,
        apart=(arb(0),) * len(reached) if simple else None,
    )


def _lowered(size: int, order: int) -> arb:
    """E B^order for B ~ Beta(size, 1); 1 for order 0."""
    return ball(Fraction(size, size + order)) if order else arb(1)
