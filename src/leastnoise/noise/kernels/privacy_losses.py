"""Losses on a lattice for sums of Gaussian kernels, whose worst shift may change with ε.

Notation (as in `proof`): lengths are in units of σ, the width of a kernel. f is the density, w the
step of the table of f, φ a shift, and α = e^ε. H(φ) is the hockey-stick divergence ∫ max(0, f(y +
φ) − αf(y)) dy, which is δ(ε) of this shift. P is the law of density f(y + φ), and Q the law of
density f(y). An item is the interval of y between two points of the table.

On an item f(y + φ) and f(y) are sums of Bernstein polynomials B_k with coefficients p_k and q_k. So
the positive part of f(y + φ) − αf(y) is at most the sum of max(0, p_k − αq_k)B_k, and ∫B_k is a
sixth of the item. Hence H(φ) at *every* ε is at most H of the atoms (p_k, q_k)/6 times the item's
width. The sums over the atoms are computed once, for all ε. The bound is nearly tight: P and Q are
about the laws of the atoms after noise that is narrower than an item.

Between two shifts H is bounded as in `proof.every_shift`, also at every ε at once. There f(y + φ) >
αf(y) is possible only on the items with the largest losses. The supremum over the shifts is the
profile of a pair that dominates all of them (theory/accounting.md §1 E). The lower bound uses a
single shift, and merges its outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.atoms import SortedAtoms, chords, inscribe
from leastnoise.balls.core import ball, float_below, precision
from leastnoise.balls.losses import (
    BITS,
    LONGEST_LOSS,
    LossLattice,
    LowerCells,
    merge,
    symmetric_lattice,
)
from leastnoise.errors import NotApplicable
from leastnoise.noise.family import OwnLosses
from leastnoise.noise.kernels.law import KernelNoise
from leastnoise.noise.kernels.proof.one_shift import OUTWARD, Quintics, QuinticSums, falls, split
from leastnoise.noise.kernels.proof.table import LEFT_OUT, DensityTable, KernelLaw, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_PER_SIGMA = 32  # points of the table per σ
_PARTS = 1  # number of times that an item is halved for an upper bound
_PARTS_BELOW = 3  # number of times that an item is halved for a lower bound
_LONGEST_SHIFT = 24  # in σ; beyond it, losses exceed the range of floats
_FARTHEST = 1024  # largest distance from 0 to the outermost kernel, in σ


def upper(noise: KernelNoise, shift: Fraction, step: Fraction, size: int) -> LossLattice:
    """A law of losses on a lattice whose δ is at least the δ of `noise`, at every ε.

    The finite losses are −size·step … size·step, and the bound holds for all shifts up to `shift`.
    Raises NotApplicable if `shift` is too long, or the kernels extend too far.
    """
    epsilons = [step * i for i in range(size + 1)]
    with precision(BITS):
        alphas = np.array([max(1.0, float_below(ball(e).exp())) for e in epsilons])
        suprema = shifts_of(noise, shift).supremum(alphas)
        points = [(e, arb(float(delta))) for e, delta in zip(epsilons, suprema, strict=True)]
        deltas = chords(points, epsilons)
        return symmetric_lattice(deltas, step)


def lower(noise: KernelNoise, shift: Fraction, step: Fraction, size: int) -> LowerCells:
    """Atoms whose δ is at most the δ of `noise` at one shift, for every ε.

    The chosen shift has the largest area under δ(ε) among the shifts that `upper` evaluates first.
    The bound holds for any shift and for any merging of outputs. `step` and `size` are as in
    `upper`.
    """
    shifts = shifts_of(noise, shift)
    with precision(BITS):
        worst = shifts.largest_area(np.exp(np.arange(size + 1) * float(step)))
        p_low, q_high = inscribe(*_masses(shifts.law, worst), float(step), size)
        atoms = [merge(arb(p), arb(q)) for p, q in zip(p_low, q_high, strict=True)]
    return LowerCells(step=step, first=-size, atoms=tuple(atoms), infinity=0.0)


def reach(noise: KernelNoise, shift: Fraction) -> Fraction:
    """A loss beyond which finite losses have negligible mass, for shifts up to `shift`.

    The bounds of `upper` and `lower` hold for any value of it. Raises NotApplicable if this loss is
    too large for a lattice.
    """
    with precision(BITS):
        loss = shifts_of(noise, shift).reach()
    if loss is None:
        raise NotApplicable(family=noise.name, why="its losses are too large to compose")
    return loss


@lru_cache(maxsize=4)
def shifts_of(noise: KernelNoise, shift: Fraction) -> Shifts:
    """All shifts of `noise` up to `shift`, with the tables of densities from which H is bounded.

    Raises NotApplicable if `shift` is too long, or the kernels extend too far.
    """
    with precision(BITS):
        law = KernelLaw.of(noise)
    longest = shift / noise.scale
    if longest > _LONGEST_SHIFT or law.reach > _FARTHEST:
        raise NotApplicable(
            family=noise.name, why="its kernels or shifts are too far apart to compose"
        )
    return Shifts(law=law, longest=longest)


def _table(law: KernelLaw, longest: Fraction, *, beyond: int = 0) -> DensityTable:
    """A table of f for the outputs y with f(y + φ) > f(y), for shifts φ up to `longest`.

    Outputs far left of the kernels are left out, where f is negligible. Right of the last kernel f
    decreases, so the table ends there, or `beyond` σ further right. Kernels are cut off so far from
    their centres that the rest is negligible.
    """
    far = math.ceil(14 + longest)
    return DensityTable(law=law, per_sigma=_PER_SIGMA, longest=longest, far=far, beyond=beyond)


def _left_out(table: DensityTable) -> float:
    """An upper bound on the parts of f, w·f′ and w²·f″ beyond the ends of kernels in `table`."""
    return math.exp(-((table.far - 1) ** 2) / 2)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftLosses:
    """The losses at one shift: atoms that bound H at every ε, and a bound on each item's losses.

    `losses` are upper bounds on e^loss, one for each item; `row` is the table's row at the shift.
    """

    shift: Fraction
    atoms: SortedAtoms
    losses: Floats
    row: Row

    def above(self, alphas: Floats) -> Floats:
        """Upper bounds on H, one for each α in `alphas`; they hold for all ε with e^ε >= α."""
        return self.atoms.above(alphas) + LEFT_OUT


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _LossCell:
    """The shifts between two evaluated shifts, with a `bound` on H there for each α of an array."""

    left: ShiftLosses
    right: ShiftLosses
    bound: Floats


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Shifts:
    """All shifts of `law` up to `longest` (in σ), with bounds on H."""

    law: KernelLaw
    longest: Fraction

    @cached_property
    def _table(self) -> DensityTable:
        return _table(self.law, self.longest)

    @cached_property
    def _long_row(self) -> Row:
        """The row of a longer table at shift 0.

        Slices of it are the rows of `_table` at multiples of w.
        """
        return self._longer.row(Fraction(0))

    @cached_property
    def _longer(self) -> DensityTable:
        return _table(self.law, self.longest, beyond=math.ceil(self.longest))

    @cached_property
    def _long(self) -> Quintics:
        """The density as quintics, on the items of the longer table of `_long_row`."""
        pieces = QuinticSums(table=self._longer, still=self._long_row)
        return pieces.of(Fraction(0), self._long_row, 0.0, 1.0)

    @cached_property
    def _pieces(self) -> QuinticSums:
        return QuinticSums(table=self._table, still=self._row(Fraction(0)))

    def _row(self, shift: Fraction) -> Row:
        steps = shift * _PER_SIGMA
        if steps.denominator != 1:
            return self._table.row(shift)
        here = slice(int(steps), int(steps) + self._table.count)
        return Row(**{name: part[here] for name, part in vars(self._long_row).items()})

    def _sides(self, shift: Fraction, row: Row) -> tuple[Quintics, Quintics]:
        """The densities f(y + shift) and f(y), as quintics on the same items."""
        steps, count = shift * _PER_SIGMA, self._table.count - 1
        if steps.denominator == 1:  # then all kinks are at ends of items
            return self._long.part(int(steps), count), self._long.part(0, count)
        moved = self._pieces.of(shift, row, 1.0, 0.0)
        if self.law.folded:
            return moved, self._pieces.of(shift, row, 0.0, 1.0)
        return moved, self._long.part(0, count)

    @cached_property
    def _first(self) -> list[ShiftLosses]:
        """The losses at the shifts to evaluate first: the multiples of w, and `longest`."""
        count = math.ceil(self.longest * _PER_SIGMA)
        shifts = [Fraction(i, _PER_SIGMA) for i in range(count)] + [self.longest]
        return [self.examine(shift) for shift in shifts]

    def supremum(self, alphas: Floats) -> Floats:
        """Upper bounds on the supremum of H over the shifts, one for each α in `alphas`.

        They hold for all ε >= 0 with e^ε >= α. The α are at least 1 and ascend.
        """
        reached = np.max([look.above(alphas) for look in self._first], axis=0)
        open_ = [self._cell(left, right, alphas) for left, right in pairwise(self._first)]
        bound = reached
        close = 5e-5  # cells of shifts where H may exceed the maximum by more (relative) are halved
        most_halved = 500
        for _ in range(8):  # halvings
            enough = reached * (1 + close) + LEFT_OUT
            doubtful = [(cell.bound > enough).any() for cell in open_]
            if sum(doubtful) > most_halved:
                break
            following: list[_LossCell] = []
            for cell, doubt in zip(open_, doubtful, strict=True):
                if doubt:
                    middle = self.examine((cell.left.shift + cell.right.shift) / 2)
                    reached = np.maximum(reached, middle.above(alphas))
                    following.append(self._cell(cell.left, middle, alphas))
                    following.append(self._cell(middle, cell.right, alphas))
                else:
                    bound = np.maximum(bound, cell.bound)
            open_ = following
        bound = np.max([bound, reached, *(cell.bound for cell in open_)], axis=0)
        return np.minimum(np.minimum.accumulate(bound), 1.0)  # δ falls in ε

    def largest_area(self, alphas: Floats) -> Fraction:
        """The shift in `_first` with the largest sum of its bounds on H over all α in `alphas`."""
        return max(self._first, key=lambda look: float(look.above(alphas).sum())).shift

    def reach(self) -> Fraction | None:
        """A loss that, used as ε, makes H negligible at the shifts of `_first`.

        None if no loss up to LONGEST_LOSS does.
        """
        grid = np.geomspace(2.0**-30, LONGEST_LOSS, 1000)
        bounds = np.max([look.above(np.exp(grid)) for look in self._first], axis=0)
        nothing = 2.0**-110  # losses at which H is smaller are moved to infinity
        index = int(np.argmax(bounds <= nothing))
        return Fraction(float(grid[index])).limit_denominator(2**40) if index else None

    def examine(self, shift: Fraction) -> ShiftLosses:
        """Compute the atoms and the bounds of `ShiftLosses` at one shift."""
        row = self._row(shift)
        moved, still = self._sides(shift, row)
        p = np.maximum(moved.coefficients + (moved.errors + LEFT_OUT), 0.0)
        q = np.maximum(still.coefficients - (still.errors + _left_out(self._table)), 0.0)
        p, q = _halve_items(p * OUTWARD, q / OUTWARD, _PARTS)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            quotients = np.where(p > 0, p / q, 0.0)
        most = quotients.reshape(6 * 2**_PARTS, -1).max(axis=0)
        here = (quotients >= 1 - 2.0**-40) & (moved.widths > 0)  # losses below 0 aren't needed
        p, q = ((part * moved.widths / (6 * 2**_PARTS))[here] for part in (p, q))
        return ShiftLosses(
            shift=shift,
            atoms=SortedAtoms.of(p, q),
            losses=moved.per_item(most),
            row=row,
        )

    def _cell(self, left: ShiftLosses, right: ShiftLosses, alphas: Floats) -> _LossCell:
        """Bound H for each α in `alphas`, at all shifts between two that are at most w apart."""
        width = float(right.shift - left.shift) * (1 + 1e-9)
        at_left, at_right = left.above(alphas), right.above(alphas)
        rise, sag = np.abs(at_left - at_right), self.bend(left, right, alphas) * (width**2 / 2)
        bound = np.maximum(at_left, at_right)
        inside = rise < sag  # the chord with the parabola has its maximum inside
        mean, r, s = (at_left[inside] + at_right[inside]) / 2, rise[inside], sag[inside]
        bound[inside] = (mean + s / 4 + r**2 / (4 * s)) * (1 + 1e-12)
        return _LossCell(left=left, right=right, bound=bound)

    def bend(self, left: ShiftLosses, right: ShiftLosses, alphas: Floats) -> Floats:
        """Upper bounds on −H″ between two shifts, for each α in `alphas`.

        They bound ∫ max(0, −f″(y + φ)) dy over all y with f(y + φ′) > αf(y), for all shifts φ and
        φ′ between the two.
        """
        width = float(right.shift - left.shift) * (1 + 1e-9)
        fall = falls(
            self._table, self._pieces.still, (left.shift, left.row), (right.shift, right.row)
        )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            more = np.where(fall > 0, width**2 / 8 * fall / self._q_least, 0.0)
        losses = np.maximum(left.losses, right.losses) + more
        order = np.argsort(-losses)
        sums = np.concatenate([[0.0], np.cumsum(fall[order])]) * self._table.step * (1 + 1e-9)
        active = np.searchsorted(-losses[order], -alphas * (1 - 1e-12), side="right")
        return sums[active] + LEFT_OUT

    @cached_property
    def _q_least(self) -> Floats:
        """A lower bound on f(y) on each item."""
        still = self._long.part(0, self._table.count - 1)
        lowest = still.coefficients.min(axis=0) - still.errors - _left_out(self._table)
        return np.maximum(lowest, 0.0) / OUTWARD


def _halve_items(p: Floats, q: Floats, times: int) -> tuple[Floats, Floats]:
    """Halve each item `times` times, and compute the Bernstein coefficients on the parts.

    p and q are the coefficients of two densities on the items, shape (6, items). Both results have
    the shape (6, parts, items).
    """
    both = np.stack([p, q], axis=1)[:, :, None]
    for _ in range(times):
        both = np.concatenate(split(both, np.array(0.5)), axis=2)
    return both[:, 0], both[:, 1]


def _masses(law: KernelLaw, shift: Fraction) -> tuple[Floats, Floats]:
    """Lower bounds on the masses of parts of items under P at one shift, and upper bounds under Q.

    Parts whose bound under P isn't above 0 are left out.
    """
    table = _table(law, shift, beyond=14)
    row = table.row(shift)
    pieces = QuinticSums(table=table, still=table.row(Fraction(0)))
    moved, still = pieces.of(shift, row, 1.0, 0.0), pieces.of(shift, row, 0.0, 1.0)
    p, q = _halve_items(moved.coefficients, still.coefficients, _PARTS_BELOW)
    widths = moved.widths / 2**_PARTS_BELOW
    p = (p.mean(axis=0) - moved.errors - _left_out(table)) / OUTWARD
    q = (q.mean(axis=0) + still.errors + _left_out(table)) * OUTWARD
    p, q = (p * widths).ravel(), (q * widths).ravel()
    return p[p > 0], q[p > 0]


def _decay(noise: KernelNoise, shift: Fraction) -> Fraction:
    """The loss of many outputs if the shift is the spacing: the law's `decay`."""
    del shift
    return noise.decay


LOSSES = OwnLosses(upper=upper, lower=lower, reach=reach, frequent=_decay)
