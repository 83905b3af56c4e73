"""The boundings of one person's vector in a query, and the sensitivities that follow from them.

notation: m cells of q numbers, every row in one cell with numbers in [−1, 1]; M_j = the largest
size of the j-th cell's numbers. A person with n_j rows in cell j has M_j <= n_j, so that no
bounding here changes a person within the limits on rows (theory/release.md §5).

Shifts here are by a person who is added or removed; `replaced` has the shifts by a person who is
replaced by another.
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
    """The numbers of a query: `cells` cells, with `each` numbers in each cell.

    `counts` is True if all are counts, which no row lowers, and which move by whole numbers.
    `persons` is True if a cell has one number, which is 1 for a person in it, whatever their rows.
    Otherwise `lowered` has the positions of numbers in a cell that a row may lower, and `rows` is
    True if a number counts the rows. For each column with a count of its values, `values` has how
    many of the lowered sums are of that column: none of these sums is larger than that count.
    `units` has the positions of counts of persons beside counts of rows. If `without` ≠ 0, the last
    number of a cell counts rows without a value. Such a row moves only that number, by `without`.
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
        """Number of all coordinates."""
        return self.cells * self.each

    @property
    def at_once(self) -> int:
        """The number of a cell's numbers that one row can move at the same time."""
        return self.each - 1 if self.without else self.each


IN_ONE_CELL = "is counted in at most one cell"
IN_EVERY_CELL = "is counted in every cell that they are in"
CHOSEN = ", which chance chooses"


@final
@dataclass(frozen=True, kw_only=True)
class FirstCells:
    """A person adds 1 to `most` of the cells that they are in, and 0 to the others.

    These cells have the smallest hashes with a fresh random salt. If a row is a unit, they are its
    first cells.
    """

    most: int

    def to_record(self) -> dict[str, Any]:
        """The bounding as JSON values."""
        return {"kind": "first-cells", "most": self.most}

    def in_words(self, numbers: Numbers) -> str:
        """The limit of one unit in words that follow its name, such as "is counted once"."""
        most = min(self.most, numbers.cells)
        if most == 1:
            return "is counted once" if numbers.cells == 1 else IN_ONE_CELL
        words = f"is counted in at most {most:,} cells"
        return words if most == numbers.cells else words + CHOSEN

    def l1(self, numbers: Numbers) -> Fraction:
        """The largest l1 norm of a shift by one added unit."""
        return Fraction(min(self.most, numbers.cells))

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities, each of which holds for every shift by one person."""
        if numbers.cells == 1:
            return (Integer(1),)
        most = min(self.most, numbers.cells)
        if most == 1:
            return (Linf(1, whole=True),)
        counting = CountingQueries(dimension=numbers.cells, max_nonzero=most)
        return (counting, Linf(1, l0=most, whole=True), L1(most))

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Bodies of every shift: most·(hull of the cells' intervals), a box if all cells may move.

        A draw for this query alone, with several cells, uses `additions` instead, which know the
        signs of shifts.
        """
        most = min(self.most, numbers.cells)
        hull = Cells(bodies=[Box(bounds=[most])], copies=[numbers.cells])
        if most == numbers.cells <= MOST_BOUNDS:
            return (hull, Box(bounds=[1] * numbers.cells))
        return (hull,)

    def additions(self, numbers: Numbers) -> tuple[Counts, ...]:
        """Alternative sets, each of which holds every shift by one added unit."""
        return _added_counts(Fraction(1), Fraction(self.most), numbers.cells)


