"""How far a unit of several rows moves counts of disjoint cells."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, final

from leastnoise._record import field, one_of, record, takes
from leastnoise.guarantees import hulls
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.rows import Rows
from leastnoise.guarantees.sensitivity import (
    NEIGHBOURS,
    Neighbours,
    Norm,
    Sensitivity,
    whole_bound,
)


@final
@record(kw_only=False)
class RowCounts(Sensitivity):
    """Counts of disjoint cells: a unit adds whole numbers >= 0 that sum to at most `bound`.

    A unit has so many rows at most, each in one cell. Neighbours differ by one unit that is added
    or removed, or by one that is replaced by another. Raises InvalidArgument unless bound is a
    whole number >= 1.

    >>> RowCounts(3).radius("l1", dimension=9), RowCounts(1, neighbours="replace-one").neighbours
    (Fraction(3, 1), 'replace-one')
    """

    kind: ClassVar[str] = "row-counts"
    bound: Fraction = field(converter=takes(whole_bound, name="sensitivity"))
    neighbours: Neighbours = field(converter=one_of(NEIGHBOURS), default="add-remove", kw_only=True)

    @property
    def stated_neighbours(self) -> Neighbours:
        return self.neighbours

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The longest shift is of one cell, or of two in opposite directions: no l1 ball's worst.

        Its length is √2·bound in l2 then.
        """
        if norm == "integer":
            return self.bound if dimension == 1 else None
        if dimension == 1 or self.neighbours == "add-remove":
            return self.bound
        return root_above(2 * self.bound**2) if norm == "l2" else None

    def _body(self, dimension: int) -> Body | None:
        """Cells of which one moves, or the differences of two units."""
        if self.neighbours == "add-remove":
            return hulls.moved_cells(bound=self.bound, most=1, cells=dimension)
        return hulls.replaced_record(bound=self.bound, most=1, queries=dimension)

    def _rows(self, dimension: int) -> Rows:
        del dimension
        return Rows(most=int(self.bound), replaced=self.neighbours == "replace-one")
