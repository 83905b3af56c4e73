"""The bounding by which a person counts once in each of a few cells."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import MOST_BOUNDS, Box
from leastnoise.guarantees.sensitivity import L1, Integer
from leastnoise.guarantees.structured import CountingQueries, Linf
from leastnoise.tables.layout.boundings.base import CHOSEN, UnitShifts
from leastnoise.tables.layout.boundings.in_cells import InCells, added_counts

if TYPE_CHECKING:
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.counts import Counts
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.layout.boundings.base import Numbers
    from leastnoise.tables.layout.boundings.in_cells import ReplacedInCells

IN_ONE_CELL = "is counted in at most one cell"
IN_EVERY_CELL = "is counted in every cell that they are in"


@final
@dataclass(frozen=True, kw_only=True)
class OnceInCells(UnitShifts):
    """The bounding by which a unit adds 1 to at most `most` of its cells, and 0 to the others.

    A person in more cells counts in the cells with the smallest hashes, with a fresh random salt.
    If a row is a unit, it counts in its first `most` cells.
    """

    most: int

    def to_record(self) -> dict[str, Any]:
        """The bounding as JSON values."""
        return {"kind": "first-cells", "most": self.most}

    def in_words(self, numbers: Numbers) -> str:
        """The limit of one unit, as a phrase after the unit's name, such as "is counted once"."""
        most = min(self.most, numbers.cells)
        if most == 1:
            return "is counted once" if numbers.cells == 1 else IN_ONE_CELL
        words = f"is counted in at most {most:,} cells"
        return words if most == numbers.cells else words + CHOSEN

    @property
    def most_groups(self) -> int:
        """The most cells in which a unit counts."""
        return self.most

    @property
    def replaced(self) -> ReplacedInCells:
        """The shifts if a unit is replaced by another; each of the two adds 0 or 1 to a cell."""
        most = Fraction(self.most)
        return InCells(per_cell=Fraction(1), total=most, first=self.most).replaced

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift by one added unit."""
        return Fraction(min(self.most, numbers.cells))

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities; each of them bounds every shift by one person."""
        if numbers.cells == 1:
            return (Integer(1),)
        most = min(self.most, numbers.cells)
        if most == 1:
            return (Linf(1, whole=True),)
        counting = CountingQueries(dimension=numbers.cells, max_nonzero=most)
        return (counting, Linf(1, l0=most, whole=True), L1(most))

    def bodies(self, numbers: Numbers) -> tuple[Body, ...]:
        """Alternative bodies; each of them contains every shift by one added or removed unit.

        The first is `most` times the hull of one interval [−1, 1] for each cell. The second is the
        box of all cells, if all of them may move at once and it isn't too large.
        """
        most = min(self.most, numbers.cells)
        hull = Cells(bodies=[Box(bounds=[most])], copies=[numbers.cells])
        if most == numbers.cells <= MOST_BOUNDS:
            return (hull, Box(bounds=[1] * numbers.cells))
        return (hull,)

    def additions(self, numbers: Numbers) -> tuple[Counts, ...]:
        """Alternative sets; each of them contains every shift by one added unit."""
        return added_counts(Fraction(1), Fraction(self.most), numbers.cells)