@final
@dataclass(frozen=True, kw_only=True)
class InCells:
    """All numbers of a person are shrunk by the same factor until their limits hold.

    The limits are M_j <= per_cell and Σ M_j <= total. With `first` = k, a person counts in only k
    of their cells: those with the smallest hashes, with a fresh random salt. With `by_number` each
    number is treated as a cell of its own.
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
        """The limit of one unit in words that follow its name, such as "is counted once"."""
        if self.by_number:
            return f"adds at most {_short(self.total)} in l1 norm"
        most, moved, total = self.most, self.moved(numbers), self.all_cells(numbers)
        words = f"has at most {_short(total)} {'row' if total == 1 else 'rows'}"
        if moved > 1 and most < total:
            words += f", at most {_short(most)} in a cell"
        few = f", in at most {moved:,} cells{CHOSEN}"
        return words + (few if 1 < moved < numbers.cells else "")

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift by one added unit."""
        if self.by_number:
            return self.total
        moved = self.moved(numbers)
        return numbers.at_once * min(self.total, self.per_cell * moved)

    def moved(self, numbers: Numbers) -> int:
        """The most cells in which one person can move a number."""
        cells = numbers.all if self.by_number else numbers.cells
        return cells if self.first is None else min(self.first, cells)

    @property
    def most(self) -> Fraction:
        """The largest absolute value of one number."""
        return min(self.per_cell, self.total)

    def all_cells(self, numbers: Numbers) -> Fraction:
        """The largest sum over cells of each cell's largest number: a bound on Σ M_j."""
        return min(self.total, self.most * self.moved(numbers))

    def squared(self, numbers: Numbers) -> Fraction:
        """A bound on ‖x‖² for a person's numbers x.

        It is `most` times `all_cells`, once for each number of a cell that a row can move.
        """
        return (1 if self.by_number else numbers.at_once) * self.most * self.all_cells(numbers)

    def shrinks(self, numbers: Numbers) -> bool:
        """True if a person can exceed `total` without exceeding `per_cell`."""
        return self.total < self.per_cell * self.moved(numbers)

    def fills(self, numbers: Numbers) -> bool:
        """True if there are several cells, and a person can move all by `most` at the same time."""
        cells = numbers.all if self.by_number else numbers.cells
        return cells > 1 and self.all_cells(numbers) == self.most * cells

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities, each of which holds for every shift by one person."""
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
        """Bodies of every shift: total·(hull of the cells' boxes), and a box if shifts fill it.

        Empty for counts in several cells that a person moves by at most the same amount: signs give
        smaller bodies then.
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
        """Alternative sets, each of which holds every shift by one added unit.

        Empty unless all numbers are counts, and each is a cell by itself.
        """
        if not numbers.counts or (numbers.each > 1 and not self.by_number):
            return ()
        return _added_counts(self.most, self.all_cells(numbers), numbers.all)


@final
@dataclass(frozen=True, kw_only=True)
class InBall:
    """All numbers x of a person are shrunk by the same factor until ‖x‖² <= squared."""

    squared: Fraction

    def to_record(self) -> dict[str, Any]:
        """The bounding as JSON values."""
        return {"kind": "ball", "squared": decimal_text(self.squared)}

    def in_words(self, numbers: Numbers) -> str:
        """The limit of one unit in words that follow its name, such as "is counted once"."""
        del numbers
        return f"adds at most {_short(root_above(self.squared))} in l2 norm"

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift by one added unit."""
        return root_above(self.squared * numbers.all)

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """The ball, which holds every shift by one person."""
        bound = root_above(self.squared)
        if numbers.all == 1 and numbers.counts and bound.denominator == 1:
            return (Integer(bound),)
        return (L2(bound),)

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """No bodies: noise for a ball is spherical."""
        del numbers
        return ()


@final
@dataclass(frozen=True, kw_only=True)
class FewGroups:
    """A unit counts in at most `groups` unlisted groups, with at most `per_group` rows in each.

    Each group has its own draw of noise, so sensitivities and bodies here are about one group's
    row. Counts of persons count a person once in a group, whatever their rows.
    """

    groups: int
    per_group: int

    def to_record(self) -> dict[str, Any]:
        """The bounding as JSON values."""
        return {"kind": "groups", "groups": self.groups, "per_group": self.per_group}

    def in_words(self, numbers: Numbers) -> str:
        """The limit of one unit in words that follow its name, such as "is counted once"."""
        words = "is in one group" if self.groups == 1 else f"is in at most {self.groups:,} groups"
        if len(numbers.units) == numbers.each:
            return words
        return f"{words}, with at most {_counted_rows(self.per_group)} in each"

    def reach(self, numbers: Numbers, number: int) -> int:
        """The most that a unit adds to the number at position `number` of a group."""
        return 1 if number in numbers.units else self.per_group

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of the shift of all of a unit's groups together."""
        return Fraction(self.groups * sum(self._reaches(numbers)))

    def squared(self, numbers: Numbers) -> Fraction:
        """A bound on ‖x‖² for the shift x of all of a unit's groups together."""
        return Fraction(self.groups * sum(reach**2 for reach in self._reaches(numbers)))

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities, each of which holds for every shift of one group's row."""
        reaches = self._reaches(numbers)
        if len(reaches) == 1:
            return (Integer(reaches[0]),)
        ball = L2(root_above(Fraction(sum(reach**2 for reach in reaches))))
        return (Within(Box(bounds=reaches)), ball)

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """No bodies: a group never shares a draw with other queries."""
        del numbers
        return ()

    def _reaches(self, numbers: Numbers) -> list[int]:
        return [self.reach(numbers, number) for number in range(numbers.each)]


CellBounding = FirstCells | InCells | InBall
"""The boundings of a unit in listed cells."""
Bounding = CellBounding | FewGroups
ONE_ROW = InCells(per_cell=Fraction(1), total=Fraction(1), first=1)
"""The limit that each single row meets without any bounding."""


def _added_counts(most: Fraction, total: Fraction, cells: int) -> tuple[Counts, ...]:
    """The cube [0, most]^cells, and the simplex of `total` unless it contains the cube.

    Empty if there are too many cells.
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


def integer_limits(bounding: InBall | InCells | FewGroups, *, bits: int) -> tuple[int, int]:
    """The largest integer of a coordinate, and N, the largest size of a unit's integers.

    The integer I stands for I·2^(−bits). The size is ΣI² in a ball, and Σ max|I| in cells.
    """
    if isinstance(bounding, FewGroups):
        most = bounding.per_group * 2**bits
        return most, most * bounding.groups
    if isinstance(bounding, InBall):
        squared = math.floor(bounding.squared * 4**bits)
        return math.isqrt(squared), squared
    total = math.floor(bounding.total * 2**bits)
    return min(math.floor(bounding.per_cell * 2**bits), total), total
