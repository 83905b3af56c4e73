"""The numbers of a query, and the interface to their shifts by one unit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.counts import Counts
    from leastnoise.guarantees.sensitivity import Sensitivity

CHOSEN = ", which chance chooses"


@final
@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of a query, with the facts about them on which the effect of a unit depends.

    There are `cells` cells, with `each` numbers in each cell. `counts` is True if all are counts,
    which rows raise by whole numbers, before limits shrink them. `persons` is True if a cell has
    one number, to which each person adds 0 or 1, however many rows they have. Otherwise `lowered`
    has the positions of numbers in a cell that a row may lower, and `rows` is True if a number
    counts all rows.

    `values` has an item for each count of rows with a value: the number of lowered sums over the
    same rows. The absolute value of such a sum is at most the count. `units` has the positions of
    counts of persons. If `without` ≠ 0, the last number of a cell counts rows without a value. Such
    a row moves only that number, by `without`.
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
        """The number of numbers in all cells together."""
        return self.cells * self.each

    @property
    def at_once(self) -> int:
        """The most numbers of a cell that one row can move at the same time."""
        return self.each - 1 if self.without else self.each

    @property
    def below_counts(self) -> list[int]:
        """For each count of a cell that bounds lowered sums: the number of these sums.

        No such sum has a larger absolute value than the count. A count of rows with a value bounds
        the sums over these rows; the count of all rows bounds all other lowered sums. Empty if some
        lowered sum has no count that bounds it.
        """
        others = len(self.lowered) - sum(self.values)
        if others and not self.rows:
            return []
        return [n for n in (*self.values, others) if n]

    def replaced_squared(self, squared: Fraction) -> Fraction:
        """A bound on ‖t − t′‖² for the vectors t and t′ of a unit and of the unit that replaces it.

        Both ‖t‖² and ‖t′‖² have to be at most `squared`.
        """
        if not self.lowered:
            return squared if self.all == 1 else 2 * squared
        n = max(self.below_counts, default=0)
        return 4 * squared * Fraction(n, n + 1) if n else 4 * squared


class UnitShifts(ABC):
    """The shifts of a query's numbers by one unit, for one relation of neighbours.

    A shift is the change of all numbers of all cells. For unlisted groups, the sensitivities are
    about the numbers of one group instead.
    """

    @abstractmethod
    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities; each of them bounds every shift."""

    @abstractmethod
    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift."""

    def l2(self, numbers: Numbers) -> Fraction:
        """The radius of the smallest ball that is known to hold every shift."""
        balls = (
            sensitivity.radius("l2", dimension=numbers.all)
            for sensitivity in self.sensitivities(numbers)
        )
        return min(radius for radius in balls if radius is not None)

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Alternative bodies, each of which contains every shift.

        Empty if no body is known, or if other sets give less noise. Bodies are symmetric: unlike
        `additions`, they don't use the signs of shifts.
        """
        del numbers
        return ()

    def additions(self, numbers: Numbers) -> tuple[Counts, ...]:
        """Alternative sets; each of them contains the counts that any added unit adds.

        Unlike `bodies`, they use that an added unit lowers no count. Empty if none is known.
        """
        del numbers
        return ()
