"""What one person's vector is bounded to in a block, and what noise may rely on because of it.

notation: m cells of q numbers, every row in one cell with numbers in [−1, 1]; M_j = the largest
size of the j-th cell's numbers. A person with n_j rows there has M_j <= n_j, so that nobody within
limits on rows is touched by any bounding here (theory/release.md §5).

What is said of shifts here is about a person who is added or removed; `replaced` is about one who
is replaced by another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.one_sided import MOST_CELLS
from leastnoise.guarantees.bodies.plain import MOST_BOUNDS, Box
from leastnoise.guarantees.exact import decimal_text, root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Linf, Within

if TYPE_CHECKING:
    from leastnoise.guarantees.bodies.base import Body


@final
@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of a block: `each` of them in each of `cells`.

    `counts` says that they are counts, which no row lowers, and which move by whole numbers.
    `persons`: the one number of a cell is 1 for a person in it, whatever their rows. Else
    `lowered` names those of `each`, by position, that a row may lower; `rows` says that one of
    them is the number of rows. For each column of which values are counted by themselves, `values`
    has how many of the lowered sums are of it: none of these is larger than that count. `units`
    names those that are 1 for a person among others that count rows. The last of each moves by
    `without` where that isn't 0, and then alone: of rows without a value none of the others moves.
    """

    cells: int
    each: int
    counts: bool
    persons: bool = False
    lowered: tuple[int, ...] = ()
    rows: bool = False
    values: tuple[int, ...] = ()
    units: tuple[int, ...] = ()
    without: Fraction = Fraction(0)

    @property
    def all(self) -> int:
        """Numbers released together."""
        return self.cells * self.each

    @property
    def at_once(self) -> int:
        """Numbers of a cell that one row moves."""
        return self.each - 1 if self.without else self.each


IN_ONE_CELL = "is counted in at most one cell"
CHOSEN = ", which chance chooses"


@final
@dataclass(frozen=True, kw_only=True)
class FirstCells:
    """A person adds 1 to `most` of the cells that they are in, and 0 to the others.

    Which cells those are, a fresh salt decides. Where a row is a unit, they are the first.
    """

    most: int

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"kind": "first-cells", "most": self.most}

    def in_words(self, numbers: Numbers) -> str:
        """Return what one unit can do, to end a sentence that begins with the unit."""
        most = min(self.most, numbers.cells)
        if most == 1:
            return "is counted once" if numbers.cells == 1 else IN_ONE_CELL
        said = f"is counted in at most {most:,} cells"
        return said if most == numbers.cells else said + CHOSEN

    def l1(self, numbers: Numbers) -> Fraction:
        """Return the largest l1 norm of what one unit adds."""
        return Fraction(min(self.most, numbers.cells))

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Return what is true of every shift by one person, each by itself."""
        if numbers.cells == 1:
            return (Integer(1),)
        if self.most == 1:
            return (Linf(1, whole=True),)
        counting = CountingQueries(dimension=numbers.cells, max_nonzero=self.most)
        return (counting, Linf(1, l0=self.most, whole=True), L1(self.most))

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Return most·(the hull of the cells' intervals), and the box where all cells may move.

        Of several cells signs say more, where nothing else is drawn with them.
        """
        most = min(self.most, numbers.cells)
        hull = Cells(bodies=[Box(bounds=[most])], copies=[numbers.cells])
        if most == numbers.cells <= MOST_BOUNDS:
            return (hull, Box(bounds=[1] * numbers.cells))
        return (hull,)

    def additions(self, numbers: Numbers) -> tuple[Counts, ...]:
        """Return sets that hold what one unit adds, each by itself."""
        return _added_counts(Fraction(1), Fraction(self.most), numbers.cells)


