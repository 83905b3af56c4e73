"""Sensitivities of a unit with several rows.

`RowCounts` is for counts of disjoint cells. `Added` is for a unit that moves the query within a
one-sided set T if it is added, and within −T if it is removed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, final

from leastnoise._record import field, one_of, record, takes
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.one_sided import A_ONE_SIDED, OneSided
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.hulls import moved_cells, replaced_record
from leastnoise.guarantees.sensitivity import (
    NEIGHBOURS,
    Neighbours,
    Norm,
    Rows,
    Sensitivity,
    whole_bound,
)


@final
@record(kw_only=False)
class RowCounts(Sensitivity):
    """Counts of disjoint cells, for units of at most `bound` rows, each in one cell.

    A unit adds integers >= 0 that sum to at most `bound`. Neighbours differ by one unit that is
    added or removed, or by one unit that is replaced.

    Args:
        bound: The largest number of rows of a unit, an integer >= 1.
        neighbours: "add-remove" or "replace-one".

    Raises:
        InvalidArgument: The bound is no integer >= 1, or the neighbours have another name.

    Examples:
        >>> RowCounts(3).radius("l1", dimension=9)
        Fraction(3, 1)

    """

    kind: ClassVar[str] = "row-counts"
    bound: FractionField = field(converter=takes(whole_bound, name="sensitivity"))
    neighbours: Neighbours = field(converter=one_of(NEIGHBOURS), default="add-remove", kw_only=True)

    @property
    def stated_neighbours(self) -> Neighbours:
        return self.neighbours

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """The radius: the length of the longest shift in this norm; None if no radius is known.

        An added unit has its longest shift, `bound`, if all its rows are in one cell. With several
        cells, a replaced unit may take `bound` rows from one cell and add `bound` to another: a
        shift of √2·bound in the l2 norm. In the l1 norm the result is then None. The ball of radius
        2·bound would contain that shift. But it also contains 2·bound in one cell, which no unit
        causes, and would ask for more noise than needed.
        """
        if norm == "integer":
            return self.bound if dimension == 1 else None
        if dimension == 1 or self.neighbours == "add-remove":
            return self.bound
        return root_above(2 * self.bound**2) if norm == "l2" else None

    def _body(self, dimension: int) -> Body | None:
        """The hull: one of the cells moves, or for replaced units all differences of two units.

        None if it is too large for a body.
        """
        if self.neighbours == "add-remove":
            return moved_cells(bound=self.bound, most=1, cells=dimension)
        return replaced_record(bound=self.bound, most=1, queries=dimension)

    def _rows(self, dimension: int) -> Rows:
        del dimension
        return Rows(most=int(self.bound), replaced=self.neighbours == "replace-one")


@final
@record(kw_only=False)
class Added(Sensitivity):
    """All shifts in the set T = `of`, if one unit is added, and in −T, if one is removed.

    This set is smaller than its hull, which `Within(Signed(of=T))` states.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> Added(Counts(queries=3)).coordinates
    3
    """

    kind: ClassVar[str] = "added"
    of: OneSided = field(converter=A_ONE_SIDED)

    @property
    def coordinates(self) -> int:
        """The number of coordinates that are released together."""
        return self.of.dimension

    @property
    def stated_neighbours(self) -> Neighbours:
        return "add-remove"

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """Always None: to hide a ball around the set, declare the ball as the sensitivity."""
        del norm, dimension
        return None

    def _body(self, dimension: int) -> Body | None:
        return Signed(of=self.of) if dimension == self.of.dimension else None

    def _additions(self, dimension: int) -> OneSided | None:
        return self.of if dimension == self.of.dimension else None
