"""The cosine W between a fixed and a uniform direction: P(W > w), enclosed.

Notation: d > 1 is the dimension, a = (d − 1)/2, w a number, q = (1 − w)/2, and I_q(a, a) the
regularised incomplete beta function. P(W > w) is the probability that W exceeds w, I_q(a, a).

For even d it is an incomplete beta function of half-integers, which takes 0.1 ms. So it is expanded
around points of u = artanh w, each computed once. P(W > tanh u) has a derivative in u proportional
to cosh(u)^−m, m = d − 1, which is analytic up to a distance of π/2 from the real line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

from flint import acb, arb, arb_poly, arb_series, ctx

from leastnoise.balls.core import precision

_NARROW = 40  # balls accurate to this many bits are evaluated directly, others at their ends
_FARTHEST_U = 25.0  # largest u of a cell
_FEWEST = 4  # smallest number of terms of an expansion
_SPARE_BITS = 32  # extra precision for the expansion of a cell
_CELLS = 8  # the derivative is bounded in a disc whose radius is 8 half-widths of a cell


@final
@dataclass(frozen=True)
class Halves:
    """A number w, as `down` = (1 − w)/2 and `up` = (1 + w)/2, each with its own accuracy.

    w is the cosine of an angle, but isn't clipped to [−1, 1].
    """

    down: acb
    up: acb


@final
class CosineLaw:
    """The law of the cosine W of a uniform direction in d = `dimension` > 1 dimensions."""

    def __init__(self, dimension: int) -> None:
        self._d = dimension
        self._a = arb(dimension - 1) / 2
        ratio = ((self._a + arb(1) / 2).lgamma() - self._a.lgamma()).exp()
        self._slope_at_half = 2 * ratio / arb.pi().sqrt()

    def above_at(self, down: arb, up: arb) -> arb:
        """Enclose P(W > w) for a real w, from `down` = (1 − w)/2 and `up` = (1 + w)/2.

        It is exactly 0 if w >= 1 is certain, and exactly 1 if w <= −1 is certain.
        """
        if down <= 0:
            return arb(0)
        if up <= 0:
            return arb(1)
        inside = bool(down > 0 and up > 0)
        if inside and min(down.rel_accuracy_bits(), up.rel_accuracy_bits()) >= _NARROW:
            return self._inside(down, up)
        return self._clipped(down, up)

    def above(self, c: Halves, *, analytic: bool) -> acb:
        """Enclose P(W > w) or, for a complex box `c` of w, its analytic continuation.

        P(W > w) is 0 for w >= 1 and 1 for w <= −1. Boxes of the quadrature contain an interval of
        the real line. If w is beyond ±1 on all of it, P(W > w) is constant there, and so is its
        continuation. NaN for a complex box that is too wide. Also NaN if the box may contain ±1,
        unless it is real and `analytic` is false.
        """
        down, up = c.down.real, c.up.real
        if down <= 0:
            return acb(0)
        if up <= 0:
            return acb(1)
        inside = bool(down > 0 and up > 0)
        if c.down.imag.is_zero():
            narrow = min(down.rel_accuracy_bits(), up.rel_accuracy_bits()) >= _NARROW
            if not analytic or (inside and narrow):
                return acb(self.above_at(down, up))
        return self._continued(c) if inside else acb("nan")

    def _continued(self, c: Halves) -> acb:
        """Enclose P(W > w) in a complex box, by the mean value theorem around a real point.

        The variable q is the smaller of (1 − w)/2 and (1 + w)/2, so that P(W > w) is I_q(a, a) or
        1 − I_q(a, a). The slope in q is ∝ (q(1−q))^(a−1).
        """
        falls = bool(c.down.real.mid() < c.up.real.mid())
        q = c.down if falls else c.up
        middle = arb(q.real.mid())
        hull = acb(q.real, q.imag.union(arb(0)))
        square = hull * (1 - hull)
        if not square.real > 0:
            return acb("nan")
        slope = self._slope_at_half * ((self._a - 1) * (4 * square).log()).exp()
        value = self._beta(middle) + (q - middle) * slope
        return value if falls else 1 - value

    def _clipped(self, down: arb, up: arb) -> arb:
        """Enclose P(W > w), which rises with `down`, for a wide real range of w, from its ends."""
        low, high = arb(0), arb(1)
        if down > 0 and up < 1:
            low = self._beta(arb(down.lower()))
        if up > 0 and down < 1:
            high = self._beta(arb(down.upper()))
        return low.union(high)

    def _inside(self, down: arb, up: arb) -> arb:
        return self._beta(down) if down < up else 1 - self._beta(up)

    def _beta(self, q: arb) -> arb:
        """Enclose the probability I_q(a, a) that W exceeds 1 − 2q; [0, 1] unless 0 < q < 1."""
        if not (q > 0 and q < 1):
            return arb(0).union(arb(1))
        if self._d == 2:
            return 2 * q.sqrt().asin() / arb.pi()
        if self._d == 3:
            return q
        if self._d % 2:  # a is whole, and the function quick
            return q.beta_lower(self._a, self._a, 1)
        return _tabulated(self._d, q)


@final
@dataclass(frozen=True)
class _CosineCell:
    """A cell of u = artanh w, with a polynomial that approximates P(W > tanh u).

    For u = center + x, the probability minus polynomial(x) lies in `error` if |x| is at most the
    half-width.
    """

    center: arb
    polynomial: arb_poly
    error: arb


def _tabulated(dimension: int, q: arb) -> arb:
    """Enclose the probability that W exceeds 1 − 2q, for an even dimension and 0 < q < 1.

    It is the polynomial of a cell if q is in one, and otherwise the beta function.
    """
    u = ((1 - q) / q).log() / 2
    half = _half_width(dimension)
    middle = float(u.mid())
    if abs(middle) < _FARTHEST_U:
        cell = _cell(dimension, round(middle / (2 * half)), ctx.prec)
        x = u - cell.center
        if abs(x) <= half:
            return cell.polynomial(x) + cell.error
    a = arb(dimension - 1) / 2
    return q.beta_lower(a, a, 1)


@lru_cache(maxsize=4096)
def _half_width(dimension: int) -> float:
    """The half-width of a cell in u; a power of two, so that centers are exact."""
    radius = min(1.0, 1 / math.sqrt(dimension - 1))
    return 2.0 ** math.floor(math.log2(radius / _CELLS))


@lru_cache(maxsize=4096)
def _cell(dimension: int, index: int, bits: int) -> _CosineCell:
    """Expand P(W > tanh u) at u₀ = 2·index·(half-width), to `bits` bits of its value there.

    Let M be a bound on the derivative in the disc of radius ρ about u₀. Then coefficient k of the
    derivative's expansion is at most M/ρ^k. M follows from |cosh(x + iy)|² = sinh²x + cos²y.
    """
    with precision(bits + _SPARE_BITS):
        half = _half_width(dimension)
        center, rho, m = arb(2 * index * half), arb(_CELLS * half), dimension - 1
        a = arb(m) / 2
        log_norm = (a + arb(1) / 2).lgamma() - a.lgamma() - arb.pi().log() / 2
        nearest = (abs(center) - rho).max(arb(0))
        log_most = log_norm - a * (nearest.sinh() ** 2 + rho.cos() ** 2).log()
        value = (1 / (1 + (2 * center).exp())).beta_lower(a, a, 1)
        # terms until the rest is below 2^-bits times the value at the far end of the cell
        least = float(value.log().mid()) - 2 * m * half
        wanted = (float(log_most.mid()) - least + bits * math.log(2)) / math.log(_CELLS)
        count = max(_FEWEST, math.ceil(wanted) + 1)
        previous, ctx.cap = ctx.cap, count
        try:
            line = arb_series([center, 1], prec=count)
            cosh = (line.exp() + (-line).exp()) / 2
            derivative = -((log_norm - m * cosh.log()).exp())
            expanded = derivative.integral()
            if expanded.prec < count:  # missing coefficients would be read as 0
                raise RuntimeError("a series was cut short")
            coefficients = [value, *[expanded[k] for k in range(1, count)]]
        finally:
            ctx.cap = previous
        ratio = arb(1) / _CELLS
        left = log_most.exp() * rho * ratio**count / (1 - ratio) / count
        return _CosineCell(
            center=center, polynomial=arb_poly(coefficients), error=left.union(-left)
        )
