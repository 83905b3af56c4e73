"""`Together` and `Jointly`: several bodies, or one-sided sets, in which a unit moves at once.

Notation: block i of the coordinates has the body K_i with gauge N_i, or the set T_i with its P_i
and Q_i (`one_sided`). D_i is its dimension, r_i = radii[i] its radius, and x_i its coordinates of
x. p is the exponent. K, T, N, P, Q and D without an index belong to all blocks together. U is
uniform in K, and E is the mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from flint import arb, arb_poly

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes
from leastnoise.balls.core import PLAIN_BITS, ball, precision
from leastnoise.guarantees.bodies import base, shares
from leastnoise.guarantees.bodies.base import BODIES, Body, Point
from leastnoise.guarantees.bodies.one_sided import (
    Layout,
    Mixing,
    OneSided,
    VolumeSplit,
    coefficients,
)
from leastnoise.guarantees.bodies.shares import Radical, raise_rational, sum_at_most_one
from leastnoise.guarantees.fields import FractionOrNoneField, FractionsField

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@record()
class Together(Body):
    """A body K that contains the product K_1 × K_2 × … of bodies that move together.

    Its gauge is N(x) = (Σ (N_i(x_i)/r_i)^p)^(1/p), with r_i = radii[i] and p = exponent. For all 1
    <= p <= ∞ and r_i > 0 with Σ r_i^(−p) <= 1, every shift s with all N_i(s_i) <= 1 has N(s) <= 1.
    p = 1 splits the budget ε into parts ε_i, with r_i = ε/ε_i. p = ∞ with all r_i = 1 is the
    product itself. `exponent=None` stands for ∞. Raises InvalidArgument for other p and r_i, and
    for a p with a numerator or denominator above 1,000.

    >>> from leastnoise.guarantees.bodies.plain import Segment
    >>> segment = Segment(bound=1)
    >>> Together(bodies=[segment, segment], radii=["5/3", "5/4"], exponent=2).gauge([1, 1])
    Fraction(1, 1)
    """

    kind: ClassVar[str] = "together"
    bodies: tuple[Body, ...] = field(converter=BODIES, scales=True)
    radii: FractionsField = field(converter=takes(shares.radii_of, parts="bodies", of_record=True))
    exponent: FractionOrNoneField = field(converter=takes(shares.exponent_of))

    def _check_together(self) -> None:
        _validate.dimension(self.dimension)

    @property
    def dimension(self) -> int:
        """The number of coordinates of all blocks."""
        return sum(body.dimension for body in self.bodies)

    @property
    def degrees(self) -> tuple[int, ...]:
        p = self.exponent
        return (1,) if p is None or p.denominator != 1 else (int(p),)

    def power(self, x: Point, exponent: int) -> Fraction | None:
        """The exact power N(x)^exponent.

        None if p is neither whole nor ∞, or if this power or one that it needs of a block isn't
        known to be rational.
        """
        p = self.exponent
        if p is not None and p.denominator != 1:
            return None
        degree = 1 if p is None else int(p)
        values = []
        for body, radius, part in self._split(x):
            value = body.power(part, degree)
            if value is None:
                return None
            values.append(value / radius**degree)
        total = max(values) if p is None else sum(values, Fraction(0))
        return raise_rational(total, Fraction(exponent, degree))

    def enclosure(self, x: Point) -> arb:
        values = [body.enclosure(part) / ball(radius) for body, radius, part in self._split(x)]
        return shares.combine(values, exponent=self.exponent)

    def gauges(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        values, start = [], 0
        for body, radius in zip(self.bodies, self.radii, strict=True):
            end = start + body.dimension
            values.append(body.gauges(points[..., start:end]) / float(radius))
            start = end
        return shares.combine_floats(values, exponent=self.exponent)

    def volume(self) -> arb:
        """The product over all i of |K_i|·r_i^D_i·Γ(D_i/p + 1), divided by Γ(D/p + 1)."""
        result = 1 / shares.gamma(self.dimension, rise=1, exponent=self.exponent)
        for body, radius in zip(self.bodies, self.radii, strict=True):
            d = body.dimension
            scaled = body.volume() * ball(radius) ** d
            result *= scaled * shares.gamma(d, rise=1, exponent=self.exponent)
        return result

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """The second moments of U, from the moments of each block's body (theory/bodies.md §2)."""
        return np.concatenate(
            [
                body.second_moments * self._factor(body, radius, 2)
                for body, radius in zip(self.bodies, self.radii, strict=True)
            ]
        )

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        moments_of_blocks = []
        for body, radius in zip(self.bodies, self.radii, strict=True):
            moments = body.first_moments
            if moments is None:
                return None
            moments_of_blocks.append(moments * self._factor(body, radius, 1))
        return np.concatenate(moments_of_blocks)

    def _factor(self, body: Body, radius: Fraction, order: int) -> float:
        """The factor that turns a moment of K_i into the moment of the same coordinate in K.

        `order` is 1 for first moments, 2 for second moments. Let U_i be the block's coordinates.
        The factor is the mean of N_i(U_i)^order, divided by the mean of N_i^order under the uniform
        law of K_i. N(U) ~ Beta(D, 1) and N_i(U_i)/(r_i N(U)) = B^(1/p) are independent, where B ~
        Beta(D_i/p, (D − D_i)/p).
        """
        d, part = self.dimension, body.dimension
        with precision(PLAIN_BITS):
            share = shares.rise(part, order=order, exponent=self.exponent)
            share /= shares.rise(d, order=order, exponent=self.exponent)
            spread = ball(Fraction(d, d + order) * Fraction(part + order, part))
            return base.nearest(spread * share * ball(radius) ** order)

    @property
    def corner_count(self) -> int | None:
        """The number of corners: the product over the blocks for p = ∞, the sum for p = 1.

        None for other p, or if a block has no finite set of corners.
        """
        counts = [body.corner_count for body in self.bodies]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts) or self.exponent not in (None, 1):
            return None
        return math.prod(known) if self.exponent is None else sum(known)

    def _is_inside(self, x: Point, bound: Fraction) -> bool:
        radicals = self._radicals(x, bound)
        if radicals is not None:
            return sum_at_most_one(radicals)
        return super()._is_inside(x, bound)

    def _radicals(self, x: Point, bound: Fraction) -> list[Radical] | None:
        """The terms (N_i(x_i)/(r_i·bound))^p as pairs (base, exponent), one pair for each block.

        N(x) <= bound if and only if their sum is at most 1. None for p = ∞, or if a base isn't
        known to be rational.
        """
        if self.exponent is None:
            return None
        radicals = []
        for body, radius, part in self._split(x):
            degree = body.degrees[-1]
            value = body.power(part, degree)
            if value is None:
                return None
            radicals.append((value / (radius * bound) ** degree, self.exponent / degree))
        return radicals

    def _contains_by_structure(self, other: Body) -> bool:
        return (
            isinstance(other, Together)
            and other.exponent == self.exponent
            and len(other.bodies) == len(self.bodies)
            and all(
                ours.times(r).contains(theirs.times(s))
                for ours, r, theirs, s in zip(
                    self.bodies, self.radii, other.bodies, other.radii, strict=True
                )
            )
        )

    def _corners(self) -> Iterator[tuple[Fraction, ...]]:
        scaled = [body.times(radius) for body, radius in zip(self.bodies, self.radii, strict=True)]
        if self.exponent is None:
            for parts in itertools.product(*(list(body.corners()) for body in scaled)):
                yield tuple(itertools.chain(*parts))
        else:
            yield from base.product_axes_corners(scaled, dimension=self.dimension)

    def _split(self, x: Point) -> Iterator[tuple[Body, Fraction, Point]]:
        start = 0
        for body, radius in zip(self.bodies, self.radii, strict=True):
            yield body, radius, x[start : start + body.dimension]
            start += body.dimension


