"""A sensitivity that is a body itself: what a unit can do once its vector is bounded to one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, final

from leastnoise._record import field, instance_of, record
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.sensitivity import FieldKind, Norm, Sensitivity


@final
@record(kw_only=False)
class Within(Sensitivity):
    """All shifts in `hull`, one of those of `leastnoise.guarantees.bodies`.

    A person with at most 5 rows, each in one of 18 cells, where it adds 1 to a count and at most 1
    to a sum, moves 36 numbers by a vector of five times the hull of 18 squares:

    >>> from leastnoise.guarantees.bodies.box import Box
    >>> from leastnoise.guarantees.bodies.cells import Cells
    >>> rows = Within(Cells(bodies=[Box(bounds=[1, 1])], copies=[18]).times(5))
    >>> rows.coordinates
    36
    """

    kind: ClassVar[str] = "within"
    fields: ClassVar[Mapping[str, FieldKind]] = MappingProxyType({"hull": Body})
    hull: Body = field(converter=instance_of(Body, like="a body, such as a Box"))

    @property
    def coordinates(self) -> int:
        """Numbers released together."""
        return self.hull.dimension

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        """None is stated: a ball around it is another sensitivity."""
        del norm, dimension
        return None

    def _body(self, dimension: int) -> Body | None:
        return self.hull if dimension == self.hull.dimension else None
