"""How far one unit of several rows moves counts of disjoint cells, and numbers that it adds to."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, final

from leastnoise._record import field, one_of, record, takes
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.one_sided import A_ONE_SIDED, OneSided
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.sensitivity import (
    NEIGHBOURS,
    Neighbours,
    Norm,
    Rows,
    Sensitivity,
    moved_cells,
    replaced_record,
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
    bound: FractionField = field(converter=takes(whole_bound, name="sensitivity"))
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
            return moved_cells(bound=self.bound, most=1, cells=dimension)
        return replaced_record(bound=self.bound, most=1, queries=dimension)

    def _rows(self, dimension: int) -> Rows:
        del dimension
        return Rows(most=int(self.bound), replaced=self.neighbours == "replace-one")


@final
@record(kw_only=False)
class Added(Sensitivity):
    """All shifts in T and in −T, T = of: one unit is added, or one is removed.

    That is less than the hull of both, which `Within(Signed(of=T))` is.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> Added(Counts(queries=3)).coordinates
    3
    """

    kind: ClassVar[str] = "added"
    of: OneSided = field(converter=A_ONE_SIDED)

    @property
    def coordinates(self) -> int:
        """Numbers released together."""
        return self.of.dimension

    @property
    def stated_neighbours(self) -> Neighbours:
        return "add-remove"

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """None is stated: a ball around it is another sensitivity."""
        del norm, dimension
        return None

    def _body(self, dimension: int) -> Body | None:
        return Signed(of=self.of) if dimension == self.of.dimension else None

    def _additions(self, dimension: int) -> OneSided | None:
        return self.of if dimension == self.of.dimension else None