_PARTS: Converter[Sequence[OneSided], tuple[OneSided, ...]] = takes(
    base.check_parts, spelled="Sequence[OneSided]", kind=OneSided
)


@final
@record()
class Jointly(OneSided):
    """A set T that contains the product T_1 × T_2 × … of sets whose moves are added together.

    P = (Σ (P_i/r_i)^p)^(1/p) and Q = (Σ (Q_i/r_i)^p)^(1/p), with r_i = radii[i] and p = exponent.
    As in `Together`, 1 <= p <= ∞ (None) and Σ r_i^(−p) <= 1; raises InvalidArgument for others. The
    hull of T ∪ −T may be smaller than the combination of the parts' hulls, since signs are kept.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> both = Jointly(parts=[Counts(queries=2), Counts(queries=1)], radii=[1, 1], exponent=None)
    >>> both.powers([Fraction(n) for n in (1, -2, 3)], 1)
    (Fraction(3, 1), Fraction(2, 1))
    """

    kind: ClassVar[str] = "jointly"
    parts: tuple[OneSided, ...] = field(converter=_PARTS, scales=True)
    radii: FractionsField = field(converter=takes(shares.radii_of, parts="parts", of_record=True))
    exponent: FractionOrNoneField = field(converter=takes(shares.exponent_of))

    def _check_together(self) -> None:
        _validate.dimension(self.dimension)

    @property
    def dimension(self) -> int:
        """The number of coordinates of all parts."""
        return sum(part.dimension for part in self.parts)

    @property
    def degree(self) -> int:
        p = self.exponent
        return 1 if p is None or p.denominator != 1 else int(p)

    def powers(self, x: Point, exponent: int) -> tuple[Fraction, Fraction] | None:
        """The exact powers P(x)^exponent and Q(x)^exponent, as a pair.

        None if p is neither whole nor ∞, or if these powers or those that they need of a block
        aren't known to be rational.
        """
        p = self.exponent
        if p is not None and p.denominator != 1:
            return None
        pairs = []
        for part, radius, block in self._split(x):
            powers_of_part = part.powers(block, self.degree)
            if powers_of_part is None:
                return None
            pairs.append([value / radius**self.degree for value in powers_of_part])
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

    def pieces(self) -> VolumeSplit:
        """The volume split by P and Q: see theory/bodies.md §3, "A p-combination with signs"."""
        blocks = [part.pieces() for part in self.parts]
        weights_of_blocks = [
            tuple(
                weight * ball(radius) ** block.dimension / factor
                for weight, factor in zip(
                    block.weights, self._factors(block.dimension), strict=True
                )
            )
            for block, radius in zip(blocks, self.radii, strict=True)
        ]
        polynomials = [arb_poly(list(weights)) for weights in weights_of_blocks]
        total = coefficients(math.prod(polynomials, start=arb_poly([1])), self.dimension)
        layouts: dict[tuple[OneSided, Fraction], Layout] = {}  # equal blocks share a layout
        for i, (part, radius) in enumerate(zip(self.parts, self.radii, strict=True)):
            if (part, radius) in layouts:
                continue
            rest = math.prod(polynomials[:i] + polynomials[i + 1 :], start=arb_poly([1]))
            mixing = Mixing(exponent=self.exponent, total=total, rest=rest, radius=radius)
            layouts[part, radius] = tuple(
                (
                    tuple(mixing.coordinate(in_block, weights_of_blocks[i]) for in_block in cell),
                    copies,
                )
                for cell, copies in blocks[i].layout
            )
        layout = itertools.chain.from_iterable(
            layouts[pair] for pair in zip(self.parts, self.radii, strict=True)
        )
        weights = tuple(
            weight * factor
            for weight, factor in zip(total, self._factors(self.dimension), strict=True)
        )
        return VolumeSplit(weights=weights, layout=tuple(layout))

    def _factors(self, size: int) -> list[arb]:
        """The factors s!t!/(Γ(s/p + 1)Γ(t/p + 1)) for each shape s = 0 … size and t = size − s.

        With them the weights of blocks multiply. `pieces` divides each block's weights by its
        factors, convolves them over the blocks, and multiplies the result by the factors of the
        whole.
        """
        ratios = [
            ball(s + 1).gamma() / shares.gamma(s, rise=1, exponent=self.exponent)
            for s in range(size + 1)
        ]
        return [a * b for a, b in zip(ratios, reversed(ratios), strict=True)]

    @property
    def corner_count(self) -> int | None:
        """The number of corners of T.

        For p = ∞ a corner consists of a corner or 0 of each part; the point 0 itself isn't counted.
        For p = 1 it is the sum of the parts' numbers of corners. None for other p, or if a part has
        no finite set of corners.
        """
        counts = [part.corner_count for part in self.parts]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts) or self.exponent not in (None, 1):
            return None
        if self.exponent is None:
            return math.prod(count + 1 for count in known) - 1
        return sum(known)

    def adds_at_most(self, x: Point, bound: Fraction) -> bool:
        """True only if it is proved that P(x) <= bound, for a bound > 0.

        For p < ∞ that means Σ (P_i(x_i)/(r_i·bound))^p <= 1.
        """
        radicals: list[Radical] = []
        for part, radius, block in self._split(x):
            powers_of_part = part.powers(block, part.degree)
            if powers_of_part is None or self.exponent is None:
                return super().adds_at_most(x, bound)
            base = powers_of_part[0] / (radius * bound) ** part.degree
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
            yield from base.product_axes_corners(scaled, dimension=self.dimension)

    def _split(self, x: Point) -> Iterator[tuple[OneSided, Fraction, Point]]:
        start = 0
        for part, radius in zip(self.parts, self.radii, strict=True):
            yield part, radius, x[start : start + part.dimension]
            start += part.dimension
