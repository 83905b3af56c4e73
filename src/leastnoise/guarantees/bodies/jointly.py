"""`Jointly`: several one-sided sets, added to at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from flint import arb, arb_poly

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes
from leastnoise.balls.core import ball
from leastnoise.guarantees.bodies import base, shares
from leastnoise.guarantees.bodies.base import Point
from leastnoise.guarantees.bodies.one_sided import Layout, Mixing, OneSided, Pieces, coefficients
from leastnoise.guarantees.bodies.shares import Radical, raise_rational, sum_at_most_one

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_PARTS: Converter[Sequence[OneSided], tuple[OneSided, ...]] = takes(
    base.parts, spelled="Sequence[OneSided]", kind=OneSided
)


@final
@record()
class Jointly(OneSided):
    """T ⊃ T₁ × T₂ × …: P = (Σ (P_i/r_i)^p)^(1/p) and Q alike, r_i = radii[i], p = exponent.

    As in `Together`, any 1 <= p <= ∞ (None) and Σ r_i^(−p) <= 1; raises InvalidArgument for others.
    The hull of T ∪ −T is smaller than that of the parts' hulls: signs are kept.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> both = Jointly(parts=[Counts(queries=2), Counts(queries=1)], radii=[1, 1], exponent=None)
    >>> both.powers([Fraction(n) for n in (1, -2, 3)], 1)
    (Fraction(3, 1), Fraction(2, 1))
    """

    kind: ClassVar[str] = "jointly"
    parts: tuple[OneSided, ...] = field(converter=_PARTS, scales=True)
    radii: tuple[Fraction, ...] = field(
        converter=takes(shares.radii_of, parts="parts", of_record=True)
    )
    exponent: Fraction | None = field(converter=takes(shares.exponent_of))

    def _check_together(self) -> None:
        _validate.dimension(self.dimension)

    @property
    def dimension(self) -> int:
        """The coordinates of all parts."""
        return sum(part.dimension for part in self.parts)

    @property
    def degree(self) -> int:
        p = self.exponent
        return 1 if p is None or p.denominator != 1 else int(p)

    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction] | None:
        """Known where the sums of p-th powers have such roots."""
        p = self.exponent
        if p is not None and p.denominator != 1:
            return None
        pairs = []
        for part, radius, block in self._split(x):
            found = part.powers(block, self.degree)
            if found is None:
                return None
            pairs.append([value / radius**self.degree for value in found])
        added, removed = (
            max(column) if p is None else sum(column, Fraction(0))
            for column in zip(*pairs, strict=True)
        )
        root = Fraction(exponent, self.degree)
        added, removed = raise_rational(added, root), raise_rational(removed, root)
        return None if added is None or removed is None else (added, removed)

    def enclosures(self, x: Point) -> tuple[arb, arb]:
        pairs = []
        for part, radius, block in self._split(x):
            pairs.append([value / ball(radius) for value in part.enclosures(block)])
        added, removed = (
            shares.combine(column, exponent=self.exponent) for column in zip(*pairs, strict=True)
        )
        return added, removed

    def moves(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        above, below, start = [], [], 0
        for part, radius in zip(self.parts, self.radii, strict=True):
            end = start + part.dimension
            added, removed = part.moves(points[..., start:end])
            above.append(added / float(radius))
            below.append(removed / float(radius))
            start = end
        p = self.exponent
        return shares.combine_floats(above, exponent=p), shares.combine_floats(below, exponent=p)

    def pieces(self) -> Pieces:
        """The source is theory/bodies.md §3, "A p-combination with signs"."""
        blocks = [part.pieces() for part in self.parts]
        own = [
            tuple(
                weight * ball(radius) ** block.dimension / factor
                for weight, factor in zip(
                    block.weights, self._factors(block.dimension), strict=True
                )
            )
            for block, radius in zip(blocks, self.radii, strict=True)
        ]
        polynomials = [arb_poly(list(weights)) for weights in own]
        total = coefficients(math.prod(polynomials, start=arb_poly([1])), self.dimension)
        layouts: dict[tuple[OneSided, Fraction], Layout] = {}  # blocks that are alike share one
        for i, (part, radius) in enumerate(zip(self.parts, self.radii, strict=True)):
            if (part, radius) in layouts:
                continue
            rest = math.prod(polynomials[:i] + polynomials[i + 1 :], start=arb_poly([1]))
            mixing = Mixing(exponent=self.exponent, total=total, rest=rest, radius=radius)
            layouts[part, radius] = tuple(
                (tuple(mixing.coordinate(one, own[i]) for one in cell), copies)
                for cell, copies in blocks[i].layout
            )
        layout = itertools.chain.from_iterable(
            layouts[pair] for pair in zip(self.parts, self.radii, strict=True)
        )
        weights = tuple(
            weight * factor
            for weight, factor in zip(total, self._factors(self.dimension), strict=True)
        )
        return Pieces(weights=weights, layout=tuple(layout))

    def _factors(self, size: int) -> list[arb]:
        """s!t!/(Γ(s/p + 1)Γ(t/p + 1)), s + t = size."""
        one = [
            ball(s + 1).gamma() / shares.gamma(s, rise=1, exponent=self.exponent)
            for s in range(size + 1)
        ]
        return [a * b for a, b in zip(one, reversed(one), strict=True)]

    @property
    def corner_count(self) -> int | None:
        """For p = ∞ the product of the parts' and 0, but for 0; for p = 1 the sum; else None."""
        counts = [part.corner_count for part in self.parts]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts) or self.exponent not in (None, 1):
            return None
        if self.exponent is None:
            return math.prod(count + 1 for count in known) - 1
        return sum(known)

    def adds_at_most(self, x: Point, bound: Fraction) -> bool:
        """Whether Σ (P_i/(r_i·bound))^p <= 1, decided as such for p < ∞."""
        radicals: list[Radical] = []
        for part, radius, block in self._split(x):
            found = part.powers(block, part.degree)
            if found is None or self.exponent is None:
                return super().adds_at_most(x, bound)
            base = found[0] / (radius * bound) ** part.degree
            radicals.append((base, self.exponent / part.degree))
        return sum_at_most_one(radicals)

    def contains(self, other: OneSided) -> bool:
        if (
            isinstance(other, Jointly)
            and other.exponent == self.exponent
            and len(other.parts) == len(self.parts)
        ):
            pairs = zip(self.parts, self.radii, other.parts, other.radii, strict=True)
            if all(ours.times(r).contains(theirs.times(s)) for ours, r, theirs, s in pairs):
                return True
        return super().contains(other)

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        scaled = [part.times(r) for part, r in zip(self.parts, self.radii, strict=True)]
        if self.exponent is None:
            choices = [[(Fraction(0),) * part.dimension, *part.corners()] for part in scaled]
            for parts in itertools.product(*choices):
                point = tuple(itertools.chain(*parts))
                if any(point):
                    yield point
        else:
            yield from base.corners_of_each(scaled, dimension=self.dimension)

    def _split(self, x: Point) -> Iterator[tuple[OneSided, Fraction, Point]]:
        start = 0
        for part, radius in zip(self.parts, self.radii, strict=True):
            yield part, radius, x[start : start + part.dimension]
            start += part.dimension
