"""`Together`: several bodies, moved at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import field, record, takes
from leastnoise.balls.core import ball, precision
from leastnoise.guarantees.bodies import base, shares
from leastnoise.guarantees.bodies.base import BITS, BODIES, Body, Point
from leastnoise.guarantees.bodies.shares import Radical, raise_rational, sum_at_most_one

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray


@final
@record()
class Together(Body):
    """K ⊃ K₁ × K₂ × …: N(x) = (Σ (N_i(x_i)/r_i)^p)^(1/p), r_i = radii[i], p = exponent.

    Any 1 <= p <= ∞ and r_i > 0 with Σ r_i^(−p) <= 1 give N(s) <= 1 for every s with N_i(s_i) <= 1.
    p = 1 splits the budget, r_i = ε/ε_i; p = ∞ with all r_i = 1 is the product itself.
    `exponent=None` stands for ∞. Raises InvalidArgument unless p and the r_i are such (p with
    numerator and denominator up to 1,000).

    >>> from leastnoise.guarantees.bodies.box import Interval
    >>> one = Interval(bound=1)
    >>> Together(bodies=[one, one], radii=["5/3", "5/4"], exponent=2).gauge([1, 1])
    Fraction(1, 1)
    """

    kind: ClassVar[str] = "together"
    bodies: tuple[Body, ...] = field(converter=BODIES, scales=True)
    radii: tuple[Fraction, ...] = field(
        converter=takes(shares.radii_of, parts="bodies", of_record=True)
    )
    exponent: Fraction | None = field(converter=takes(shares.exponent_of))

    def _check_together(self) -> None:
        _validate.dimension(self.dimension)

    @property
    def dimension(self) -> int:
        """The coordinates of all blocks."""
        return sum(body.dimension for body in self.bodies)

    @property
    def degrees(self) -> tuple[int, ...]:
        p = self.exponent
        return (1,) if p is None or p.denominator != 1 else (int(p),)

    def power(self, x: Point, exponent: int) -> Fraction | None:
        """Known where each (N_i/r_i)^p is."""
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
        """It is Π |K_i| r_i^D_i Γ(D_i/p + 1) / Γ(D/p + 1)."""
        found = 1 / shares.gamma(self.dimension, rise=1, exponent=self.exponent)
        for body, radius in zip(self.bodies, self.radii, strict=True):
            d = body.dimension
            scaled = body.volume() * ball(radius) ** d
            found *= scaled * shares.gamma(d, rise=1, exponent=self.exponent)
        return found

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """The source is theory/bodies.md §2."""
        return np.concatenate(
            [
                body.second_moments * self._factor(body, radius, 2)
                for body, radius in zip(self.bodies, self.radii, strict=True)
            ]
        )

    @property
    def first_moments(self) -> NDArray[np.float64] | None:
        found = []
        for body, radius in zip(self.bodies, self.radii, strict=True):
            moments = body.first_moments
            if moments is None:
                return None
            found.append(moments * self._factor(body, radius, 1))
        return np.concatenate(found)

    def _factor(self, body: Body, radius: Fraction, order: int) -> float:
        """Return E N_i(U_i)^n over that of U uniform in K_i alone, n = order.

        N(U) ~ Beta(D, 1) and N_i/(r_i N) = B^(1/p), B ~ Beta(D_i/p, (D − D_i)/p), independent.
        """
        d, part = self.dimension, body.dimension
        with precision(BITS):
            share = shares.rise(part, order=order, exponent=self.exponent)
            share /= shares.rise(d, order=order, exponent=self.exponent)
            spread = ball(Fraction(d, d + order) * Fraction(part + order, part))
            return base.nearest(spread * share * ball(radius) ** order)

    @property
    def corner_count(self) -> int | None:
        """The product of the blocks' for p = ∞, the sum for p = 1, else None."""
        counts = [body.corner_count for body in self.bodies]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts) or self.exponent not in (None, 1):
            return None
        return math.prod(known) if self.exponent is None else sum(known)

    def _decided(self, x: Point, bound: Fraction) -> bool:
        radicals = self._radicals(x, bound)
        if radicals is not None:
            return sum_at_most_one(radicals)
        return super()._decided(x, bound)

    def _radicals(self, x: Point, bound: Fraction) -> list[Radical] | None:
        """Return terms with Σ (N_i/(r_i·bound))^p, if they are powers of known rationals."""
        if self.exponent is None:
            return None
        found = []
        for body, radius, part in self._split(x):
            degree = body.degrees[-1]
            value = body.power(part, degree)
            if value is None:
                return None
            found.append((value / (radius * bound) ** degree, self.exponent / degree))
        return found

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
            yield from base.corners_of_each(scaled, dimension=self.dimension)

    def _split(self, x: Point) -> Iterator[tuple[Body, Fraction, Point]]:
        start = 0
        for body, radius in zip(self.bodies, self.radii, strict=True):
            yield body, radius, x[start : start + body.dimension]
            start += body.dimension
