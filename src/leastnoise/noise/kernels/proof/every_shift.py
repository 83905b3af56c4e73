"""Enclosure of δ(ε) for sums of Gaussian kernels, over every shift (theory/noise.md §1).

Notation: lengths are in units of σ, the width of a kernel. f is the density, f″ its second
derivative, and φ a shift. H(φ) is the hockey-stick divergence ∫ max(0, f(y + φ) − e^ε f(y)) dy,
which is δ(ε) of this shift. A cell [a, b] is an interval of shifts.

H(φ) is the maximum over all sets A of ∫_A f(y + φ) − e^ε f(y) dy. It is attained at the set S_φ of
all y with f(y + φ) > e^ε f(y). The second derivative of the integral in φ is ∫_A f″(y + φ) dy.
Suppose that it is at least −M for all φ of a cell [a, b] and all sets S_φ′ with φ′ in the cell.
Then H(φ) on the cell is at most its chord + M(φ − a)(b − φ)/2. Cells whose bound exceeds a known
value of H are halved. So the proof needs neither the sign changes of f(y + φ) − e^ε f(y) nor the
shape of H.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import final

import numpy as np
from flint import arb, arb_poly, ctx

from leastnoise._record import derived, record
from leastnoise.balls.core import ball, falls_through, float_above, float_below
from leastnoise.noise.kernels.law import KernelNoise
from leastnoise.noise.kernels.proof.one_shift import Divergence, ShiftValues, falls
from leastnoise.noise.kernels.proof.table import (
    LEFT_OUT,
    MOST_KERNEL_EPSILON,
    DensityTable,
    KernelLaw,
)
from leastnoise.numerics.bisection import Bisection

_PER_SIGMA = (32, 128)  # points per σ of the first and the second table
_CLOSE = 1e-10  # relative accuracy of the supremum at which the search ends


def delta_ball(noise: KernelNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) under all shifts up to `shift`, which is the supremum of H over [0, shift].

    Only shifts >= 0 matter, because H is even; H(0) = 0. The result is [0, 1] if ε or the tables
    would be too large.
    """
    law = KernelLaw.of(noise)
    longest = shift / noise.scale
    most_cells = 4096
    farthest = 4096  # largest distance from 0 to the outermost kernel, in σ; tables are large
    too_long = longest * _PER_SIGMA[0] > most_cells or law.reach > farthest
    if epsilon > MOST_KERNEL_EPSILON or too_long:
        return arb(0).union(arb(1))
    decay = noise.decay
    far = math.ceil(math.sqrt(2 * (98 + epsilon)))
    cells: list[_ShiftCell] | None = None
    low = high = 0.0
    for per_sigma in _PER_SIGMA:
        table = DensityTable(law=law, per_sigma=per_sigma, longest=longest, far=far)
        search = _ShiftSearch(table=table, decay=decay, epsilon=epsilon, best=low)
        cells = search.survivors(cells)
        low = search.best
        high = max([low, *(cell.bound for cell in cells)])
        if high <= low * (1 + _CLOSE):
            break
    return arb(low).union(arb(min(high, 1.0)))


@final
@record(order=True)
class _ShiftCell:
    """The shifts from `first` to `last`, where H <= bound.

    Cells are ordered by `rank`, so that a heap has the highest bound first.
    """

    rank: float = derived(lambda cell: -cell.bound, repr=False)
    bound: float = field(compare=False)
    chord: float = field(compare=False)  # the larger of the bounds on H at the two ends
    first: Fraction
    last: Fraction


