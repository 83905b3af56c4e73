"""Limits on the size of a person's numbers in a cell, and in all cells together.

Notation: a unit that is replaced shifts the numbers by t − t′, where t and t′ are vectors that the
bounding allows. r is the largest size of one number. R is the largest sum, over cells, of the
largest size of a number in the cell. A number is *raised* if no row lowers it (counts, and sums of
values >= 0), and *lowered* otherwise.

A column with values u in [−1, 1] may have a sum of u and a sum of squares, which adds up 2u² − 1.
Both are lowered, and the count of the values bounds the size of both. A replaced row moves the sum
by up to 2, as u goes from −1 to 1. It moves the sum of squares by up to 2, as u goes from 0 to ±1.
No row does both, but that isn't used: it holds only before rows are rounded. Proofs:
theory/release.md §5, "Replace-one".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.one_sided import MOST_CELLS
from leastnoise.guarantees.bodies.plain import MOST_BOUNDS, Box
from leastnoise.guarantees.exact import decimal_text, root_above
from leastnoise.guarantees.hulls import replaced_record
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.guarantees.structured import CountingQueries, Linf, Within
from leastnoise.tables.layout.boundings.base import CHOSEN, UnitShifts

if TYPE_CHECKING:
    from fractions import Fraction

    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.layout.boundings.base import Numbers

_NEAR = (
    4  # if the sizes of a box of raised numbers add up to more than 4·R, the hull has less noise
)


@final
@dataclass(frozen=True, kw_only=True)
class InCells(UnitShifts):
    """The bounding that limits a person's numbers in each cell, and in all cells together.

    The limits are M_j <= per_cell and Σ M_j <= total, where M_j is the largest absolute value of
    the person's numbers in cell j. If `Numbers.without` ≠ 0, M_j is the largest absolute value of
    the other numbers, plus the number of the person's rows without a value.

    In a cell over its limit, one factor shrinks the numbers of this cell. Then one factor shrinks
    all numbers of a person over `total`. With `first` = k, a person counts in at most k of their
    cells: the cells with the smallest hashes, with a fresh random salt. With `by_number` each
    number is treated as a cell, and both factors shrink all numbers of a person.
    """

    per_cell: Fraction
    total: Fraction
    first: int | None = None
    by_number: bool = False

    def to_record(self) -> dict[str, Any]:
        """The bounding as JSON values."""
        return {
            "kind": "numbers" if self.by_number else "cells",
            "first": self.first,
            "per_cell": decimal_text(self.per_cell),
            "total": decimal_text(self.total),
        }

    def in_words(self, numbers: Numbers) -> str:
        """The limit of one unit, as a phrase after the unit's name, such as "is counted once"."""
        if self.by_number:
            return (
                f"adds numbers whose absolute values sum to at most {_short(self.total)} (l1 norm)"
            )
        most, moved, total = self.most, self.moved(numbers), self.all_cells(numbers)
        words = f"counts for at most {_short(total)} {'row' if total == 1 else 'rows'}"
        if moved > 1 and most < total:
            words += f", at most {_short(most)} in a cell"
        few = f", in at most {moved:,} cells{CHOSEN}"
        return words + (few if 1 < moved < numbers.cells else "")

    @property
    def most_groups(self) -> int | None:
        """The most cells in which a unit counts; None without a limit."""
        return self.first

    @property
    def replaced(self) -> ReplacedInCells:
        """The shifts if a unit is replaced by another."""
        return ReplacedInCells(within=self)

    def integer_limits(self, *, bits: int) -> tuple[int, int]:
        """The largest M_j of a person and the largest Σ M_j, as integers.

        An integer I stands for I·2^(−bits).
        """
        total = math.floor(self.total * 2**bits)
        return min(math.floor(self.per_cell * 2**bits), total), total

    def largest_sum(self, numbers: Numbers, *, bits: int) -> Fraction:
        """A bound on Σ M_j in units of 2^(−bits), after each M_j is limited, but not the sum."""
        return self.moved(numbers) * self.per_cell * 2**bits

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift by one added unit."""
        if self.by_number:
            return self.total
        moved = self.moved(numbers)
        return numbers.at_once * min(self.total, self.per_cell * moved)

    def moved(self, numbers: Numbers) -> int:
        """The most cells in which one person can move a number.

        With `by_number` it is the most numbers.
        """
        cells = numbers.all if self.by_number else numbers.cells
        return cells if self.first is None else min(self.first, cells)

    @property
    def most(self) -> Fraction:
        """The largest M_j that the limits allow."""
        return min(self.per_cell, self.total)

    def all_cells(self, numbers: Numbers) -> Fraction:
        """The largest Σ M_j that the limits allow."""
        return min(self.total, self.most * self.moved(numbers))

    def squared(self, numbers: Numbers) -> Fraction:
        """A bound on the sum of the squares of a person's numbers.

        It is `most` times `all_cells`, times the number of a cell's numbers that a row can move.
        With `by_number` the last factor is 1.
        """
        return (1 if self.by_number else numbers.at_once) * self.most * self.all_cells(numbers)

    def shrinks(self, numbers: Numbers) -> bool:
        """True if a person can exceed `total` without exceeding `per_cell`."""
        return self.total < self.per_cell * self.moved(numbers)

    def fills(self, numbers: Numbers) -> bool:
        """True if there are several cells, and a person can move all of them by `most` at once."""
        cells = numbers.all if self.by_number else numbers.cells
        return cells > 1 and self.all_cells(numbers) == self.most * cells

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities; each of them bounds every shift by one person."""
        most, moved = self.most, self.moved(numbers)
        q = 1 if self.by_number else numbers.each
        whole = numbers.counts and not self.shrinks(numbers) and most.denominator == 1
        if numbers.all == 1:
            return (Integer(most),) if whole else (L1(most),)
        total = self.all_cells(numbers)
        ball = L2(root_above(self.squared(numbers)))
        if q > 1:
            return (*(Within(body) for body in self.bodies(numbers)), ball)
        facts: list[Sensitivity] = []
        if not self.shrinks(numbers):
            facts.append(Linf(most, l0=moved, whole=whole))
            if moved == 1:
                return tuple(facts)
            if numbers.counts:
                counting = CountingQueries(dimension=numbers.all, max_nonzero=moved, bound=most)
                facts.insert(0, counting)
        return (*facts, L1(total), ball)

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Alternative bodies; each of them contains every shift by one added or removed unit.

        The first is the hull of one box for each cell, times `all_cells`. If `Numbers.without` ≠ 0,
        the hull of a box and a segment takes the place of each box. The second is the box of all
        numbers, if a unit can fill it and it isn't too large. Empty if every cell has one count, a
        unit moves several cells, and `total` never shrinks the unit. Then `additions` and
        `sensitivities` describe the shifts.
        """
        most, moved = self.most, self.moved(numbers)
        each, cells = (1, numbers.all) if self.by_number else (numbers.each, numbers.cells)
        if each == 1 and numbers.counts and moved > 1 and not self.shrinks(numbers):
            return ()
        total = self.all_cells(numbers)
        cell: Body = Box(bounds=[total] * each)
        if numbers.without:
            beside = Box(bounds=[total * numbers.without])
            cell = Cells(bodies=[Box(bounds=[total] * (each - 1)), beside], copies=[1, 1])
        if cells == 1:
            return (cell,)
        hull = Cells(bodies=[cell], copies=[cells])
        if self.fills(numbers) and numbers.all <= MOST_BOUNDS and not numbers.without:
            return (hull, Box(bounds=[most] * numbers.all))
        return (hull,)

    def additions(self, numbers: Numbers) -> tuple[Counts, ...]:
        """Alternative sets; each of them contains every shift by one added unit.

        Empty unless all numbers are counts, and each is a cell by itself. Also empty for too many
        cells.
        """
        if not numbers.counts or (numbers.each > 1 and not self.by_number):
            return ()
        return added_counts(self.most, self.all_cells(numbers), numbers.all)


@final
@dataclass(frozen=True, kw_only=True)
class ReplacedInCells(UnitShifts):
    """The shifts of a unit that is replaced by another, if both meet the limits `within`."""

    within: InCells

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities; each of them bounds every shift."""
        limits = self.within
        size, spread = self._reach(numbers)
        unshrunk = not limits.by_number and not limits.shrinks(
            numbers
        )  # shrinking a unit's numbers leaves them not whole
        whole = numbers.counts and unshrunk and size.denominator == 1
        if numbers.all == 1:
            return (Integer(size),) if whole else (L1(size),)
        squared = numbers.replaced_squared(limits.squared(numbers))
        ball = L2(root_above(min(squared, self._box_sum(numbers, power=2))))
        if numbers.each > 1 and not limits.by_number:
            # a count and a lowered sum can't both move by their largest amounts at the same time
            return (*map(Within, self.bodies(numbers)), L1(self.l1(numbers)), ball)
        shaped = map(Within, (*self._signed(numbers), *self._box(numbers)))
        return (*self._of_few_cells(numbers, whole=whole), *shaped, L1(spread), ball)

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift."""
        return min(2 * self.within.l1(numbers), self._box_sum(numbers, power=1))

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Alternative bodies; each of them contains every shift.

        With one cell, the body is the box of its numbers. Otherwise the first is the hull of one
        box for each cell. The second is the box of all numbers, if its noise may be less.
        """
        by_number = self.within.by_number
        each, count = (1, numbers.all) if by_number else (numbers.each, numbers.cells)
        if count == 1:
            return (Box(bounds=self._sizes(numbers)),)
        _, spread = self._reach(numbers)
        return (Cells(bodies=[Box(bounds=[spread] * each)], copies=[count]), *self._box(numbers))

    def _of_few_cells(self, numbers: Numbers, *, whole: bool) -> tuple[Sensitivity, ...]:
        """Sensitivities that follow from k: the most numbers of a unit that are nonzero at once.

        A replaced unit moves at most 2k numbers. Empty if the bound on the sum of all numbers is
        stronger. It is stronger if `total` shrinks units. It is stronger, too, for lowered numbers
        if k is less than the number of all cells, since each of these numbers may move by 2r.
        """
        cells, moved = numbers.all, self.within.moved(numbers)
        if self.within.shrinks(numbers) or (numbers.lowered and moved < cells):
            return ()
        size, _ = self._reach(numbers)
        linf = Linf(size, l0=min(2 * moved, cells), whole=whole)
        if numbers.lowered:
            return (linf,)
        counting = CountingQueries(
            dimension=cells, max_nonzero=moved, neighbours="replace-one", bound=size
        )
        return (counting, linf)

    def _reach(self, numbers: Numbers) -> tuple[Fraction, Fraction]:
        """The largest move of one number, and a bound on the sum of each cell's largest move.

        Raised numbers lie in [0, r], so they move by at most r.
        """
        limits = self.within
        size = 2 * limits.most if numbers.lowered else limits.most
        cells = numbers.all if limits.by_number else numbers.cells
        return size, min(2 * limits.all_cells(numbers), size * cells)

    def _sizes(self, numbers: Numbers) -> list[Fraction]:
        """The largest move of each number of a cell; with `by_number` a cell is one number."""
        most = self.within.most
        if self.within.by_number:
            return [2 * most if numbers.lowered else most]
        return [(2 if j in numbers.lowered else 1) * most for j in range(numbers.each)]

    def _signed(self, numbers: Numbers) -> tuple[Body, ...]:
        """The body of all differences t − t′ of vectors t, t′ ≥ 0 whose numbers sum to at most R.

        Empty unless all numbers are raised and such a body is known.
        """
        if numbers.lowered:
            return ()
        total = self.within.all_cells(numbers)
        hull = replaced_record(bound=total, most=1, queries=numbers.all)
        return () if hull is None else (hull,)

    def _box(self, numbers: Numbers) -> tuple[Body, ...]:
        """The box that contains every shift.

        Empty if the hull of the cells has less noise, or if there are too many numbers for a box.
        """
        limits = self.within
        cells = numbers.all if limits.by_number else numbers.cells
        near = 1 if numbers.lowered else _NEAR
        if limits.most * cells > near * limits.all_cells(numbers) or numbers.all > MOST_BOUNDS:
            return ()
        return (Box(bounds=self._sizes(numbers) * cells),)

    def _box_sum(self, numbers: Numbers, *, power: int) -> Fraction:
        """A bound on Σ |t − t′|^power over all numbers, where each number is at most r in size.

        A lowered sum has the term (2r)^power. A count that bounds lowered sums (|sum| <= count) has
        no term: the terms of these sums cover the move of the count, too.
        """
        most, lowered = self.within.most, len(numbers.lowered)
        raised = numbers.each - lowered - len(numbers.below_counts)
        return numbers.cells * (raised * most**power + lowered * (2 * most) ** power)


def added_counts(most: Fraction, total: Fraction, cells: int) -> tuple[Counts, ...]:
    """Sets that hold the counts of an added unit: at most `most` in a cell, `total` in all cells.

    The first is the cube [0, most]^cells. The second is the simplex of sums up to `total`, unless
    it contains the cube. Empty if there are too many cells.
    """
    if cells > MOST_CELLS:
        return ()
    cube = Counts(queries=cells, bound=most)
    if cells == 1 or most * cells <= total:
        return (cube,)
    return (cube, Counts(queries=cells, most=1, bound=total))


def _short(number: Fraction) -> str:
    return f"{float(number):,.6g}"
