"""Bounds for sums of Gaussian kernels at one shift: H, and f(y + φ) − e^ε f(y) on items.

Notation: lengths are in units of σ, the width of a kernel. f is the density, f′ to f⁗ and f⁶ its
derivatives, φ a shift and y an output. D(y) = f(y + φ) − e^ε f(y), and H(φ) = ∫ max(0, D(y)) dy is
δ(ε) of the shift φ. An item is an interval of y between neighbouring points of a table.

On each item D is approximated by the quintic p with the same values, slopes and second derivatives
at the ends. For an item of width w, the error is at most w⁶/46080 times the largest sixth
derivative of D, plus rounding. p is written in Bernstein's form: it lies between its smallest and
largest coefficient, and its mean is the mean of the coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from leastnoise.balls.core import UNIT
from leastnoise.noise.kernels.proof.table import LEFT_OUT, DensityTable, Row
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ROOT = Bisection(halvings=60)
OUTWARD = 1 + 1e-12  # covers the rounding of means of six numbers, products and short sums


@final
@dataclass(frozen=True, kw_only=True)
class ShiftValues:
    """Bounds at one shift: low <= H(shift) <= high, and D <= most[i] on item i.

    `row` is the table's row at the shift.
    """

    shift: Fraction
    low: float
    high: float
    most: Floats
    row: Row


class _Items(NamedTuple):
    """Items, with the values of a sum a·f(y + φ) + b·f(y) at their ends.

    `left` and `right` have the shape (3, items): the one-sided value, slope and bend (second
    derivative) at these ends. `sixth` bounds |a f⁶(y + φ)| + |b f⁶(y)| on an item. `sizes` is the
    larger of |a| f(y + φ) + |b| f(y) at its two ends.
    """

    left: Floats
    right: Floats
    widths: Floats
    sixth: Floats
    sizes: Floats


@final
@dataclass(frozen=True, kw_only=True)
class Divergence:
    """Bounds on H at any shift up to `table.longest`; `c` is e^ε rounded to a float."""

    table: DensityTable
    c: float

    @cached_property
    def still(self) -> Row:
        """The row of the table at shift 0."""
        return self.table.row(Fraction(0))

    def look(self, shift: Fraction) -> ShiftValues:
        """Compute the bounds on H and D at `shift`, for 0 <= shift <= table.longest."""
        row = self.table.row(shift)
        quintics = self._pieces.of(shift, row, 1.0, -self.c)
        errors = quintics.errors + LEFT_OUT
        low, high = integrate_positive_part(quintics.coefficients, errors, quintics.widths)
        most = quintics.per_item(quintics.coefficients.max(axis=0) + errors)
        return ShiftValues(shift=shift, low=max(0.0, low), high=high + LEFT_OUT, most=most, row=row)

    @cached_property
    def _pieces(self) -> QuinticSums:
        return QuinticSums(table=self.table, still=self.still)


class Quintics(NamedTuple):
    """Quintics by their Bernstein coefficients, shape (6, items), on items with the `widths`.

    `errors` bounds the distance of each quintic from its function; the parts of kernels that are
    cut off aren't included. `kink` is the index of the item that is cut in two, or −1. The right
    part of this item is the last item, of width 0 if the cut is at the end.
    """

    coefficients: Floats
    errors: Floats
    widths: Floats
    kink: int

    def part(self, first: int, count: int) -> Quintics:
        """The quintics on the `count` items from `first` on.

        The caller makes sure that no item among them was cut in two, except at its end.
        """
        here = slice(first, first + count)
        return Quintics(self.coefficients[:, here], self.errors[here], self.widths[here], -1)

    def per_item(self, values: Floats) -> Floats:
        """The values by item; for an item that was cut in two, the larger value of its parts."""
        if self.kink < 0:
            return values
        whole = values[:-1].copy()
        whole[self.kink] = max(values[self.kink], values[-1])
        return whole


@final
@dataclass(frozen=True, kw_only=True)
class QuinticSums:
    """Sums a·f(y + φ) + b·f(y) as quintics in y, for given numbers a and b.

    `still` is the table's row at shift 0.
    """

    table: DensityTable
    still: Row

    def of(self, shift: Fraction, row: Row, a: float, b: float) -> Quintics:
        """The quintics of the sum at `shift`; `row` is the table's row at this shift."""
        items = self._items(row, a, b)
        kink = -1
        if self.table.law.folded:
            kink = math.ceil(-shift * self.table.per_sigma) - self.table.first - 1
            items = self._cut(items, kink, shift, row, (a, b))
        # the other terms of a coefficient are w·f′ and w²·f″/20, |f′| <= 39f, |f″| <= 39²f and
        # w <= 1/32; the rest of the 5 is for sums and for cutting items
        errors = 5 * self.table.rounding * items.sizes
        errors += items.sixth * items.widths**6 / 46080 * OUTWARD
        return Quintics(_quintic(items), errors, items.widths, kink)

    def _items(self, row: Row, a: float, b: float) -> _Items:
        """The items of a·f(y + φ) + b·f(y), where `row` is the table's row at the shift φ."""
        still, origin = self.still, -self.table.first
        values, slopes, bends = (
            a * row.f + b * still.f,
            a * row.slope + b * still.slope,
            a * row.bend + b * still.bend,
        )
        right_slopes = slopes[1:].copy()
        if self.table.law.folded:  # left of the kink at y = 0 the slope is the opposite
            right_slopes[origin - 1] -= 2 * b * still.slope[origin]
        sizes = abs(a) * row.f + abs(b) * still.f
        return _Items(
            left=np.stack([values[:-1], slopes[:-1], bends[:-1]]),
            right=np.stack([values[1:], right_slopes, bends[1:]]),
            widths=np.full(len(values) - 1, self.table.step),
            sixth=abs(a) * row.sixth[:-1] + abs(b) * still.sixth[:-1],
            sizes=np.maximum(sizes[:-1], sizes[1:]),
        )

    def _cut(  # noqa: PLR0917 (one call of its own)
        self, items: _Items, kink: int, shift: Fraction, row: Row, weights: tuple[float, float]
    ) -> _Items:
        """Cut item `kink` at y = −shift, where y + shift is 0; its right part becomes the last.

        `weights` are a and b.
        """
        still, o, mirror = self.still, -self.table.first, np.array([1.0, -1.0, 1.0])
        a, b = weights
        moved_there = a * np.array([still.f[o], still.slope[o], still.bend[o]])  # f is even
        still_there = b * np.array([row.f[o], row.slope[o], row.bend[o]]) * mirror
        width = float(-shift - Fraction(self.table.first + kink, self.table.per_sigma))
        left = np.column_stack([items.left, moved_there + still_there])
        right = np.column_stack([items.right, items.right[:, kink]])
        right[:, kink] = moved_there * mirror + still_there
        widths = np.append(items.widths, self.table.step - width)
        widths[kink] = width
        sixth = abs(a) * row.sixth[kink + 1] + abs(b) * still.sixth[kink]
        return _Items(
            left=left,
            right=right,
            widths=widths,
            sixth=np.append(items.sixth, sixth),
            sizes=np.append(items.sizes, items.sizes[kink]),
        )


