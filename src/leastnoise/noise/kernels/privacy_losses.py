"""Losses on a lattice of sums of Gaussian kernels, whose worst shift may change with ε.

notation (as in `kernels`): lengths in σ, w the table's step, H(φ) the hockey-stick divergence at
shift φ, α = e^ε. On an item f(y + φ) and f(y) are sums of Bernstein's polynomials B_k with
coefficients p_k and q_k, so that (f(y + φ) − αf(y))₊ is at most Σ(p_k − αq_k)₊B_k. As ∫B_k is a
sixth of the item, H(φ) at *every* ε is at most that of the atoms (p_k, q_k)/6 times the item's
width, the sums of which are made once. (From the atoms f comes by noise that is narrower than an
item, so next to nothing is lost.)

Between two shifts H is bounded as in `kernels`, also at every ε at once: the items on which
f(y + φ) > αf(y) may hold are those of the largest losses. The supremum over the shifts is the
profile of a pair that dominates them all (theory/accounting.md §1 E). From below one shift is taken
alone, and its outputs are merged.
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

from leastnoise.balls.atoms import Falling, chords, inscribe
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

_PER_SIGMA = 32  # points of the table
_PARTS = 1  # an item from above is halved so often …
_PARTS_BELOW = 3  # … and from below
_LONGEST_SHIFT = 24  # in σ; beyond, losses aren't formed in floats
_FARTHEST = 1024  # σ from 0 to the outermost kernel


def upper(noise: KernelNoise, shift: Fraction, step: Fraction, size: int) -> LossLattice:
    """Return a law of losses at −size·step … size·step whose δ is nowhere below that of `noise`.

    Raises NotApplicable where shifts or kernels are too far apart to look at.
    """
    epsilons = [step * i for i in range(size + 1)]
    with precision(BITS):
        alphas = np.array([max(1.0, float_below(ball(e).exp())) for e in epsilons])
        found = shifts_of(noise, shift).supremum(alphas)
        points = [(e, arb(float(delta))) for e, delta in zip(epsilons, found, strict=True)]
        deltas = chords(points, epsilons)
        return symmetric_lattice(deltas, step)


def lower(noise: KernelNoise, shift: Fraction, step: Fraction, size: int) -> LowerCells:
    """Return atoms whose δ is nowhere above that of one shift of `noise`.

    Of the shifts that `upper` looks at first it is the one with the largest area under δ(ε), but
    any is right; so is any way to merge.
    """
    shifts = shifts_of(noise, shift)
    with precision(BITS):
        worst = shifts.largest_area(np.exp(np.arange(size + 1) * float(step)))
        p_low, q_high = inscribe(*_masses(shifts.law, worst), float(step), size)
        atoms = [merge(arb(p), arb(q)) for p, q in zip(p_low, q_high, strict=True)]
    return LowerCells(step=step, first=-size, atoms=tuple(atoms), infinity=0.0)


def reach(noise: KernelNoise, shift: Fraction) -> Fraction:
    """Return a loss beyond which there is next to nothing but what is at infinity; any is right."""
    with precision(BITS):
        found = shifts_of(noise, shift).reach()
    if found is None:
        raise NotApplicable(family=noise.name, why="its losses are too large to compose")
    return found


@lru_cache(maxsize=4)
def shifts_of(noise: KernelNoise, shift: Fraction) -> Shifts:
    """Return what is known of `noise` at shifts up to `shift`."""
    with precision(BITS):
        law = KernelLaw.of(noise)
    longest = shift / noise.scale
    if longest > _LONGEST_SHIFT or law.reach > _FARTHEST:
        raise NotApplicable(
            family=noise.name, why="its kernels or shifts are too far apart to compose"
        )
    return Shifts(law=law, longest=longest)


def _table(law: KernelLaw, longest: Fraction, *, beyond: int = 0) -> DensityTable:
    """Return a table on which f(y) is known where P has left less than 1e-38."""
    far = math.ceil(14 + longest)
    return DensityTable(law=law, per_sigma=_PER_SIGMA, longest=longest, far=far, beyond=beyond)


def _left_out(table: DensityTable) -> float:
    """Return more than what is left out of f where kernels end, and of w·f′ and w²·f″."""
    return math.exp(-((table.far - 1) ** 2) / 2)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftLosses:
    """What is known of one shift: H at every ε, and by items the largest e^loss."""

    shift: Fraction
    atoms: Falling
    losses: Floats
    row: Row

    def above(self, alphas: Floats) -> Floats:
        """Return numbers that H isn't above at the ε with e^ε >= alphas."""
        return self.atoms.above(alphas) + LEFT_OUT


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _LossCell:
    """The shifts between two that were looked at, where H is at most `bound`."""

    one: ShiftLosses
    two: ShiftLosses
    bound: Floats


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Shifts:
    """The shifts up to `longest`, in σ."""

    law: KernelLaw
    longest: Fraction

    @cached_property
    def _table(self) -> DensityTable:
        return _table(self.law, self.longest)

    @cached_property
    def _long_row(self) -> Row:
        """The row at shift 0 that goes on: as a part of it, the row at every multiple of w."""
        return self._longer.row(Fraction(0))

    @cached_property
    def _longer(self) -> DensityTable:
        return _table(self.law, self.longest, beyond=math.ceil(self.longest))

    @cached_property
    def _long(self) -> Quintics:
        """The density on the items of the longer table."""
        pieces = QuinticSums(table=self._longer, still=self._long_row)
        return pieces.of(Fraction(0), self._long_row, 0.0, 1.0)

    @cached_property
    def _pieces(self) -> QuinticSums:
        return QuinticSums(table=self._table, still=self._row(Fraction(0)))

    def _row(self, shift: Fraction) -> Row:
        places = shift * _PER_SIGMA
        if places.denominator != 1:
            return self._table.row(shift)
        here = slice(int(places), int(places) + self._table.count)
        return Row(**{name: part[here] for name, part in vars(self._long_row).items()})

    def _sides(self, shift: Fraction, row: Row) -> tuple[Quintics, Quintics]:
        """Return f(y + shift) and f(y), cut alike into items."""
        places, count = shift * _PER_SIGMA, self._table.count - 1
        if places.denominator == 1:  # then kinks are ends of items
            return self._long.part(int(places), count), self._long.part(0, count)
        moved = self._pieces.of(shift, row, 1.0, 0.0)
        if self.law.folded:
            return moved, self._pieces.of(shift, row, 0.0, 1.0)
        return moved, self._long.part(0, count)

    @cached_property
    def _first(self) -> list[ShiftLosses]:
        """What is known at multiples of the table's step, and of the longest shift."""
        count = math.ceil(self.longest * _PER_SIGMA)
        places = [Fraction(i, _PER_SIGMA) for i in range(count)] + [self.longest]
        return [self.looked(place) for place in places]

    def supremum(self, alphas: Floats) -> Floats:
        """Return numbers that sup H over the shifts isn't above, at each ε >= 0."""
        reached = np.max([look.above(alphas) for look in self._first], axis=0)
        open_ = [self._cell(one, two, alphas) for one, two in pairwise(self._first)]
        found = reached
        close = 5e-5  # of H, relatively: cells of shifts where it may be more are halved
        most_halved = 500
        for _ in range(8):  # halvings
            enough = reached * (1 + close) + LEFT_OUT
            doubtful = [(cell.bound > enough).any() for cell in open_]
            if sum(doubtful) > most_halved:
                break
            following: list[_LossCell] = []
            for cell, doubt in zip(open_, doubtful, strict=True):
                if doubt:
                    middle = self.looked((cell.one.shift + cell.two.shift) / 2)
                    reached = np.maximum(reached, middle.above(alphas))
                    following.append(self._cell(cell.one, middle, alphas))
                    following.append(self._cell(middle, cell.two, alphas))
                else:
                    found = np.maximum(found, cell.bound)
            open_ = following
        found = np.max([found, reached, *(cell.bound for cell in open_)], axis=0)
        return np.minimum(np.minimum.accumulate(found), 1.0)  # δ falls in ε

    def largest_area(self, alphas: Floats) -> Fraction:
        """Return the shift with the largest area under H(ε), of the first that are looked at."""
        return max(self._first, key=lambda look: float(look.above(alphas).sum())).shift

    def reach(self) -> Fraction | None:
        """Return a loss at which H is next to nothing, if it isn't too large."""
        grid = np.geomspace(2.0**-30, LONGEST_LOSS, 1000)
        found = np.max([look.above(np.exp(grid)) for look in self._first], axis=0)
        nothing = 2.0**-110  # losses beyond the point where H is this are put at infinity
        index = int(np.argmax(found <= nothing))
        return Fraction(float(grid[index])).limit_denominator(2**40) if index else None

    def looked(self, shift: Fraction) -> ShiftLosses:
        """Look at one shift."""
        row = self._row(shift)
        moved, still = self._sides(shift, row)
        p = np.maximum(moved.coefficients + (moved.errors + LEFT_OUT), 0.0)
        q = np.maximum(still.coefficients - (still.errors + _left_out(self._table)), 0.0)
        p, q = _halved(p * OUTWARD, q / OUTWARD, _PARTS)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            quotients = np.where(p > 0, p / q, 0.0)
        most = quotients.reshape(6 * 2**_PARTS, -1).max(axis=0)
        here = (quotients >= 1 - 2.0**-40) & (moved.widths > 0)  # losses below 0 are of no use
        p, q = ((part * moved.widths / (6 * 2**_PARTS))[here] for part in (p, q))
        return ShiftLosses(
            shift=shift,
            atoms=Falling.of(p, q),
            losses=moved.per_item(most),
            row=row,
        )

    def _cell(self, one: ShiftLosses, two: ShiftLosses, alphas: Floats) -> _LossCell:
        """Bound H between two shifts, a step of the table apart at most."""
        width = float(two.shift - one.shift) * (1 + 1e-9)
        left, right = one.above(alphas), two.above(alphas)
        rise, sag = np.abs(left - right), self.bend(one, two, alphas) * (width**2 / 2)
        bound = np.maximum(left, right)
        inside = rise < sag  # the chord with the parabola has its maximum inside
        mean, r, s = (left[inside] + right[inside]) / 2, rise[inside], sag[inside]
        bound[inside] = (mean + s / 4 + r**2 / (4 * s)) * (1 + 1e-12)
        return _LossCell(one=one, two=two, bound=bound)

    def bend(self, one: ShiftLosses, two: ShiftLosses, alphas: Floats) -> Floats:
        """Return M: more than ∫ max(0, −f″(y + φ)) where f(y + φ′) > αf(y), φ and φ′ between."""
        width = float(two.shift - one.shift) * (1 + 1e-9)
        fall = falls(self._table, self._pieces.still, (one.shift, one.row), (two.shift, two.row))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            more = np.where(fall > 0, width**2 / 8 * fall / self._q_least, 0.0)
        losses = np.maximum(one.losses, two.losses) + more
        order = np.argsort(-losses)
        sums = np.concatenate([[0.0], np.cumsum(fall[order])]) * self._table.step * (1 + 1e-9)
        active = np.searchsorted(-losses[order], -alphas * (1 - 1e-12), side="right")
        return sums[active] + LEFT_OUT

    @cached_property
    def _q_least(self) -> Floats:
        """Return what f(y) is at least on each item."""
        still = self._long.part(0, self._table.count - 1)
        lowest = still.coefficients.min(axis=0) - still.errors - _left_out(self._table)
        return np.maximum(lowest, 0.0) / OUTWARD


