"""How pieces and moments of a block become those of several blocks together.

notation: block i has shape s_i and dimension D_i, all together s and D; t = D − s. Given the
blocks' shapes, P_i = r_i·P·B^(1/p) with B ~ Beta(s_i/p, (s − s_i)/p), Q_i alike and independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb, arb_poly

from leastnoise.guarantees.bodies.one_sided import Balls, Coordinate
from leastnoise.guarantees.bodies.shares import rise


def coefficients(polynomial: arb_poly, degree: int) -> tuple[arb, ...]:
    """Return the coefficients of 1, z, …, z^degree."""
    found = list(polynomial.coeffs())
    return tuple(found + [arb(0)] * (degree + 1 - len(found)))


@final
@dataclass(frozen=True, kw_only=True)
class Mixing:
    """Blocks with the same exponent p: the one of radius r that is looked at, and the rest.

    `total` are the weights of all blocks by s and `rest` those of the other blocks, both without
    the factors s!t!/(Γ(s/p + 1)Γ(t/p + 1)).
    """

    exponent: Fraction | None
    total: Balls
    rest: arb_poly
    radius: Fraction

    def coordinate(self, one: Coordinate, weights: Balls) -> Coordinate:
        """Return the moments given P, Q and s of a coordinate whose block's are `one`.

        `weights` are the block's by s_i, without the same factors.
        """
        simple = one.p is not None and one.apart is not None and all(a.is_zero() for a in one.apart)
        zero = (arb(0),) * len(self.total)
        return Coordinate(
            unit=one.unit * self.radius,
            pp=self._mixed(one.pp, weights, 2, 0),
            pq=self._mixed(one.pq, weights, 1, 1),
            qq=self._mixed(one.qq, weights, 0, 2),
            p=self._mixed(one.p, weights, 1, 0) if simple and one.p else None,
            q=self._mixed(one.q, weights, 0, 1) if simple and one.q else None,
            apart=zero if simple else None,
        )

    def _mixed(self, moment: Balls, weights: Balls, above: int, below: int) -> Balls:
        """Return E[moment[s_i]·(P_i/(r_i P))^above·(Q_i/(r_i Q))^below | s], 0 where P or Q is."""
        own = self._rises(len(weights) - 1, above, below)
        products = [w * m * f for w, m, f in zip(weights, moment, own, strict=True)]
        degree = len(self.total) - 1
        sums = coefficients(arb_poly(products) * self.rest, degree)
        scale = self._rises(degree, above, below)
        return tuple(
            arb(0) if f.is_zero() else value / (weight * f)
            for value, weight, f in zip(sums, self.total, scale, strict=True)
        )

    def _rises(self, degree: int, above: int, below: int) -> list[arb]:
        def ratio(size: int, order: int) -> arb:
            return rise(size, order=order, exponent=self.exponent) if order else arb(1)

        return [ratio(s, above) * ratio(degree - s, below) for s in range(degree + 1)]