def falls(
    table: DensityTable, still: Row, left: tuple[Fraction, Row], right: tuple[Fraction, Row]
) -> Floats:
    """Upper bounds on max(0, −f″(y + φ)), for y in each item and φ between two shifts.

    `left` and `right` are the shifts, each with the table's row there; they are at most a step of
    the table apart. `still` is the table's row at shift 0.
    """
    step, rounding, width = table.step, 3 * table.rounding, float(right[0] - left[0])
    bends = [
        row.bend - rounding * (np.abs(row.bend) + 2 * row.f) - LEFT_OUT
        for row in (left[1], right[1])
    ]
    least = np.minimum.reduce([bends[0][:-1], bends[0][1:], bends[1][:-1], bends[1][1:]])
    if table.law.folded:  # f″ is continuous at the kink, f‴ isn't
        origin, points = -table.first, table.points
        at_kink = (points[:-1] + float(left[0]) <= step) & (points[1:] + float(right[0]) >= -step)
        bend = still.bend[origin] - rounding * (abs(still.bend[origin]) + 2 * still.f[origin])
        least = np.where(at_kink, np.minimum(least, bend), least)
    fourth = np.maximum(left[1].fourth[:-1], right[1].fourth[1:])
    return np.maximum(0, fourth * max(step, width) ** 2 / 8 * (1 + 1e-8) - least)


