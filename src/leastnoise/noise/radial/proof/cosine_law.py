"""The cosine W between a fixed and a uniform direction: P(W > w), enclosed.

For even dimensions d it is an incomplete beta function of half-integers, which takes 0.1 ms. So it
is expanded around points of u = artanh w, each computed once: P(W > tanh u) has the
derivative −C·cosh(u)^−m, m = d − 1, which is analytic up to a distance of π/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

from flint import acb, arb, arb_poly, arb_series, ctx

from leastnoise.balls.core import precision

_NARROW = 40  # bits: balls as accurate as this are evaluated directly, others by their ends
_FARTHEST_U = 25.0  # of u
_FEWEST = 4  # terms
_SPARE_BITS = 32  # what a cell is worked out with
_CELLS = 8  # half-widths of a cell in the radius in which the derivative is bounded


@final
@dataclass(frozen=True)
class Halves:
    """(1 − w)/2 and (1 + w)/2 of a cosine w that isn't clipped, each to its own accuracy."""

    down: acb
    up: acb


@final
class CosineLaw:
    """P(W > w) = I_(1−w)/2(a, a) of the cosine W between a fixed and a uniform direction, d > 1."""

    def __init__(self, dimension: int) -> None:
        self._d = dimension
        self._a = arb(dimension - 1) / 2
        ratio = ((self._a + arb(1) / 2).lgamma() - self._a.lgamma()).exp()
        self._slope_at_half = 2 * ratio / arb.pi().sqrt()

    def above_at(self, down: arb, up: arb) -> arb:
        """Enclose P(W > w) for a real w from (1 − w)/2, (1 + w)/2; 0 for w >= 1, 1 for <= −1."""
        if down <= 0:
            return arb(0)
        if up <= 0:
            return arb(1)
        inside = bool(down > 0 and up > 0)
        if inside and min(down.rel_accuracy_bits(), up.rel_accuracy_bits()) >= _NARROW:
            return self._inside(down, up)
        return self._clipped(down, up)

    def above(self, c: Halves, *, analytic: bool) -> acb:
        """Enclose P(W > w), 0 for w >= 1 and 1 for w <= −1; for a box, of its continuation.

        Boxes hold a stretch of the real line, and there w is the cosine: if that is beyond ±1 on
        all of the box, the function is the constant.
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
        """P at a real point plus the distance times the hull of its slope (mean value theorem).

        In the smaller half q, of which P or 1 − P is I_q(a, a), with slope ∝ (q(1−q))^(a−1).
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
        """Enclose P for a wide real range: it rises in `down`."""
        low, high = arb(0), arb(1)
        if down > 0 and up < 1:
            low = self._beta(arb(down.lower()))
        if up > 0 and down < 1:
            high = self._beta(arb(down.upper()))
        return low.union(high)

    def _inside(self, down: arb, up: arb) -> arb:
        return self._beta(down) if down < up else 1 - self._beta(up)

    def _beta(self, q: arb) -> arb:
        """P(W > 1 − 2q) = I_q(a, a) for 0 < q < 1."""
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
    """P(W > tanh(center + x)) − polynomial(x) lies in `error` for |x| <= the half-width."""

    center: arb
    polynomial: arb_poly
    error: arb


def _tabulated(dimension: int, q: arb) -> arb:
    """Enclose P(W > 1 − 2q), 0 < q < 1, d even."""
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


def _half_width(dimension: int) -> float:
    """Return it as a power of two, so that centers are exact."""
    radius = min(1.0, 1 / math.sqrt(dimension - 1))
    return 2.0 ** math.floor(math.log2(radius / _CELLS))


@lru_cache(maxsize=4096)
def _cell(dimension: int, index: int, bits: int) -> _CosineCell:
    """Expand at u₀ = 2·index·(half-width), for `bits` of P there.

    The coefficients g_k of the derivative are at most M/ρ^k for a bound M on it in the disc of
    radius ρ, and |cosh(a + ib)|² = sinh²a + cos²b.
    """
    with precision(bits + _SPARE_BITS):
        half = _half_width(dimension)
        center, rho, m = arb(2 * index * half), arb(_CELLS * half), dimension - 1
        a = arb(m) / 2
        log_norm = (a + arb(1) / 2).lgamma() - a.lgamma() - arb.pi().log() / 2
        nearest = (abs(center) - rho).max(arb(0))
        log_most = log_norm - a * (nearest.sinh() ** 2 + rho.cos() ** 2).log()
        value = (1 / (1 + (2 * center).exp())).beta_lower(a, a, 1)
        # terms until what is left is below 2^-bits of the value at the far end of the cell
        least = float(value.log().mid()) - 2 * m * half
        wanted = (float(log_most.mid()) - least + bits * math.log(2)) / math.log(_CELLS)
        count = max(_FEWEST, math.ceil(wanted) + 1)
        previous, ctx.cap = ctx.cap, count
        try:
            line = arb_series([center, 1], prec=count)
            cosh = (line.exp() + (-line).exp()) / 2
            derivative = -((log_norm - m * cosh.log()).exp())
            expanded = derivative.integral()
            if expanded.prec < count:  # what is missing would read as 0
                raise RuntimeError("a series was cut short")
            coefficients = [value, *[expanded[k] for k in range(1, count)]]
        finally:
            ctx.cap = previous
        ratio = arb(1) / _CELLS
        left = log_most.exp() * rho * ratio**count / (1 - ratio) / count
        return _CosineCell(
            center=center, polynomial=arb_poly(coefficients), error=left.union(-left)
        )