@final
@dataclass(kw_only=True)
class _ShiftSearch:
    """The search for the supremum of H over the shifts, with one table of the density.

    `decay` is the decay of the kernels' weights.
    """

    table: DensityTable
    decay: Fraction
    epsilon: Fraction
    best: float  # a known value of H

    def __post_init__(self) -> None:
        remembered = 2**22  # cached points, of 48 bytes each
        self._look = lru_cache(maxsize=max(2, min(512, remembered // self.table.count)))(
            self._examine
        )

    @cached_property
    def _divergence(self) -> Divergence:
        return Divergence(table=self.table, c=float(ball(self.epsilon).exp().mid()))

    def survivors(self, cells: list[_ShiftCell] | None) -> list[_ShiftCell]:
        """The parts of `cells` (None means all shifts) where H may still be above `best`."""
        ends = [(c.first, c.last) for c in cells] if cells else [(Fraction(0), self.table.longest)]
        heap: list[_ShiftCell] = []
        for first, last in ends:
            parts = math.ceil((last - first) * self.table.per_sigma)
            ends_of_parts = [first + (last - first) * Fraction(i, parts) for i in range(parts + 1)]
            heap += [self._cell(a, b) for a, b in pairwise(ends_of_parts)]
        heapq.heapify(heap)
        stuck: list[_ShiftCell] = []
        for _ in range(400):  # halvings
            if not heap or heap[0].bound <= self.best * (1 + _CLOSE):
                break
            cell = heapq.heappop(heap)
            if cell.bound - cell.chord <= (cell.chord - self.best) / 4:
                stuck.append(cell)  # only a finer table can decide
                continue
            middle = (cell.first + cell.last) / 2
            for half in (self._cell(cell.first, middle), self._cell(middle, cell.last)):
                heapq.heappush(heap, half)
        return [cell for cell in (*stuck, *heap) if cell.bound > self.best]

    def _examine(self, shift: Fraction) -> ShiftValues:
        """Compute the bounds on H at one shift, in closed form where possible; update `best`."""
        look = self._divergence.look(shift)
        exact = self._closed_form(shift)
        if exact is not None:
            look = ShiftValues(
                shift=shift,
                low=max(0.0, float_below(exact)),
                high=float_above(exact),
                most=look.most,
                row=look.row,
            )
        self.best = max(self.best, look.low)
        return look

    def _closed_form(self, shift: Fraction) -> arb | None:
        """Enclose H at shift 0 or a multiple of the spacing; None if no closed form is known."""
        law = self.table.law
        if shift == 0:
            return arb(0)
        periods = shift / law.apart
        if law.folded or periods.denominator != 1 or periods >= len(law.kernels):
            return None  # for longer shifts no kernels of f(y + φ) and f(y) coincide
        return at_multiple(law, int(periods), decay=self.decay, epsilon=self.epsilon)

    def _cell(self, first: Fraction, last: Fraction) -> _ShiftCell:
        """Bound H on [first, last], an interval no wider than the table's step."""
        left, right = self._look(first), self._look(last)
        width = float(last - first) * (1 + 1e-9)
        fall = falls(self.table, self._divergence.still, (first, left.row), (last, right.row))
        active = np.maximum(left.most, right.most) + width**2 / 8 * fall > 0
        most = (float(fall[active].sum()) * self.table.step + LEFT_OUT) * (1 + 1e-9)
        rise, sag = abs(right.high - left.high), most * width**2 / 2
        chord = max(left.high, right.high)
        bound = chord
        if rise < sag:  # the chord with the parabola has its maximum inside
            bound = ((left.high + right.high) / 2 + sag / 4 + rise**2 / (4 * sag)) * (1 + 1e-12)
        return _ShiftCell(bound=bound, chord=chord, first=first, last=last)


def at_multiple(law: KernelLaw, periods: int, *, decay: Fraction, epsilon: Fraction) -> arb:
    """Enclose H if the shift is `periods` spacings, for a law that isn't folded.

    Let t be the spacing, s = periods·t the shift, w_k the weight of kernel k = −K … K, and N the
    normal density. Then f(y + s) − e^ε f(y) is the sum of d_k N(y − kt) over k, with
    d_k = w_{k+periods} − e^ε w_k. For k < −K, w_k is missing and d_k is positive. For k + periods >
    K, w_{k+periods} is missing and d_k is negative. In between d_k has the sign of
    (|k| − |k + periods|)·decay − ε, which never increases in k. So d_k changes sign once, and there
    is one root (Descartes). Terms with d_k = 0 are omitted, by comparing Fractions.
    """
    most, c = len(law.kernels) // 2, ball(epsilon).exp()
    weights = {k - most: weight for k, (_, weight) in enumerate(law.kernels)}
    terms: list[tuple[int, arb]] = []
    for k in range(-most - periods, most + 1):
        plus, minus = weights.get(k + periods, arb(0)), c * weights.get(k, arb(0))
        both = k in weights and k + periods in weights
        if not both or (abs(k) - abs(k + periods)) * decay != epsilon:
            terms.append((k, plus - minus))
    t = ball(law.apart)
    coefficients = [arb(0)] * (terms[-1][0] - terms[0][0] + 1)
    for k, d in terms:
        coefficients[k - terms[0][0]] = d * (-k * k * t * t / 2).exp()
    polynomial = arb_poly(coefficients)
    low, high = _bracket(lambda y: polynomial((t * y).exp()))
    root = ((low + high) / 2).mid()
    value = law.below(root + periods * t) - c * law.below(root)
    height = arb(0)
    for k, d in terms:
        height += abs(d) * (-((low.union(high) - k * t) ** 2) / 2).exp()
    return value + arb(0).union((high - low) * height)


def _bracket(positive_then_negative: Callable[[arb], arb]) -> tuple[arb, arb]:
    """Two close points, proved to lie left and right of a function's only sign change."""
    low, high = arb(-1), arb(1)
    while not positive_then_negative(low) > 0:
        low *= 2
    while not positive_then_negative(high) < 0:
        high *= 2
    return Bisection(halvings=2 * ctx.prec).close(falls_through(positive_then_negative), low, high)