def _quintic(items: _Items) -> Floats:
    """The Bernstein coefficients of the quintics on these items, shape (6, items)."""
    left, right, a, b = items.left, items.right, items.widths / 5, items.widths**2 / 20
    return np.stack(
        [
            left[0],
            left[0] + a * left[1],
            left[0] + 2 * a * left[1] + b * left[2],
            right[0] - 2 * a * right[1] + b * right[2],
            right[0] - a * right[1],
            right[0],
        ]
    )


def integrate_positive_part(
    coefficients: Floats, errors: Floats, widths: Floats
) -> tuple[float, float]:
    """Bounds on the integral of the positive part of a function over all items.

    On each item the function is a quintic plus an error of at most `errors`. `coefficients` are the
    Bernstein coefficients of the quintics, shape (6, items).
    """
    low, high = coefficients.min(axis=0), coefficients.max(axis=0)
    inside, cut, touched = low >= 0, (low < 0) & (high > 0), high > -errors
    sure = _sum(coefficients[:, inside].mean(axis=0), widths[inside])
    least, most = _cut_parts(coefficients[:, cut], widths[cut])
    doubt = _sum(errors[touched], widths[touched]) * OUTWARD
    return (sure + least) / OUTWARD - doubt, (sure + most) * OUTWARD + doubt


def _cut_parts(coefficients: Floats, widths: Floats) -> tuple[float, float]:
    """Bounds on the integral of max(p, 0) over items on which the quintic p may have both signs."""
    least = most = 0.0
    for _ in range(10):  # halvings of items on which p neither has one sign nor is monotone
        low, high = coefficients.min(axis=0), coefficients.max(axis=0)
        inside = low >= 0
        settled = _sum(coefficients[:, inside].mean(axis=0), widths[inside])
        steps = np.diff(coefficients, axis=0)
        open_ = ~inside & (high > 0)
        monotone = open_ & ((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0))
        area, excess = _monotone_parts(coefficients[:, monotone], widths[monotone])
        least, most = least + settled + area, most + settled + area + excess
        open_ &= ~monotone
        if not open_.any():
            return least, most
        left, right = split(coefficients[:, open_], np.full(open_.sum(), 0.5))
        coefficients = np.concatenate([left, right], axis=1)
        widths = np.tile(widths[open_] / 2, 2)
    means = coefficients.mean(axis=0)
    least += _sum(np.maximum(means, 0), widths)
    return least, most + _sum(np.maximum(coefficients.max(axis=0), 0), widths)


def _monotone_parts(coefficients: Floats, widths: Floats) -> tuple[float, float]:
    """A lower bound on the integral of max(p, 0) over all items, and its gap to an upper bound.

    Each quintic p has to be monotone. It is integrated over the side of an approximate root r where
    it is positive. Between r and the exact root, p is at most |p(r)| in size, which bounds the
    error.
    """
    if not len(widths):
        return 0.0, 0.0
    falling = coefficients[0] > coefficients[-1]
    _, high = _ROOT.shares(lambda s: (split(coefficients, s)[1][0] > 0) != falling, len(widths))
    left, right = split(coefficients, high)
    part = np.where(falling, left.mean(axis=0) * high, right.mean(axis=0) * (1 - high))
    rest = (np.abs(right[0]) + 40 * UNIT * np.abs(coefficients).max(axis=0)) * widths
    excess = math.fsum(rest.tolist())
    return _sum(part, widths) - excess, 2 * excess


def _sum(heights: Floats, widths: Floats) -> float:
    """The sum of heights times widths, rounded once after the products, unlike a BLAS product."""
    return math.fsum((heights * widths).tolist())


def split(coefficients: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Split items at the shares `at` of their widths: the coefficients of the left and right parts.

    This is de Casteljau's algorithm.
    """
    row, left, right = coefficients, [coefficients[0]], [coefficients[-1]]
    while len(row) > 1:
        row = row[:-1] + at * (row[1:] - row[:-1])
        left.append(row[0])
        right.append(row[-1])
    return np.stack(left), np.stack(right[::-1])