@final
@dataclass(frozen=True, kw_only=True)
class InCells:
    """M_j <= per_cell and Σ M_j <= total, by shrinking all of a person by one factor.

    With `first` = k, only k of the cells that a person is in are looked at: the first in an order
    that a fresh salt decides. `by_number` says that each number is a cell of its own.
    """

    per_cell: Fraction
    total: Fraction
    first: int | None = None
    by_number: bool = False

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "kind": "numbers" if self.by_number else "cells",
            "first": self.first,
            "per_cell": decimal_text(self.per_cell),
            "total": decimal_text(self.total),
        }

    def in_words(self, numbers: Numbers) -> str:
        """Return what one unit can do, to end a sentence that begins with the unit."""
        if self.by_number:
            return f"adds at most {_short(self.total)} in l1 norm"
        most, moved, total = self.most, self.moved(numbers), self.all_cells(numbers)
        said = f"has at most {_short(total)} {'row' if total == 1 else 'rows'}"
        if moved > 1 and most < total:
            said += f", at most {_short(most)} in a cell"
        few = f", in at most {moved:,} cells{CHOSEN}"
        return said + (few if 1 < moved < numbers.cells else "")

    def l1(self, numbers: Numbers) -> Fraction:
        """Return a bound on the l1 norm of what one unit adds."""
        if self.by_number:
            return self.total
        moved = self.moved(numbers)
        return numbers.at_once * min(self.total, self.per_cell * moved)

    def moved(self, numbers: Numbers) -> int:
        """Return how many cells one person can move."""
        cells = numbers.all if self.by_number else numbers.cells
        return cells if self.first is None else min(self.first, cells)

    @property
    def most(self) -> Fraction:
        """The most that one number can be."""
        return min(self.per_cell, self.total)

    def all_cells(self, numbers: Numbers) -> Fraction:
        """Return the most that the cells' largest numbers can add up to."""
        return min(self.total, self.most * self.moved(numbers))

    def squared(self, numbers: Numbers) -> Fraction:
        """Return the most that ‖x‖² can be: r·R for each number of a cell that move at once."""
        return (1 if self.by_number else numbers.at_once) * self.most * self.all_cells(numbers)

    def shrinks(self, numbers: Numbers) -> bool:
        """Say whether a person can pass `total` without passing `per_cell`."""
        return self.total < self.per_cell * self.moved(numbers)

    def fills(self, numbers: Numbers) -> bool:
        """Say whether a person can move each of several cells by the most at once."""
        cells = numbers.all if self.by_number else numbers.cells
        return cells > 1 and self.all_cells(numbers) == self.most * cells

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Return what is true of every shift by one person, each by itself."""
        most, moved = self.most, self.moved(numbers)
        q = 1 if self.by_number else numbers.each
        whole = numbers.counts and not self.shrinks(numbers) and most.denominator == 1
        if numbers.all == 1:
            return (Integer(most),) if whole else (L1(most),)
        total = self.all_cells(numbers)
        ball = L2(root_above(self.squared(numbers)))
        if q > 1:
            return (*(Within(body) for body in self.bodies(numbers)), ball)
        found: list[Sensitivity] = []
        if not self.shrinks(numbers):
            found.append(Linf(most, l0=moved, whole=whole))
            if moved == 1:
                return tuple(found)
            if numbers.counts:
                counting = CountingQueries(dimension=numbers.all, max_nonzero=moved, bound=most)
                found.insert(0, counting)
        return (*found, L1(total), ball)

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Return total·(the hull of the cells' boxes), and the box that they are in together.

        None where signs say more: of counts that one person moves by as much each.
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
        """Return sets that hold what one unit adds, each by itself, where that is counts alone."""
        if not numbers.counts or (numbers.each > 1 and not self.by_number):
            return ()
        return _added_counts(self.most, self.all_cells(numbers), numbers.all)


@final
@dataclass(frozen=True, kw_only=True)
class InBall:
    """‖x‖² <= squared, by shrinking all of a person by one factor."""

    squared: Fraction

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"kind": "ball", "squared": decimal_text(self.squared)}

    def in_words(self, numbers: Numbers) -> str:
        """Return what one unit can do, to end a sentence that begins with the unit."""
        del numbers
        return f"adds at most {_short(root_above(self.squared))} in l2 norm"

    def l1(self, numbers: Numbers) -> Fraction:
        """Return the largest l1 norm of what one unit adds."""
        return root_above(self.squared * numbers.all)

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Return what is true of every shift by one person: it lies in the ball."""
        bound = root_above(self.squared)
        if numbers.all == 1 and numbers.counts and bound.denominator == 1:
            return (Integer(bound),)
        return (L2(bound),)

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Return none: noise for a ball is spherical."""
        del numbers
        return ()


@final
@dataclass(frozen=True, kw_only=True)
class FewGroups:
    """A unit counts in `groups` of the groups that nobody listed, with `per_group` rows in each.

    One group's numbers are one draw of noise, for what a unit adds to one row: what is said here of
    sensitivities and bodies is about that. A person is counted once, whatever their rows.
    """

    groups: int
    per_group: int

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"kind": "groups", "groups": self.groups, "per_group": self.per_group}

    def in_words(self, numbers: Numbers) -> str:
        """Return what one unit can do, to end a sentence that begins with the unit."""
        said = "is in one group" if self.groups == 1 else f"is in at most {self.groups:,} groups"
        if len(numbers.units) == numbers.each:
            return said
        return f"{said}, with at most {_counted_rows(self.per_group)} in each"

    def reach(self, numbers: Numbers, number: int) -> int:
        """Return the most that a unit adds to one of a group's numbers."""
        return 1 if number in numbers.units else self.per_group

    def l1(self, numbers: Numbers) -> Fraction:
        """Return a bound on the l1 norm of what one unit adds to all its groups."""
        return Fraction(self.groups * sum(self._reaches(numbers)))

    def squared(self, numbers: Numbers) -> Fraction:
        """Return the most that ‖x‖² can be of what one unit adds to all its groups."""
        return Fraction(self.groups * sum(reach**2 for reach in self._reaches(numbers)))

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Return what is true of every shift of one group's row, each by itself."""
        reaches = self._reaches(numbers)
        if len(reaches) == 1:
            return (Integer(reaches[0]),)
        ball = L2(root_above(Fraction(sum(reach**2 for reach in reaches))))
        return (Within(Box(bounds=reaches)), ball)

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Return none: a group's draw is never one with those of other blocks."""
        del numbers
        return ()

    def _reaches(self, numbers: Numbers) -> list[int]:
        return [self.reach(numbers, number) for number in range(numbers.each)]