def _halved(p: Floats, q: Floats, times: int) -> tuple[Floats, Floats]:
    """Return the coefficients on parts of items halved `times` over, of shape (6, parts, items)."""
    both = np.stack([p, q], axis=1)[:, :, None]
    for _ in range(times):
        both = np.concatenate(split(both, np.array(0.5)), axis=2)
    return both[:, 0], both[:, 1]


def _masses(law: KernelLaw, shift: Fraction) -> tuple[Floats, Floats]:
    """Return P from below and Q from above of parts of items."""
    table = _table(law, shift, beyond=14)
    row = table.row(shift)
    pieces = QuinticSums(table=table, still=table.row(Fraction(0)))
    moved, still = pieces.of(shift, row, 1.0, 0.0), pieces.of(shift, row, 0.0, 1.0)
    p, q = _halved(moved.coefficients, still.coefficients, _PARTS_BELOW)
    widths = moved.widths / 2**_PARTS_BELOW
    p = (p.mean(axis=0) - moved.errors - _left_out(table)) / OUTWARD
    q = (q.mean(axis=0) + still.errors + _left_out(table)) * OUTWARD
    p, q = (p * widths).ravel(), (q * widths).ravel()
    return p[p > 0], q[p > 0]


def _decay(noise: KernelNoise, shift: Fraction) -> Fraction:
    """Return the loss of wide stretches, where the spacing is the shift."""
    del shift
    return noise.decay


LOSSES = OwnLosses(upper=upper, lower=lower, reach=reach, frequent=_decay)
