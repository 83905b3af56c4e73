"""How far a unit that is added or removed moves numbers, in any set that it adds to."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, final

from leastnoise._record import field, record
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.one_sided import A_ONE_SIDED, OneSided
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.sensitivity import Neighbours, Norm, Sensitivity


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