CellBounding = FirstCells | InCells | InBall
"""What bounds a unit in cells that are known."""
Bounding = CellBounding | FewGroups
ONE_ROW = InCells(per_cell=Fraction(1), total=Fraction(1), first=1)
"""What a row is within by itself."""


def _added_counts(most: Fraction, total: Fraction, cells: int) -> tuple[Counts, ...]:
    """Return the cube [0, most]^cells, and the simplex of `total` where that isn't around the cube.

    Nothing if there are too many cells.
    """
    if cells > MOST_CELLS:
        return ()
    cube = Counts(queries=cells, bound=most)
    if cells == 1 or most * cells <= total:
        return (cube,)
    return (cube, Counts(queries=cells, most=1, bound=total))


def _counted_rows(rows: int) -> str:
    return "one row" if rows == 1 else f"{rows:,} rows"


def _short(number: Fraction) -> str:
    return f"{float(number):,.6g}"


def integer_limits(way: InBall | InCells | FewGroups, *, bits: int) -> tuple[int, int]:
    """Return the largest integer of a coordinate, and N, the largest size of a unit's integers.

    The integer I stands for I·2^(−bits). Sizes are ΣI² in a ball, and Σ max|I| in cells.
    """
    if isinstance(way, FewGroups):
        most = way.per_group * 2**bits
        return most, most * way.groups
    if isinstance(way, InBall):
        squared = math.floor(way.squared * 4**bits)
        return math.isqrt(squared), squared
    total = math.floor(way.total * 2**bits)
    return min(math.floor(way.per_cell * 2**bits), total), total
