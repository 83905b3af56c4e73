"""Magnitudes as functions of a uniform: exact in balls, and fast by proved Taylor tables.

Notation: Q, u, w and V as in entropy/base.py; Q̂ is the table's float near Q(u). In
theory/release.md §1, u is called 2p and Q is |z|.

The 17 binades of w from 2^46 are cut into 128 cells each; in each cell, the table replaces
Q(w/2^63) by its Taylor polynomial of degree 6 about the middle. tests/entropy/test_quantiles.py
proves in balls, over all 2,176 cells, that the float result is within ETA of Q(u). Balls serve the
other words (u < 2^-17, and the 512 words that round up to 2^63).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb, fmpz_poly

from leastnoise.balls.core import precision
from leastnoise.entropy.base import WORD_BITS, InverseSurvival, Lookup

if TYPE_CHECKING:
    from numpy.typing import NDArray

ETA = 2.0**-40  # |Q̂ − Q(u)| <= ETA, proved with a margin of a factor 29 at the worst cell
DEGREE = 6
CELLS_PER_BINADE = 128
FIRST_BINADE, LAST_BINADE = 46, WORD_BITS  # words in [2^46, 2^63)
CELLS = (LAST_BINADE - FIRST_BINADE) * CELLS_PER_BINADE
# A float's bits, shifted right by this, are its exponent and the 7 leading bits of its mantissa:
# its cell, up to a constant.
_CELL_SHIFT = 52 - 7
_FIRST_CELL = (FIRST_BINADE + 1023) * CELLS_PER_BINADE
_CELL_MASK = np.int64(-1 << _CELL_SHIFT)
_MIDDLE = np.int64(1 << (_CELL_SHIFT - 1))


@final
@dataclass(frozen=True, kw_only=True)
class SmoothQuantile(InverseSurvival):
    """A smooth function Q, whose Taylor table is within ETA of it.

    `function(u)` encloses Q(u); `derivatives(u, count)` encloses the derivatives of Q at u, from
    the first to order `count`; `reach` bounds the table's values.
    """

    function: Callable[[arb], arb]
    derivatives: Callable[[arb, int], list[arb]]
    reach: float

    def enclose(self, u: arb) -> arb:
        return self.function(u)

    def look_up(self, words: NDArray[np.uint64]) -> Lookup:
        """Look up 63-bit words, shape (n,), in the table: |Q̂ − Q(u)| <= ETA unless `beyond`."""
        return look_up_floats(self, words.view(np.int64).astype(np.float64))


def look_up_floats(quantile: SmoothQuantile, w: NDArray[np.float64]) -> Lookup:
    """Look up words given as floats w, not necessarily whole: |Q̂ − Q(w/2^63)| <= ETA.

    The Taylor polynomial of each cell is evaluated by Horner's rule. Words outside [2^46, 2^63) are
    `beyond`, without a value. The array `w` is overwritten.
    """
    raw = w.view(np.int64)
    cell = raw >> _CELL_SHIFT
    cell -= _FIRST_CELL
    middle = raw & _CELL_MASK
    middle |= _MIDDLE
    offset = np.subtract(w, middle.view(np.float64), out=w)  # exact: both are multiples of ulp(w)
    coefficients = table(quantile)
    # `clip` lets numpy gather without a copy; words beyond the table are marked below.
    values = coefficients[DEGREE].take(cell, mode="clip")
    gathered = np.empty_like(values)
    for row in coefficients[DEGREE - 1 :: -1]:
        values *= offset
        values += row.take(cell, mode="clip", out=gathered)
    beyond = cell.view(np.uint64) >= CELLS  # a negative cell is huge as an unsigned number
    return Lookup(values=values, beyond=beyond, error=ETA, reach=quantile.reach)


@cache
def table(quantile: SmoothQuantile) -> NDArray[np.float64]:
    """The table of Taylor coefficients, shape (7, 2176): row k has order k, a column is a cell.

    The coefficients are for powers of the offset w − middle, in words. The table is built once.
    """
    with precision(128):
        rows = [[float(c) for c in _taylor(quantile, middle)] for middle in cell_middles()]
    coefficients = np.array(rows).T.copy()
    coefficients.flags.writeable = False
    return coefficients


def cell_middles() -> Iterator[int]:
    """Yield the middle of each cell, an integer word, in the order of the table."""
    for binade in range(FIRST_BINADE, LAST_BINADE):
        for cell in range(CELLS_PER_BINADE):
            yield (2 * (CELLS_PER_BINADE + cell) + 1) << (binade - 8)


def _taylor(quantile: SmoothQuantile, middle: int) -> list[arb]:
    """The Taylor coefficients of w ↦ Q(w/2^63) at `middle`."""
    u = arb((middle, -WORD_BITS))
    factor = arb(1)
    coefficients = [quantile.enclose(u)]
    for order, derivative in enumerate(quantile.derivatives(u, DEGREE), start=1):
        factor *= arb((1, -WORD_BITS)) / order
        coefficients.append(derivative * factor)
    return coefficients


def _normal_enclose(u: arb) -> arb:
    """Enclose Q of the half-normal law, √2 erfc⁻¹(u): P(|Z| > t) = erfc(t/√2) for a normal Z."""
    return arb(2).sqrt() * u.erfcinv()


@cache
def _normal_polynomials(count: int) -> list[fmpz_poly]:
    """The first `count` polynomials of the normal quantile's derivatives.

    They are P₁ = 1 and P_{m+1} = P_m′ + m z P_m, in the variable z (theory/release.md §1).
    """
    polynomials = [fmpz_poly([1])]
    for m in range(1, count):
        last = polynomials[-1]
        polynomials.append(last.derivative() + fmpz_poly([0, m]) * last)
    return polynomials


def _normal_derivatives(u: arb, count: int) -> list[arb]:
    """Enclose the derivatives of the half-normal Q at u, from the first to order `count`.

    The m-th derivative is P_m(Q)·(Q′)^m, with Q′ = −√(π/2) e^{Q²/2}. For the normal quantile z(p)
    and its density φ, the m-th derivative is P_m(z)/φ(z)^m (theory/release.md §1); here z = −Q and
    p = u/2. P_m has the parity of m − 1, so each term has the sign of (−1)^m.
    """
    q = _normal_enclose(u)
    slope = -(arb.pi() / 2).sqrt() * (q**2 / 2).exp()
    power = arb(1)
    derivatives = []
    for polynomial in _normal_polynomials(count):
        power *= slope
        value = arb(0)
        for coefficient in reversed(polynomial.coeffs()):
            value = value * q + coefficient
        derivatives.append(value * power)
    return derivatives


def _exponential_enclose(u: arb) -> arb:
    """Enclose Q of the exponential law, −ln u."""
    return -u.log()


def _exponential_derivatives(u: arb, count: int) -> list[arb]:
    """The derivatives of Q = −ln u: the m-th is (m−1)! (−1/u)^m."""
    derivatives = [-1 / u]
    for m in range(1, count):
        derivatives.append(-m * derivatives[-1] / u)
    return derivatives


def _cosine_enclose(u: arb) -> arb:
    """Enclose cos(πu/2), the cosine of a uniform angle; it decreases in the angle."""
    return (arb.pi() * u / 2).cos()


def _cosine_derivatives(u: arb, count: int) -> list[arb]:
    """The derivatives of cos(πu/2): the m-th is (π/2)^m cos(π(u + m)/2)."""
    half = arb.pi() / 2
    return [half**m * (half * (u + m)).cos() for m in range(1, count + 1)]


COSINE = SmoothQuantile(function=_cosine_enclose, derivatives=_cosine_derivatives, reach=1.001)
HALF_NORMAL = SmoothQuantile(function=_normal_enclose, derivatives=_normal_derivatives, reach=4.5)
EXPONENTIAL = SmoothQuantile(
    function=_exponential_enclose, derivatives=_exponential_derivatives, reach=12
)
